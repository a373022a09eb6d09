"""The wins of an adaptive run as a machine: attempts in, steps and verdicts out, whatever the bank looks like."""

from __future__ import annotations

import json

import numpy as np
import pytest

from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.policy import RegressionPolicy
from harnesskit.trials.frozen import ControlRun, Frozen, freeze, read_frozen
from harnesskit.trials.win import Given
from harnesskit.trials.win_states import WinStates


def controls(shape: dict[str, int], names: tuple[str, ...], *, sd: float = 0.05, seed: int = 1, binary=()) -> dict:
    rng = np.random.default_rng(seed)
    return {
        case_id: [
            ControlRun(
                f"{case_id}.{j}",
                {n: 1.0 if n in binary else float(np.clip(rng.normal(0.8, sd), 0, 1)) for n in names},
            )
            for j in range(m)
        ]
        for case_id, m in shape.items()
    }


def frozen(shape: dict[str, int], names: tuple[str, ...] = ("a", "b"), policy=None, **given) -> Frozen:
    facts = {key: given.pop(key) for key in ("sd", "seed", "binary") if key in given}
    bank = given.pop("bank", None) or controls(shape, names, **facts)
    return freeze(policy or RegressionPolicy.default(), list(shape), bank, Metrics(()), **given)


def play(made: Frozen, drop: dict[str, float], seed: int = 9, missing: dict[str, str] | None = None) -> WinStates:
    """Run to the end with an agent that is worse by `drop` in some cases, and lacks a metric in some."""
    states, rng = WinStates(made), np.random.default_rng(seed)

    def scores(case_id: str, arm: str) -> tuple[float | None, ...]:
        lower = drop.get(case_id, 0.0) if arm == "candidate" else 0.0
        drawn = [1.0 - lower if one.binary else float(0.8 - lower + rng.normal(0, 0.05)) for one in made.scales]
        gone = (missing or {}).get(case_id)
        return tuple(None if one.metric == gone else v for one, v in zip(made.scales, drawn, strict=True))

    while steps := states.next_round():
        states.take(Given(step.case_id, step.arm, scores(step.case_id, step.arm)) for step in steps)
    return states


SHAPES = [
    pytest.param({"x": 5}, ("a",), id="one win, one metric"),
    pytest.param({f"c{i}": 5 for i in range(12)}, ("a",), id="one metric"),
    pytest.param({f"c{i}": 5 for i in range(12)}, tuple("abcdef"), id="six metrics"),
    pytest.param({f"c{i}": 2 + i % 4 for i in range(12)}, ("a", "b"), id="unequal banks"),
    pytest.param({f"c{i}": 20 for i in range(6)}, ("a", "b"), id="more controls than the path is long"),
    pytest.param({"c0": 5, "c1": 1, "c2": 0, **{f"d{i}": 3 for i in range(6)}}, ("a", "b"), id="hardly any bank"),
]


@pytest.mark.parametrize(("shape", "names"), SHAPES)
@pytest.mark.parametrize("name", ["default", "classic"])
def test_a_broken_win_is_found_and_nothing_else(shape: dict[str, int], names: tuple[str, ...], name: str):
    made = frozen(shape, names, RegressionPolicy.parse(name).model_copy(update={"budget_per_win": 20.0}))
    first = next(iter(shape))
    states = play(made, {first: 0.5})
    assert [case_id for case_id, win in states.wins.items() if win.status == "regressed"] == [first]
    assert states.spent <= 20 * len(shape)
    assert all(win.attempts for win in states.wins.values())


def test_what_is_frozen_reads_back_to_the_same_verdicts():
    shape = {f"c{i}": 5 for i in range(10)}
    made = frozen(shape, ("a", "outcome_correct"), binary=("outcome_correct",), failures=["f"], notes=("said",))
    again = read_frozen(json.loads(json.dumps(made.plain(), allow_nan=False)))
    assert again.plain() == made.plain()
    one, two = play(made, {"c3": 0.4}), play(again, {"c3": 0.4})
    assert [w.status for w in one.wins.values()] == [w.status for w in two.wins.values()]
    assert [w.rank for w in one.wins.values()] == [w.rank for w in two.wins.values()]


