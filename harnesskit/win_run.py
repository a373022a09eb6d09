"""A case on its way to a win, through the user's own agent: prepared, recorded as it goes, judged by its files."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harnesskit.agent_side import AgentSide
from harnesskit.model.case import EvalCase
from harnesskit.model.errors import WorkspaceError, nearest
from harnesskit.promotion import PromotionResult, looks_of
from harnesskit.promotion_trials import Asked, common_of, identity, replay_of
from harnesskit.replays.progress import progress
from harnesskit.replays.run_store import rules_of
from harnesskit.replays.setup import Record, Sessions, Setup
from harnesskit.trials.adaptive_regression import AgentReplays
from harnesskit.trials.promotion_setup import fingerprint_of
from harnesskit.trials.win import CONTROL
from harnesskit.trials.win_promotion import FrozenWin, WinTrial, freeze_win, judge_win, read_win
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import RunRow, ScoreRow
from harnesskit.workspace.runs import create_run, read_run, read_run_row, run_folder, run_folders


def case_of(side: AgentSide, case_id: str) -> EvalCase:
    """Return a case of the eval set.

    Raises
    ------
    WorkspaceError
        There is no such case, or nothing to replay it with.
    """
    cases = {case.id: case for case in side.evalset.cases()}
    if case_id not in cases:
        raise WorkspaceError(f"There is no case {case_id!r} in {side.root}{nearest(str(case_id), list(cases))}.")
    if not cases[case_id].replayable:
        raise WorkspaceError(f"Case {case_id!r} has no replay input, so it cannot be run again; attach one.")
    return cases[case_id]


async def win_trial(
    side: AgentSide,
    case_id: str,
    asked: Asked,
    *,
    thresholds: Mapping[str, float] | None = None,
    shown_by: Sequence[str] = (),
) -> PromotionResult:
    """Run a case until it is a win to protect or is none, and return the verdict.

    The runs of the case under the same fingerprint count together, over days; without a fingerprint each call stands
    alone. They are control runs: the bank of the next regression run and trial.
    """
    case = case_of(side, case_id)
    setup = Setup(run_id="", replay=replay_of(side), rules=rules_of(side.root), arm=CONTROL, seed=asked.seed,
                  **common_of(side))  # fmt: skip
    fingerprint = json.loads(to_json(fingerprint_of(side.agent.fingerprint, setup)))
    frozen = freeze_win(case, asked.policy, metrics=asked.metrics, thresholds=thresholds, shown_by=shown_by,
                        fingerprint=fingerprint)  # fmt: skip
    before = [row for row in trials_of_case(side.root, case_id) if _same(row, frozen)]
    earlier = [one for row in before for one in _records(side.root, row)]
    if before and judge_win(frozen, earlier).decision.verdict != "pending":
        return judge_case(side.root, before[-1].run_id, given=asked.given)  # decided already: nothing to replay
    now = asked.clock()
    row = RunRow(
        f"control-{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}", "control", label=asked.label or f"case {case_id}",
        started_at=now, policy=to_json(asked.policy.plain()), fingerprint=to_json(fingerprint),
        parameters=to_json(
            {"total": 1, "policy": asked.policy.label, "identity": identity(side), "win": frozen.plain(),
             "earlier": [one.run_id for one in before]}
        ),
    )  # fmt: skip
    writer = create_run(side.root, row)
    used = Sessions({one.sample.session_id for one in earlier if one.sample.session_id})
    own = Setup(run_id=row.run_id, replay=setup.replay, rules=setup.rules, arm=CONTROL, seed=asked.seed, sessions=used,
                **common_of(side))  # fmt: skip
    with progress(asked.policy.max_passes, wanted=True) as step:
        trial = WinTrial(
            frozen, case, AgentReplays({CONTROL: own}, asked.blocking), writer.append, earlier,
            time_limit_s=asked.time_limit_s, clock=time.monotonic, step=step,
        )  # fmt: skip
        stopped = await trial.go()
    writer.finish(asked.clock(), parameters=to_json({**json.loads(row.parameters or "{}"), "stopped": stopped}))
    return judge_case(side.root, row.run_id, given=asked.given)


def trials_of_case(root: Path, case_id: str) -> list[RunRow]:
    """Return the runs in which a case was tried for a win, oldest first."""
    rows = [row for row in map(read_run_row, run_folders(root)) if row.role == "control"]
    mine = [row for row in rows if _case_of(row) == case_id]
    return sorted(mine, key=lambda row: (str(row.started_at), len(_earlier(row)), row.run_id))


def cases_tried(root: Path) -> set[str]:
    """Return the cases that were tried for a win."""
    rows = [row for row in map(read_run_row, run_folders(root)) if row.role == "control"]
    return {case for row in rows if (case := _case_of(row)) is not None}


def judge_case(
    root: Path, run_id: str, *, policy: Any = None, given: str = "", cases: pd.DataFrame | None = None
) -> PromotionResult:
    """Return the verdict on the runs of a case up to a stored one, from their files and nothing else.

    Raises
    ------
    WorkspaceError
        There is no such run, or it tried no case.
    """
    folder = run_folder(root, run_id)
    frozen = read_win(read_run_row(folder)) if folder.is_dir() else None
    if frozen is None:
        raise WorkspaceError(f"The run {run_id!r} under {root} tried no case for a win.")
    rows = _counted(root, run_id)
    found = judge_win(frozen, records_of_case(root, run_id), policy=policy, cases=cases)
    parameters = json.loads(rows[-1].parameters or "{}")
    return PromotionResult(
        frozen.case_id, "case", found.decision, evidence=found.evidence, samples=found.samples,
        run_ids=tuple(row.run_id for row in rows[::-1]), frozen=frozen.plain(), fingerprint=dict(frozen.fingerprint),
        looks=looks_of(root, frozen.case_id), stopped=parameters.get("stopped"), root=given or str(root),
        control=found.scores,
    )  # fmt: skip


def records_of_case(root: Path, run_id: str) -> list[Record]:
    """Return the attempts that count for a case at a stored run of it: those of the runs before it, and its own."""
    return [one for row in _counted(root, run_id) for one in _records(root, row)]


def _counted(root: Path, run_id: str) -> list[RunRow]:
    own = read_run_row(run_folder(root, run_id))
    return [*(read_run_row(run_folder(root, one)) for one in _earlier(own)), own]


def _earlier(row: RunRow) -> list[str]:
    """Return the runs of the case that counted already when this one began."""
    found = json.loads(row.parameters or "{}").get("earlier")
    return [str(one) for one in found] if isinstance(found, list) else []


def _case_of(row: RunRow) -> str | None:
    win = json.loads(row.parameters or "{}").get("win")
    return win.get("case") if isinstance(win, dict) else None


def _same(row: RunRow, frozen: FrozenWin) -> bool:
    """Whether the runs of an earlier trial count: same agent, known by its fingerprint, same input, same thresholds."""
    before = read_win(row)
    return (
        before is not None
        and bool(frozen.fingerprint)
        and before.fingerprint == frozen.fingerprint
        and before.input_hash == frozen.input_hash
        and dict(before.thresholds) == dict(frozen.thresholds)
    )


def _records(root: Path, row: RunRow) -> list[Record]:
    _, samples, scores, _ = read_run(run_folder(root, row.run_id))
    by_sample: dict[str, list[ScoreRow]] = {}
    for score in scores:
        by_sample.setdefault(score.sample_id, []).append(score)
    return [Record(sample, by_sample.get(sample.sample_id, [])) for sample in samples]
