"""MLflow traces (version 3), one per line: feedback is a score, expectations are not.

A scorer that raised has no value and an error. Traces of an evaluation have their input
as case and the evaluation run as arm; several of one input in one run are its trials.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harnesskit.importers.documents import json_lines, records, whole
from harnesskit.importers.shape import Found, Refused, Sample, Score, Trials, failed, items, obj, scored, text
from harnesskit.workspace.problems import UnreadableError
from harnesskit.workspace.reading import parse_json


def read_mlflow(path: Path) -> Found:
    """Yield one sample per trace."""
    trials = Trials()
    for one in json_lines(path) if path.suffix.lower() == ".jsonl" else records(path, whole(path)):
        yield one if isinstance(one, Refused) else _sample(*one, trials)


def _sample(line: int, row: dict[str, Any], trials: Trials) -> Sample | Refused:
    info, data = obj(row.get("info")), obj(row.get("data"))
    key = text(info.get("trace_id")) or text(info.get("request_id"))
    if key is None:
        return Refused(line, "info.trace_id", "no_id", "the trace has no id; it was left out.")
    metadata, tags = obj(info.get("trace_metadata")), obj(info.get("tags"))
    milliseconds, state = info.get("execution_duration_ms"), text(info.get("state"))
    spans = [obj(span) for span in items(data.get("spans"))]
    wrong = state == "ERROR"
    evaluated = "mlflow.eval.requestId" in tags
    case_id, arm = (
        text(metadata.get("mlflow.traceInputs")) if evaluated else None,
        text(metadata.get("mlflow.sourceRun")),
    )
    fields = {
        "case_id": case_id,
        "arm": arm if evaluated else None,
        "trial": trials.next(case_id, arm) if case_id else None,
        "session_id": text(metadata.get("mlflow.trace.session")) or key,
        "trace_id": key,
        "cluster": text(tags.get("family")),
        "occurred_at": info.get("request_time"),
        "status": "error" if wrong else "scored",
        "error": _message(spans) if wrong else None,
        "input": _json(metadata.get("mlflow.traceInputs")),
        "output": _json(metadata.get("mlflow.traceOutputs")),
        "steps": [
            {"name": s.get("name"), "type": _json(obj(s.get("attributes")).get("mlflow.spanType"))} for s in spans
        ],
        "duration_s": milliseconds / 1000 if isinstance(milliseconds, (int, float)) else None,
        "version": arm,
        "attributes": row,
    }
    return Sample(key, line, fields, _scores(items(info.get("assessments"))))


def _scores(assessments: list[Any]) -> list[Score]:
    found: dict[tuple[str, str], Score] = {}
    for one in map(obj, assessments):
        name, feedback = text(one.get("assessment_name")), one.get("feedback")
        if name is None or not isinstance(feedback, dict) or one.get("valid") is False:
            continue
        grader = text(obj(one.get("source")).get("source_id")) or name
        version = text(obj(one.get("metadata")).get("mlflow.assessment.scorerDigest"))
        error = obj(feedback.get("error"))
        if error:
            code, said = text(error.get("error_code")), text(error.get("error_message"))
            score = failed(
                name, grader, ": ".join(part for part in (code, said) if part) or "the scorer raised", version
            )
        else:
            score = scored(name, grader, feedback.get("value"), text(one.get("rationale")), version)
        found[name, grader] = score
    return list(found.values())


def _message(spans: list[dict[str, Any]]) -> str:
    said = [text(obj(span.get("status")).get("message")) for span in spans]
    return next((message for message in said if message), "the trace ended in an error")


def _json(value: object) -> Any:
    """Return an attribute, which MLflow writes as JSON inside JSON."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value.encode("utf-8", "replace"))[0]
    except UnreadableError:
        return value
