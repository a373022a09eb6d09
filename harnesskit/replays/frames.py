"""Attempts as frames: one row per attempt, and one row per score of the attempts that count."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from harnesskit.model.case import EvalCase
from harnesskit.model.frames import SAMPLES
from harnesskit.model.views import CASE_SCORES
from harnesskit.replays.setup import Record
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import SampleRow, ScoreRow
from harnesskit.workspace.run_records import Attempt, mark_counting

EXTRA = ("role", "kind", "scores")
"""Columns of a replayed samples frame beyond those of `SAMPLES`; scores is a JSON list."""

_KINDS: dict[str, str] = {
    **dict.fromkeys(("turn_index", "trial", "attempt", "round", "input_tokens", "output_tokens"), "Int64"),
    **dict.fromkeys(("duration_s", "env_wait_s", "cost_usd", "value"), "float64"),
    **dict.fromkeys(("counts", "candidate_surfaced"), "boolean"),
    "occurred_at": "datetime64[us, UTC]",
}


def samples_frame(records: Sequence[Record], cases: Sequence[EvalCase], role: str) -> pd.DataFrame:
    """Return one row per attempt (`SAMPLES`, then `EXTRA`), sorted by case in the order given, trial and attempt."""
    place = {case.id: number for number, case in enumerate(cases)}
    kinds = {case.id: case.kind for case in cases}
    ordered = sorted(records, key=lambda one: _order(one.sample, place))
    counting = mark_counting(Attempt(one.sample, one.scores, not one.sample.counts, []) for one in ordered)
    rows = [
        {**sample._asdict(), "role": role, "kind": kinds.get(sample.case_id or ""), "scores": _scores_json(one.scores)}
        for sample, one in zip(counting, ordered, strict=True)
    ]
    return _frame(rows, (*SAMPLES.columns, *EXTRA))


def _order(sample: SampleRow, place: dict[str, int]) -> tuple[int, int, int]:
    return place.get(sample.case_id or "", len(place)), sample.trial or 0, sample.attempt


def _scores_json(scores: Iterable[ScoreRow]) -> str:
    told = ("metric", "grader", "value", "status", "reason")
    return to_json([{name: getattr(score, name) for name in told} for score in scores])


def case_scores(samples: pd.DataFrame) -> pd.DataFrame:
    """Return one row per counting sample, metric and grader (`CASE_SCORES`) of a frame that `replay` returned.

    A sample without any score has one row without a metric: ``skipped``, or ``unscored`` with why.

    Examples
    --------
    >>> import harnesskit.replays.replay as replays
    >>> cases = [EvalCase(id="c-1", session_id="s-1", kind="win", replay_input={"n": 2})]
    >>> samples = replays.replay(cases, lambda case: "s-2", scorer=lambda session: {"ok": 1}, progress=False)
    >>> case_scores(samples)[["case_id", "metric", "value", "status"]].to_dict("records")
    [{'case_id': 'c-1', 'metric': 'ok', 'value': 1.0, 'status': 'ok'}]
    """
    SAMPLES.require(samples, "sample_id", "case_id", "status", "reason", "scores", by="case_scores()")
    rows = []
    for sample in samples.to_dict("records"):
        if sample.get("counts") is False:
            continue
        scores = json.loads(str(sample["scores"]))
        whole = "skipped" if sample["status"] == "skipped" else "unscored"
        nothing = {"metric": None, "value": None, "status": whole, "reason": sample["reason"]}
        rows += [{**sample, "grader": None, "grader_version": None, **score} for score in scores or [nothing]]
    return _frame(rows, tuple(CASE_SCORES.columns))


def _frame(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    made = {
        name: pd.Series([row.get(name) for row in rows], dtype=_KINDS.get(name, "object"), name=name)
        for name in columns
    }
    return pd.DataFrame(made, columns=list(columns))
