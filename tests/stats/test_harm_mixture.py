"""The guard on wins: what is known before, the evidence of harm, the next replay and the verdict."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harnesskit.stats.harm_mixture import GuardRules, guard_look, look_at
from harnesskit.stats.harm_prior import HarmPrior, benefit_noise, harm_prior
from harnesskit.stats.harm_steps import GuardStep, guard_path, guard_verdict, next_guard_step
from harnesskit.stats.level_drop import level_change
from harnesskit.stats.win_runs import WinRuns
from harnesskit.stats.win_scatter import win_scatter

HARMS = (0.1, 0.2, 0.3)


def bank_of(wins: int = 20, runs: int = 5, k: int = 4, seed: int = 0, sd: float = 0.1, collapse: float = 0.0):
    rng = np.random.default_rng(seed)
    level = rng.normal(0.8, 0.05, size=(wins, 1, 1))
    noise = sd * (rng.normal(size=(wins, runs, 1)) + rng.normal(size=(wins, runs, k))) / 2**0.5
    return level + noise - 0.5 * (rng.random((wins, runs, 1)) < collapse), level[:, 0, 0]


def by_hand(known: HarmPrior, win: int, rows: np.ndarray, centre: np.ndarray, extra: np.ndarray) -> float:
    """The likelihood ratio of one win from scipy's multivariate t densities."""
    k = rows.shape[1]
    run = known.correlation * np.outer(known.sd, known.sd)
    control = known.control[win][np.isfinite(known.control[win]).all(axis=1)]
    posterior = np.linalg.inv(np.diag(1 / known.between) + len(control) * np.linalg.inv(run))
    mean = posterior @ (centre / known.between + np.linalg.inv(run) @ (control + extra).sum(axis=0))
    covariance = known.spread[win] * (run / len(rows) + posterior)
    nu = known.df[win]
    change = rows.mean(axis=0) - mean
    kinds = [(1 - known.single, np.ones(k)), *((known.single / k, one) for one in np.eye(k))]
    none = stats.multivariate_t.pdf(change, shape=covariance, df=nu)
    # the density at change + harm under no change is that at change under the harm
    return float(sum(w / 3 * stats.multivariate_t.pdf(change + size * v, shape=covariance, df=nu) / none
                     for size in HARMS for w, v in kinds))  # fmt: skip


def test_the_ratio_of_a_win_is_that_of_multivariate_t_densities():
    known = harm_prior(bank_of()[0])
    rows = np.array([[0.74, 0.7, 0.78, 0.72], [0.7, 0.74, 0.7, 0.8]])
    look = guard_look(known, [3, 3], [True, True], rows)
    assert look.harm[3] == pytest.approx(by_hand(known, 3, rows, known.level, np.zeros(4)), rel=1e-9)
    assert (look.harm[[0, 1, 2]] == 1).all()
    product = [(1 - q + q * look.harm[3]) for q in (0.05, 0.1, 0.3)]
    assert look.evidence == pytest.approx(np.mean(product))


def test_what_is_known_of_a_bank_is_pooled_within_its_wins():
    bank, level = bank_of(wins=200, seed=4)
    known = harm_prior(bank)
    within = bank - bank.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(known.sd, np.sqrt((within**2).sum(axis=(0, 1)) / 800))
    np.testing.assert_allclose(known.between, 0.05**2, rtol=0.5)
    np.testing.assert_allclose(known.correlation[0, 1], 0.5, atol=0.08)
    assert known.single > 0.45
    assert known.spread.mean() == pytest.approx(1, abs=0.05)
    assert known.df[0] == pytest.approx(6 + 4 * 4 / (1 + 3 * 0.25))
    assert not known.fresh
    assert abs(known.level.mean() - level.mean()) < 0.01


def test_one_run_never_decides():
    known = harm_prior(bank_of()[0])
    once = guard_look(known, [0], [True], [[0.0] * 4])
    assert once.harm[0] == 8
    assert guard_verdict(once._replace(evidence=50.0), known) == "open"
    twice = guard_look(known, [0, 0], [True, True], [[0.3] * 4, [0.3] * 4])
    assert twice.evidence >= 12
    assert guard_verdict(twice, known) == "harm"


