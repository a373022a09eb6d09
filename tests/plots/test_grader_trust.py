"""The charts on graders: what is drawn is what is in the frame, whatever the frame holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from harnesskit.model.errors import FrameError
from harnesskit.plots.grader_trust import (
    plot_agreement,
    plot_confusion,
    plot_corrected_means,
    plot_grader_drift,
    plot_retest,
)

NAN = float("nan")


def points(axes, gid: str) -> list[list[float]]:
    return next(one for one in axes.collections if one.get_gid() == gid).get_offsets().tolist()


def test_agreement_without_an_interval_is_a_point():
    rows = pd.DataFrame(
        {
            "metric": [None, "$x^2$"],
            "statistic": ["ac1", "kappa"],
            "value": [0.8, -0.1],
            "low": [0.7, NAN],
            "high": [0.9, NAN],
        }
    )
    axes = plot_agreement(rows, ax=Figure().subplots())
    assert points(axes, "value") == [[0.8, 0.0], [-0.1, 1.0]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["ac1", "$x^2$, kappa"]


def test_a_confusion_of_several_pairs_is_refused():
    rows = pd.DataFrame({"rater_a": "a", "rater_b": ["b", "c"], "label_a": "x", "label_b": "x", "n": 1})
    with pytest.raises(FrameError, match="one pair of raters"):
        plot_confusion(rows, ax=Figure().subplots())
    image = plot_confusion(rows.head(1), ax=Figure().subplots()).images[0]
    assert np.asarray(image.get_array()).tolist() == [[1.0]]


def test_the_other_charts_draw_their_frames_and_empty_ones():
    retest = pd.DataFrame(
        {"metric": ["q"], "grader": ["j"], "grader_version": [None], "sd": [0.1], "low": [0.05], "high": [0.2]}
    )
    drift = pd.DataFrame(
        {
            "metric": ["q"],
            "grader_baseline": ["a"],
            "grader_candidate": ["b"],
            "changed_share": [0.25],
            "low": [0.1],
            "high": [0.5],
        }
    )
    means = pd.DataFrame(
        {"metric": ["q"], "label": "failed", "mean": [0.2], "low": [0.1], "high": [0.3], "labels_only": [0.25],
         "labels_low": [0.05], "labels_high": [0.45], "judge_only": [0.1]}
    )  # fmt: skip
    for plot, frame, gid, x in (
        (plot_retest, retest, "sd", 0.1),
        (plot_grader_drift, drift, "changed", 0.25),
        (plot_corrected_means, means, "corrected", 0.2),
    ):
        assert points(plot(frame, ax=Figure().subplots()), gid)[0][0] == x
        assert points(plot(frame.head(0), ax=Figure().subplots()), gid) == []
        with pytest.raises(FrameError, match="low"):
            plot(frame.drop(columns="low"), ax=Figure().subplots())
