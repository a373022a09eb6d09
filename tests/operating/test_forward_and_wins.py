"""What forward trials (F1) and cases on their way to a win (W1) promise, held against worlds of known truth."""

from __future__ import annotations

import numpy as np
import pytest

from harnesskit.model.promotion_policy import PromotionPolicy
from tests.operating import forward_world, win_world
from tests.operating.forward_world import forward_text, simulate_forward
from tests.operating.win_world import draw_runs, judged, run_case, simulate_wins, wins_text

SHORT = ("effect 0, calendar drift +.30", "effect +.20, 80 sessions", "effect -.10")


def test_a_short_table_of_forward_trials_holds():
    cells = [cell for cell in forward_world.CELLS if cell.name in SHORT]
    assert len(cells) == len(SHORT)
    rows = simulate_forward(cells, seed=9000, scale=0.03, jobs=1)
    assert not [row for row in rows if row.missed], forward_text(rows)


def test_a_short_table_of_wins_holds():
    rows = simulate_wins(seed=9000, scale=0.1)
    assert not [row for row in rows if row.missed], wins_text(rows)


def test_the_verdict_on_a_case_hangs_on_how_many_runs_passed():
    policy = PromotionPolicy()
    for seed, cell in enumerate(win_world.CELLS):
        verdict, _, n = run_case(cell, seed, policy)
        scores = np.clip(draw_runs(cell, np.random.default_rng(seed), policy.max_passes), 0, 1)
        assert judged(scores[:n], policy) == verdict
        assert n == policy.min_passes or judged(scores[: n - 1], policy) == "pending"


@pytest.mark.operating
def test_the_whole_tables_of_forward_trials_and_wins_hold(capsys: pytest.CaptureFixture[str]):
    forward, wins = simulate_forward(seed=9000), simulate_wins(seed=9000)
    with capsys.disabled():
        print("\n" + forward_text(forward) + "\n\n" + wins_text(wins))
    assert not [row for row in (*forward, *wins) if row.missed]
