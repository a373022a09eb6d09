"""The forest of protected wins, and the effect on replays that read the guard."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.figure import Figure

from harnesskit.model.errors import FrameError
from harnesskit.plots.promotion_guard import plot_compliance, plot_guard_wins


def wins_frame() -> pd.DataFrame:
    rows = [
        ("$x_{bad}$", True, -0.2, -0.3, -0.1, 14.0, 3),
        ("refund", True, 0.01, -0.1, 0.12, 0.7, 1),
        ("invoice", True, 0.05, -0.1, 0.2, 0.1, 1),
        ("unseen", False, None, None, None, 1.0, 0),
    ]
    return pd.DataFrame(rows, columns=["case_id", "replayed", "delta", "low", "high", "harm", "n_candidate"])


def axes_of(plot, frame, **options):
    return plot(frame, ax=Figure(layout="constrained").subplots(), **options)


def offsets(axes, gid):
    return next(one for one in axes.collections if one.get_gid() == gid).get_offsets().tolist()


def test_each_win_is_a_row_in_the_order_of_the_frame():
    axes = axes_of(plot_guard_wins, wins_frame())
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["$x_{bad}$", "refund", "invoice", "not replayed (1)"]
    assert offsets(axes, "harm likelier") == [[-0.2, 0.0]]
    assert offsets(axes, "no change likelier") == [[0.01, 1.0], [0.05, 2.0]]
    assert [text.get_text() for text in axes.texts] == ["ratio 14, 3 runs", "ratio 0.7, 1 run", "ratio 0.1, 1 run"]


def test_what_does_not_fit_is_counted():
    axes = axes_of(plot_guard_wins, wins_frame(), top=1)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["$x_{bad}$", "others (2)", "not replayed (1)"]


def test_the_effect_that_decides_stands_on_top():
    rows = {
        "check": ["benefit", "effect_when_read", "compliance"], "estimate": [0.1, 0.2, 0.5], "low": [0.0, 0.05, 0.3],
        "high": [0.2, 0.35, 0.7],
    }  # fmt: skip
    axes = axes_of(plot_compliance, pd.DataFrame(rows))
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "all replays (decides)",
        "where it was read (50 %)",
    ]
    assert offsets(axes, "all replays (decides)") == [[0.1, 0.0]]
    assert offsets(axes, "where it was read (50 %)") == [[0.2, 1.0]]


@pytest.mark.parametrize("plot", [plot_guard_wins, plot_compliance])
def test_a_missing_column_is_named(plot):
    with pytest.raises(FrameError, match="missing 'low'"):
        axes_of(plot, wins_frame().assign(check="benefit", estimate=0.1).drop(columns="low"))