def test_where_runs_collapse_one_collapse_is_no_harm():
    calm, wild = (harm_prior(bank_of(wins=40, collapse=share, seed=3)[0]) for share in (0.0, 0.12))
    assert (calm.one_run, calm.single > 0.4) == (1000.0, True)
    assert (wild.one_run < 8, wild.single < 0.05) == (True, True)
    assert win_scatter(bank_of(wins=40, collapse=0.12, seed=3)[0]).collapses
    rows = [[0.2] * 4, [0.8] * 4]
    assert guard_look(wild, [0, 0], [True, True], rows).harm[0] < 4
    both = guard_look(wild, [0] * 5, [True] * 5, [[0.55] * 4] * 5)
    assert guard_verdict(both, wild) == "harm"


def test_a_capture_counts_as_one_shifted_control_run():
    rng = np.random.default_rng(5)
    captures = rng.normal(0.85, 0.08, size=(12, 3))
    known = harm_prior(captures=captures, sd=[0.1] * 3)
    assert known.fresh
    np.testing.assert_allclose(known.level, captures.mean(axis=0))
    np.testing.assert_allclose(known.shift, -0.025)
    np.testing.assert_allclose(known.level_s2, 0.05**2 + 0.05**2)
    assert (known.between >= 0.06**2).all()
    assert (known.df[0], known.single, known.spread[0]) == (8.0, 0.1, 1.0)
    look = guard_look(known, [0], [True], [known.level - 0.05])
    assert look.n_control[0] == 1
    assert look.n_fresh[0] == 0


def test_control_runs_tell_how_far_the_captures_are_off():
    captures = np.full((10, 2), 0.9)
    known = harm_prior(captures=captures, sd=[0.05] * 2)
    before = guard_look(known, [0, 1], [True] * 2, [[0.8, 0.8]] * 2)
    after = guard_look(known, [0, 1, 2, 3, 4], [True, True, *[False] * 3], [[0.8, 0.8]] * 5)
    assert before.delta[0] < -0.03
    assert abs(after.delta[0]) < abs(before.delta[0])
    assert after.highest_drop < before.highest_drop


def test_a_win_with_nothing_known_needs_its_own_control_run():
    known = harm_prior(wins=3, sd=[0.1, 0.1])
    look = guard_look(known, [1], [True], [[0.8, 0.8]])
    assert np.isnan(look.delta).all()
    assert look.highest_drop == np.inf
    assert next_guard_step(look, known, [1, 0, 2]) == GuardStep(1, candidate=False)
    look = guard_look(known, [1, 1], [True, False], [[0.6, 0.6], [0.8, 0.8]])
    assert look.delta[1] == pytest.approx(-0.2, abs=0.05)


def test_one_metric_and_one_win():
    known = harm_prior(bank_of(wins=1, k=1)[0])
    path = guard_path(known, [0] * 3, [True] * 3, [[0.8]] * 3, budget=3)
    assert path.verdict in ("clean", "open")
    assert np.isfinite(path.evidence).all()


def test_equal_scores_have_a_floor():
    known = harm_prior(np.full((4, 3, 2), 1.0))
    assert known.sd.tolist() == [0.02, 0.02]
    look = guard_look(known, [0, 1], [True] * 2, [[1.0, 1.0]] * 2)
    assert (look.harm[:2] < 1).all()
    assert np.isfinite(look.evidence)


def test_a_metric_that_a_win_lacks_is_left_out_there():
    bank = bank_of()[0]
    bank[2, :, 1] = np.nan
    known = harm_prior(bank)
    rows = np.full((2, 4), 0.7)
    look = guard_look(known, [2, 3], [True, True], rows)
    assert np.isfinite(look.harm).all()
    rows[0, 1] = 0.0  # a score without any control is no evidence
    assert guard_look(known, [2, 3], [True, True], rows).harm[2] == pytest.approx(look.harm[2])
    rows[1, 0] = np.nan
    assert np.isfinite(guard_look(known, [2, 3], [True, True], rows).delta[3])


def test_an_unscored_replay_is_only_counted():
    known = harm_prior(bank_of()[0])
    look = guard_look(known, [0, 1], [True, True], [[np.nan] * 4, [0.8] * 4])
    assert (look.replays, look.n_candidate.tolist()[:2]) == (2, [0, 1])


