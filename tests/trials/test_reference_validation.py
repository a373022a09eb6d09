"""Verdicts on candidates under the reference policy: the reference's scripted validators, and what it got wrong."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from trials.intended_differences import FORWARD, NOT_EXERCISED, replay_verdict
from trials.scripted_replays import WORKSPACES, ReferenceOrder, Script, answers, config, root_of

from harnesskit.model.case import EvalCase
from harnesskit.model.config import HarnessConfig
from harnesskit.model.records import RuleRecord
from harnesskit.replays.context import ReplayContext
from harnesskit.trials.reference_forward import judge_trial
from harnesskit.trials.reference_validation import ReplayValidator, chosen_cases
from harnesskit.trials.replay_verdict import ReplayedCase, judge_replays
from harnesskit.trials.replayer import Replayer, finish
from harnesskit.trials.verdict import Verdict
from harnesskit.workspace.evalset_store import EvalSet
from harnesskit.workspace.layout import RULES
from harnesskit.workspace.rules import read_rules

FORWARD_SETTINGS: dict[str, dict[str, Any]] = {
    "forward/default": {},
    "forward/margin0": {"rule_promote_margin": 0.0},
    "forward/margin0.2": {"rule_promote_margin": 0.2},
    "forward/n3": {"rule_trial_min_sessions": 3},
}
ABSENT = {"messy": {"r-x14"}}  # the reference loses it to a separator inside a text


def rules_of(shared: Path, workspace: str, name: str) -> list[RuleRecord]:
    if name == "validators_whatif":
        return read_rules(shared / "reference" / "expected" / workspace / "whatif_rules.jsonl").rules
    return read_rules(root_of(shared, workspace) / RULES).rules


@pytest.mark.parametrize("block", FORWARD_SETTINGS)
@pytest.mark.parametrize("workspace", WORKSPACES)
def test_forward_trials_are_reproduced(shared: Path, workspace: str, block: str) -> None:
    answer = answers(shared, workspace, "validators")[block]
    rules = {rule.rule_id: rule for rule in rules_of(shared, workspace, "validators")}
    assert set(rules) - ABSENT.get(workspace, set()) == set(answer)
    for rule_id, theirs in answer.items():
        want, _ = FORWARD.get((workspace, rule_id), (theirs["ok"], ""))
        assert judge_trial(rules[rule_id], HarnessConfig(**FORWARD_SETTINGS[block])).to_dict() == want


def blocks(name: str, skip: tuple[str, ...] = ()) -> list[str]:
    runs = [
        *("edge/scope/{}", "mixed/scope/{}", "noise/never/{}", 'noise/scope/{"rule_regress_margin": 0.3}'),
        *("noise/scope/{}", "same/scope/{}", "noise/scope/verifier"),
    ]
    runs = [run for run in runs if run.split("/")[0] not in skip]
    if name == "validators":
        return [f"replay/{run}" for run in runs]
    plain = [f"{run}/no_verifier" for run in runs if not run.endswith("/verifier")]
    return [*plain, "noise/scope/{}/verifier"]


def judged(shared: Path, workspace: str, name: str, block: str, *, order: bool = False) -> Any:
    """Our verdict, the calls, and the reference's answer, rule by rule."""
    answer = answers(shared, workspace, name)[block]
    rules = rules_of(shared, workspace, name)
    settings = config(**answer["config"])
    evalset: Any = EvalSet(root_of(shared, workspace), settings)
    evalset = ReferenceOrder(evalset) if order else evalset
    for rule in rules:
        if rule.rule_id not in answer["rules"]:
            continue
        theirs = answer["rules"][rule.rule_id]
        script = Script(answer["script"], scope=rule.scope if answer["read"] == "scope" else None)
        verifier = (lambda payload: None) if block.endswith("/verifier") else None
        validator = ReplayValidator(evalset, script.replayer(verifier=verifier), settings)
        verdict = asyncio.run(validator.validate(rule, rules))
        assert script.calls == theirs.get("call_order", script.calls)
        yield rule, verdict, script, theirs["ok"], answer["script"]