def test_a_hard_break_of_a_yes_or_no_metric_is_found_and_the_error_is_shared():
    shape = {f"c{i}": 5 for i in range(20)}
    made = frozen(shape, ("a", "outcome_correct"), binary=("outcome_correct",))
    states = WinStates(made)
    assert states.tests.level == pytest.approx((0.05 - 0.01) / 2)
    alone = frozen(shape, ("outcome_correct",), binary=("outcome_correct",))
    assert WinStates(alone).tests.level == pytest.approx(0.04)
    states = play(alone, {"c4": 1.0})
    assert [case_id for case_id, win in states.wins.items() if win.status == "regressed"] == ["c4"]
    assert states.wins["c4"].n >= 2


def test_a_metric_that_is_missing_in_a_run_leaves_the_others_testable():
    shape = {f"c{i}": 5 for i in range(12)}
    made = frozen(shape, ("a", "b"), RegressionPolicy(budget_per_win=4.0))
    states = play(made, {"c1": 0.5}, missing={"c1": "b"})
    assert states.wins["c1"].status == "regressed"
    assert states.wins["c1"].members == (0,)
    assert states.tests.shares((0, 1), (0,)).sum() < 1  # what the lost metric had stays unspent


def test_a_metric_that_few_control_runs_have_is_not_tested():
    bank = controls({f"c{i}": 5 for i in range(6)}, ("a", "b"))
    bank["c0"] = [ControlRun(run.sample_id, {"a": run.scores["a"]}) for run in bank["c0"]]
    made = freeze(RegressionPolicy.default(), list(bank), bank, Metrics(()))
    assert WinStates(made).wins["c0"].family == (0,)
    assert WinStates(made).wins["c1"].family == (0, 1)


def test_direction_and_unit_of_a_metric():
    bank = {f"c{i}": [ControlRun(f"{i}.{j}", {"ms": 100.0 + i + j}) for j in range(5)] for i in range(8)}
    metrics = Metrics((Metric("ms", low=0, high=1000, higher_is_better=False),))
    made = freeze(RegressionPolicy.default(), list(bank), bank, metrics)
    assert made.scales[0].common(200.0) == pytest.approx(-0.2)
    assert made.scales[0].common(2000.0) is None
    unknown = Metrics((Metric("ms", low=0, high=None, higher_is_better=None),))
    assert freeze(RegressionPolicy.default(), list(bank), bank, unknown).scales == ()


def test_failing_attempts_are_given_up_and_cost_budget():
    made = frozen({f"c{i}": 5 for i in range(4)}, policy=RegressionPolicy(budget_per_win=5.0))
    states = WinStates(made)
    while steps := states.next_round():
        states.take(Given(step.case_id, step.arm, None) for step in steps)
    assert states.spent == 12
    assert {win.status for win in states.wins.values()} == {"left"}


def test_rounds_of_several_steps_are_looked_at_along_the_path():
    policy = RegressionPolicy(budget_per_win=4.0, width=3, depth=2)
    made = frozen({f"c{i}": 2 for i in range(8)}, policy=policy)
    states = WinStates(made)
    states.take(Given(step.case_id, step.arm, (0.8, 0.8)) for step in states.next_round())
    steps = states.next_round()
    assert 2 <= len(steps) <= 6
    mine = [step.arm for step in steps if step.case_id == steps[0].case_id]
    assert mine == ["candidate", "control"]  # (1, 2) -> (2, 2) -> (2, 3)


def test_a_trade_is_reported_and_gives_no_verdict():
    made = frozen({f"c{i}": 5 for i in range(10)}, ("a", "b", "c"), RegressionPolicy(budget_per_win=6.0))
    states, rng = WinStates(made), np.random.default_rng(2)
    while steps := states.next_round():
        states.take(
            Given(s.case_id, s.arm, tuple(
                float(0.8 + shift * (s.case_id == "c2" and s.arm == "candidate") + rng.normal(0, 0.05))
                for shift in (-0.4, 0.15, 0.15)))
            for s in steps
        )  # fmt: skip
    win = states.wins["c2"]
    assert win.status != "regressed"
    assert win.traded is not None
    assert win.traded.metrics == (0,)
