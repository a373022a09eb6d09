"""Sequential bounds: the error they spend is the error planned, in closed form, in simulation and under any shape."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harnesskit.stats import sequential
from harnesskit.stats.sequential import boundaries, boundaries_for, crossing, repeated_interval, spent

infos = st.lists(st.floats(0.05, 2.0), min_size=1, max_size=8).map(lambda steps: np.cumsum(steps).tolist())
levels = st.floats(1e-5, 0.2)
shapes = st.sampled_from(["hsd", "obrien-fleming", "pocock"])


@given(infos, levels, shapes)
@settings(max_examples=40, deadline=None)
def test_the_whole_error_is_spent_and_no_more(info: list[float], alpha: float, spending: sequential.Spending) -> None:
    bounds = boundaries(info, alpha, spending=spending)
    planned = spent(np.array(info) / info[-1], alpha, spending=spending)
    np.testing.assert_allclose(crossing(info, bounds).by_look, planned, rtol=1e-6, atol=1e-12)


@given(infos, levels, st.floats(0.1, 50))
@settings(max_examples=25, deadline=None)
def test_only_ratios_of_information_matter(info: list[float], alpha: float, unit: float) -> None:
    np.testing.assert_allclose(boundaries(np.array(info) * unit, alpha), boundaries(info, alpha), atol=1e-6)


@given(infos, levels)
@settings(max_examples=25, deadline=None)
def test_bounds_of_the_looks_so_far_do_not_depend_on_later_ones(info: list[float], alpha: float) -> None:
    whole = boundaries(info, alpha)
    for looks in range(1, len(info)):
        np.testing.assert_allclose(boundaries(info[:looks], alpha, planned=info[-1]), whole[:looks], atol=1e-6)


def test_two_looks_are_the_bivariate_normal() -> None:
    first, second = boundaries_for([1.0, 3.0], [0.01, 0.05])
    correlation = 3**-0.5
    inside = stats.multivariate_normal.cdf(
        [first, second], cov=[[1, correlation], [correlation, 1]], abseps=1e-10, releps=1e-10
    )
    assert 1 - float(inside) == pytest.approx(0.05, abs=1e-7)


def test_one_look_is_the_ordinary_test() -> None:
    assert boundaries([7.0], 0.05)[0] == pytest.approx(stats.norm.isf(0.05))


def test_error_and_power_as_simulated() -> None:
    rng = np.random.default_rng(11)
    info = np.array([0.3, 0.5, 0.55, 1.0])
    steps = rng.normal(size=(200_000, 4)) * np.sqrt(np.diff(info, prepend=0.0))
    bounds = boundaries(info, 0.05)
    for drift, slack in ((0.0, 0.002), (2.5, 0.004)):
        z = (np.cumsum(steps, axis=1) + drift * info) / np.sqrt(info)
        seen = (z >= bounds).any(axis=1).mean()
        assert float(crossing(info, bounds, drift=drift).by_look[-1]) == pytest.approx(seen, abs=slack)


def test_an_extended_budget_spends_what_is_left() -> None:
    early = spent([0.4, 0.8], 0.05)  # of a plan of 1
    bounds = boundaries_for([0.4, 0.8, 1.2, 1.6], [*early, 0.04, 0.05])
    np.testing.assert_allclose(bounds[:2], boundaries([0.4, 0.8], 0.05, planned=1.0), atol=1e-6)
    assert float(crossing([0.4, 0.8, 1.2, 1.6], bounds).by_look[-1]) == pytest.approx(0.05, abs=1e-7)


def test_a_look_with_nothing_to_spend_has_no_bound() -> None:
    bounds = boundaries([0.01, 1.0], 0.05, spending="obrien-fleming")
    assert np.isinf(bounds[0])
    assert bounds[1] == pytest.approx(stats.norm.isf(0.05), abs=1e-6)


def test_looks_close_together_stay_accurate() -> None:
    info = [0.5, 0.5005, 0.501, 1.0]
    assert float(crossing(info, boundaries(info, 0.05)).by_look[-1]) == pytest.approx(0.05, abs=1e-6)


def test_a_repeated_interval_covers_wherever_the_test_stopped() -> None:
    rng = np.random.default_rng(5)
    info = np.arange(1, 6) / 5
    paths = np.cumsum(rng.normal(size=(20_000, 5)) * np.sqrt(0.2), axis=1)
    z = np.array([repeated_interval(0.0, 1.0, look=look, info=info).z for look in range(1, 6)])
    missed = (np.abs(paths / np.sqrt(info)) > z).any(axis=1).mean()
    assert missed <= 0.05 + 3 * (0.05 * 0.95 / 20_000) ** 0.5


def test_bounds_are_kept_and_cannot_be_changed() -> None:
    first = boundaries([1, 2, 3], 0.05)
    assert boundaries((1.0, 2.0, 3.0), 0.05) is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0.0


def test_twenty_looks_take_less_than_50_ms() -> None:
    info = np.arange(1, 21) / 20
    elapsed = []
    for alpha in (0.011, 0.012, 0.013):  # levels nobody asked for before
        start = time.perf_counter()
        boundaries(info, alpha)
        elapsed.append(time.perf_counter() - start)
    assert min(elapsed) < 0.05


@pytest.mark.parametrize(
    ("info", "alpha", "message"),
    [([1.0, 1.0], 0.05, "rise"), ([0.0, 1.0], 0.05, "above 0"), ([1.0], 0.6, "below .5"), ([1.0], 0.0, "above 0")],
)
def test_impossible_plans_are_refused(info: list[float], alpha: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        boundaries(info, alpha)


def test_unknown_spending_and_looks_are_refused() -> None:
    with pytest.raises(ValueError, match="'bayes'"):
        spent([0.5], 0.05, spending="bayes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="between 1 and 2"):
        repeated_interval(0.0, 1.0, look=3, info=[1, 2])
    with pytest.raises(ValueError, match="never fall"):
        boundaries_for([1.0, 2.0], [0.05, 0.01])
