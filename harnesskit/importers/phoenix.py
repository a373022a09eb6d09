"""Phoenix experiments as JSON: one sample per example and repetition, one score per annotation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harnesskit.importers.documents import records, whole
from harnesskit.importers.shape import Found, Refused, Sample, Score, failed, items, obj, scored, text


def read_phoenix(path: Path) -> Found:
    """Yield one sample per row of an experiment."""
    for one in records(path, whole(path)):
        yield one if isinstance(one, Refused) else _sample(*one)


def _sample(line: int, row: dict[str, Any]) -> Sample:
    case_id, trial, latency = text(row.get("example_id")), row.get("repetition_number"), row.get("latency_ms")
    fields = {
        "case_id": case_id,
        "trial": trial,
        "trace_id": text(row.get("trace_id")),
        "occurred_at": row.get("start_time"),
        "status": "error" if row.get("error") else "scored",
        "error": text(row.get("error")),
        "input": row.get("input"),
        "output": row.get("output"),
        "duration_s": latency / 1000 if isinstance(latency, (int, float)) else None,
        "input_tokens": row.get("prompt_token_count"),
        "output_tokens": row.get("completion_token_count"),
        "attributes": row,
    }
    scores: dict[str, Score] = {}
    for one in map(obj, items(row.get("annotations"))):
        if isinstance(one.get("name"), str):
            scores.setdefault(one["name"], _score(one))
    key = text(row.get("trace_id")) or f"{case_id}/{trial}"
    return Sample(key, line, fields, list(scores.values()))


def _score(one: dict[str, Any]) -> Score:
    grader = (text(one.get("annotator_kind")) or "phoenix").lower()
    if one.get("error"):
        return failed(one["name"], grader, text(one["error"]) or "the evaluator raised")
    return scored(one["name"], grader, one.get("score"), text(one.get("explanation")) or text(one.get("label")))
