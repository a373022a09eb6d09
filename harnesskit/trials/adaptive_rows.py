"""Case deltas of an adaptive run: the means of every case and metric, and the verdict that the evidence gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from harnesskit.measures.deltas import case_deltas
from harnesskit.replays.setup import Record
from harnesskit.stats.win_evidence import single_variances
from harnesskit.trials.frozen import Frozen
from harnesskit.trials.replayer import reason_code
from harnesskit.trials.win import CONTROL, Found, Win
from harnesskit.trials.win_states import CLOSED_LOG_E, WinStates
from harnesskit.trials.win_tests import WinTests, z_of_e

INTERVAL = "repeated interval (holds wherever the run stopped)"
_COLUMNS = ("case_id", "kind", "metric", "value", "status", "reason", "source", "trial", "sample_id")


def side_frames(frozen: Frozen, records: Sequence[Record]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of the baseline (frozen controls and top-ups) and of the candidate side."""
    kinds = dict.fromkeys((*frozen.wins, *frozen.untested), "win") | dict.fromkeys(frozen.failures, "failure")
    before: list[tuple[Any, ...]] = [
        (case_id, kinds[case_id], metric, value, "ok", None, run.source, place, f"{run.sample_id}")
        for case_id, runs in frozen.controls.items()
        for place, run in enumerate(runs)
        for metric, value in run.scores.items()
    ]
    after: list[tuple[Any, ...]] = []
    for sample, scores in records:
        if sample.case_id not in kinds or reason_code(sample) == "interrupted":
            continue
        side = before if sample.arm == CONTROL else after
        trial = 10_000 + (sample.trial or 0) if sample.arm == CONTROL else sample.trial
        facts = (sample.case_id, kinds[sample.case_id])
        ends = ("control", trial, sample.sample_id)
        if not scores or sample.status in ("error", "timeout"):
            state = sample.status if sample.status in ("skipped", "error", "timeout") else "unscored"
            side.append((*facts, None, None, state, sample.reason or sample.status, *ends))
            continue
        side.extend((*facts, s.metric, s.value, s.status, s.reason, *ends) for s in scores)
    return _frame(before), _frame(after)


def _frame(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(_COLUMNS))
    return frame.astype({"value": float, "metric": object, "reason": object})


def adaptive_deltas(states: WinStates, records: Sequence[Record]) -> pd.DataFrame:
    """Return the case deltas of an adaptive run, every case in them.

    Means, direction, unit and what had no score are those of `case_deltas`; for the wins, status, evidence, interval
    and what is needed to settle them come from the evidence that the run decided on.
    """
    frozen = states.frozen
    before, after = side_frames(frozen, records)
    deltas = case_deltas(before, after, policy=frozen.policy, metrics=frozen.metrics)
    place = {scale.metric: k for k, scale in enumerate(frozen.scales)}
    columns = {name: deltas[name].tolist() for name in _SET}
    facts = zip(deltas["case_id"], deltas["metric"], deltas["unit"], deltas["delta"], strict=True)
    for row, (case_id, metric, unit, delta) in enumerate(facts):
        if case_id not in states.wins or pd.isna(unit) or pd.isna(delta):
            continue
        for name, value in _ruling(states, case_id, place.get(metric), float(delta)).items():
            columns[name][row] = value
    return deltas.assign(**{name: _typed(name, columns[name], deltas.index) for name in _SET})


_SET = ("low", "high", "interval_kind", "z", "bound", "status", "suspect", "reason", "runs_needed", "sd")
_KINDS = {"suspect": bool, "runs_needed": "Int64", **dict.fromkeys(("low", "high", "z", "bound", "sd"), float)}


def _typed(name: str, values: list[Any], index: Any) -> pd.Series[Any]:
    kind: Any = _KINDS.get(name, object)
    column: pd.Series[Any] = pd.Series(values, index=index, dtype=kind)
    return column


def _ruling(states: WinStates, case_id: str, k: int | None, delta: float) -> dict[str, Any]:
    """Return what the evidence says of one metric of a win."""
    win, tests = states.wins[case_id], states.tests
    found: dict[str, Any] = {"z": np.nan, "bound": np.nan, "suspect": False, "runs_needed": pd.NA}
    if k is None or (k not in win.family and k not in win.fails):
        return found | _open("too few control runs have a score of this metric to test it") | _NO_INTERVAL
    if k in win.fails:
        return found | _of_outcome(tests, win, k) | _NO_INTERVAL
    if k not in win.members or win.look is None:
        return found | _open("some runs of the case have no score of this metric: not tested") | _NO_INTERVAL
    seen, i = win.look
    own = win.members.index(k)
    found |= _evidence(tests, win, own) | _interval(states, case_id, own, delta)
    if win.found is not None and k in win.found.metrics and _moved(tests, win, win.found, k):
        return found | _decided(tests, win, win.found)
    alone = win.suspect if win.status != "regressed" else None
    if alone is not None and k in alone.metrics and _moved(tests, win, alone, k):
        return found | _suspected(tests, win, alone, own)
    if seen.calm[i, own]:
        tolerance = tests.rules.tolerance * tests.frozen.scales[k].unit
        reason = f"a change for the worse of {tolerance:g} or more is ruled out"
        return found | {"status": "unchanged", "reason": reason}
    return found | _open(_why_open(win)) | {"runs_needed": _needed(tests, win, own, float(seen.metric_drop[i, own]))}


def _open(reason: str) -> dict[str, Any]:
    return {"status": "inconclusive", "reason": reason}