@pytest.mark.parametrize(
    ("name", "block"), [(n, block) for n in ("validators", "validators_whatif") for block in blocks(n)]
)
@pytest.mark.parametrize("workspace", ["mid", "small"])
def test_scripted_validators_are_reproduced(shared: Path, workspace: str, name: str, block: str) -> None:
    seen = 0
    for _, verdict, script, theirs, steps in judged(shared, workspace, name, block):
        assert verdict.to_dict() == replay_verdict(theirs, steps, script.calls)
        seen += 1
    assert seen == len(answers(shared, workspace, name)[block]["rules"])


@pytest.mark.parametrize("block", blocks("validators", skip=("mixed", "same")))
def test_a_messy_workspace_gives_the_same_verdicts_on_the_same_cases(shared: Path, block: str) -> None:
    for rule, verdict, script, theirs, steps in judged(shared, "messy", "validators", block, order=True):
        if ("messy", rule.rule_id) in NOT_EXERCISED:
            assert verdict.pending_reason == "candidate_not_exercised"
        else:
            assert verdict.to_dict() == replay_verdict(theirs, steps, script.calls)


@pytest.mark.parametrize("workspace", ["mid", "messy"])
def test_the_verdicts_in_the_journal_follow_from_the_replays_in_it(shared: Path, workspace: str) -> None:
    root = root_of(shared, workspace)
    rules = {rule.rule_id: rule for rule in read_rules(root / RULES).rules}
    cases = {case.id: case for case in EvalSet(root, HarnessConfig()).cases()}
    seen = 0
    for line in (root / "journal.jsonl").read_bytes().split(b"\n"):
        if b'"validation_verdict"' not in line or b'"validator": "replay"' not in line:
            continue
        theirs = json.loads(line)
        replayed = [
            ReplayedCase(**{**case, "deltas": {m: case["deltas"][m] for m in TIERS if m in case["deltas"]}})
            for case in theirs["details"]["cases"]
        ]
        failures = [cases[case.case_id] for case in replayed if case.kind == "failure"]
        ours = judge_replays(rules[theirs["rule_id"]], failures, replayed, HarnessConfig()).to_dict()
        assert ours == {name: theirs[name] for name in ours}
        seen += 1
    assert seen > 5


TIERS = ("task_completion", "coherence", "tool_correctness", "argument_correctness")


# What the reference gets wrong, and what is done here.

RULE = RuleRecord(rule_id="r-1", status="candidate", rule="Look first.", metric="q", tags=("breach:q",))


def case(case_id: str, kind: Any = "failure", **fields: Any) -> EvalCase:
    base = {"session_id": f"s-{case_id}", "signature": ("breach:q",), "baseline_scores": {"q": 0.3}}
    return EvalCase(id=case_id, kind=kind, **{**base, "replay_input": {}, **fields})


class Cases:
    def __init__(self, *cases: EvalCase) -> None:
        self.all = list(cases)

    def cases(self, kind: Any = None) -> list[EvalCase]:
        return [one for one in self.all if kind in (None, one.kind)]

    def matching(self, signature: Any, kind: Any = "failure") -> list[EvalCase]:
        wanted = set(signature)
        return [one for one in reversed(self.cases(kind)) if wanted & set(one.signature)]


def validate(replay: Any, *cases: EvalCase, score: float = 0.9, **fields: Any) -> Verdict:
    replayer = Replayer(replay, lambda session: {"q": score}, blocking=True)
    validator = ReplayValidator(Cases(*cases), replayer, config(**fields))
    return finish(validator.validate(RULE, [RULE]))


def outcomes(verdict: Verdict) -> list[str]:
    return [one["outcome"] for one in verdict.details["cases"]]


def reads(context: ReplayContext) -> None:
    context.task_tools.call("harness_rule_status", {"rule_id": "r-1"})


def test_what_one_replay_read_says_nothing_of_another() -> None:
    def replay(case: EvalCase, context: ReplayContext) -> str:
        if case.id == "c-2":
            reads(context)
        return f"new-{case.id}"

    verdict = validate(replay, case("c-1"), case("c-2"))
    assert outcomes(verdict) == ["scored", "candidate_not_exercised"]  # newest first
    assert verdict.outcome == "promote"


