"""Noise: what a metric's runs say about one run, and what is assumed when they say little."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from harnesskit.stats.cells import cell_means, cell_medians, cell_variances
from harnesskit.stats.noise import (
    Prior,
    grid_step,
    moderate,
    pool_noise,
    robust_sd,
    sd_floor,
    total_df,
    trigamma_inverse,
)


@given(st.floats(1e-5, 1e5))
def test_trigamma_inverse_inverts_trigamma(x: float) -> None:
    assert float(special.polygamma(1, trigamma_inverse(x))) == pytest.approx(x, rel=1e-6)


@given(st.floats(0, 1), st.integers(1, 30), st.floats(0.001, 1), st.floats(0.1, 100))
def test_a_moderated_variance_lies_between_its_own_and_the_prior(s2: float, df: int, prior: float, df0: float) -> None:
    found = float(moderate([s2], [df], Prior(prior, df0))[0])
    assert min(s2, prior) - 1e-12 <= found <= max(s2, prior) + 1e-12


def test_cold_start_mixes_the_assumed_noise_until_8_degrees_of_freedom() -> None:
    assert pool_noise([0.04], [7]).prior.s2 == pytest.approx((7 * 0.04 + 3 * 0.01) / 10)
    assert pool_noise([0.04], [7]).source == "partly assumed"
    assert pool_noise([0.04, 0.04], [4, 4]).source == "measured"
    assert pool_noise([], []).prior == Prior(pytest.approx(0.01), 3.0)


def test_prior_df_is_clipped_and_the_scale_is_the_pooled_variance() -> None:
    rng = np.random.default_rng(0)
    wild = pool_noise(np.exp(rng.normal(size=50) * 3) * 0.01, [2] * 50)
    assert wild.prior.df == 2.0
    calm = pool_noise([0.01] * 50, [2] * 50)
    assert calm.prior == Prior(pytest.approx(0.01), 30.0)


def test_no_noise_is_never_believed() -> None:
    noise = pool_noise([0.0] * 10, [4] * 10, floor=0.02)
    assert noise.prior.s2 == pytest.approx(0.0004)


def test_degrees_of_freedom_never_exceed_all_there_are() -> None:
    assert total_df([10.0], pool_noise([0.01], [10])).tolist() == [10.0]


@pytest.mark.parametrize(
    ("scores", "step"),
    [([0, 1, 1], 1.0), ([0.5, 1.0, 0.25], 0.25), ([0.3, 0.9], 0.1), ([0.35, 0.9], 0.05), ([0.913, 0.4], 0.0)],
)
def test_judge_grids(scores: list[float], step: float) -> None:
    assert grid_step(scores) == step
    assert sd_floor(scores) == max(0.02, step / 12**0.5)


def test_robust_sd_of_gaussian_noise() -> None:
    assert robust_sd(np.random.default_rng(1).normal(scale=0.1, size=20_000)) == pytest.approx(0.1, rel=0.03)


def test_cells_agree_with_numpy() -> None:
    rng = np.random.default_rng(2)
    cell = rng.integers(0, 7, size=60)
    values = rng.normal(size=60)
    groups = [values[cell == i] for i in range(7)]
    np.testing.assert_allclose(cell_means(values, cell, 7), [g.mean() for g in groups])
    np.testing.assert_allclose(cell_medians(values, cell, 7), [np.median(g) for g in groups])
    np.testing.assert_allclose(cell_variances(values, cell, cell, 7).s2, [g.var(ddof=1) for g in groups])
