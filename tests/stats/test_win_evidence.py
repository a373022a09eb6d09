"""Directions, paths and looks: invariants that a verdict rests on, and textbook values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harnesskit.stats.classic_evidence import classic_look, fit_classic
from harnesskit.stats.directions import class_shares, fit_directions, metric_subsets
from harnesskit.stats.run_path import run_path, step_bounds
from harnesskit.stats.sequential import crossing
from harnesskit.stats.win_evidence import Rules, Runs, bayes_factor, centres, judge, look, t_to_z


def corpus(seed: int = 1, wins: int = 40, m: int = 5, k: int = 4, sd: float = 0.08, rho: float = 0.5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shared, own = rng.normal(size=(wins, m, 1)), rng.normal(size=(wins, m, k))
    return 0.8 + sd * (rho**0.5 * shared + (1 - rho) ** 0.5 * own)


def fitted(bank: np.ndarray):
    wins, m, k = bank.shape
    return fit_directions(bank.reshape(-1, k), np.repeat(np.arange(wins), m))


@pytest.mark.parametrize(("k", "n"), [(1, 1), (2, 3), (3, 7), (4, 15), (5, 16), (10, 56)])
def test_every_metric_is_a_direction_and_shares_add_up(k: int, n: int):
    subsets = metric_subsets(k)
    assert len(subsets) == n
    assert len({tuple(row) for row in subsets}) == n
    assert subsets[0].all()
    assert all((subsets[:, metric] & (subsets.sum(axis=1) == 1)).any() for metric in range(k))
    assert class_shares(subsets).sum() == pytest.approx(1)
    if k == 4:
        assert class_shares(subsets)[:2].tolist() == pytest.approx([0.45, 0.075])


def test_the_full_direction_of_equal_metrics_is_their_mean():
    bank = corpus(wins=400)
    weights = fitted(bank).weights[0]
    assert weights / weights.sum() == pytest.approx(np.full(4, 0.25), abs=0.03)


def test_a_single_direction_regresses_out_what_the_metrics_share():
    directions = fitted(corpus(wins=400, sd=0.1))
    plain = 1 / 0.1
    assert directions.gain[1] / directions.s2[1] ** 0.5 == pytest.approx(1.26 * plain, rel=0.1)


def test_noise_of_a_bank_without_any_is_the_floor_and_nothing_is_nan():
    bank = np.full((10, 5, 3), 0.9)
    directions = fitted(bank)
    assert np.isfinite(directions.weights).all()
    assert (directions.raw_s2 >= 0.02**2 / 3 - 1e-12).all()
    seen = look(Runs(bank, bank[:, :2] - 0.3, centres(bank, directions)), directions)
    assert np.isfinite(seen.z).all()


def test_the_path_and_its_error():
    path = run_path(3, n_max=5)
    assert list(zip(path.n.tolist(), path.m.tolist(), strict=True)) == [
        (1, 3), (2, 3), (3, 3), (3, 4), (4, 4), (4, 5), (5, 5),
    ]  # fmt: skip
    assert run_path(20, n_max=16).n[-1] == 20
    bounds = step_bounds(5, 0.001)
    assert np.isinf(bounds[0])
    spent = crossing(run_path(5).info[1:], bounds[1:]).by_look[-1]
    assert spent == pytest.approx(0.001, rel=1e-4)
    alone = run_path(5, top_up=False)
    assert (alone.m == 5).all()
    assert alone.n[-1] == 16


def test_z_has_the_tail_of_t():
    assert t_to_z(np.array([2.5, -2.5, 0.0]), np.array([7.0, 7.0, 7.0])) == pytest.approx(
        [stats.norm.isf(stats.t.sf(2.5, 7)), -stats.norm.isf(stats.t.sf(2.5, 7)), 0.0]
    )
    assert np.isfinite(t_to_z(np.array([1e6]), np.array([30.0]))).all()


def test_z_is_standard_normal_when_nothing_changed():
    found = []
    for seed in range(20):
        bank, new = corpus(seed, wins=60), corpus(1000 + seed, wins=60, m=3)
        directions = fitted(bank)
        found.append(look(Runs(bank, new, centres(bank, directions)), directions).z)
    z = np.concatenate(found)
    assert np.abs(z.mean(axis=0)).max() < 0.15
    assert z.std(axis=0) == pytest.approx(np.ones(15), abs=0.12)
    assert (z > 3).mean() < 0.004


def test_the_bayes_factor_averages_to_one_when_nothing_changed():
    z = np.random.default_rng(3).normal(size=(200_000, 1))
    factor = bayes_factor(z, np.array([[5.0]]), np.array([1.0]))
    assert factor.mean() == pytest.approx(1, abs=0.05)
    assert bayes_factor(np.array([[3.0]]), np.array([[20.0]]), np.array([1.0]))[0] > 1


def verdict(shift: np.ndarray, n: int = 8, rules: Rules | None = None):
    bank = corpus(5, wins=30)
    directions = fitted(bank)
    new = corpus(77, wins=30, m=n) + shift
    bounds = np.full((30, 15), 3.5)
    seen = look(Runs(bank, new, centres(bank, directions)), directions)
    return judge(seen, directions.subsets, bounds, bounds, rules or Rules())


def test_a_drop_of_all_metrics_is_seen_and_its_mirror_is_an_improvement():
    down, up = verdict(np.full(4, -0.3)), verdict(np.full(4, 0.3))
    assert down.worse.any(axis=1).mean() > 0.9
    assert not down.better.any()
    assert up.better.any(axis=1).mean() > 0.9
    assert not up.worse.any()


def test_what_improves_beside_a_drop_vetoes_it_and_makes_it_a_trade():
    said = verdict(np.array([-0.4, 0.3, 0.3, 0.3]))
    assert not said.worse.any()
    assert said.traded.any(axis=1).mean() > 0.9


def test_a_drop_below_the_margin_is_never_a_verdict():
    assert not verdict(np.full(4, -0.3), rules=Rules(min_drop=0.5)).worse.any()


def test_run_order_and_units_of_noise_do_not_matter():
    bank, new = corpus(5), corpus(6, m=4)
    directions = fitted(bank)
    seen = look(Runs(bank, new, centres(bank, directions)), directions)
    turned = fitted(bank[:, ::-1])
    again = look(Runs(bank[:, ::-1], new[:, ::-1], centres(bank[:, ::-1], turned)), turned)
    assert again.z == pytest.approx(seen.z)


def test_the_classic_composite():
    bank, new = corpus(5), corpus(6, m=4) - 0.2
    directions = fit_classic(bank.reshape(-1, 4), np.repeat(np.arange(40), 5))
    seen = classic_look(Runs(bank, new, centres(bank, directions)), directions, Rules())
    together = seen.z[:, 1:].sum(axis=1) / seen.z[:, 0]
    assert together == pytest.approx(np.full(40, together[0]))
    assert together[0] == pytest.approx(np.sqrt(4 + 12 * 0.5), rel=0.1)  # sqrt(1'R1) at correlation .5
    assert seen.rank == pytest.approx(seen.z.max(axis=1))