def test_a_crash_is_never_an_environment_wait() -> None:
    def replay(case: EvalCase, context: ReplayContext) -> str:
        raise RuntimeError("no")

    verdict = validate(replay, case("c-1"), case("c-2"), replay_env_wait_timeout_s=5.0)
    assert outcomes(verdict) == ["inconclusive", "inconclusive"]
    assert (verdict.pending_reason, verdict.details["env_wait_timeouts"]) == ("replay_inconclusive", 0)


def test_every_replay_has_its_own_environment_wait() -> None:
    async def replay(case: EvalCase, context: ReplayContext) -> str:
        if case.id == "c-2":
            context.mark_execution_started()
            reads(context)
            return "new-c-2"
        await asyncio.sleep(30)
        return "never"

    verdict = validate(replay, case("c-1"), case("c-2"), case("c-3"), replay_env_wait_timeout_s=1.0)
    assert outcomes(verdict) == ["env_wait_timeout", "scored", "env_wait_timeout"]


def test_when_no_environment_came_that_is_what_is_pending() -> None:
    async def replay(case: EvalCase, context: ReplayContext) -> str:
        await asyncio.sleep(30)
        return "never"

    verdict = validate(replay, case("c-1"), replay_env_wait_timeout_s=0.05)
    assert (verdict.outcome, verdict.pending_reason) == ("pending", "env_wait_timeout")


def test_a_win_that_falls_retires_whatever_the_failure_did() -> None:
    def replay(case: EvalCase, context: ReplayContext) -> str:
        reads(context)
        return f"new-{case.id}"

    failure, win = case("c-1"), case("c-2", "win", signature=("healthy",), baseline_scores={"q": 0.98})
    verdict = validate(replay, failure, win)
    assert verdict.outcome == "retire"
    assert verdict.reason == "replay: regression on case c-2 metric q (Δ=-0.08)"
    assert (verdict.decision.verdict, verdict.decision.detail) == ("retire", "harm")


def test_a_replay_may_find_the_candidate_and_no_other() -> None:
    found = []

    def replay(case: EvalCase, context: ReplayContext) -> str:
        answer = json.loads(context.task_tools.call("harness_rules_search", {"query": "look"}))
        found.extend(rule["id"] for rule in answer["rules"])
        return f"new-{case.id}"

    other = RULE.model_copy(update={"rule_id": "r-2"})
    active = RULE.model_copy(update={"rule_id": "r-3", "status": "active"})
    replayer = Replayer(replay, lambda session: {"q": 0.9}, blocking=True)
    finish(ReplayValidator(Cases(case("c-1")), replayer, config()).validate(RULE, [RULE, other, active]))
    assert sorted(found) == ["r-1", "r-3"]


def test_an_outcome_that_the_verifier_saw_fall_retires() -> None:
    def replay(case: EvalCase, context: ReplayContext) -> str:
        reads(context)
        return f"new-{case.id}"

    failure = case("c-1", baseline_scores={"q": 0.3, "outcome_correct": 1.0})
    replayer = Replayer(replay, lambda session: {"q": 0.9}, lambda case, session: False, blocking=True)
    verdict = finish(ReplayValidator(Cases(failure), replayer, config()).validate(RULE, [RULE]))
    assert verdict.reason == "replay: regression on case c-1 metric outcome_correct (Δ=-1.00)"


def test_labels_longer_than_a_tag_still_find_their_cases() -> None:
    label = "breach:" + "x" * 60
    rule = RULE.model_copy(update={"metric": None, "tags": (label[:48],), "failure_signatures": (label,)})
    failures, _ = chosen_cases(rule, Cases(case("c-1", signature=(label,))))
    assert [failure.id for failure in failures] == ["c-1"]
    assert chosen_cases(rule, Cases(case("c-1"))) == ([], [])


def test_an_id_in_two_files_is_not_replayed() -> None:
    failures, wins = chosen_cases(RULE, Cases(case("c-1"), case("c-1"), case("c-2"), case("c-2", "win")))
    assert (failures, wins) == ([], [])
