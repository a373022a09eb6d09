"""LangSmith: rows of ``evaluate()`` as JSON (run, example, evaluation_results), one list or one row per line.

A repetition has no number in the file: it is the order within the example. An evaluator that raised has
``extra.error``: its score is an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harnesskit.importers.documents import json_lines, records, whole
from harnesskit.importers.shape import Found, Refused, Sample, Score, Trials, failed, items, obj, scored, text
from harnesskit.workspace.times import read_time


def read_langsmith(path: Path) -> Found:
    """Yield one sample per root run."""
    trials = Trials()
    for one in json_lines(path) if path.suffix.lower() == ".jsonl" else records(path, whole(path)):
        yield one if isinstance(one, Refused) else _sample(*one, trials)


def _sample(line: int, row: dict[str, Any], trials: Trials) -> Sample | Refused:
    run, example = obj(row.get("run")), obj(row.get("example"))
    key = text(run.get("id"))
    if key is None:
        return Refused(line, "run.id", "no_id", "the run has no id, so nothing can refer to it; it was left out.")
    case_id = text(run.get("reference_example_id")) or text(example.get("id"))
    begun, ended = (read_time(run.get(name), name).at for name in ("start_time", "end_time"))
    scores = [_score(obj(one)) for one in items(obj(row.get("evaluation_results")).get("results"))]
    fields = {
        "case_id": case_id,
        "session_id": text(run.get("session_id")) or key,
        "trace_id": text(run.get("trace_id")),
        "trial": trials.next(case_id, None) if case_id else None,
        "cluster": obj(example.get("metadata")).get("family"),
        "occurred_at": run.get("start_time"),
        "status": "error" if run.get("error") else "scored",
        "error": text(run.get("error")),
        "input": run.get("inputs"),
        "output": run.get("outputs"),
        "duration_s": (ended - begun).total_seconds() if begun and ended else None,
        "input_tokens": run.get("prompt_tokens"),
        "output_tokens": run.get("completion_tokens"),
        "version": text(run.get("session_name")),
        "attributes": row,
    }
    return Sample(key, line, fields, [score for score in scores if score is not None])


def _score(one: dict[str, Any]) -> Score | None:
    metric = text(one.get("key"))
    if metric is None:
        return None
    grader = text(obj(one.get("evaluator_info")).get("name")) or metric
    comment = text(one.get("comment"))
    if obj(one.get("extra")).get("error"):
        return failed(metric, grader, comment or "the evaluator raised")
    raw = one.get("score") if one.get("score") is not None else one.get("value")
    return scored(metric, grader, raw, comment)
