"""How each kind of verdict is computed again from the evidence that a report names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from harnesskit.model.decision import Decision
from harnesskit.model.errors import ReportError, WorkspaceError
from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.regression_evidence import require_samples
from harnesskit.reports.jsonform import VerdictJson
from harnesskit.workspace.problems import shown


class Recomputed(NamedTuple):
    """A verdict computed again, and whether its evidence has one hash however it was computed."""

    decision: Decision
    hashed: bool = True


Judge = Callable[[Any, VerdictJson, dict[str, Any]], Recomputed]
"""Takes the workspace (a Harness), the verdict as reported, and the evidence that the report names."""


def judge_regression(workspace: Any, verdict: VerdictJson, evidence: dict[str, Any]) -> Recomputed:
    """Judge a regression run by the samples named; under the reference's margin two hashes are in use."""
    samples = evidence.get("samples")
    sides = samples if isinstance(samples, dict) else {}
    if not all(isinstance(sides.get(side), list) for side in ("baseline", "candidate")):
        raise ReportError("the evidence of the report must list the samples of its baseline and of its candidate.")
    policy = RegressionPolicy(**verdict.policy)
    adaptive = bool(evidence.get("adaptive"))
    baseline, judged = (None, None) if adaptive else (str(evidence.get("baseline")), policy)
    result = workspace.regression(str(evidence.get("run")), baseline=baseline, policy=judged, samples=sides)
    return Recomputed(result.decision, policy.margin is None)


def judge_rule(workspace: Any, verdict: VerdictJson, evidence: dict[str, Any]) -> Recomputed:
    """Judge a trial of a rule by the samples named and what it froze."""
    from harnesskit.promotion import read_trial  # loads scipy
    from harnesskit.trials.promotion_frozen import policy_hash
    from harnesskit.trials.promotion_verdict import judge_trial

    run_id = str(evidence.get("run"))
    row, frozen, records = read_trial(workspace.root, run_id)
    if frozen is None:
        raise _no_trial(workspace, run_id)
    kept = _named(records, evidence, run_id)
    policy = PromotionPolicy(**verdict.policy)
    other = None if policy_hash(policy) == policy_hash(frozen.policy) else policy
    stopped = json.loads(row.parameters or "{}").get("stopped")
    return Recomputed(judge_trial(frozen, kept, policy=other, stopped=stopped, whole=False).decision)


def judge_case_again(workspace: Any, verdict: VerdictJson, evidence: dict[str, Any]) -> Recomputed:
    """Judge the runs of a case by the samples named and what the last of them froze."""
    from harnesskit.trials.win_promotion import judge_win, read_win
    from harnesskit.win_run import records_of_case
    from harnesskit.workspace.runs import read_run_row, run_folder

    run_id = str(evidence.get("run"))
    folder = run_folder(workspace.root, run_id)
    frozen = read_win(read_run_row(folder)) if folder.is_dir() else None
    if frozen is None:
        raise _no_trial(workspace, run_id)
    kept = _named(records_of_case(workspace.root, run_id), evidence, run_id)
    policy = PromotionPolicy(**verdict.policy)
    return Recomputed(judge_win(frozen, kept, policy=policy).decision)


def judge_runs(workspace: Any, verdict: VerdictJson, evidence: dict[str, Any]) -> Recomputed:
    """Judge a rule by the runs of another making that are stored now."""
    del evidence
    return Recomputed(workspace.evidence(verdict.subject, policy=PromotionPolicy(**verdict.policy)).decision)


def judge_forward(workspace: Any, verdict: VerdictJson, evidence: dict[str, Any]) -> Recomputed:
    """Judge a forward trial of a rule by the sessions and samples named."""
    found = workspace.forward_trial_of(
        verdict.subject,
        rule_hash=str(evidence.get("guard_hash")),
        sessions=_texts(evidence.get("sessions"), "the sessions of its trial"),
        samples=_trial_samples(evidence),
    )
    return Recomputed(found.decision)


def judge_check(workspace: Any, verdict: VerdictJson, evidence: dict[str, Any]) -> Recomputed:
    """Judge a check by the samples and labels named."""
    check = evidence.get("check")
    if not isinstance(check, dict) or "metric" not in check:
        raise ReportError("the evidence of the report must name the check: its metric, grader and bar.")
    found = workspace.check_of(
        check["metric"],
        bar=check.get("bar"),
        grader=check.get("grader"),
        policy=PromotionPolicy(**verdict.policy),
        cost_false_stop=check.get("cost_false_stop"),
        samples=_trial_samples(evidence),
        labels=_texts(check.get("labels"), "the labels of its check"),
    )
    return Recomputed(found.decision)


def _trial_samples(evidence: dict[str, Any]) -> list[str]:
    samples = evidence.get("samples")
    return _texts(samples.get("trial") if isinstance(samples, dict) else None, "the samples of its trial")


def _texts(found: Any, what: str) -> list[str]:
    if not isinstance(found, list):
        raise ReportError(f"the evidence of the report must list {what}.")
    return [str(one) for one in found]


def _named(records: list[Any], evidence: dict[str, Any], run_id: str) -> list[Any]:
    wanted = _trial_samples(evidence)
    require_samples(wanted, [record.sample.sample_id for record in records], f"the trial {run_id}")
    return [record for record in records if record.sample.sample_id in set(wanted)]


def _no_trial(workspace: Any, run_id: str) -> WorkspaceError:
    return WorkspaceError(f"the trial {shown(run_id)} that the report rests on is not in {workspace.root}.")


JUDGES: dict[str, Judge] = {
    "regression": judge_regression,
    "promotion": judge_rule,
    "case": judge_case_again,
    "forward": judge_forward,
    "runs": judge_runs,
    "check": judge_check,
}
