"""The benefit of a rule looked at after every replay, and without an end."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harnesskit.stats.benefit import benefit
from harnesskit.stats.benefit_path import BenefitRules, benefit_path
from harnesskit.stats.eprocess import bets, sign_symmetry
from harnesskit.stats.open_path import OpenRules, certified_path, completed_pairs, open_path
from harnesskit.stats.replay_schedule import schedule
from harnesskit.stats.running_cells import running_cells
from harnesskit.stats.sequential import crossing

# checkpoint ben-01: statsmodels OLS residual sum of squares and scipy's t
CONTROL = [[0.4, 0.52, 0.45], [0.31, 0.28, 0.4], [0.55, 0.49, 0.6]]
RULE = [[0.55, 0.61], [0.47, 0.39], [0.58, 0.72]]
CASE, VALUE = [0, 1, 2, 0, 1, 2], [0.55, 0.47, 0.58, 0.61, 0.39, 0.72]
RULES = BenefitRules(budget=30, prior_sd=0.1)


def simulated(seed: int, effect: float, bank: int, budget: int = 30, cases: int = 3):
    rng = np.random.default_rng(seed)
    cells = schedule([bank] * cases, budget).cells
    arm = np.array([cell.candidate for cell in cells])
    values = 0.4 + effect * arm + rng.normal(0, 0.1, size=len(cells))
    return np.array([cell.case for cell in cells]), arm, values, list(rng.normal(0.4, 0.1, size=(cases, bank)))


def test_the_statistic_of_a_look_is_the_published_one():
    path = benefit_path(CASE, [True] * 6, VALUE, banked=CONTROL, rules=RULES._replace(alpha=0.001, beta=0.001))
    assert path.replays.tolist() == [3, 4, 5, 6]
    assert path.delta[-1] == pytest.approx(0.10888888888888883)
    assert path.se[-1] ** 2 == pytest.approx(0.0015262345679012345)
    assert (path.df[-1], path.z[-1]) == (12.0, pytest.approx(2.399250273784535))
    assert (path.n_control[-1], path.n_candidate[-1], path.looks, path.verdict) == (9, 6, 4, None)


@pytest.mark.parametrize("bank", [0, 5])
def test_every_look_is_that_of_the_runs_so_far(bank: int):
    case, arm, values, banked = simulated(3, 0.05, bank)
    path = benefit_path(case, arm, values, banked=banked, rules=RULES._replace(min_effect=9, beta=1e-9))
    for at, z, se, futility in zip(path.replays, path.z, path.se, path.z_futility, strict=True):
        cells = [[np.append(banked[c] if not a else [], values[:at][(case[:at] == c) & (arm[:at] == a)])
                  for c in range(3)] for a in (False, True)]  # fmt: skip
        found = benefit(cells[0], cells[1], prior_sd=0.1)
        assert (z, se) == (pytest.approx(found.z), pytest.approx(found.variance**0.5))
        assert futility == pytest.approx(found.shortfall_z(0.10))


def test_cases_may_be_named_in_any_order_and_arms_mirror():
    case, arm, values, banked = simulated(5, 0.0, 2)
    rules = RULES._replace(min_effect=9, beta=1e-9)
    path = benefit_path(case, arm, values, banked=banked, rules=rules)
    turned = np.array([2, 0, 1])
    other = benefit_path(turned[case], arm, values, banked=[banked[i] for i in (1, 2, 0)], rules=rules)
    np.testing.assert_allclose(path.z, other.z)
    mirrored = benefit_path(case, arm, 1 - values, banked=[1 - runs for runs in banked], rules=rules)
    np.testing.assert_allclose(running_cells(case, arm, values, banked=banked).delta,
                               -running_cells(case, arm, 1 - values, banked=[1 - b for b in banked]).delta)  # fmt: skip
    np.testing.assert_allclose(path.z[: mirrored.looks], -mirrored.z[: path.looks])


def test_the_bounds_spend_the_error_they_may():
    plan = schedule([5, 5, 5], 30)
    case, arm, values, banked = simulated(1, 0.0, 5)
    path = benefit_path(case, arm, values, banked=banked, rules=RULES._replace(min_effect=9, beta=1e-9))
    assert crossing(plan.information[plan.look][: path.looks], path.bound).by_look[-1] == pytest.approx(0.05, abs=2e-4)


def test_an_unscored_replay_costs_a_replay_and_nothing_else():
    case, arm, values, banked = simulated(7, 0.08, 5)
    whole = benefit_path(case, arm, values, banked=banked, rules=RULES)
    holed = np.insert(values, 4, np.nan)
    other = benefit_path(np.insert(case, 4, 1), np.insert(arm, 4, True), holed, banked=banked, rules=RULES)
    assert other.z[:2] == pytest.approx(whole.z[:2])
    assert other.replays.tolist()[2:4] == [6, 7]
    assert 5 not in other.replays


def test_a_look_is_not_taken_beyond_the_budget():
    case, arm, values, banked = simulated(1, 0.06, 5)
    rules = RULES._replace(budget=5, alpha=1e-6, beta=1e-6)
    path = benefit_path(case, arm, values, banked=banked, rules=rules)
    assert (path.replays.max(), path.verdict) == (5, None)


def test_benefit_needs_a_worthwhile_size_and_futility_retires():
    bank = [[0.4, 0.401, 0.399, 0.4, 0.4]] * 2
    rules = BenefitRules(budget=20, prior_sd=0.01)
    small = benefit_path([0, 1] * 5, [True] * 10, [0.43] * 10, banked=bank, rules=rules)
    assert small.verdict == "futility"
    assert benefit_path([0, 1], [True] * 2, [0.5, 0.5], banked=bank, rules=rules).verdict == "efficacy"
    assert benefit_path([0, 1], [True] * 2, [0.3, 0.3], banked=bank, rules=rules).verdict == "harmful"


def test_equal_scores_and_one_case_are_fine():
    path = benefit_path([0, 0, 0], [True, False, True], [0.5] * 3, banked=[[]], rules=RULES._replace(budget=10))
    assert path.replays.tolist() == [2, 3]
    assert np.isfinite(path.z).all()
    assert path.verdict is None


def test_chance_promotes_no_more_than_alpha():
    verdicts = [benefit_path(*simulated(seed, 0.0, 5)[:3], banked=simulated(seed, 0.0, 5)[3], rules=RULES).verdict
                for seed in range(300)]  # fmt: skip
    assert verdicts.count("efficacy") / 300 <= 0.05 + 2.5 * (0.05 * 0.95 / 300) ** 0.5
    helped = [benefit_path(*simulated(seed, 0.2, 5)[:3], banked=simulated(seed, 0.2, 5)[3], rules=RULES).verdict
              for seed in range(100)]  # fmt: skip
    assert helped.count("efficacy") >= 95


def test_the_t_process_is_the_ratio_of_densities():
    case, arm, values, banked = simulated(2, 0.02, 5)
    path = open_path(case, arm, values, banked=banked, rules=OpenRules(0.1, alpha=1e-9, beta=1e-9))
    look = 4
    t, df = path.delta[look] / path.se[look], path.df[look]
    info = running_cells(case, arm, values, banked=banked).information[path.replays[look] - 1]
    ratios = [stats.nct.pdf(t, df, effect * info**0.5 / 0.1) / stats.t.pdf(t, df) for effect in (0.075, 0.20)]
    assert np.exp(path.log_promote[look]) == pytest.approx(np.mean(ratios), rel=1e-6)


def test_without_a_bank_nothing_is_decided_before_six_degrees_of_freedom():
    case, arm, values, banked = simulated(2, 0.4, 0)
    path = open_path(case, arm, values, banked=banked, rules=OpenRules(0.1))
    assert (path.replays.tolist(), path.verdict) == ([12], "efficacy")
    with_bank = simulated(2, 0.4, 5)
    assert open_path(*with_bank[:3], banked=with_bank[3], rules=OpenRules(0.1)).replays.tolist() == [3]


def test_the_certified_process_is_sign_symmetry_on_pairs_in_order():
    case, arm, value = [0, 1, 0, 1, 0, 0], [True, True, False, True, False, True], [0.7, 0.6, 0.5, np.nan, 0.4, 0.8]
    at, d = completed_pairs(case, arm, value, banked=[[], [0.3]])
    assert (at.tolist(), d.round(6).tolist()) == ([1, 2, 5], [0.3, 0.2, 0.4])
    path = certified_path(case, arm, value, banked=[[], [0.3]], rules=OpenRules(0.1))
    np.testing.assert_allclose(path.log_promote, sign_symmetry(d, bets(0.02**0.5)).log_e)
    assert path.replays.tolist() == [2, 3, 6]


def test_replays_of_an_unknown_case_are_refused():
    with pytest.raises(ValueError, match="`banked` has 1 cases"):
        benefit_path([1], [True], [0.5], banked=[[0.4]], rules=RULES)
