"""The verdict on an adaptive run, from its samples and its frozen part alone: the same whenever it is asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from harnesskit.decisions.regression import decide_regression
from harnesskit.measures.comparison import compare_runs
from harnesskit.measures.ledger import evidence_ledger
from harnesskit.measures.missing import missing_bounds
from harnesskit.model.decision import CASE_STATUSES, Decision
from harnesskit.replays.setup import Record
from harnesskit.trials.adaptive_regression import taken
from harnesskit.trials.adaptive_rows import adaptive_deltas, first_wave, side_frames
from harnesskit.trials.frozen import Frozen, read_frozen
from harnesskit.trials.win import Win
from harnesskit.trials.win_states import WinStates
from harnesskit.workspace.rows import RunRow, ScoreRow
from harnesskit.workspace.runs import read_run, read_run_row, run_folder

_NAMED = 5


class AdaptiveVerdict(NamedTuple):
    """Everything that follows from an adaptive run."""

    deltas: pd.DataFrame
    comparison: pd.DataFrame
    ledger: pd.DataFrame
    decision: Decision
    states: WinStates


def frozen_of(row: RunRow) -> Frozen | None:
    """Return what a run fixed before its first replay; None for a run that is not adaptive."""
    parameters = json.loads(row.parameters or "{}")
    if not isinstance(parameters, dict) or "frozen" not in parameters:
        return None
    return read_frozen(parameters["frozen"])


def read_adaptive(root: Path, run_id: str) -> tuple[RunRow, Frozen | None, list[Record]]:
    """Return an adaptive run with its attempts in the order in which they were written; no attempts for another run."""
    folder = run_folder(root, run_id)
    if not folder.is_dir() or frozen_of(read_run_row(folder)) is None:
        return RunRow(run_id, "unknown"), None, []
    row, samples, scores, _ = read_run(folder)
    by_sample: dict[str, list[ScoreRow]] = {}
    for score in scores:
        by_sample.setdefault(score.sample_id, []).append(score)
    return row, frozen_of(row), [Record(sample, by_sample.get(sample.sample_id, [])) for sample in samples]


def adaptive_verdict(
    frozen: Frozen, records: Sequence[Record], *, subject: str, stopped: str | None = None
) -> AdaptiveVerdict:
    """Judge an adaptive run.

    The wins by the sequential evidence; a small loss everywhere, and the bound of the mean drop, by the first wave
    only, which no evidence has chosen. Where many scores are missing the pass must hold with them at their worst, of
    all attempts: those that a doubtful win lost later count as well.

    Parameters
    ----------
    frozen, records
        The run.
    subject
        Its id.
    stopped
        Why it ended.
    """
    states, _ = taken(frozen, records)
    deltas = adaptive_deltas(states, records)
    comparison = _comparison(states, records, deltas)
    before, after = side_frames(frozen, records)
    known: dict[str, Any] = {"policy": frozen.policy, "metrics": frozen.metrics}
    missing = missing_bounds(before, after, **known)
    decision = decide_regression(deltas, comparison, policy=frozen.policy, subject=subject, missing=missing)
    notes = [*_trades(states), *_spending(states, stopped), *frozen.notes]
    ledger = evidence_ledger(before, after, **known)
    return AdaptiveVerdict(deltas, comparison, ledger, replace(decision, reasons=[*decision.reasons, *notes]), states)


def _comparison(states: WinStates, records: Sequence[Record], deltas: pd.DataFrame) -> pd.DataFrame:
    """Return the comparison: counts of the whole run, means of wins by the first wave."""
    whole = compare_runs(deltas)
    wave = compare_runs(
        adaptive_deltas(states, [*first_wave(records), *(r for r in records if r.sample.round is None)])
    )
    wave = wave.set_index(["kind", "metric"]).reindex(pd.MultiIndex.from_frame(whole[["kind", "metric"]])).reset_index()
    for status in CASE_STATUSES:
        wave[f"n_{status}"] = whole[f"n_{status}"].to_numpy()
    later = "means of the first replay of every win; later replays were chosen by their scores"
    said = wave["warning"].astype(object).where(wave["warning"].notna(), None)
    wave["warning"] = [
        (f"{one}; {later}" if one else later) if kind == "win" else one
        for one, kind in zip(said, wave["kind"], strict=True)
    ]
    columns: pd.DataFrame = wave[list(whole.columns)]
    return columns.astype(whole.dtypes.to_dict())


def _trades(states: WinStates) -> list[str]:
    """Return a line for wins in which one metric broke while another improved: no verdict, but worth a look."""
    found = [
        (case_id, win) for case_id, win in states.wins.items() if win.traded is not None and win.status != "regressed"
    ]
    if not found:
        return []
    named = "; ".join(_trade(states, case_id, win) for case_id, win in found[:_NAMED])
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return [f"Trades, one metric down while another is up (not counted as regressed): {named}{more}."]


def _trade(states: WinStates, case_id: str, win: Win) -> str:
    seen, i = win.look if win.look is not None else (None, 0)
    down = win.traded.metrics if win.traded is not None else ()
    names = [states.frozen.scales[k].metric for k in win.members]
    up = [] if seen is None else [
        name for k, name, z in zip(win.members, names, seen.metric_z[i], strict=True)
        if k not in down and z <= -states.tests.rules.veto
    ]  # fmt: skip
    return f"{case_id} improved {', '.join(up)}, check {', '.join(states.frozen.scales[k].metric for k in down)}"


def _spending(states: WinStates, stopped: str | None) -> list[str]:
    frozen = states.frozen
    text = f"{states.spent} of {frozen.budget} replays of the budget were spent on {len(frozen.wins)} wins"
    text += f"; the run ended: {stopped}." if stopped else "."
    found = [text]
    if frozen.policy.width * frozen.policy.depth > 2:
        found.append(
            f"Rounds of {frozen.policy.width} wins x {frozen.policy.depth} runs are quicker, with up to .06 less power "
            "than 2 wins x 1 run at the same budget."
        )
    return found
