"""The charts of trials, flips, noise and sequential evidence draw what their frames say."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from harnesskit.model.errors import FrameError
from harnesskit.plots.flips import plot_flips
from harnesskit.plots.noise import plot_noise
from harnesskit.plots.sequence import plot_sequence
from harnesskit.plots.trials import plot_trials
from tests.made_regression import HOSTILE


def canvas():
    return Figure(layout="constrained").subplots()


def by_gid(axes, gid):
    return next(artist for artist in [*axes.collections, *axes.lines] if artist.get_gid() == gid)


def labels_of(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


TRIALS = pd.DataFrame(
    [
        ("b", "q", 0.9, "baseline"), ("b", "q", 0.8, "baseline"), ("b", "q", 0.4, "candidate"),
        ("a", "q", 0.7, "baseline"), ("a", "q", None, "candidate"), ("a", "q", 0.6, "candidate"),
        ("a", "p", 0.1, "candidate"),
    ],
    columns=["case_id", "metric", "value", "side"],
)  # fmt: skip


def test_every_trial_is_a_mark_baseline_above_candidate():
    axes = plot_trials(TRIALS, metric="q", ax=canvas())
    assert labels_of(axes) == ["b", "a"]
    before, after = (np.asarray(by_gid(axes, side).get_offsets()) for side in ("baseline", "candidate"))
    assert before[:, 0].tolist() == [0.9, 0.8, 0.7]
    assert after[:, 0].tolist() == [0.4, 0.6]
    assert np.round(before[:, 1]).tolist() == [0, 0, 1]
    assert (before[:, 1] < np.round(before[:, 1])).all()
    assert (after[:, 1] > np.round(after[:, 1])).all()
    assert [text.get_text() for text in axes.texts] == ["1 unscored"]


def test_cases_are_drawn_in_the_order_asked_for_and_the_rest_counted():
    axes = plot_trials(TRIALS, metric="q", cases=["a", "b", "c"], top=2, ax=canvas())
    assert labels_of(axes) == ["a", "b", "others (1)"]
    assert np.asarray(by_gid(axes, "candidate").get_offsets())[:, 0].tolist() == [0.4, 0.6]


def test_a_metric_has_to_be_named_when_there_are_several():
    with pytest.raises(FrameError, match=r"draws one metric; found q, p"):
        plot_trials(TRIALS, ax=canvas())
    with pytest.raises(FrameError, match=r"no metric 'qq'.*there are: q, p"):
        plot_trials(TRIALS, metric="qq", ax=canvas())
    with pytest.raises(FrameError, match="found 'after'"):
        plot_trials(TRIALS.assign(side="after"), metric="q", ax=canvas())


def test_hostile_names_are_drawn_without_a_missing_glyph():
    rows = pd.DataFrame({"case_id": HOSTILE, "metric": "$q$", "value": 0.5, "side": "baseline"})
    plot_trials(rows, ax=canvas()).get_figure().savefig(BytesIO(), format="svg")
    flips = pd.DataFrame({"case_id": "a", "metric": HOSTILE, "flip": "fixed"})
    plot_flips(flips, ax=canvas()).get_figure().savefig(BytesIO(), format="svg")
    noise = pd.DataFrame({"metric": HOSTILE, "sd": 0.1, "low": 0.05, "high": 0.2, "source": "measured"})
    plot_noise(noise, ax=canvas()).get_figure().savefig(BytesIO(), format="svg")
    looks = pd.DataFrame({"case_id": HOSTILE, "look": 1, "z": 1.0, "bound": 2.0})
    plot_sequence(looks, ax=canvas(), top=20).get_figure().savefig(BytesIO(), format="svg")


def test_flips_are_counted_per_metric():
    words = ["broken", "both pass", "both pass", "flaky", "not compared"]
    frame = pd.DataFrame({"case_id": list("abcde"), "metric": ["q", "q", "q", "p", "p"], "flip": words})
    axes = plot_flips(frame, ax=canvas())
    assert labels_of(axes) == ["q", "p"]
    bars = {(bar.get_gid(), round(bar.get_y() + 0.31)): (bar.get_x(), bar.get_width()) for bar in axes.patches}
    assert bars == {
        ("broken", 0): (0, 1), ("both pass", 0): (1, 2), ("flaky", 1): (0, 1), ("not compared", 1): (1, 1),
    }  # fmt: skip
    with pytest.raises(FrameError, match="found 'gone'"):
        plot_flips(frame.assign(flip="gone"), ax=canvas())


def test_noise_draws_the_interval_and_tells_what_is_assumed():
    frame = pd.DataFrame(
        {
            "metric": ["q", "p"], "sd": [0.08, 0.1], "low": [0.06, None], "high": [0.11, None],
            "source": ["measured", "assumed"], "judge_sd": [0.05, None],
        }
    )  # fmt: skip
    axes = plot_noise(frame, ax=canvas())
    assert labels_of(axes) == ["q", "p"]
    assert np.asarray(by_gid(axes, "measured").get_offsets()).tolist() == [[0.08, 0.0]]
    assert np.asarray(by_gid(axes, "assumed").get_offsets()).tolist() == [[0.1, 1.0]]
    assert by_gid(axes, "measured interval").get_paths()[0].vertices[:, 0].tolist() == [0.06, 0.11]
    assert by_gid(axes, "assumed interval").get_paths()[0].vertices[:, 0].tolist() == [0.1, 0.1]
    assert np.asarray(by_gid(axes, "judge").get_offsets()).tolist() == [[0.05, 0.0]]
    assert axes.get_xlim()[0] == 0
    assert axes.get_xlim()[1] < 0.2


def test_a_sequence_is_drawn_in_the_order_of_its_looks_against_its_bounds():
    frame = pd.DataFrame(
        {"case_id": ["a", "a", "b"], "look": [2, 1, 1], "z": [3.5, 1.0, 0.2], "bound": [3.0, None, 4.0]}
    )
    axes = plot_sequence(frame, ax=canvas())
    assert by_gid(axes, "z 0").get_xydata().tolist() == [[1.0, 1.0], [2.0, 3.5]]
    assert np.nan_to_num(by_gid(axes, "bound 0").get_ydata(), nan=-1.0).tolist() == [-1.0, 3.0]
    assert np.asarray(by_gid(axes, "crossed 0").get_offsets()).tolist() == [[2.0, 3.5]]
    assert by_gid(axes, "z 1").get_ydata().tolist() == [0.2]
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert words == ["a", "b", "boundary", "beyond it"]


@pytest.mark.parametrize(
    ("plot", "columns"),
    [
        (plot_trials, ["case_id", "metric", "value", "side"]),
        (plot_flips, ["case_id", "metric", "flip"]),
        (plot_noise, ["metric", "sd", "low", "high", "source"]),
        (plot_sequence, ["case_id", "look", "z", "bound"]),
    ],
)
def test_an_empty_frame_gives_empty_axes_and_a_missing_column_is_named(plot, columns):
    empty = pd.DataFrame({column: [] for column in columns})
    axes = plot(empty, ax=canvas())
    assert not [artist for artist in axes.collections if len(artist.get_offsets())]
    with pytest.raises(FrameError, match=rf"{plot.__name__}\(\) needs a .* missing '{columns[-1]}'"):
        plot(empty.drop(columns=columns[-1]), ax=canvas())
