"""Replays answered from records: the same code path without an agent, for tests, notebooks and CI."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from harnesskit.model.case import EvalCase
from harnesskit.model.frames import SAMPLES
from harnesskit.model.replay import ReplayResult
from harnesskit.replays.context import ReplayContext
from harnesskit.replays.setup import InconclusiveError
from harnesskit.workspace.reading import to_json


class RecordedReplays:
    """A replay function that answers from records, by case and trial; made by `recorded`."""

    def __init__(self, records: Mapping[tuple[str, int], ReplayResult]) -> None:
        self._records = dict(records)
        told = sorted(
            (case, trial, record.session_id, repr(record.scores)) for (case, trial), record in records.items()
        )
        self.replay_identity = f"recorded {hashlib.sha256(to_json(told).encode()).hexdigest()[:16]}"

    def __call__(self, case: EvalCase, context: ReplayContext) -> ReplayResult:
        """Return the record of the case and trial."""
        record = self._records.get((case.id, context.trial))
        if record is None:
            raise InconclusiveError(f"there is no record of case {case.id!r}, trial {context.trial}")
        return record


def recorded(samples: pd.DataFrame) -> RecordedReplays:
    """Return a replay function that answers from `samples`; a case or trial without a record is inconclusive.

    Parameters
    ----------
    samples
        What `replay` returned (reads ``case_id, session_id, scores``, and ``trial, status, counts, output, steps,
        input_tokens, output_tokens, cost_usd`` when there), or rows of ``case_scores`` (``case_id, session_id, metric,
        value``). Attempts that do not count, and those that ended in an error or a timeout, are no records. Without a
        trial, rows of a case are numbered in their order.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> samples = pd.DataFrame({"case_id": ["c-1"], "session_id": ["s-9"], "metric": ["quality"], "value": [0.8]})
    >>> recorded(samples)(EvalCase(id="c-1"), ReplayContext()).scores
    {'quality': 0.8}
    """
    SAMPLES.require(samples, "case_id", "session_id", by="recorded()")
    if "scores" not in samples.columns:
        samples = _one_row_each(samples)
    records: dict[tuple[str, int], ReplayResult] = {}
    seen: dict[str, int] = {}
    for row in samples.to_dict("records"):
        case_id, session = row["case_id"], row["session_id"]
        if not isinstance(case_id, str) or not isinstance(session, str) or row.get("counts") is False:
            continue
        if row.get("status") in ("error", "timeout", "skipped"):
            continue
        seen[case_id] = seen.get(case_id, 0) + 1
        trial = row.get("trial")
        place = seen[case_id] if trial is None or pd.isna(trial) else int(trial)
        records[case_id, place] = _result({str(name): value for name, value in row.items()})
    return RecordedReplays(records)


def _one_row_each(scores: pd.DataFrame) -> pd.DataFrame:
    SAMPLES.require(scores, "metric", "value", by="recorded()") if "metric" not in scores.columns else None
    keys = [name for name in ("case_id", "session_id", "trial") if name in scores.columns]
    rows = []
    for key, group in scores.groupby(keys, sort=False, dropna=False):
        values = {str(name): value for name, value in zip(group["metric"], group["value"], strict=True)}
        rows.append({**dict(zip(keys, key, strict=True)), "scores": values})
    return pd.DataFrame(rows, columns=[*keys, "scores"])


def _result(row: dict[str, Any]) -> ReplayResult:
    scores = row["scores"]
    if isinstance(scores, str):
        scores = json.loads(scores)
    if isinstance(scores, list):
        scores = {score["metric"]: score["value"] for score in scores}
    given = {name: row.get(name) for name in ("input_tokens", "output_tokens", "cost_usd")}
    texts = {name: row.get(name) for name in ("output", "steps")}
    return ReplayResult(
        row["session_id"],
        scores=scores,
        **{name: json.loads(text) if isinstance(text, str) else None for name, text in texts.items()},
        **{name: None if value is None or pd.isna(value) else value for name, value in given.items()},
    )
