"""Samples as flat Arrow rows: one per sample and metric, a few thousand samples at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from harnesskit.importers.flat_sql import SAID
from harnesskit.importers.shape import Refused, Sample
from harnesskit.workspace.online import HEAVY, NO_DATE, ONLINE_SCHEMA
from harnesskit.workspace.reading import clean_text, to_json
from harnesskit.workspace.times import read_time

STAGED = pa.schema([*(f.with_nullable(True) for f in ONLINE_SCHEMA), ("line", pa.int64()), ("day", pa.string())])
"""Columns of a staged row: those of an online part, the line, and the day (`SAID` for what is no sample)."""

BATCH = 2_000
_JSON = frozenset(HEAVY)
_WHOLE = frozenset(f.name for f in ONLINE_SCHEMA if f.type == pa.int64())
_NUMBERS = frozenset(("duration_s", "env_wait_s", "cost_usd"))


def row_batches(
    found: Iterable[Sample | Refused], *, prefix: str, run: str, source: str, arm: str | None
) -> Iterator[pa.RecordBatch]:
    """Yield what a reader found as staged rows; a key seen before is refused."""
    rows: list[dict[str, Any]] = []
    seen: set[str] = set()
    for one in found:
        if isinstance(one, Refused):
            rows.append(_said(one))
        elif one.key in seen:
            message = f"the sample {one.key!r} was there before; the first is kept, this one left out."
            rows.append(_said(Refused(one.line, "", "duplicate_sample", message)))
        else:
            seen.add(one.key)
            rows += _rows(one, {"sample_id": f"{prefix}:{one.key}", "run_id": run, "source": source}, arm)
        if len(rows) >= BATCH:
            yield pa.RecordBatch.from_pylist(rows, schema=STAGED)
            rows = []
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=STAGED)


def _rows(one: Sample, ids: dict[str, Any], arm: str | None) -> list[dict[str, Any]]:
    said: list[Refused] = []
    fields = {name: _clean(name, value, one.line, said) for name, value in one.fields.items() if value is not None}
    common = {"attempt": 1, "counts": True, "arm": arm, "status": "scored", **fields, **ids, "line": one.line}
    at = common.get("occurred_at")
    common["day"] = at.date().isoformat() if at is not None else NO_DATE
    light = {name: value for name, value in common.items() if name not in _JSON}
    rows = [{**light, **_score(score)} for score in one.scores] or [light]
    rows[0] = {**rows[0], **{name: common.get(name) for name in _JSON}}
    return [{**row, "head": place == 0} for place, row in enumerate(rows)] + [_said(item) for item in said]


def _score(score: Any) -> dict[str, Any]:
    status = score.status or ("unscored" if score.value is None else "ok")
    return {
        "metric": clean_text(score.metric),
        "grader": clean_text(score.grader),
        "grader_version": score.grader_version,
        "value": score.value,
        "score_status": status,
        "score_reason": None if score.reason is None else clean_text(score.reason),
    }


def _clean(name: str, value: Any, line: int | None, said: list[Refused]) -> Any:
    if name in _JSON:
        return clean_text(to_json(value))
    if name == "occurred_at":
        if isinstance(value, datetime):
            return value.astimezone(UTC)
        moment = read_time(value, name)
        if moment.finding is not None:
            said.append(Refused(line, name, moment.finding.kind, moment.finding.message, moment.finding.severity))
        return moment.at
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**62
    if name in _WHOLE:
        return int(value) if number else None
    if name in _NUMBERS:
        return float(value) if number else None
    return value if isinstance(value, bool) else clean_text(value if isinstance(value, str) else to_json(value))


def _said(one: Refused) -> dict[str, Any]:
    return {
        "line": one.line,
        "metric": one.field,
        "score_status": one.kind,
        "score_reason": clean_text(one.message),
        "status": one.severity,
        "head": False,
        "day": SAID,
    }
