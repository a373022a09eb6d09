"""Langfuse experiment results as JSON: one sample per item, one score per evaluation.

An evaluator that raised leaves no evaluation at all. What others of the experiment have and an item lacks is
unscored, and the reason says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harnesskit.importers.documents import records, whole
from harnesskit.importers.shape import Found, Refused, Sample, Score, Trials, items, obj, scored, text

_LEFT_OUT = "the file has no evaluation of this item, as Langfuse writes it when an evaluator raised"


def read_langfuse(path: Path) -> Found:
    """Yield one sample per item."""
    document, trials = obj(whole(path)), Trials()
    values = items(document.get("item_results"))
    names = {text(obj(e).get("name")): None for item in values for e in items(obj(item).get("evaluations"))}
    arm = text(document.get("run_name"))
    for one in records(path, document.get("item_results")):
        yield one if isinstance(one, Refused) else _sample(*one, arm, [n for n in names if n], trials)


def _sample(line: int, row: dict[str, Any], arm: str | None, names: list[str], trials: Trials) -> Sample:
    item = obj(row.get("item"))
    case_id = text(item.get("id")) or text(item.get("input"))
    trial = trials.next(case_id, arm)
    given: dict[str, Score] = {}
    for one in map(obj, items(row.get("evaluations"))):
        name = text(one.get("name"))
        if name is not None:
            given.setdefault(name, scored(name, name, one.get("value"), text(one.get("comment"))))
    scores = [given.get(name) or Score(name, name, None, _LEFT_OUT, "unscored") for name in names]
    fields = {
        "case_id": case_id,
        "arm": arm,
        "trial": trial,
        "trace_id": text(row.get("trace_id")),
        "cluster": text(obj(item.get("metadata")).get("family")),
        "input": item.get("input"),
        "output": row.get("output"),
        "attributes": row,
    }
    return Sample(text(row.get("trace_id")) or f"{arm}/{case_id}/{trial}", line, fields, scores)
