"""An adaptive regression run through the user's own agent: prepared, recorded as it goes, resumed, planned."""

from __future__ import annotations

import json
import time
import uuid
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from harnesskit.agent_side import AgentSide
from harnesskit.model.errors import WorkspaceError
from harnesskit.model.identity import identity_of
from harnesskit.model.metrics import Metrics
from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.replay import ReplayError
from harnesskit.replays.progress import progress
from harnesskit.replays.run_store import rules_hash, rules_of
from harnesskit.replays.setup import Setup
from harnesskit.trials.adaptive_plan import PLAN, plan_frame
from harnesskit.trials.adaptive_regression import AdaptiveRun, Ended
from harnesskit.trials.adaptive_setup import Preparation, setups_of
from harnesskit.trials.frozen import Frozen
from harnesskit.trials.stored_adaptive import read_adaptive
from harnesskit.trials.win import CANDIDATE
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import RunRow
from harnesskit.workspace.runs import RunWriter, create_run, resume_run


def prepare(
    side: AgentSide, policy: RegressionPolicy, metrics: Metrics, *, sample: int | None, blocking: bool, seed: int = 0
) -> Preparation:
    """Return what an adaptive run of this workspace is made from: cases wins first, newest first."""
    newest = side.evalset.cases()[::-1]
    cases = sorted(newest, key=lambda case: case.kind != "win")
    if sample is not None and sample > 0:
        cases = cases[:sample]
    agent = side.agent
    common = {
        "rules": rules_of(side.root), "scorer": agent.scorer, "verifier": agent.verifier,
        "timeout_s": side.config.replay_timeout_s, "seed": seed,
    }  # fmt: skip
    return Preparation(
        side.root,
        cases,
        policy,
        metrics,
        setups_of(agent.replay, agent.control, common),
        control=agent.control if isinstance(agent.control, str) else None,
        fingerprint=agent.fingerprint,
        seed=seed,
        blocking=blocking,
        concurrency=policy.width * policy.depth if policy.depth > 1 else 1,
    )


async def adaptive_run(
    prepared: Preparation, *, label: str | None = None, time_limit_s: float | None = None
) -> str | None:
    """Make an adaptive run and return its id; None without control runs to compare with and a way to make them."""
    frozen = await prepared.ready()
    if frozen is None:
        return None
    now = datetime.now(UTC)
    setup = prepared.setups[CANDIDATE]
    parameters = {
        "total": len(prepared.cases), "policy": prepared.policy.label, "identity": _identity(prepared),
        "frozen": frozen.plain(),
    }  # fmt: skip
    row = RunRow(
        f"replay-{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}",
        "replay",
        label=label,
        started_at=now,
        policy=to_json(prepared.policy.plain()),
        parameters=to_json(parameters),
        fingerprint=to_json(_fingerprint(prepared.fingerprint, setup)),
    )
    await _go(prepared, frozen, create_run(prepared.root, row), (), time_limit_s)
    return row.run_id


async def resume_adaptive(prepared: Preparation, run_id: str, *, time_limit_s: float | None = None) -> str:
    """Go on with an adaptive run that was cut off or stopped, under what it has frozen, and return its id.

    Raises
    ------
    WorkspaceError
        There is no such run, or it is not adaptive.
    ReplayError
        It was begun with other functions, or one of its cases is gone.
    """
    row, frozen, earlier = read_adaptive(prepared.root, run_id)
    if frozen is None:
        raise WorkspaceError(f"There is no adaptive run {run_id!r} under {prepared.root} to resume.")
    begun, now = json.loads(row.parameters or "{}").get("identity", {}), _identity(prepared)
    changed = [name for name in now if begun.get(name) != now[name]]
    gone = {*frozen.wins, *frozen.once} - {case.id for case in prepared.cases}
    if changed or gone:
        what = f"{', '.join(changed)} changed" if changed else f"case {min(gone)!r} is gone"
        raise ReplayError(
            f"cannot resume run {run_id!r}: {what}. Start a new run, or go back to what it was begun with."
        )
    await _go(prepared, frozen, resume_run(prepared.root, run_id), earlier, time_limit_s)
    return run_id


def plan(prepared: Preparation) -> pd.DataFrame:
    """Return what a run would cost and could see (`PLAN`), without a replay; no rows when there is no control bank."""
    bank = prepared.bank()
    if not bank.depth([case.id for case in prepared.wins]):
        return pd.DataFrame(columns=list(PLAN.columns))
    return plan_frame(prepared.frozen(bank))


async def _go(
    prepared: Preparation, frozen: Frozen, writer: RunWriter, earlier: Any, time_limit_s: float | None
) -> Ended:
    cases = {case.id: case for case in prepared.cases}
    with progress(frozen.budget + len(frozen.once), wanted=True) as step:
        run = AdaptiveRun(
            frozen,
            cases,
            prepared.replays(writer.row.run_id),
            writer.append,
            earlier,
            time_limit_s=time_limit_s,
            clock=time.monotonic,
            step=step,
        )
        ended = await run.go()
    parameters = {**json.loads(writer.row.parameters or "{}"), "stopped": ended.stopped}
    writer.finish(parameters=to_json(parameters))
    return ended


def _identity(prepared: Preparation) -> dict[str, Any]:
    found: dict[str, Any] = {arm: identity_of(setup.replay) for arm, setup in sorted(prepared.setups.items())}
    setup = prepared.setups[CANDIDATE]
    return found | {"scorer": identity_of(setup.scorer), "verifier": identity_of(setup.verifier)}


def _fingerprint(given: Any, setup: Setup) -> dict[str, Any]:
    if given is None:
        return {}
    named = {"version": given} if isinstance(given, str) else dict(given)
    return {**named, "rules_hash": rules_hash(setup)}
