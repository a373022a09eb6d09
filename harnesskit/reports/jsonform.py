"""The report for machines: strict JSON with a published schema (`ReportJson.model_json_schema()`)."""

from __future__ import annotations

import json
import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from harnesskit.model.decision import Decision
from harnesskit.model.text import visible
from harnesskit.reports.cells import as_text, finite, missing, utc
from harnesskit.reports.document import Code, Document, Prose, Table, Tally

Scalar: TypeAlias = bool | int | float | str | list[Any] | None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class CheckJson(_Strict):
    """One check of the verdict."""

    check: str = Field(description="what was asked")
    state: str = Field(description="met, unmet or unknown")
    estimate: float | None = Field(None, description="point estimate")
    low: float | None = Field(None, description="lower end of its interval; null when unbounded or missing")
    high: float | None = Field(None, description="upper end of its interval; null when unbounded or missing")
    bar: float | str | None = Field(None, description="what it is held against")
    n: int | float | None = Field(None, description="units of evidence behind it")
    note: str | None = Field(None, description="in words")


class VerdictJson(_Strict):
    """The decision."""

    subject: str
    guard_kind: str | None = Field(description="rule, case or check; null for a regression run")
    verdict: str = Field(description="pass, fail or inconclusive; promote, retire or pending")
    exit_code: int = Field(description="0, 1 or 3")
    reason: str
    detail: str
    reasons: list[str] = Field(description="sentences, the deciding one first")
    checks: list[CheckJson]
    runs_needed: int | None = Field(description="further replays that would settle what is open")
    policy: dict[str, Any]
    evidence_hash: str = Field(description="SHA-256 of the evidence and the policy")


class TableJson(_Strict):
    """One table with every column of its frame; a missing or infinite number is null."""

    name: str
    caption: str
    columns: list[str]
    rows: list[list[Scalar]] = Field(description="one list per row, in the order of columns; times are ISO in UTC")


class SectionJson(_Strict):
    """One section in words; its tables are named."""

    title: str
    text: list[str]
    tables: list[str]


class ReportJson(_Strict):
    """A report. Keys are sorted; equal evidence gives equal bytes."""

    format: Literal["harnesskit-report/1"] = "harnesskit-report/1"
    title: str
    created_at: str | None = Field(None, description="ISO time in UTC, when one was given")
    metadata: dict[str, Any] = Field(default_factory=dict)
    verdict: VerdictJson | None = None
    evidence: dict[str, Any] = Field(
        default_factory=dict,
        description="what `harnesskit verify` computes the verdict from again: kind, run, baseline, seed, sample ids",
    )
    tallies: dict[str, dict[str, int]] = Field(default_factory=dict, description="unit to status to count")
    sections: list[SectionJson]
    tables: list[TableJson]


def render(document: Document) -> bytes:
    """Return the report as strict JSON in UTF-8."""
    plain = report_json(document).model_dump(mode="python")
    return (json.dumps(plain, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode("utf-8")


def report_json(document: Document) -> ReportJson:
    """Return the report as a validated record."""
    tallies = [block for section in document.sections for block in section.blocks if isinstance(block, Tally)]
    return ReportJson(
        title=_text(document.title),
        created_at=None if document.created_at is None else utc(document.created_at),
        metadata=_plain(document.metadata),
        evidence=_plain(document.evidence),
        verdict=None if document.verdict is None else _verdict(document.verdict),
        tallies={_text(tally.unit): dict(tally.counts) for tally in tallies},
        sections=[_section(section.title, section.blocks) for section in document.sections],
        tables=[_table(table) for table in document.tables],
    )


def scalar(value: Any) -> Scalar:
    """Return a value of a frame as JSON can hold it: whole numbers exact, what is missing or infinite null.

    Examples
    --------
    >>> import pandas as pd
    >>> scalar(float("nan")), scalar(9007199254740993), scalar(pd.Timestamp("2025-03-01"))
    (None, 9007199254740993, '2025-03-01T00:00:00Z')
    """
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        value = value.item()
    if missing(value) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime | date | np.datetime64):
        return utc(value)
    if isinstance(value, list | tuple | np.ndarray) and all(isinstance(v, str | int) for v in value):
        return [scalar(item) for item in value]
    return _text(as_text(value))


def _table(table: Table) -> TableJson:
    columns = [_text(str(name)) for name in table.frame.columns]
    values = [table.frame.iloc[:, position].tolist() for position in range(len(columns))]
    rows = [[scalar(value) for value in row] for row in zip(*values, strict=True)]
    return TableJson(name=table.name, caption=_text(table.caption), columns=columns, rows=rows)


def _verdict(decision: Decision) -> VerdictJson:
    fields = set(CheckJson.model_fields)
    checks = [{k: scalar(v) for k, v in row.items() if k in fields} for row in decision.checks.to_dict("records")]
    return VerdictJson(
        subject=_text(decision.subject),
        guard_kind=decision.guard_kind,
        verdict=decision.verdict,
        exit_code=decision.exit_code,
        reason=_text(decision.reason),
        detail=_text(decision.detail),
        reasons=[_text(reason) for reason in decision.reasons],
        checks=[CheckJson.model_validate(check) for check in checks],
        runs_needed=decision.runs_needed,
        policy=_plain(decision.policy),
        evidence_hash=decision.evidence_hash,
    )


def _section(title: str, blocks: tuple[Any, ...]) -> SectionJson:
    text = [sentence for block in blocks if isinstance(block, Prose) for sentence in block.sentences]
    text += [block.text for block in blocks if isinstance(block, Code)]
    tables = [block.name for block in blocks if isinstance(block, Table)]
    return SectionJson(title=_text(title), text=[_text(sentence) for sentence in text], tables=tables)


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """Return plain data that JSON can hold: what has no JSON form becomes text."""
    text = json.dumps(finite(value), default=as_text, allow_nan=False)
    plain: dict[str, Any] = json.loads(text, object_pairs_hook=lambda pairs: {_text(k): _leaf(v) for k, v in pairs})
    return plain


def _leaf(value: Any) -> Any:
    if isinstance(value, list):
        return [_leaf(item) for item in value]
    return _text(value) if isinstance(value, str) else value


def _text(text: str) -> str:
    """Return text that UTF-8 can hold: a lone surrogate becomes its code point in words, all else stays."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join(visible(char) if "\ud800" <= char <= "\udfff" else char for char in text)
    return text
