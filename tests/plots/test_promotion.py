"""The evidence path: what is drawn is what the frame says, one scale at a time."""

from __future__ import annotations

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.figure import Figure

from harnesskit.model.errors import FrameError
from harnesskit.plots.promotion import plot_evidence_path


def path_frame() -> pd.DataFrame:
    rows = [
        ("benefit", 1, 4, "z", 1.5, 2.5, False),
        ("benefit", 2, 5, "z", 2.7, 2.4, True),
        ("futility", 1, 4, "z", 0.9, 2.3, False),
        ("futility", 2, 5, "z", -0.2, 2.2, False),
        ("harm", 1, 6, "lambda", 0.8, 12.0, False),
        ("harm", 2, 7, "lambda", 0.2, 12.0, True),
    ]
    return pd.DataFrame(rows, columns=["check", "look", "replays", "scale", "evidence", "bound", "decided"])


def drawn(frame: pd.DataFrame, **options):
    return plot_evidence_path(frame, ax=Figure(layout="constrained").subplots(), **options)


def line(axes, gid):
    return next(one for one in axes.lines if one.get_gid() == gid)


@pytest.mark.parametrize("check", ["benefit", "futility"])
def test_evidence_and_boundary_equal_the_frame(check):
    frame = path_frame()
    axes, rows = drawn(frame), frame[frame["check"] == check]
    for gid, column in ((check, "evidence"), (f"bound {check}", "bound")):
        assert line(axes, gid).get_xdata().tolist() == rows["replays"].tolist()
        assert line(axes, gid).get_ydata().tolist() == rows[column].tolist()


def test_the_look_that_decided_is_marked():
    axes = drawn(path_frame())
    marked = next(one for one in axes.collections if one.get_gid() == "decided")
    assert marked.get_offsets().tolist() == [[5.0, 2.7]]
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert words == ["for a benefit", "against an effect worth having", "boundary", "decided here"]


def test_another_scale_has_axes_of_its_own():
    axes = drawn(path_frame(), scale="lambda")
    assert axes.get_yscale() == "log"
    assert {one.get_gid() for one in axes.lines if one.get_gid()} == {"harm", "bound harm"}
    assert drawn(path_frame().assign(scale="e")).get_ylabel() == "evidence (E-value, log scale)"


def test_a_single_look_shows_its_boundary():
    axes = drawn(path_frame().iloc[[0]])
    assert line(axes, "bound benefit").get_marker() == "_"


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (
            path_frame(),
            {"scale": "lamda"},
            "rows on the scale 'lamda' .did you mean 'lambda'.*z, lambda",
        ),
        (path_frame().head(0), {}, "needs rows to draw; the path has the scales: none"),
        (path_frame().drop(columns="bound"), {}, "missing 'bound'"),
    ],
)
def test_what_cannot_be_drawn_is_said(frame, options, message):
    with pytest.raises(FrameError, match=message):
        drawn(frame, **options)


def test_nothing_of_the_user_is_touched():
    before = dict(mpl.rcParams)
    drawn(path_frame())
    assert dict(mpl.rcParams) == before