def test_wins_may_come_in_any_order_and_running_sums_agree():
    bank = bank_of()[0]
    rng = np.random.default_rng(1)
    win, rows = rng.integers(0, 20, size=15), rng.normal(0.75, 0.1, size=(15, 4))
    known, turned = harm_prior(bank), rng.permutation(20)
    look = guard_look(known, win, [True] * 15, rows)
    other = guard_look(harm_prior(bank[turned]), np.argsort(turned)[win], [True] * 15, rows)
    assert other.evidence == pytest.approx(look.evidence)
    np.testing.assert_allclose(other.harm, look.harm[turned])
    runs = WinRuns(known)
    for place, row in zip(win, rows, strict=True):
        runs.add(int(place), True, row)
    assert look_at(known, runs).evidence == look.evidence


def test_the_next_replay_follows_doubt_then_coverage():
    known = harm_prior(bank_of()[0])
    order = list(range(19, -1, -1))
    assert next_guard_step(guard_look(known, [], [], np.empty((0, 4))), known, order) == GuardStep(19, True)
    bad = guard_look(known, [19, 18], [True, True], [[0.5] * 4, [0.8] * 4])
    assert next_guard_step(bad, known, order) == GuardStep(19, True)
    calm = guard_look(known, [19], [True], [[0.95] * 4])
    assert next_guard_step(calm, known, order) == GuardStep(18, True)
    assert next_guard_step(calm, known, order[:1]) == GuardStep(19, True)
    assert next_guard_step(calm, known, []) is None


def test_without_a_bank_controls_are_made_along():
    known = harm_prior(captures=np.full((6, 2), 0.8), sd=[0.1, 0.1])
    order = range(6)
    one = guard_look(known, [0], [True], [[0.85, 0.85]])
    assert next_guard_step(one, known, order) == GuardStep(0, False)
    two = guard_look(known, [0, 0], [True, False], [[0.85, 0.85], [0.8, 0.8]])
    assert next_guard_step(two, known, order) == GuardStep(1, True)
    bad = guard_look(known, [0, 0, 1], [True, False, True], [[0.85, 0.85], [0.8, 0.8], [0.3, 0.3]])
    assert next_guard_step(bad, known, order) == GuardStep(1, False)


def test_a_clean_rule_is_promoted_when_all_is_seen_and_at_the_end_with_less():
    bank, level = bank_of(sd=0.05)
    known = harm_prior(bank)
    rows = np.repeat(level[:, None], 4, axis=1)
    path = guard_path(known, range(20), [True] * 20, rows, budget=40)
    assert (path.verdict, path.replays[-1]) == ("clean", 20)
    assert path.evidence[-1] < 1
    short = guard_path(known, range(5), [True] * 5, rows[:5], budget=5)
    assert (short.verdict, len(short.replays)) == ("clean", 5)
    assert guard_path(known, range(5), [True] * 5, rows[:5], budget=6).verdict == "open"
    assert guard_path(known, [0, 1], [True] * 2, rows[:2], budget=2).verdict == "open"
    strict = GuardRules(ni_margin=0.001)
    assert guard_path(known, range(5), [True] * 5, rows[:5], budget=5, rules=strict).verdict == "open"


def test_more_than_forty_wins_are_judged_by_forty():
    bank, level = bank_of(wins=50, sd=0.05)
    rows = np.repeat(level[:, None], 4, axis=1)
    path = guard_path(harm_prior(bank), range(50), [True] * 50, rows, budget=60)
    assert (path.verdict, path.replays[-1]) == ("clean", 40)


def test_the_noise_of_the_failing_cases_is_drawn_to_what_was_assumed():
    cells = [np.array([[0.4, np.nan], [0.6, 0.5], [0.5, 0.7]]), np.array([[0.3, 0.2]])]
    found = benefit_noise(cells, prior_sd=0.1)
    assert found[0] ** 2 == pytest.approx((0.02 + 3 * 0.01) / (2 + 3))
    assert found[1] ** 2 == pytest.approx((0.02 + 3 * 0.01) / (1 + 3))


