"""Bets on a bounded mean: they keep their level while watched, and the bands hold the mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesskit.stats.betting import betting_bands, capital, empirical_bernstein

scores = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(scores, st.floats(0.05, 0.95))
def test_capital_is_never_negative_and_falls_with_the_bar(x: list[float], mean: float) -> None:
    assert (capital(x, mean) >= 0).all()
    assert (capital(x, min(mean + 0.04, 0.99)) <= capital(x, mean) * (1 + 1e-9)).all()


@given(scores)
def test_bands_mirror_and_lie_within_the_range(x: list[float]) -> None:
    for method in (lambda v: betting_bands(v, grid=100), empirical_bernstein):
        bands, mirrored = method(x), method([1 - v for v in x])
        np.testing.assert_allclose(bands.low, 1 - mirrored.high, atol=1e-9)
        assert ((bands.low >= 0) & (bands.high <= 1) & (bands.low <= bands.high + 1e-9)).all()


def test_the_level_holds_while_watched() -> None:
    rng = np.random.default_rng(13)
    crossed = [capital((rng.random(200) < 0.8).astype(float), 0.8).max() >= 20 for _ in range(1500)]
    assert np.mean(crossed) <= 0.05 + 3 * (0.05 * 0.95 / 1500) ** 0.5


@pytest.mark.parametrize("method", [lambda x: betting_bands(x, grid=200), empirical_bernstein])
def test_the_bands_cover_at_every_score(method: object) -> None:
    rng = np.random.default_rng(14)
    missed = 0
    for _ in range(200):
        bands = method(rng.beta(8, 2, size=150))  # type: ignore[operator]
        missed += bool(((bands.low > 0.8) | (bands.high < 0.8)).any())
    assert missed / 200 <= 0.05 + 3 * (0.05 * 0.95 / 200) ** 0.5


def test_betting_is_the_narrower_of_the_two() -> None:
    x = np.random.default_rng(15).beta(8, 2, size=400)
    bets, bernstein = betting_bands(x), empirical_bernstein(x)
    assert bets.high[-1] - bets.low[-1] < bernstein.high[-1] - bernstein.low[-1]


def test_scores_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1, none missing"):
        capital([0.5, float("nan")], 0.5)
    with pytest.raises(ValueError, match="found 1"):
        capital([0.5], 1)
