"""lm-eval sample files, ``samples_<task>_<time>.jsonl``: the rows of one document are its filters, not more evidence.

Every filter is a metric of its own, ``exact_match,strict-match``; one without a filter keeps its name. Repeats stand
inside a row and have one score together, so a document is one sample. The case is the document by its hash.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from harnesskit.importers.documents import json_lines
from harnesskit.importers.shape import Found, Refused, Sample, Trials, items, obj, scored, text

_NAME = re.compile(r"samples_(.+)_\d{4}-\d{2}-\d{2}T")


def read_lm_eval(path: Path) -> Found:
    """Yield one sample per document; its filters may stand anywhere in the file."""
    named = _NAME.match(path.name)
    task = named[1] if named else path.stem
    samples: dict[tuple[str, int], Sample] = {}
    repeats = Trials()
    for one in json_lines(path):
        if isinstance(one, Refused):
            yield one
            continue
        line, row = one
        document = text(row.get("doc_hash")) or text(row.get("doc_id"))
        if document is None:
            yield Refused(line, "doc_id", "no_id", "neither doc_hash nor doc_id is given; the row was left out.")
            continue
        name = text(row.get("filter")) or "none"
        document = f"{task}/{text(row.get('doc_id'))}/{document[:16]}"
        place = (document, repeats.next(document, name))
        if place not in samples:
            samples[place] = _sample(line, row, task, *place)
        shown = "" if name == "none" else f",{name}"
        samples[place].scores.extend(
            scored(f"{metric}{shown}", "lm-eval", row.get(metric))
            for metric in items(row.get("metrics"))
            if text(metric)
        )
    yield from samples.values()


def _sample(line: int, row: dict[str, Any], task: str, case_id: str, trial: int) -> Sample:
    arguments = obj(obj(row.get("arguments")).get("gen_args_0"))
    fields = {
        "case_id": case_id,
        "trial": trial,
        "cluster": text(obj(row.get("doc")).get("family")),
        "input": arguments.get("arg_0") if arguments else row.get("doc"),
        "output": row.get("resps"),
        "attributes": {**row, "task": task},
    }
    return Sample(f"{case_id}/{trial}", line, fields, [])
