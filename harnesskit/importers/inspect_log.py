"""Inspect logs, ``.eval`` (read member by member) and ``.json``: one sample per case and epoch, one score per scorer.

C, P, I and N are 1, .5, 0 and 0, as Inspect reads them; a score with several values is several metrics. A sample with
an error has that status and no score that was not given.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harnesskit.importers.documents import records, whole
from harnesskit.importers.inspect_zip import Archive
from harnesskit.importers.opening import refuse
from harnesskit.importers.shape import Found, Refused, Sample, Score, obj, scored, text
from harnesskit.workspace.problems import UnreadableError
from harnesskit.workspace.reading import parse_json

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_BULKY = ("events", "events_data", "attachments", "store", "messages", "output", "input")


def read_inspect(path: Path) -> Found:
    """Yield the samples of an Inspect log; those of a log that ended in an error are read as far as they are there."""
    if path.suffix.lower() == ".json":
        document = obj(whole(path))
        header, found = document, records(path, document.get("samples"))
    else:
        archive = Archive(path)
        header, found = _header(archive), _members(archive)
    evaluation = obj(header.get("eval"))
    if header.get("status") not in ("success", None):
        status = text(header.get("status"))
        yield Refused(None, "status", "unfinished_log", f"the log ended as {status}; what is in it was read.", "note")
    for one in found:
        yield one if isinstance(one, Refused) else _sample(*one, evaluation)


def _header(archive: Archive) -> dict[str, Any]:
    for name in ("header.json", "_journal/start.json"):
        if name in archive.members:
            data = archive.read(name)
            if isinstance(data, bytes):
                try:
                    return obj(parse_json(data)[0])
                except UnreadableError:
                    continue
    raise refuse(archive.path, "it has neither header.json nor _journal/start.json, so it is no Inspect log.")


def _members(archive: Archive) -> Iterator[tuple[int, dict[str, Any]] | Refused]:
    names = sorted(name for name in archive.members if name.startswith("samples/") and name.endswith(".json"))
    for place, name in enumerate(names, start=1):
        data = archive.read(name)
        if isinstance(data, Refused):
            yield data._replace(line=place)
            continue
        try:
            value = parse_json(data)[0]
        except UnreadableError as error:
            yield Refused(place, name, error.finding.kind, f"the member {name}: {error.finding.message}")
            continue
        if isinstance(value, dict):
            yield place, value
        else:
            yield Refused(place, name, "not_an_object", f"the member {name} is no JSON object; it was left out.")


def _sample(line: int, row: dict[str, Any], evaluation: dict[str, Any]) -> Sample:
    case_id, epoch = text(row.get("id")), row.get("epoch")
    error, metadata = row.get("error"), obj(row.get("metadata"))
    usage = [obj(one) for one in obj(row.get("model_usage")).values()]
    output = obj(row.get("output"))
    working = row.get("working_time")
    fields = {
        "case_id": case_id,
        "session_id": text(row.get("uuid")),
        "trial": epoch,
        "cluster": metadata.get("family"),
        "occurred_at": row.get("started_at") or evaluation.get("created"),
        "status": "error" if error else "scored" if row.get("scores") else "inconclusive",
        "reason": None if error or row.get("scores") else "the log has no score of this sample",
        "error": text(obj(error).get("message") or error) if error else None,
        "input": row.get("input"),
        "output": output.get("completion"),
        "steps": row.get("messages"),
        "duration_s": row.get("total_time") if working is None else working,
        "input_tokens": _sum(usage, "input_tokens"),
        "output_tokens": _sum(usage, "output_tokens"),
        "version": text(evaluation.get("model")),
        "attributes": {name: value for name, value in row.items() if name not in _BULKY}
        | {"model": output.get("model"), "eval_id": evaluation.get("eval_id"), "task": evaluation.get("task")},
    }
    key = text(row.get("uuid")) or f"{evaluation.get('eval_id')}/{case_id}/{epoch}"
    return Sample(key, line, fields, _scores(obj(row.get("scores"))))


def _scores(scores: dict[str, Any]) -> list[Score]:
    found = []
    for name, score in scores.items():
        value = obj(score).get("value")
        reason = text(obj(score).get("explanation"))
        values = (
            {f"{name}/{part}": inner for part, inner in value.items()} if isinstance(value, dict) else {name: value}
        )
        found += [
            scored(metric, name, LETTERS.get(v, v) if isinstance(v, str) else v, reason) for metric, v in values.items()
        ]
    return found


def _sum(usage: list[dict[str, Any]], name: str) -> int | None:
    counts = [one[name] for one in usage if isinstance(one.get(name), int)]
    return sum(counts) if counts else None
