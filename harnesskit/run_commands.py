"""The commands that run the user's agent on the eval set: replay, regression."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

from harnesskit.commands import root_of, tell_verdict
from harnesskit.harness import Harness
from harnesskit.model.config import HarnessConfig
from harnesskit.model.errors import PolicyError, WorkspaceError
from harnesskit.model.policy import RegressionPolicy
from harnesskit.replays.replay import replay
from harnesskit.reports.model import check_target
from harnesskit.terminal import print_json, say, strict_code, tell
from harnesskit.user_code import load_function
from harnesskit.workspace.layout import keep_out, workspace_root


def run_replay(arguments: Namespace) -> int:
    """Replay cases and store what became of every attempt."""
    harness = harness_of(arguments)
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
    tell(
        arguments,
        f"Run {run_id}: " + (", ".join(f"{n} {status}" for status, n in counts.items()) or "no case to replay"),
    )
    return strict_code(arguments, harness.problems())


def run_regression(arguments: Namespace) -> int:
    """Replay the eval set and exit with the verdict."""
    if arguments.out is not None:
        keep_out(root_of(arguments), check_target(arguments.out))  # before anything is replayed
    harness = harness_of(arguments)
    policy = _with_budget(harness.policy(arguments.policy), arguments.budget)
    if arguments.plan:
        return _plan(arguments, harness, policy)
    result = harness.run_regression_now(
        policy=policy,
        sample=arguments.sample,
        label=arguments.label,
        seed=arguments.seed,
        time_limit_s=arguments.time_limit,
        resume=arguments.resume,
    )
    if arguments.out is not None:
        say(f"Report: {result.report(overview=harness.regressions(policy=policy)).save(arguments.out)}")
    decision = result.decision
    if arguments.json:
        body: dict[str, Any] = {"verdict": decision.verdict, "reasons": decision.reasons, "run": result.run_id}
        print_json(body | (result.summary.to_dict() if result.summary is not None else {}))
    if result.summary is not None:
        tell(arguments, result.summary.text())
    else:
        tell_verdict(arguments, decision)
    return strict_code(arguments, harness.problems(), remind=True) or decision.exit_code


def _with_budget(policy: RegressionPolicy, budget: float | None) -> RegressionPolicy:
    """Return the policy with another number of replays per win."""
    if budget is None:
        return policy
    if not policy.adaptive:
        raise PolicyError(f"--budget needs an adaptive policy (default, thorough, classic); found {policy.label!r}.")
    if not budget >= 1:
        raise PolicyError(f"--budget must be at least 1 replay per win; found {budget:g}.")
    return policy.model_copy(update={"budget_per_win": budget})


def _plan(arguments: Namespace, harness: Harness, policy: RegressionPolicy) -> int:
    """Print what a run would cost and could see."""
    from harnesskit.trials.adaptive_plan import plan_text

    if not policy.adaptive:
        raise PolicyError(f"--plan needs an adaptive policy (default, thorough, classic); found {policy.label!r}.")
    frame = harness.plan_regression(policy=policy, sample=arguments.sample)
    if arguments.json:
        print_json({"plan": json.loads(frame.to_json(orient="records"))})
    tell(arguments, plan_text(frame) if len(frame) else NO_BANK)
    return 0


NO_BANK = (
    "There is no control bank to plan with: control runs would be made first (with control=), or each case would be "
    "replayed twice and held against its captured score."
)


def harness_of(arguments: Namespace) -> Harness:
    """Return the harness of a command that runs the user's agent."""
    given = root_of(arguments)
    function = None if arguments.replay is None else load_function(arguments.replay, default="replay")
    scorer = None
    if arguments.scorer is not None and arguments.scorer != "none":
        scorer = load_function(arguments.scorer, default="scorer")
    elif arguments.scorer == "none":
        scorer = _no_scores
    config = HarnessConfig.from_env(harness_root=workspace_root(given))
    harness = Harness.create(config, replay=function, scorer=scorer)
    harness.given = str(given)
    return harness


def _no_scores(session_id: str) -> dict[str, float]:
    """Score nothing: for replays that bring their own scores."""
    return {}


def _wanted(case: Any, arguments: Namespace) -> bool:
    if arguments.kind is not None and case.kind != arguments.kind:
        return False
    return not arguments.case or case.id in arguments.case
