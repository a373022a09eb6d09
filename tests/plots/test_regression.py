"""Charts draw what the frame says, in its order, and leave the user's matplotlib alone."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from io import BytesIO

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from harnesskit.model.errors import FrameError
from harnesskit.plots.axes import BAD, BASELINE, CANDIDATE, GOOD, MARKS
from harnesskit.plots.labels import row_labels
from harnesskit.plots.regression import plot_case_deltas, plot_comparison
from tests.made_regression import HOSTILE, made_comparison, made_deltas


def drawn(frame, plot=plot_case_deltas, **options):
    return plot(frame, ax=Figure(layout="constrained").subplots(), **options)


def by_gid(axes, gid):
    return next(artist for artist in axes.collections if artist.get_gid() == gid)


def labels_of(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


@pytest.mark.parametrize("status", ["regressed", "improved", "unchanged", "inconclusive"])
def test_points_and_intervals_equal_the_frame(status):
    frame = made_deltas()
    axes = drawn(frame, top=100)
    rows = np.flatnonzero(frame["status"] == status)
    points = by_gid(axes, status).get_offsets()
    assert np.array_equal(points[:, 0], frame["delta"].to_numpy(dtype=float)[rows])
    assert np.array_equal(points[:, 1], rows)
    ends = np.array([path.vertices[:, 0] for path in by_gid(axes, f"{status} interval").get_paths()])
    assert np.array_equal(ends, frame[["low", "high"]].to_numpy(dtype=float)[rows])


def test_rows_keep_the_order_of_the_frame_first_on_top():
    frame = made_deltas(["b", "a", "c"], ["q"])
    axes = drawn(frame)
    assert labels_of(axes) == ["b · q", "a · q", "c · q"]
    assert axes.yaxis_inverted()


def test_status_is_shape_and_colour_never_colour_alone():
    assert len({(mark.marker, mark.filled) for mark in MARKS.values()}) == len(MARKS)
    assert MARKS["regressed"].colour == BAD
    assert MARKS["improved"].colour == GOOD
    assert len({BASELINE, CANDIDATE, BAD, GOOD}) == 4


def test_a_row_without_a_change_says_so_and_has_no_point():
    frame = made_deltas(["a"], ["q"]).assign(status="skipped", delta=None, low=None, high=None)
    axes = drawn(frame)
    assert [text.get_text() for text in axes.texts if text.get_gid() != "kind"] == ["not compared"]
    assert np.isnan(np.ma.getdata(by_gid(axes, "skipped").get_offsets())[:, 0]).all() or (
        by_gid(axes, "skipped").get_offsets().mask.any()
    )


def test_an_interval_with_one_end_is_drawn_to_the_change():
    frame = made_deltas(["a"], ["q"]).assign(status="unchanged", delta=-0.1, low=None, high=0.2)
    (path,) = by_gid(drawn(frame), "unchanged interval").get_paths()
    assert path.vertices[:, 0].tolist() == [-0.1, 0.2]


def test_suspects_are_ringed():
    frame = made_deltas()
    ringed = by_gid(drawn(frame, top=100), "suspect").get_offsets()
    assert ringed[:, 1].tolist() == np.flatnonzero(frame["suspect"]).tolist()


def test_the_tolerance_band_is_drawn_only_when_the_frame_gives_it():
    frame = made_deltas(["a", "b"], ["q"])
    assert not drawn(frame).patches
    bars = drawn(frame.assign(tolerance=[0.1, 0.3])).patches
    assert [(bar.get_x(), bar.get_width()) for bar in bars] == [(-0.1, 0.2), (-0.3, 0.6)]


def test_what_is_not_drawn_is_counted():
    axes = drawn(made_deltas([f"c{i}" for i in range(10)], ["q"]), top=4)
    assert labels_of(axes) == ["c0 · q", "c1 · q", "c2 · q", "c3 · q", "others (6)"]


def test_hostile_names_are_literal():
    frame = made_deltas(HOSTILE, ["$a$"])
    axes = drawn(frame)
    for label, case in zip(axes.get_yticklabels(), HOSTILE, strict=True):
        short = row_labels([*HOSTILE, "$a$"]).by_text
        assert label.get_text().lstrip("\u200e") == f"{short[case]} · $a$"
        assert not label.get_parse_math()
        assert not label.get_usetex()
    axes.get_figure().savefig(BytesIO(), format="svg")  # warnings are errors: no glyph is missing


def test_wins_and_failures_are_told_apart():
    frame = made_deltas(["a", "b"], ["q"]).assign(kind=["win", "failure"])
    marks = [text for text in drawn(frame).texts if text.get_gid() == "kind"]
    assert [text.get_text() for text in marks] == ["win", "failure"]
    assert [text.get_position()[1] for text in marks] == [0, 1]


@pytest.mark.parametrize("plot", [plot_case_deltas, plot_comparison])
def test_a_narrow_chart_keeps_its_names_and_its_room(plot):
    deltas = made_deltas(["a-case-with-a-rather-long-name", "b"], ["argument_correctness"])
    frame = deltas if plot is plot_case_deltas else made_comparison(deltas)
    figure = Figure(figsize=(4.2, 4.0), layout="constrained")
    axes = plot(frame, ax=figure.subplots())
    figure.savefig(BytesIO(), format="svg")
    names = [text.get_text() for text in axes.texts]
    assert sum("argument_correctness" in name for name in names) == len(frame)
    assert axes.get_position().width > 0.85


def test_three_thousand_categories_stay_small_and_quick():
    frame = made_deltas([f"case-{i}" for i in range(3000)], ["q"])
    begun, written = time.perf_counter(), BytesIO()
    drawn(frame).get_figure().savefig(written, format="svg")
    assert time.perf_counter() - begun < 10
    assert len(written.getvalue()) < 400_000


def test_comparison_draws_the_change_and_names_both_means():
    frame = made_comparison(made_deltas())
    axes = drawn(frame, plot_comparison)
    points = by_gid(axes, "candidate").get_offsets()
    assert np.array_equal(points[:, 0], frame["delta"].to_numpy(dtype=float))
    ends = np.array([path.vertices[:, 0] for path in by_gid(axes, "candidate interval").get_paths()])
    assert np.array_equal(ends, frame[["low", "high"]].to_numpy(dtype=float))
    assert (by_gid(axes, "baseline").get_offsets()[:, 0] == 0).all()
    assert axes.texts[0].get_text() == "2.7 → 2.69, 1 of 1 cases, lower is better"


def test_the_axis_names_the_change_and_its_unit():
    assert "candidate minus baseline (unit of q)" in drawn(made_deltas(["a"], ["q"])).get_xlabel()


@pytest.mark.parametrize(
    ("plot", "frame"), [(plot_case_deltas, made_deltas()), (plot_comparison, made_comparison(made_deltas()))]
)
def test_drawing_changes_neither_the_frame_nor_the_settings(plot, frame):
    before, settings, backend = frame.copy(), dict(mpl.rcParams), mpl.rcParams._get("backend")
    drawn(frame, plot)
    pd.testing.assert_frame_equal(frame, before)
    assert dict(mpl.rcParams) == settings
    assert mpl.rcParams._get("backend") == backend


@pytest.mark.parametrize("plot", [plot_case_deltas, plot_comparison])
def test_an_empty_frame_gives_empty_axes(plot):
    frame = made_deltas().head(0) if plot is plot_case_deltas else made_comparison(made_deltas()).head(0)
    assert labels_of(drawn(frame, plot)) == []


def test_a_missing_column_is_named_with_the_caller():
    with pytest.raises(FrameError, match=r"plot_case_deltas\(\) needs a case deltas frame.*missing 'delta'"):
        plot_case_deltas(made_deltas().rename(columns={"delta": "Delta"}))


def test_an_unknown_status_is_named():
    with pytest.raises(FrameError, match="found 'broken'"):
        drawn(made_deltas(["a"], ["q"]).assign(status="broken"))


def test_drawing_works_in_a_thread():
    failed: list[BaseException] = []

    def work() -> None:
        try:
            drawn(made_deltas()).get_figure().savefig(BytesIO(), format="png")
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert not failed


def test_drawing_on_given_axes_never_loads_pyplot():
    code = (
        "import sys\nimport harnesskit.model.text\nimport pandas as pd\nfrom matplotlib.figure import Figure\n"
        "from harnesskit.plots.regression import plot_case_deltas\n"
        "row = dict(case_id='a', metric='q', delta=.1, low=0., high=.2, status='improved')\n"
        "plot_case_deltas(pd.DataFrame([row]), ax=Figure().subplots())\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
