"""The sign-symmetry e-process: exact under every symmetric noise, one by one and watched all along."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesskit.stats.eprocess import (
    EProcess,
    bets,
    confidence_sequence,
    min_pairs,
    retire_evidence,
    shift_interval,
    sign_symmetry,
)

KAPPA = bets(0.02**0.5)
differences = st.lists(st.floats(-1, 1), min_size=1, max_size=8)


@given(differences)
def test_the_mean_over_all_sign_patterns_is_one(d: list[float]) -> None:
    """Exactly an e-value: whatever the sizes of the differences are, over their signs it averages 1."""
    patterns = [[s * x for s, x in zip(signs, d, strict=True)] for signs in itertools.product([-1, 1], repeat=len(d))]
    assert np.mean([sign_symmetry(p, KAPPA).last for p in patterns]) == pytest.approx(1.0, rel=1e-9)


@given(differences)
def test_it_is_the_product_of_its_factors(d: list[float]) -> None:
    plain = np.cumprod(1 + np.tanh(KAPPA[:, None] * np.array(d)), axis=1).mean(axis=0)
    np.testing.assert_allclose(sign_symmetry(d, KAPPA).e, plain, rtol=1e-9, atol=1e-12)


@given(differences, st.floats(0, 0.5))
def test_a_better_pair_is_never_less_evidence(d: list[float], more: float) -> None:
    assert sign_symmetry([d[0] + more, *d[1:]], KAPPA).last >= sign_symmetry(d, KAPPA).last * (1 - 1e-12)


def _watched_level(draw: object) -> float:
    rng = np.random.default_rng(3)
    d = np.array([draw(rng) for _ in range(4000)])  # type: ignore[operator]
    return float(np.mean([sign_symmetry(row, KAPPA).log_e.max() >= math.log(20) for row in d]))


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(scale=0.14, size=60),
        lambda rng: rng.choice([-1.0, 0.0, 1.0], p=[0.2, 0.6, 0.2], size=60),
        lambda rng: np.subtract(*np.round(rng.beta(8, 1, size=(2, 60)), 1)),
        lambda rng: 0.05 * rng.standard_t(2, size=60),
        lambda rng: rng.normal(size=60) * np.where(np.arange(60) % 2, 0.02, 0.4),
    ],
    ids=["normal", "binary", "rounded", "heavy tails", "unequal spread"],
)
def test_looking_after_every_pair_keeps_the_level(draw: object) -> None:
    assert _watched_level(draw) <= 0.05 + 3 * (0.05 * 0.95 / 4000) ** 0.5


def test_retiring_a_rule_of_the_worthwhile_effect_is_as_rare_as_promised() -> None:
    rng = np.random.default_rng(4)
    crossed = [retire_evidence(rng.normal(0.1, 0.14, size=40), KAPPA).log_e.max() >= math.log(10) for _ in range(2000)]
    assert np.mean(crossed) <= 0.10 + 3 * (0.09 / 2000) ** 0.5


def test_a_useful_rule_is_found_soon() -> None:
    rng = np.random.default_rng(5)
    paths = [sign_symmetry(rng.normal(0.2, 0.14, size=40), KAPPA).log_e for _ in range(300)]
    first = [np.flatnonzero(path >= math.log(20))[0] + 1 if (path >= math.log(20)).any() else 41 for path in paths]
    assert 5 <= np.median(first) <= 9


def test_the_confidence_sequence_covers_at_every_pair() -> None:
    rng = np.random.default_rng(6)
    missed = 0
    for _ in range(150):
        path = confidence_sequence(0.1 + 0.1 * rng.standard_t(4, size=20), KAPPA, confidence=0.8)
        missed += bool(((path.low > 0.1) | (path.high < 0.1)).any())
    assert missed / 150 <= 0.2 + 3 * (0.16 / 150) ** 0.5


@given(st.lists(st.floats(-0.5, 0.5), min_size=6, max_size=12), st.floats(-0.5, 0.5))
def test_the_interval_moves_with_the_differences_and_mirrors(d: list[float], by: float) -> None:
    low, high = shift_interval(d, KAPPA)
    assert shift_interval([x + by for x in d], KAPPA) == pytest.approx((low + by, high + by), abs=1e-6)
    assert shift_interval([-x for x in d], KAPPA) == pytest.approx((-high, -low), abs=1e-6)
    assert low <= high


def test_too_few_pairs_give_no_interval() -> None:
    assert shift_interval([0.2] * 5, KAPPA) == (-math.inf, math.inf)
    assert sign_symmetry([1e6] * 4, KAPPA).last < 20
    assert sign_symmetry([1e6] * min_pairs(0.05), KAPPA).last >= 20


def test_extreme_differences_stay_numbers() -> None:
    found = sign_symmetry([-1e9, 1e9] * 2000, KAPPA)
    assert np.isfinite(found.log_e[::2]).all() or found.log_e[0] == -np.inf
    assert np.isfinite(sign_symmetry([1.0] * 5000, KAPPA).e).all()
    assert EProcess(np.empty(0)).p == 1.0
    assert sign_symmetry([0.3] * 8, KAPPA).p == pytest.approx(1 / sign_symmetry([0.3] * 8, KAPPA).last)


def test_missing_pairs_and_noise_are_refused() -> None:
    with pytest.raises(ValueError, match="needs both scores"):
        sign_symmetry([0.1, math.nan], KAPPA)
    with pytest.raises(ValueError, match="above 0"):
        bets(0.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        min_pairs(1.0)
