"""The t-type e-process against scipy's noncentral t, and its level when it is watched."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from harnesskit.stats.benefit import benefit
from harnesskit.stats.t_eprocess import PRIOR_DF, log_density_ratio, t_evidence


@given(st.floats(-5, 5), st.floats(1, 40), st.floats(0, 4))
def test_the_ratio_is_scipys(t: float, df: float, shift: float) -> None:
    wanted = stats.nct.logpdf(t, df, shift) - stats.t.logpdf(t, df)
    if np.isfinite(wanted):
        assert float(log_density_ratio(t, df, shift)) == pytest.approx(float(wanted), abs=1e-5)


@pytest.mark.parametrize(("df", "shift"), [(1.0, 1.0), (4.5, 6.0), (30.0, 25.0)])
def test_it_is_an_e_value_under_the_central_t(df: float, shift: float) -> None:
    def weighed(t: float) -> float:
        return float(np.exp(log_density_ratio(t, df, shift) + stats.t.logpdf(t, df)))

    total, _ = integrate.quad(weighed, -np.inf, np.inf, limit=400, points=None)
    assert total == pytest.approx(1.0, abs=1e-4)


def test_far_out_it_stays_a_number() -> None:
    assert np.isfinite(log_density_ratio([-200.0, 0.0, 200.0], 3.0, 50.0)).all()
    with pytest.raises(ValueError, match="1 degree of freedom"):
        log_density_ratio(1.0, 0.5, 1.0)


def _watch(rng: np.random.Generator, effect: float, prior_df: float) -> tuple[np.ndarray, np.ndarray]:
    control, rule = rng.normal(0.4, 0.1, (3, 5)), rng.normal(0.4 + effect, 0.1, (3, 15))
    looks = [benefit(control, rule[:, :n], prior_sd=0.1, prior_df=prior_df) for n in range(1, 16)]
    return t_evidence(
        [b.delta for b in looks],
        [b.variance**0.5 for b in looks],
        [b.df for b in looks],
        [b.information for b in looks],
        sd=0.1,
    )


def test_watched_with_a_bank_it_keeps_the_level_and_finds_the_effect() -> None:
    rng = np.random.default_rng(8)
    useless = [_watch(rng, 0.0, PRIOR_DF) for _ in range(400)]
    useful = [_watch(rng, 0.2, PRIOR_DF) for _ in range(100)]
    assert np.mean([found.log_promote.max() >= np.log(20) for found in useless]) <= 0.05
    assert np.mean([found.log_retire.max() >= np.log(10) for found in useless]) > 0.8
    assert np.mean([found.log_promote.max() >= np.log(20) for found in useful]) > 0.97
    assert np.mean([found.log_retire.max() >= np.log(10) for found in useful]) <= 0.10
