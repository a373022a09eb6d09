"""The mixture ratio is the integral it stands for, and keeps its level on a long stream."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from harnesskit.stats.msprt import log_mixture_ratio


@given(st.floats(-0.3, 0.3), st.integers(1, 30))
def test_it_is_the_integral_over_the_prior(mean: float, n: int) -> None:
    def ratio(theta: float) -> float:
        return float(np.exp(n * (mean * theta - theta**2 / 2) / 0.02) * stats.norm.pdf(theta, scale=0.1))

    total, _ = integrate.quad(ratio, -1.5, 1.5, limit=200, points=[mean])
    assert float(np.exp(log_mixture_ratio(mean, n, variance=0.02, mixing=0.01))) == pytest.approx(total, rel=1e-6)


def test_the_level_holds_on_a_stream() -> None:
    x = np.random.default_rng(29).normal(size=(2000, 500))
    n = np.arange(1, 501)
    log_ratio = log_mixture_ratio(np.cumsum(x, axis=1) / n, n, variance=1.0, mixing=0.1)
    assert (log_ratio.max(axis=1) >= np.log(20)).mean() <= 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5
