"""OTLP JSON traces, one object or one per line: GenAI conventions and OpenInference, one sample per trace.

The sample is the trace; its root span names session, input and output, its other spans are the steps. Tokens are
summed over model calls. Scores are the events ``gen_ai.evaluation.result``, of any span.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from harnesskit.importers.documents import json_lines, whole
from harnesskit.importers.otlp_spans import Span, spans_of
from harnesskit.importers.shape import Found, Refused, Sample, Score, scored, text

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SESSION = ("gen_ai.conversation.id", "session.id", "langfuse.session.id")
_INPUT = ("input.value", "gen_ai.input.messages", "langfuse.observation.input")
_OUTPUT = ("output.value", "gen_ai.output.messages", "langfuse.observation.output")
_TOKENS_IN = ("gen_ai.usage.input_tokens", "llm.token_count.prompt", "gen_ai.usage.prompt_tokens")
_TOKENS_OUT = ("gen_ai.usage.output_tokens", "llm.token_count.completion", "gen_ai.usage.completion_tokens")
_RESULT = "gen_ai.evaluation"


def read_otlp(path: Path) -> Found:
    """Yield one sample per trace, in the order in which the traces begin in the file."""
    traces: dict[str, list[Span]] = {}
    for line, document in _documents(path):
        if isinstance(document, Refused):
            yield document
            continue
        for place, span in enumerate(spans_of(document), start=1):
            if span is None:
                message = f"span {place} has no trace id and span id that can be read; it was left out."
                yield Refused(line, "traceId", "no_id", message)
            else:
                traces.setdefault(span.trace_id, []).append(span)
    for place, spans in enumerate(traces.values(), start=1):
        yield _sample(place, spans)


def _documents(path: Path) -> Iterator[tuple[int | None, dict[str, Any] | Refused]]:
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        for one in json_lines(path):
            yield (one.line, one) if isinstance(one, Refused) else one
        return
    value = whole(path)
    for number, item in enumerate(value if isinstance(value, list) else [value], start=1):
        if isinstance(item, dict):
            yield number, item
        else:
            yield number, Refused(number, "", "not_an_object", "an export must be a JSON object; it was left out.")


def _sample(place: int, spans: list[Span]) -> Sample:
    spans = sorted(spans, key=lambda span: (span.start or 0, span.span_id))
    ids = {span.span_id for span in spans}
    root = next((span for span in spans if span.parent_id is None or span.parent_id not in ids), spans[0])
    begun = [span.start for span in spans if span.start is not None]
    wrong = [span for span in spans if span.failed]
    error = next((span.message or text(span.attributes.get("error.type")) or span.name for span in wrong), None)
    fields = {
        "session_id": text(_first([root, *spans], _SESSION)) or root.trace_id,
        "trace_id": root.trace_id,
        "occurred_at": _time(min(begun)) if begun else None,
        "status": "error" if root.failed else "scored",
        "error": error,
        "input": _first([root, *spans], _INPUT),
        "output": _first([root, *reversed(spans)], _OUTPUT),
        "steps": [{"name": span.name, "failed": span.failed} for span in spans if span is not root],
        "duration_s": (root.end - root.start) / 1e9 if root.start is not None and root.end is not None else None,
        "input_tokens": _total(spans, _TOKENS_IN),
        "output_tokens": _total(spans, _TOKENS_OUT),
        "version": text(root.resource.get("service.version")),
        "attributes": {"resource": root.resource, "spans": [_kept(span) for span in spans]},
    }
    return Sample(root.trace_id, place, fields, _scores(spans))


def _kept(span: Span) -> dict[str, Any]:
    kept = span._asdict()
    del kept["resource"], kept["trace_id"]
    return kept


def _scores(spans: Iterable[Span]) -> list[Score]:
    found: dict[tuple[str, str], Score] = {}
    for span in spans:
        for name, values in span.events:
            metric = text(values.get(f"{_RESULT}.name"))
            if name == f"{_RESULT}.result" and metric is not None:
                grader = text(values.get(f"{_RESULT}.evaluator.name")) or metric
                reason = text(values.get(f"{_RESULT}.explanation")) or text(values.get(f"{_RESULT}.score.label"))
                found[metric, grader] = scored(metric, grader, values.get(f"{_RESULT}.score.value"), reason)
    return list(found.values())


def _first(spans: Iterable[Span], names: tuple[str, ...]) -> Any:
    found = (span.attributes[name] for span in spans for name in names if span.attributes.get(name) is not None)
    return next(found, None)


def _total(spans: Iterable[Span], names: tuple[str, ...]) -> int | None:
    counts = [_first([span], names) for span in spans]
    whole_counts = [count for count in counts if isinstance(count, int) and not isinstance(count, bool)]
    return sum(whole_counts) if whole_counts else None


def _time(nanoseconds: int) -> datetime | None:
    try:
        return _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return None
