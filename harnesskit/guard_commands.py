"""The commands about guards: try candidate rules on replays, and list what is known of every guard."""

from __future__ import annotations

import json
import shlex
from argparse import Namespace
from typing import Any

from harnesskit.commands import root_of, tell_verdict
from harnesskit.harness import Harness, open_workspace
from harnesskit.model.decision import EXIT_CODES
from harnesskit.model.errors import PolicyError
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.promotion import PromotionResult
from harnesskit.reports.guards import guards_report
from harnesskit.reports.model import check_target
from harnesskit.run_commands import harness_of
from harnesskit.terminal import print_json, print_table, say, strict_code, tell
from harnesskit.trials.verdict import verdicts_exit_code
from harnesskit.workspace.layout import keep_out

_SHOWN = ("id", "kind", "verdict", "reason", "runs_needed", "cost_estimate", "looks", "last_decision", "status")


def run_validate(arguments: Namespace) -> int:
    """Try the rules named, or every candidate, and exit with the verdict."""
    policy = PromotionPolicy.parse(arguments.policy)
    harness = harness_of(arguments)
    if arguments.plan:
        return _plan(arguments, harness, policy)
    if policy.mode == "reference":
        return _reference(arguments, harness)
    results = _results(arguments, harness, policy)
    if arguments.json:
        print_json({"verdicts": [_plain(result) for result in results]})
    for result in results:
        tell_verdict(arguments, result.decision)
    if not results:
        tell(arguments, "There is no candidate rule to judge.")
    codes = {EXIT_CODES[result.verdict] for result in results} or {3}
    return strict_code(arguments, harness.problems()) or (1 if 1 in codes else max(codes))


def _results(arguments: Namespace, harness: Harness, policy: PromotionPolicy) -> list[PromotionResult]:
    common: dict[str, Any] = {
        "seed": arguments.seed, "time_limit_s": arguments.time_limit, "concurrency": arguments.concurrency,
    }  # fmt: skip
    if not arguments.guard:
        if arguments.resume is not None:
            raise PolicyError("--resume goes on with the trial of one rule: name the rule too.")
        return harness.validate_candidates_now(policy=policy, **common)
    return [
        harness.validate_now(
            guard,
            policy=policy,
            target_metric=arguments.metric,
            resume=arguments.resume,
            label=arguments.label,
            **common,
        )
        for guard in arguments.guard
    ]


def _reference(arguments: Namespace, harness: Harness) -> int:
    """Judge every candidate as the reference does; what is decided is applied."""
    if arguments.guard:
        raise PolicyError(
            "the policy 'reference' judges all candidates at once and applies what it decides; name none."
        )
    verdicts = harness.validate_candidates_now(policy="reference")
    if arguments.json:
        print_json({"verdicts": [verdict.to_dict() for verdict in verdicts]})
    for verdict in verdicts:
        tell(arguments, f"{verdict.rule_id}: {verdict.outcome.upper()} ({verdict.validator}): {verdict.reason}")
    if not verdicts:
        tell(arguments, "There is no candidate rule to judge.")
    return strict_code(arguments, harness.problems()) or verdicts_exit_code(verdicts)


def _plan(arguments: Namespace, harness: Harness, policy: PromotionPolicy) -> int:
    """Print what the trials would cost and could tell; nothing is replayed."""
    guards = arguments.guard or [rule.rule_id for rule in harness.rules.candidates()]
    plans = {guard: harness.plan(guard, policy, seed=arguments.seed) for guard in guards}
    if arguments.json:
        print_json({"plan": {guard: json.loads(plan.to_json(orient="records")) for guard, plan in plans.items()}})
    for guard, plan in plans.items():
        if plan.empty:
            tell(arguments, f"{guard}: no replayable failure shares a label with it, so it cannot be tried.")
        for row in plan.itertuples():
            tell(
                arguments,
                f"{guard}: adds {row.effect:g}: promoted {row.promote:.0%}, retired {row.retire:.0%}, "
                f"pending {row.pending:.0%}; {row.replays:.0f} replays on average",
            )
    return 0


def run_report_guard(arguments: Namespace) -> int:
    """Judge a guard by its stored trials and write the page that is signed; nothing is replayed."""
    if arguments.run is not None or arguments.baseline is not None:
        raise PolicyError("--guard reports on a guard and --run on a run: give one of the two.")
    root = root_of(arguments)
    keep_out(root, check_target(arguments.out))  # before anything is computed
    harness = open_workspace(root)
    result = harness.evidence(arguments.guard, arguments.policy)
    path = result.report().save(arguments.out)
    if arguments.json:
        print_json(_plain(result) | {"report": str(path)})
    tell_verdict(arguments, result.decision)
    say(f"Report: {path}")
    return strict_code(arguments, harness.problems(), remind=True) or (result.exit_code if arguments.gate else 0)


def run_guards(arguments: Namespace) -> int:
    """List every guard with its verdict by stored trials; nothing is replayed."""
    if arguments.out is not None:
        keep_out(root_of(arguments), check_target(arguments.out))
    harness = open_workspace(root_of(arguments))
    guards = harness.guards()
    if arguments.out is not None:
        command = shlex.join(["harnesskit", "guards", "--root", str(root_of(arguments)), "--out", "guards.html"])
        say(f"Overview: {guards_report(guards, reproduce=command).save(arguments.out)}")
    if arguments.json:
        print_json({"guards": json.loads(guards.to_json(orient="records"))})
    else:
        print_table(guards.loc[:, list(_SHOWN)])
        for row in guards.itertuples():
            tell(arguments, f"{row.id}: {row.note}")
    return strict_code(arguments, harness.problems())


def _plain(result: PromotionResult) -> dict[str, Any]:
    decision = result.decision
    return {
        "id": result.guard_id,
        "kind": result.guard_kind,
        "verdict": decision.verdict,
        "reason": decision.reason,
        "detail": decision.detail,
        "reasons": decision.reasons,
        "runs_needed": decision.runs_needed,
        "run": result.run_id,
        "evidence_hash": decision.evidence_hash,
    }
