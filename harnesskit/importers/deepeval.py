"""DeepEval test runs, ``test_run_*.json``: one sample per test case, one score per metric.

A metric that raised makes the whole test ``success: false`` in the file; here only that score is an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harnesskit.importers.documents import records, whole
from harnesskit.importers.shape import Found, Refused, Sample, Score, Trials, failed, items, obj, scored, text


def read_deepeval(path: Path) -> Found:
    """Yield one sample per test case; conversations too."""
    document, trials = obj(whole(path)), Trials()
    arm = text(document.get("identifier"))
    values = items(document.get("testCases")) + items(document.get("conversationalTestCases"))
    for one in records(path, values):
        yield one if isinstance(one, Refused) else _sample(*one, arm, trials)


def _sample(line: int, row: dict[str, Any], arm: str | None, trials: Trials) -> Sample:
    case_id = text(row.get("name")) or text(row.get("input"))
    trial = trials.next(case_id, arm)
    fields = {
        "case_id": case_id,
        "arm": arm,
        "trial": trial,
        "cluster": text(obj(row.get("metadata")).get("family")),
        "input": row.get("input") if "input" in row else row.get("turns"),
        "output": row.get("actualOutput"),
        "steps": row.get("toolsCalled"),
        "duration_s": row.get("runDuration"),
        "cost_usd": row.get("evaluationCost"),
        "attributes": row,
    }
    scores: dict[str, Score] = {}
    for one in map(obj, items(row.get("metricsData"))):
        if isinstance(one.get("name"), str):
            scores.setdefault(one["name"], _score(one))
    return Sample(f"{arm}/{case_id}/{trial}", line, fields, list(scores.values()))


def _score(one: dict[str, Any]) -> Score:
    name, grader = one["name"], text(one.get("evaluationModel")) or "deepeval"
    if one.get("error"):
        return failed(name, grader, text(one["error"]) or "the metric raised")
    return scored(name, grader, one.get("score"), text(one.get("reason")))
