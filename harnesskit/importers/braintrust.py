"""Braintrust results of ``Eval()`` as JSON: a scorer that raised is missing from ``scores``, its trace is in metadata.

Repeats of an input are its trials, in the order of the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harnesskit.importers.documents import json_lines, records, whole
from harnesskit.importers.shape import Found, Refused, Sample, Trials, failed, obj, scored, text


def read_braintrust(path: Path) -> Found:
    """Yield one sample per row."""
    trials = Trials()
    for one in json_lines(path) if path.suffix.lower() == ".jsonl" else records(path, whole(path)):
        yield one if isinstance(one, Refused) else _sample(*one, trials)


def _sample(line: int, row: dict[str, Any], trials: Trials) -> Sample:
    case_id = text(row.get("input"))
    trial, metadata = trials.next(case_id, None), obj(row.get("metadata"))
    error = row.get("error")
    fields = {
        "case_id": case_id,
        "trial": trial,
        "cluster": text(metadata.get("family")),
        "occurred_at": row.get("created"),
        "status": "error" if error else "scored",
        "error": text(error),
        "input": row.get("input"),
        "output": row.get("output"),
        "attributes": row,
    }
    scores = [scored(name, name, value) for name, value in obj(row.get("scores")).items()]
    given = {score.metric for score in scores}
    for name, trace in obj(metadata.get("scorer_errors")).items():
        if name not in given:
            lines = (text(trace) or "").strip().splitlines()
            scores.append(failed(name, name, lines[-1] if lines else "the scorer raised"))
    return Sample(text(row.get("id")) or f"{case_id}/{trial}", line, fields, scores)
