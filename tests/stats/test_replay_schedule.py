"""Which failing case is replayed next, and what each replay is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesskit.stats.blind_spot import blind_spot, harmed_wins
from harnesskit.stats.replay_schedule import (
    Cell,
    benefit_budget,
    information,
    next_cells,
    next_in_round,
    next_of_pair,
    round_complete,
    schedule,
)

banks = st.lists(st.integers(0, 6), min_size=1, max_size=4)


@settings(deadline=None, max_examples=40)
@given(banks, st.integers(1, 25), st.integers(0, 10_000))
def test_no_other_run_lowers_the_variance_more_and_ties_are_free(bank: list[int], budget: int, seed: int):
    rng = np.random.default_rng(seed)
    m, n, path = list(bank), [0] * len(bank), []
    for _ in range(budget):
        ties = next_cells(m, n)
        gains = {Cell(c, arm): np.inf if k == 0 else 1 / (k * (k + 1))
                 for arm, runs in ((True, n), (False, m)) for c, k in enumerate(runs)}  # fmt: skip
        assert all(gains[cell] == max(gains.values()) for cell in ties)
        cell = ties[rng.integers(len(ties))]
        (n if cell.candidate else m)[cell.case] += 1
        path.append(information(m, n))
    np.testing.assert_allclose(schedule(bank, budget).information, path)


def test_a_bank_is_used_before_controls_are_bought():
    cells = schedule([5, 5, 5], 17).cells
    assert all(cell.candidate for cell in cells[:15])
    assert [cell.case for cell in cells[:6]] == [0, 1, 2, 0, 1, 2]
    assert cells[15] == Cell(0, candidate=True)


def test_there_is_no_look_before_every_case_has_a_run_in_each_arm():
    plan = schedule([0, 0, 0], 8)
    assert plan.look.tolist() == [False] * 5 + [True] * 3
    assert plan.information[5] == pytest.approx(9 / 6)
    assert schedule([0, 0], 3).planned == 0.0


def test_whole_rounds_are_looked_at_when_complete():
    plan = schedule([0, 0], 10, rounds=True)
    assert np.flatnonzero(plan.look).tolist() == [3, 7]
    assert [schedule([5, 5, 5], 26, rounds=True).look.sum(), round_complete([1, 0], [1, 1])] == [6, False]
    assert next_in_round([1, 0], [1, 1]) == Cell(1, candidate=False)


def test_pairs_are_completed_before_new_ones_begin():
    m, n, seen = [0, 1], [0, 0], []
    for _ in range(5):
        cell = next_of_pair(m, n)
        (n if cell.candidate else m)[cell.case] += 1
        seen.append(cell)
    assert seen == [Cell(0, True), Cell(0, False), Cell(1, True), Cell(0, True), Cell(0, False)]


def test_what_a_budget_keeps_for_the_wins():
    assert [benefit_budget(b) for b in (1, 5, 6, 10, 20, 40, 80)] == [1, 3, 3, 7, 15, 30, 60]


def test_the_blind_spot_is_hypergeometric():
    from scipy import stats

    for wins, harmed, replayed in ((20, 2, 5), (20, 2, 15), (7, 1, 3), (12, 0, 4)):
        assert blind_spot(wins, harmed, replayed) == pytest.approx(stats.hypergeom.pmf(0, wins, harmed, replayed))
    assert harmed_wins(20, 0.1) == 2
    with pytest.raises(ValueError, match="0 to 3"):
        blind_spot(3, 4, 1)
