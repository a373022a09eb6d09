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


def judge_stored(workspace: Any, verdict: VerdictJson, evidence: dict[str, Any]) -> Recomputed:
    """Judge a rule by all that is stored of it now: its forward trial, or runs of another making."""
    if evidence.get("kind") == "forward":
        return Recomputed(workspace.forward_trial(verdict.subject).decision)
    return Recomputed(workspace.evidence(verdict.subject, policy=PromotionPolicy(**verdict.policy)).decision)


def judge_check(workspace: Any, verdict: VerdictJson, evidence: dict[str, Any]) -> Recomputed:
    """Judge a check by all the labels and samples that there are now."""
    check = evidence.get("check")
    if not isinstance(check, dict) or "metric" not in check:
        raise ReportError("the evidence of the report must name the check: its metric, grader and bar.")
    policy = PromotionPolicy(**verdict.policy)
    found = workspace.check(check["metric"], bar=check.get("bar"), grader=check.get("grader"), policy=policy)
    return Recomputed(found.decision)


def _named(records: list[Any], evidence: dict[str, Any], run_id: str) -> list[Any]:
    samples = evidence.get("samples")
    wanted = samples.get("trial") if isinstance(samples, dict) else None
    if not isinstance(wanted, list):
        raise ReportError("the evidence of the report must list the samples of its trial.")
    require_samples(wanted, [record.sample.sample_id for record in records], f"the trial {run_id}")
    return [record for record in records if record.sample.sample_id in set(wanted)]


def _no_trial(workspace: Any, run_id: str) -> WorkspaceError:
    return WorkspaceError(f"the trial {shown(run_id)} that the report rests on is not in {workspace.root}.")


JUDGES: dict[str, Judge] = {
    "regression": judge_regression,
    "promotion": judge_rule,
    "case": judge_case_again,
    "forward": judge_stored,
    "runs": judge_stored,
    "check": judge_check,
}
