"""Evidence from pass or fail: an e-value under the prior, whatever the order, careful where the bank is silent."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harnesskit.stats.beta_evidence import BetaPrior, beta_moments, failure_prior, log_failure_e
from harnesskit.stats.multiple import e_threshold

counts = st.integers(0, 12).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.integers(0, 8), st.floats(0.1, 5), st.floats(0.1, 20))
def test_it_averages_one_under_the_prediction(bank: tuple[int, int], n: int, a: float, b: float) -> None:
    f, m = bank
    k = np.arange(n + 1)
    e = np.exp(log_failure_e(k, n, bank_fails=f, bank_runs=m, prior=(a, b)))
    assert float((e * stats.betabinom.pmf(k, n, a + f, b + m - f)).sum()) == pytest.approx(1.0, rel=1e-6)


@given(counts)
def test_a_failure_is_more_evidence_than_a_pass(kn: tuple[int, int]) -> None:
    k, n = kn
    more = log_failure_e([k + 1, k], [n + 1, n + 1], bank_fails=0, bank_runs=5, prior=(0.5, 9.5))
    assert more[0] > more[1]


def test_a_clean_bank_of_five_needs_four_failures_in_a_row_among_60() -> None:
    e = np.exp(log_failure_e([3, 4], [3, 4], bank_fails=0, bank_runs=5, prior=(0.5, 9.5)))
    assert e[0] < e_threshold(60, alpha=0.05) <= e[1]


WORLDS = {
    "drawn from the prior": lambda rng: rng.beta(0.5, 9.5, 60),
    "all 10 %": lambda rng: np.full(60, 0.1),
    "two flaky": lambda rng: np.repeat([0.3, 0.0], [2, 58]),
    "five flaky": lambda rng: np.repeat([0.2, 0.0], [5, 55]),
    "one at a half": lambda rng: np.repeat([0.5, 0.0], [1, 59]),
}


@pytest.mark.parametrize("world", WORLDS)
def test_unchanged_cases_are_rarely_called_broken(world: str) -> None:
    """60 cases, bank of 5, eight further runs of every case, looked at after each: the family-wise error."""
    rng, alarms = np.random.default_rng(9), 0
    for _ in range(400):
        chance = WORLDS[world](rng)
        bank = rng.binomial(5, chance)
        fails = np.cumsum(rng.random((60, 8)) < chance[:, None], axis=1)
        prior = failure_prior(bank, np.full(60, 5))
        log_e = log_failure_e(fails, np.arange(1, 9), bank_fails=bank[:, None], bank_runs=5, prior=prior)
        alarms += bool(log_e.max() >= math.log(e_threshold(60, alpha=0.05)))
    assert alarms / 400 <= 0.05 + 2.6 * (0.05 * 0.95 / 400) ** 0.5


def test_moments_find_the_prior_of_many_cases() -> None:
    rng = np.random.default_rng(10)
    found = beta_moments(rng.binomial(10, rng.beta(2, 6, 4000)), np.full(4000, 10))
    assert tuple(found) == pytest.approx((2, 6), rel=0.1)


@given(st.lists(counts, max_size=10))
def test_the_prior_is_always_usable(bank: list[tuple[int, int]]) -> None:
    prior = failure_prior([k for k, _ in bank], [n for _, n in bank])
    assert 0 < prior.a < prior.b + 10
    assert 2 - 1e-9 <= sum(prior) <= 10 + 1e-9 or prior == BetaPrior(0.5, 9.5)


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and the number of runs"):
        log_failure_e(3, 2, bank_fails=0, bank_runs=5, prior=(0.5, 9.5))
