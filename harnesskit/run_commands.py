"""The commands that run the user's agent: replay, regression, validate."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from harnesskit.commands import print_json, say, strict_code
from harnesskit.harness import Harness
from harnesskit.model.config import HarnessConfig
from harnesskit.model.errors import WorkspaceError
from harnesskit.replays.replay import replay
from harnesskit.trials.verdict import verdicts_exit_code
from harnesskit.user_code import load_function
from harnesskit.workspace.layout import workspace_root


def run_replay(arguments: Namespace) -> int:
    """Replay cases and store what became of every attempt."""
    harness = _harness(arguments)
    cases = [case for case in harness.evalset.cases() if _wanted(case, arguments)]
    missing = set(arguments.case or ()) - {case.id for case in cases}
    if missing:
        raise WorkspaceError(f"There is no case {', '.join(map(repr, sorted(missing)))} to replay.")
    agent = harness.agent
    samples = replay(
        cases,
        agent.replay,
        trials=arguments.trials,
        concurrency=arguments.concurrency,
        timeout_s=arguments.timeout or harness.config.replay_timeout_s,
        scorer=agent.scorer,
        root=harness.root,
        resume=arguments.resume,
        label=arguments.label,
    )
    counts = {str(status): int(n) for status, n in samples["status"].value_counts().sort_index().items()}
    run_id = str(samples["run_id"].iloc[0]) if len(samples) else None
    if arguments.json:
        print_json({"run": run_id, "attempts": counts})
    say(f"Run {run_id}: " + (", ".join(f"{n} {status}" for status, n in counts.items()) or "no case to replay"))
    return strict_code(arguments, harness.problems())


def run_regression(arguments: Namespace) -> int:
    """Replay the eval set and exit with the verdict."""
    harness = _harness(arguments)
    result = harness.run_regression_now(policy=arguments.policy, sample=arguments.sample, label=arguments.label)
    if arguments.out is not None:
        say(f"Report: {result.report(overview=harness.regressions(policy=arguments.policy)).save(arguments.out)}")
    decision = result.decision
    if arguments.json:
        body: dict[str, Any] = {"verdict": decision.verdict, "reasons": decision.reasons, "run": result.run_id}
        print_json(body | (result.summary.to_dict() if result.summary is not None else {}))
    if result.summary is not None:
        say(result.summary.text())
    else:
        say(str(decision))
        for reason in decision.reasons[1:]:
            say(f"  {reason}")
    return strict_code(arguments, harness.problems()) or decision.exit_code


def run_validate(arguments: Namespace) -> int:
    """Judge the candidate rules and exit with the verdict."""
    harness = _harness(arguments)
    verdicts = harness.validate_candidates_now(policy=arguments.policy)
    if arguments.json:
        print_json({"verdicts": [verdict.to_dict() for verdict in verdicts]})
    for verdict in verdicts:
        say(f"{verdict.rule_id}: {verdict.outcome.upper()} ({verdict.validator}): {verdict.reason}")
    if not verdicts:
        say("There is no candidate rule to judge.")
    return strict_code(arguments, harness.problems()) or verdicts_exit_code(verdicts)


def _harness(arguments: Namespace) -> Harness:
    root = workspace_root(arguments.root if arguments.root is not None else Path.cwd())
    function = None if arguments.replay is None else load_function(arguments.replay, default="replay")
    scorer = None
    if arguments.scorer is not None and arguments.scorer != "none":
        scorer = load_function(arguments.scorer, default="scorer")
    elif arguments.scorer == "none":
        scorer = _no_scores
    return Harness.create(HarnessConfig.from_env(harness_root=root), replay=function, scorer=scorer)


def _no_scores(session_id: str) -> dict[str, float]:
    """Score nothing: for replays that bring their own scores."""
    return {}


def _wanted(case: Any, arguments: Namespace) -> bool:
    if arguments.kind is not None and case.kind != arguments.kind:
        return False
    return not arguments.case or case.id in arguments.case
