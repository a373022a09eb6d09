"""Spans of OTLP JSON in one shape: ids as hex, attributes as plain values, times in nanoseconds."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any, NamedTuple

from harnesskit.importers.shape import items, obj, text


class Span(NamedTuple):
    """One span."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start: int | None
    end: int | None
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    failed: bool
    message: str | None
    resource: dict[str, Any]


def spans_of(document: dict[str, Any]) -> Iterator[Span | None]:
    """Yield the spans of one export request, camelCase or snake_case; None for one without ids."""
    for block in map(obj, _list(document, "resourceSpans", "resource_spans")):
        resource = attributes_of(obj(block.get("resource")).get("attributes"))
        for scope in map(obj, _list(block, "scopeSpans", "scope_spans")):
            for span in items(scope.get("spans")):
                yield _span(obj(span), resource)


def _list(record: dict[str, Any], *names: str) -> list[Any]:
    return next((items(record[name]) for name in names if name in record), [])


def _of(span: dict[str, Any], camel: str, snake: str) -> Any:
    return span.get(camel, span.get(snake))


def _span(span: dict[str, Any], resource: dict[str, Any]) -> Span | None:
    trace = hex_id(_of(span, "traceId", "trace_id"), 16)
    own = hex_id(_of(span, "spanId", "span_id"), 8)
    if trace is None or own is None:
        return None
    status = obj(span.get("status"))
    events = [
        (text(e.get("name")) or "", attributes_of(e.get("attributes"))) for e in map(obj, items(span.get("events")))
    ]
    return Span(
        trace,
        own,
        hex_id(_of(span, "parentSpanId", "parent_span_id"), 8),
        text(span.get("name")) or "",
        _whole(_of(span, "startTimeUnixNano", "start_time_unix_nano")),
        _whole(_of(span, "endTimeUnixNano", "end_time_unix_nano")),
        attributes_of(span.get("attributes")),
        events,
        status.get("code") in (2, "STATUS_CODE_ERROR", "ERROR"),
        text(status.get("message")) or None,
        resource,
    )


def hex_id(value: object, size: int) -> str | None:
    """Return an id of `size` bytes as lower-case hex; it may be hex, ``0x`` and hex, or base64.

    Examples
    --------
    >>> hex_id("XrMlp/3TOXA=", 8), hex_id("0x5EB325A7FDD33970", 8), hex_id("", 8)
    ('5eb325a7fdd33970', '5eb325a7fdd33970', None)
    """
    if not isinstance(value, str) or not value:
        return None
    digits = value.removeprefix("0x").lower()
    if len(digits) == 2 * size and all(c in "0123456789abcdef" for c in digits):
        return digits
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw.hex() if len(raw) == size else None


def attributes_of(value: object) -> dict[str, Any]:
    """Return a list of OTLP key-value pairs as an object of plain values."""
    pairs = [obj(pair) for pair in items(value)]
    return {pair["key"]: _plain(pair.get("value")) for pair in pairs if isinstance(pair.get("key"), str)}


def _plain(value: object) -> Any:
    for kind, inner in obj(value).items():
        if inner is None:
            continue
        if kind in ("intValue", "int_value"):
            return _whole(inner)
        if kind in ("arrayValue", "array_value"):
            return [_plain(item) for item in items(obj(inner).get("values"))]
        if kind in ("kvlistValue", "kvlist_value"):
            return attributes_of(obj(inner).get("values"))
        return inner
    return None


def _whole(value: object) -> int | None:
    try:
        return int(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
    except ValueError:
        return None
