"""Who is compared with whom: exact under any drift, and never changed by what comes later."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesskit.stats.trial_pairs import trial_pairs

ARMS = [arms for arms in product([True, False], repeat=4) if sum(arms) == 2]


@pytest.mark.parametrize("scores", [[0, 1, 2, 3], [0.0, 0.0, 1.0, 1.0], [5, 1, -7, 2], [0.1, 0.1, 0.1, 0.9]])
def test_a_block_bets_fairly_whatever_drifts_inside_it(scores: list[float]):
    """Over the six orders of a block and both pairings, the product of the two factors of a bet has mean 1."""
    values = np.array(scores, dtype=float)
    wealth = []
    for arms in ARMS:
        for swap in (False, True):
            pairs = trial_pairs(arms, [True] * 4, swap=[swap])
            wealth.append(np.prod(1 + np.tanh(values[pairs.treated] - values[pairs.control])))
    assert np.mean(wealth) == pytest.approx(1.0, abs=1e-12)


def test_first_with_first_is_not_fair_under_drift():
    """Why pairs are drawn: always pairing in order lets a steady rise bet on itself."""
    values = np.arange(4.0)
    wealth = [
        np.prod(1 + np.tanh(values[p.treated] - values[p.control]))
        for p in (trial_pairs(arms, [True] * 4, swap=[False]) for arms in ARMS)
    ]
    assert np.mean(wealth) > 1.1


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=30), st.lists(st.booleans(), min_size=8, max_size=8))
def test_each_scored_unit_is_in_one_pair_at_most(units: list[tuple[bool, bool]], swap: list[bool]):
    treated, scored = [one for one, _ in units], [two for _, two in units]
    pairs = trial_pairs(treated, scored, swap=swap)
    used = [*pairs.treated.tolist(), *pairs.control.tolist()]
    assert len(used) == len(set(used))
    assert all(treated[i] and scored[i] for i in pairs.treated)
    assert all(not treated[i] and scored[i] for i in pairs.control)
    assert pairs.unpaired == sum(scored) - len(used)
    assert pairs.closed.tolist() == sorted(pairs.closed.tolist())


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([True, True, False])), max_size=24),
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.integers(0, 24),
)
def test_what_comes_later_changes_no_pair(units: list[tuple[bool, bool]], swap: list[bool], cut: int):
    arms, scored = [arm for arm, _ in units], [there for _, there in units]
    whole = trial_pairs(arms, scored, swap=swap)
    early = trial_pairs(arms[:cut], scored[:cut], swap=swap)
    made = [(t, c) for t, c, at in zip(whole.treated, whole.control, whole.closed, strict=True) if at < cut]
    assert set(zip(early.treated.tolist(), early.control.tolist(), strict=True)) == {(int(t), int(c)) for t, c in made}


def test_both_arms_of_a_cluster_are_compared_with_each_other():
    pairs = trial_pairs([1, 0, 1, 0], [1, 1, 1, 1], twin=[7, 8, 8, 7])
    assert set(zip(pairs.treated.tolist(), pairs.control.tolist(), strict=True)) == {(0, 3), (2, 1)}


def test_a_unit_whose_partner_has_no_score_waits_for_another():
    pairs = trial_pairs([1, 0, 0, 1, 1, 0, 0, 1], [1, 0, 1, 1, 1, 1, 1, 1], swap=[False, False])
    assert len(pairs.treated) == 3
    assert pairs.unpaired == 1
