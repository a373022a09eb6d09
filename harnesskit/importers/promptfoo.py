"""promptfoo results, ``results.json`` (version 3) and ``results.jsonl``.

Every repeat has a ``testIdx`` of its own, so the trial is the order within test, provider and prompt. A provider that
failed has score 0 in the file: here it is an error without scores. One score per named metric, and ``promptfoo`` for
the weighted score of the row.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harnesskit.importers.documents import json_lines, records, whole
from harnesskit.importers.shape import Found, Refused, Sample, Score, Trials, items, obj, scored, text

GRADER = "promptfoo"
_ERROR = 2


def read_promptfoo(path: Path) -> Found:
    """Yield the samples of a promptfoo file."""
    lines = path.suffix.lower() == ".jsonl"
    document = {} if lines else obj(whole(path))
    at = obj(document.get("results")).get("timestamp")
    trials = Trials()
    for one in json_lines(path) if lines else records(path, obj(document.get("results")).get("results")):
        if isinstance(one, Refused):
            yield one
        else:
            yield _sample(*one, at, trials)


def _sample(line: int, row: dict[str, Any], at: object, trials: Trials) -> Sample:
    test, response = obj(row.get("testCase")), obj(row.get("response"))
    provider = obj(row.get("provider"))
    case_id = text(test.get("description")) or text(row.get("vars")) or f"test-{row.get('testIdx')}"
    arm = text(provider.get("label")) or text(provider.get("id"))
    prompt = row.get("promptIdx")
    trial = trials.next(case_id, f"{arm}/{prompt}")
    failed = row.get("failureReason") == _ERROR
    latency = row.get("latencyMs")
    usage = obj(response.get("tokenUsage")) or obj(row.get("tokenUsage"))
    fields = {
        "case_id": case_id,
        "arm": arm,
        "trial": trial,
        "occurred_at": at,
        "status": "error" if failed else "scored",
        "error": text(row.get("error")) if failed else None,
        "cluster": obj(test.get("metadata")).get("family"),
        "input": row.get("vars"),
        "output": response.get("output"),
        "steps": obj(response.get("metadata")).get("tool_calls"),
        "duration_s": latency / 1000 if isinstance(latency, (int, float)) else None,
        "input_tokens": usage.get("prompt"),
        "output_tokens": usage.get("completion"),
        "cost_usd": row.get("cost"),
        "attributes": row,
    }
    key = text(row.get("id")) or f"{case_id}/{arm}/{prompt}/{trial}"
    return Sample(key, line, fields, [] if failed else _scores(row))


def _scores(row: dict[str, Any]) -> list[Score]:
    grading = obj(row.get("gradingResult"))
    reasons: dict[str, str] = {}
    for part in items(grading.get("componentResults")):
        metric = obj(obj(part).get("assertion")).get("metric")
        if isinstance(metric, str) and isinstance(obj(part).get("reason"), str):
            reasons.setdefault(metric, part["reason"])
    named = {name: value for name, value in obj(row.get("namedScores")).items() if name != GRADER}
    return [
        scored(GRADER, GRADER, row.get("score"), text(grading.get("reason"))),
        *(scored(name, GRADER, value, reasons.get(name)) for name, value in named.items()),
    ]
