"""A regression run through the user's own agent: replays recorded as they end, then judged like any stored run."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from harnesskit.adaptive_run import adaptive_run, prepare, resume_adaptive
from harnesskit.agent_side import AgentSide
from harnesskit.model.case import EvalCase
from harnesskit.model.errors import PolicyError
from harnesskit.model.metrics import Metrics
from harnesskit.model.policy import RegressionPolicy
from harnesskit.replays.replay import areplay, replay
from harnesskit.trials.adaptive_setup import Preparation
from harnesskit.trials.reference_regression import run_reference_regression
from harnesskit.trials.regression_report import RegressionReport
from harnesskit.trials.replayer import finish
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import RunRow, SampleRow
from harnesskit.workspace.runs import RunWriter, create_run

DEFAULT_TRIALS = 2
"""Trials per case of a policy that fixes none: what the default budget of two runs per win allows."""


async def reference_run(
    side: AgentSide, policy: RegressionPolicy, *, blocking: bool, sample: int | None, label: str | None
) -> tuple[str, RegressionReport]:
    """Replay every case once, as the reference does, and return the id of the run and its report.

    The run is journaled in the reference's form, and recorded whole under ``harnesskit/runs``.
    """
    writer = _begin(side, policy, label)
    run_id = writer.row.run_id

    def journal(event: str, **fields: Any) -> None:
        side._append(event, **fields, run_id=run_id)

    config = side.config
    if policy.margin is not None:
        config = config.model_copy(update={"rule_regress_margin": policy.margin})
    try:
        report = await run_reference_regression(
            side.evalset.cases(),
            side.replayer(blocking=blocking, keep=writer),
            config,
            sample=sample,
            rules=side.rules.rules(),
            journal=journal,
        )
    except BaseException:
        writer.finish()
        raise
    writer.finish(parameters=to_json({"policy": policy.label, "total": report.total_cases}))
    for result in report.results:
        if result.status == "skipped" and result.replay_session_id is None:
            writer.append(
                SampleRow(
                    f"{run_id}/skipped/{result.case_id}",
                    run_id,
                    result.case_id,
                    status="skipped",
                    reason=result.reason,
                    occurred_at=writer.row.finished_at,
                )
            )
    return run_id, report


def reference_run_now(
    side: AgentSide, policy: RegressionPolicy, *, sample: int | None, label: str | None
) -> tuple[str, RegressionReport]:
    """Do the same as `reference_run`, in worker threads, and return when it is done."""
    return finish(reference_run(side, policy, blocking=True, sample=sample, label=label))


def _begin(side: AgentSide, policy: RegressionPolicy, label: str | None) -> RunWriter:
    now = datetime.now(UTC)
    return create_run(
        side.root,
        RunRow(
            f"replay-{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}",
            "replay",
            label=label,
            started_at=now,
            policy=to_json(policy.plain()),
            parameters=to_json({"policy": policy.label}),
        ),
    )


def fixed_plan(
    side: AgentSide, policy: RegressionPolicy, *, sample: int | None, label: str | None
) -> tuple[list[EvalCase], dict[str, Any]]:
    """Return the cases to replay, wins first and newest first, and the arguments of their replays."""
    if policy.floor_score is None and policy.margin is not None:
        raise PolicyError("The reference policy replays as the reference does; it has no fixed plan.")
    newest = side.evalset.cases()[::-1]
    cases = sorted(newest, key=lambda case: case.kind != "win")
    if sample is not None and sample > 0:
        cases = cases[:sample]
    trials = policy.trials or (1 if policy.floor_score is not None else DEFAULT_TRIALS)
    return cases, {
        "trials": trials,
        "scorer": side.agent.scorer,
        "verifier": side.agent.verifier,
        "timeout_s": side.config.replay_timeout_s,
        "root": side.root,
        "label": label,
        "fingerprint": side.agent.fingerprint,
    }


async def fixed_run(side: AgentSide, policy: RegressionPolicy, **plan: Any) -> tuple[str, str | None]:
    """Replay every case as often as the policy says; return the run, and the control run if one was made."""
    cases, common = fixed_plan(side, policy, **plan)
    control = None
    if callable(side.agent.control):
        before = await areplay(cases, side.agent.control, role="control", **common)
        control = str(before["run_id"].iloc[0]) if len(before) else None
    after = await areplay(cases, side.agent.replay, run=(run := _run_id()), **common)
    return (str(after["run_id"].iloc[0]) if len(after) else run), control or _named(side.agent.control)


def fixed_run_now(side: AgentSide, policy: RegressionPolicy, **plan: Any) -> tuple[str, str | None]:
    """Do the same as `fixed_run`, in worker threads, and return when it is done."""
    cases, common = fixed_plan(side, policy, **plan)
    control = None
    if callable(side.agent.control):
        before = replay(cases, side.agent.control, role="control", **common)
        control = str(before["run_id"].iloc[0]) if len(before) else None
    after = replay(cases, side.agent.replay, run=(run := _run_id()), **common)
    return (str(after["run_id"].iloc[0]) if len(after) else run), control or _named(side.agent.control)


async def tested_run(
    side: AgentSide, policy: RegressionPolicy, metrics: Metrics, *, sample: int | None, label: str | None, **limits: Any
) -> tuple[str, str | None]:
    """Make an adaptive run where the policy asks for one and there are control runs, else a run of fixed length.

    Returns the run, and the control run that it is held against when that is not the run's own business.
    """
    prepared = _prepared(side, policy, metrics, sample, blocking=False, **limits)
    if prepared is not None:
        made = await _adaptive(prepared, label, **limits)
        if made is not None:
            return made, None
    return await fixed_run(side, policy, sample=sample, label=label)


def tested_run_now(
    side: AgentSide, policy: RegressionPolicy, metrics: Metrics, *, sample: int | None, label: str | None, **limits: Any
) -> tuple[str, str | None]:
    """Do the same as `tested_run`, in worker threads, and return when it is done."""
    prepared = _prepared(side, policy, metrics, sample, blocking=True, **limits)
    if prepared is not None:
        made = finish(_adaptive(prepared, label, **limits))
        if made is not None:
            return made, None
    return fixed_run_now(side, policy, sample=sample, label=label)


def _prepared(
    side: AgentSide,
    policy: RegressionPolicy,
    metrics: Metrics,
    sample: int | None,
    *,
    blocking: bool,
    seed: int,
    time_limit_s: float | None,
    resume: str | None,
) -> Preparation | None:
    if not policy.adaptive:
        if resume is not None or time_limit_s is not None:
            raise PolicyError(f"resume and time_limit_s need an adaptive policy; {policy.label!r} is none.")
        return None
    if side.agent.replay is None:
        return None
    if time_limit_s is not None and policy.depth == 1:
        policy = policy.model_copy(update={"width": 3, "depth": 2})
    return prepare(side, policy, metrics, sample=sample, blocking=blocking, seed=seed)


async def _adaptive(
    prepared: Preparation, label: str | None, *, seed: int, time_limit_s: float | None, resume: str | None
) -> str | None:
    if resume is not None:
        return await resume_adaptive(prepared, resume, time_limit_s=time_limit_s)
    return await adaptive_run(prepared, label=label, time_limit_s=time_limit_s)


def _run_id() -> str:
    return f"replay-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}"


def _named(control: str | Callable[..., Any] | None) -> str | None:
    return control if isinstance(control, str) else None
