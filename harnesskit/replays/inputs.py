"""The cases to replay, however they are given: a cases frame, a list of eval cases, or an eval set."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from harnesskit.model.case import EvalCase
from harnesskit.model.errors import FrameError, listed
from harnesskit.model.frames import CASES
from harnesskit.model.replay import ReplayError
from harnesskit.workspace.reading import to_json


def eval_cases(cases: Any, *, by: str) -> list[EvalCase]:
    """Return the cases in the order in which they are given.

    Parameters
    ----------
    cases
        A cases frame (reads ``case_id, replay_input``, JSON text or decoded, and when there ``kind, session_id,
        created_at, signature, baseline_scores, notes``), a list of `EvalCase`, or an object with a method ``cases``.
    by
        The public function, for errors.

    Raises
    ------
    FrameError, ReplayError
        A column is missing, an id is missing or given twice, a replay input is not JSON, or it is something else.

    Examples
    --------
    >>> frame = pd.DataFrame({"case_id": ["c-1"], "replay_input": ['{"task": "refund"}']})
    >>> eval_cases(frame, by="replay()")[0].replay_input
    {'task': 'refund'}
    """
    if isinstance(cases, pd.DataFrame):
        found = _of_frame(cases, by)
    elif callable(getattr(cases, "cases", None)):
        found = list(cases.cases())
    elif isinstance(cases, Iterable) and not isinstance(cases, (str, bytes, Mapping)):
        found = list(cases)
    else:
        found = [cases]
    strange = [one for one in found if not isinstance(one, EvalCase)]
    if strange:
        kind = type(strange[0]).__name__
        raise ReplayError(f"{by} needs a cases frame, a list of EvalCase or an EvalSet; found {kind}.")
    _check(found, by)
    return found


def _check(cases: list[EvalCase], by: str) -> None:
    ids = [case.id for case in cases]
    seen: set[str] = set()
    twice = sorted({one for one in ids if one in seen or seen.add(one)})  # type: ignore[func-returns-value]
    if twice:
        raise ReplayError(f"{by} needs each case once; given more than once: {listed([repr(one) for one in twice])}.")
    for case in cases:
        try:
            to_json(case.replay_input)
        except (TypeError, ValueError, RecursionError) as error:
            raise ReplayError(f"{by}: the replay input of {case.id!r} cannot be written as JSON: {error}") from error


def _of_frame(frame: pd.DataFrame, by: str) -> list[EvalCase]:
    CASES.require(frame, "case_id", "replay_input", by=by)
    known = [name for name in CASES.columns if name in frame.columns]
    columns = {name: frame[name].tolist() for name in known}
    return [_of_row({name: columns[name][place] for name in known}, by) for place in range(len(frame))]


def _of_row(row: dict[str, Any], by: str) -> EvalCase:
    case_id = row["case_id"]
    if not isinstance(case_id, str) or not case_id:
        raise FrameError(f"{by} needs a case_id that is text in every row of its cases frame; found {case_id!r}.")
    created = row.get("created_at")
    scores = _json(row.get("baseline_scores"), case_id, "baseline_scores", by)
    signature: Any = row.get("signature")
    return EvalCase(
        id=case_id,
        created_at=created.isoformat() if isinstance(created, pd.Timestamp) and not pd.isna(created) else "",
        session_id=_text(row.get("session_id")),
        kind="win" if row.get("kind") == "win" else "failure",
        signature=tuple(str(label) for label in signature) if _is_list(signature) else (),
        baseline_scores={name: float(score) for name, score in scores.items() if _is_score(score)}
        if isinstance(scores, dict)
        else {},
        replay_input=_json(row["replay_input"], case_id, "replay_input", by),
        notes=_text(row.get("notes")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_list(value: Any) -> bool:
    return not isinstance(value, (str, bytes, Mapping)) and isinstance(value, Iterable)


def _is_score(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _json(value: Any, case_id: str, column: str, by: str) -> Any:
    if isinstance(value, (dict, list)):
        return value
    if not isinstance(value, str):
        if value is None or (not _is_list(value) and pd.isna(value)):
            return None
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        message = f"{by} needs JSON text in {column} (or decoded values); that of {case_id!r} is not: {error}."
        raise FrameError(message) from error