_NO_INTERVAL: dict[str, Any] = {"low": np.nan, "high": np.nan, "interval_kind": None}


def _why_open(win: Win) -> str:
    if win.traded is not None and win.status != "regressed":
        return "another metric of the case improved at the same time: a trade, which the test of drops leaves open"
    runs = f"{win.n} candidate run{'s' if win.n != 1 else ''} against {win.m}"
    return f"the run stopped before this case was settled ({runs})"


def _decided(tests: WinTests, win: Win, found: Found) -> dict[str, Any]:
    what = "worse" if win.status == "regressed" else "better"
    reason = (
        f"a change for the {what} this large{_together(tests, found)} is very unlikely to be noise, all wins and looks "
        "taken together"
    )
    return {"status": win.status, "reason": reason, "z": found.z, "bound": found.bound}


def _suspected(tests: WinTests, win: Win, found: Found, own: int) -> dict[str, Any]:
    reason = f"enough to call this case worse on its own{_together(tests, found)}, not among all wins together"
    return _open(reason) | {"suspect": True, "runs_needed": _needed(tests, win, own, None)}


def _together(tests: WinTests, found: Found) -> str:
    """Return which metrics spoke together; nothing for a single one."""
    if len(found.metrics) < 2:
        return ""
    names = [tests.frozen.scales[k].metric for k in found.metrics]
    return f" (in {', '.join(names[:5])}{f' and {len(names) - 5} more' if len(names) > 5 else ''} together)"


def _moved(tests: WinTests, win: Win, found: Found, k: int) -> bool:
    """Whether a metric moved as the direction it is in did: by the margin, or most of all its metrics."""
    if win.look is None:
        return False
    seen, i = win.look
    sign = -1.0 if found.z < 0 else 1.0
    moves = {one: sign * seen.metric_drop[i, win.members.index(one)] for one in found.metrics if one in win.members}
    return bool(moves.get(k, 0.0) >= tests.rules.min_drop - 1e-9 or max(moves, key=lambda one: moves[one]) == k)


def _of_outcome(tests: WinTests, win: Win, k: int) -> dict[str, Any]:
    """Return what the e-value of the yes-or-no metrics of a win says of one of them."""
    _, _, fails, runs = win.fails[k]
    facts: dict[str, Any] = {
        "z": z_of_e(win.log_e),
        "bound": z_of_e(float(np.log(len(tests.frozen.wins) / tests.level))),
    }
    said = f"failed in {fails} of {runs} runs"
    if win.status == "regressed" and win.found is not None and k in win.found.metrics:
        return facts | {"status": "regressed", "reason": f"{said}, more than its control runs predict"}
    if win.suspect is not None and k in win.suspect.metrics:
        return facts | _open(f"{said}: enough on its own, not among all wins together") | {"suspect": True}
    if runs and win.log_e < CLOSED_LOG_E:
        return facts | {"status": "unchanged", "reason": f"{said}, as its control runs predict"}
    return facts | _open(f"{said}: too few to tell")


def _evidence(tests: WinTests, win: Win, own: int) -> dict[str, Any]:
    """Return z and bound of the direction with this metric that stands out most at the last look."""
    if win.look is None:
        return {}
    seen, i = win.look
    there = tests.directions(win.members).subsets[:, own]
    here = tests.bounds_of(win)
    bounds = np.zeros(len(there)) if here is None or not np.isfinite(here[0]).any() else here[0]
    place = int(np.argmax(np.where(there, seen.z[i] - bounds, -np.inf)))
    return {"z": float(seen.z[i, place]), "bound": float(bounds[place]) if bounds[place] else np.nan}


def _interval(states: WinStates, case_id: str, own: int, delta: float) -> dict[str, Any]:
    """Return the repeated interval of a metric's change, with the win's own moderated variance."""
    win = states.wins[case_id]
    sd, df = states.metric_noise(case_id, own)
    reach = (
        float(special.stdtrit(df, special.ndtr(states.tests.interval_bound(win)))) * sd * (1 / win.n + 1 / win.m) ** 0.5
    )
    unit = states.frozen.scales[win.members[own]].unit
    return {"low": delta - reach * unit, "high": delta + reach * unit, "interval_kind": INTERVAL, "sd": sd * unit}


def _needed(tests: WinTests, win: Win, own: int, drop: float | None) -> Any:
    """Return the candidate runs after which a win would be decided, everything staying as seen; missing if none."""
    if win.look is None:
        return pd.NA
    seen, i = win.look
    path, directions = tests.path(win), tests.directions(win.members)
    root = np.sqrt(path.info)[:, None]
    bounds = tests.bounds(win.family, win.members, win.m0)[0]
    loud = (seen.effect[i] * root >= bounds) & (seen.drop[i] >= tests.rules.min_drop)
    settled = loud[:, directions.subsets[:, own]].any(axis=1)
    if drop is not None:
        sd = float(np.sqrt(single_variances(directions)[own]))
        settled |= drop + tests.rules.quantile * sd / root[:, 0] < tests.rules.tolerance
    ahead = path.info > 1 / (1 / win.n + 1 / win.m) + 1e-9
    steps = np.flatnonzero(ahead & settled)
    return pd.NA if not len(steps) else max(int(path.n[steps[0]]) - win.n, 1)


def first_wave(records: Iterable[Record]) -> list[Record]:
    """Return the attempts of the first round: one of every win, whatever came out of it."""
    return [record for record in records if record.sample.round == 1]