def test_the_change_in_level_is_generalised_least_squares():
    rng = np.random.default_rng(2)
    capture, control, rule = rng.normal(0.8, 0.1, size=(3, 4))
    control[1], rule[2], capture[3] = np.nan, np.nan, np.nan
    n_control, n_rule = np.array([1.0, 0, 2, 1]), np.array([2.0, 1, 0, 3])
    found = level_change(capture, control, n_control, rule, n_rule,
                         run_s2=0.01, between=0.004, shift=0.03, shift_s2=0.005)  # fmt: skip
    rows, values, blocks = [], [], []
    for w in range(4):
        parts = [(capture[w], 1.0, [1, 1, 0]), (control[w], n_control[w], [1, 0, 0]), (rule[w], n_rule[w], [1, 0, 1])]
        here = [part for part in parts if np.isfinite(part[0])]
        rows += [part[2] for part in here]
        values += [part[0] for part in here]
        blocks.append(np.diag([0.01 / part[1] for part in here]) + 0.004)
    weight = np.linalg.inv(_blocks(blocks))
    x = np.array(rows, dtype=float)
    normal = x.T @ weight @ x + np.diag([0, 1 / 0.005, 0])
    beta = np.linalg.solve(normal, x.T @ weight @ np.array(values) + np.array([0, 0.03 / 0.005, 0]))
    assert (found.mean, found.se) == (pytest.approx(beta[2]), pytest.approx(np.linalg.inv(normal)[2, 2] ** 0.5))


def _blocks(parts: list[np.ndarray]) -> np.ndarray:
    size = sum(map(len, parts))
    out, at = np.zeros((size, size)), 0
    for part in parts:
        out[at : at + len(part), at : at + len(part)] = part
        at += len(part)
    return out


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match="do not fit a bank"):
        harm_prior(np.zeros((3, 2, 1)), np.zeros((2, 1)))
    with pytest.raises(ValueError, match="needs a bank, captures, or the number of wins"):
        harm_prior()


CLASSIC = GuardRules(design="classic")


def test_the_classic_guard_is_a_z_test_of_every_win():
    known = harm_prior(bank_of()[0])
    rows = np.array([[0.65] * 4] * 3 + [[0.8] * 4])
    look = guard_look(known, [0, 0, 0, 1], [True] * 4, rows, rules=CLASSIC)
    change = rows[0] - known.control[0].mean(axis=0)
    sd = known.clipped_sd * (known.spread[0] * (1 / 3 + 1 / 5)) ** 0.5
    z = -stats.norm.ppf(stats.t.cdf(change / sd, known.df[0]))
    assert look.harm[0] == pytest.approx(max(z.max(), z.sum() / known.correlation.sum() ** 0.5))
    assert look.delta[0] == pytest.approx(change.mean())
    fallen = guard_look(known, [0] * 4, [True] * 4, [[0.3] * 4] * 4, rules=CLASSIC)
    assert (fallen.evidence >= 1, guard_verdict(fallen, known, rules=CLASSIC)) == (True, "harm")
    once = guard_look(known, [0], [True], rows[:1], rules=CLASSIC)
    assert guard_verdict(once, known, rules=CLASSIC) == "open"


def test_the_classic_guard_sees_every_win_once_then_the_worst():
    bank, level = bank_of(wins=4, sd=0.05)
    known, rows = harm_prior(bank), np.repeat(level[:, None], 4, axis=1)
    look = guard_look(known, [0, 1], [True] * 2, rows[:2], rules=CLASSIC)
    assert next_guard_step(look, known, range(4), rules=CLASSIC) == GuardStep(2, True)
    rows[3] -= 0.08
    look = guard_look(known, range(4), [True] * 4, rows, rules=CLASSIC)
    assert next_guard_step(look, known, range(4), rules=CLASSIC) == GuardStep(3, True)
    path = guard_path(known, range(4), [True] * 4, np.repeat(level[:, None], 4, axis=1), budget=20, rules=CLASSIC)
    assert path.verdict == "clean"


def test_the_correlation_of_the_metrics_is_the_banks():
    rng = np.random.default_rng(8)
    apart = win_scatter(rng.normal(0.8, 0.1, size=(60, 5, 2))).correlation[0, 1]
    alike = win_scatter(np.repeat(rng.normal(0.8, 0.1, size=(60, 5, 1)), 2, axis=2)).correlation[0, 1]
    assert (abs(apart) < 0.2, alike > 0.9) == (True, True)
