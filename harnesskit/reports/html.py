"""The report as one HTML file: nothing is loaded from elsewhere, nothing runs, everything from data is text."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harnesskit.model.decision import CASE_STATUSES, Decision
from harnesskit.reports.cells import DASH, NUMERIC, SYMBOLS, Cell, Column, utc
from harnesskit.reports.document import Block, Chart, Document, Prose, Table, Tally
from harnesskit.reports.figures import NARROW, WIDE, data_uri, svg
from harnesskit.reports.text import html_text

REST_LIMIT = 100  # rows of the seldom needed columns
ROW_LIMIT = 2_000  # a browser lays out a few thousand rows at once; the JSON report holds all of them
_PLAIN = re.compile(r"[\x00-\x7f▼▲●○×✓✗→–]*")
_CHECKS = (
    Column("check", "Check", "text"),
    Column("state", "State", "state"),
    Column("estimate", "Estimate", "number"),
    Column("low", "Interval", "interval", "high"),
    Column("bar", "Bar", "number"),
    Column("n", "n", "count"),
    Column("note", "In words", "text"),
)


def render(document: Document) -> bytes:
    """Return the report as one self-contained HTML page in UTF-8."""
    page = _environment().get_template("report.html.j2")
    decision = document.verdict
    return page.render(
        title=document.title,
        banner=None if decision is None else _banner(decision),
        checks=None if decision is None else _checks(decision),
        sections=[_section(number, s.title, s.blocks) for number, s in enumerate(document.sections, start=1)],
        facts=_facts(document),
    ).encode("utf-8")


@cache
def _environment() -> Environment:
    folder = Path(__file__).parent / "templates"
    return Environment(
        loader=FileSystemLoader(folder, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: html_text(value) if type(value) is str else value,
    )


def _banner(decision: Decision) -> dict[str, Any]:
    first, *rest = decision.reasons or [decision.reason]
    return {
        "verdict": decision.verdict,
        "symbol": SYMBOLS[decision.verdict],
        "subject": decision.subject,
        "first": first,
        "rest": rest,
        "runs_needed": decision.runs_needed,
        "exit_code": decision.exit_code,
    }


def _checks(decision: Decision) -> dict[str, Any] | None:
    checks = decision.checks
    if checks.empty:
        return None
    if {"estimate", "bar"} <= set(checks):
        checks = checks.assign(**{name: _counts(checks, name) for name in ("estimate", "bar")})
    shown = 0 if decision.guard_kind == "rule" else 40  # the page of a rule says them in words, section by section
    return _table(Table("checks", "What the verdict rests on, one row per check", checks, _CHECKS, open_rows=shown))


def _counts(checks: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Return a column of the checks in which the counts are whole numbers: estimate and bar are both whole."""
    whole = [
        all(isinstance(value, int | float) and float(value).is_integer() for value in pair)
        for pair in zip(checks["estimate"], checks["bar"], strict=True)
    ]
    values = [int(value) if count else value for value, count in zip(checks[name], whole, strict=True)]
    return pd.Series(values, index=checks.index, dtype=object)


def _section(number: int, title: str, blocks: tuple[Block, ...]) -> dict[str, Any]:
    return {"id": f"s{number}", "title": title, "blocks": [_block(block) for block in blocks]}


def _block(block: Block) -> dict[str, Any]:
    if isinstance(block, Prose):
        return {"kind": "prose", "sentences": block.sentences, "listed": block.listed, "strong": block.strong}
    if isinstance(block, Table):
        return {"kind": "table", **_table(block)}
    if isinstance(block, Chart):
        images = {name: Markup(data_uri(svg(block, width))) for name, width in (("src", WIDE), ("narrow", NARROW))}
        return {"kind": "chart", "title": block.title, "alt": block.alt, **images}
    return _tally(block) if isinstance(block, Tally) else {"kind": "code", "text": block.text}


def _tally(tally: Tally) -> dict[str, Any]:
    total = sum(count for _, count in tally.counts) or 1
    known = {**dict.fromkeys(CASE_STATUSES, ""), **SYMBOLS}
    parts = [
        {"status": status, "count": count, "symbol": known.get(status, ""), "share": f"{100 * count / total:.2f}"}
        for status, count in tally.counts
    ]
    return {"kind": "tally", "parts": parts, "unit": tally.unit, "total": sum(count for _, count in tally.counts)}


def _table(table: Table) -> dict[str, Any]:
    rows = table.cells(ROW_LIMIT)
    columns = table.shown()
    heads = [{"label": column.label, "right": _right(rows, i, column)} for i, column in enumerate(columns)]
    main = [i for i, column in enumerate(columns) if not column.rare]
    rest = [i for i, column in enumerate(columns) if column.rare]
    shown = [_row([row[i] for i in main], [heads[i] for i in main]) for row in rows]
    beside = [*main[:2], *rest] if rest else []
    return {
        "caption": table.caption,
        "heads": [heads[i] for i in main],
        "open": shown[: table.open_rows],
        "folded": shown[table.open_rows :],
        "left": max(len(table.frame) - len(rows), 0),
        "rest_heads": [heads[i] for i in beside],
        "rest": [_row([row[i] for i in beside], [heads[i] for i in beside]) for row in rows[:REST_LIMIT]]
        if rest
        else [],
        "rest_label": ", ".join(columns[i].label for i in rest),
        "rest_left": max(len(table.frame) - REST_LIMIT, 0) if rest else 0,
    }


# A right-to-left name must not reorder what stands beside it, hence bdi; ASCII and our own signs cannot, and tables are
# long.
def _row(row: list[Cell], heads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "text": one.text if _PLAIN.fullmatch(one.text) else Markup("<bdi>{}</bdi>").format(html_text(one.text)),
            "class": _class(one, head["right"]),
        }
        for one, head in zip(row, heads, strict=True)
    ]


def _class(one: Cell, right: bool) -> str:
    size = max(map(len, one.text.split("\n"))) if one.kind == "text" else 0
    names = ["r"] if right else ["long wide"] if size > 55 else ["long"] if size > 28 else []
    if one.kind in ("status", "state") and one.tone:
        names.append(f"t-{one.tone}")
    return " ".join(names)


def _right(rows: list[list[Cell]], position: int, column: Column) -> bool:
    if column.kind != "auto":
        return column.kind in NUMERIC
    return any(row[position].text not in ("", DASH) for row in rows) and all(
        row[position].kind in NUMERIC or row[position].text in ("", DASH) for row in rows
    )


def _facts(document: Document) -> list[tuple[str, str]]:
    facts = [(str(key), str(value)) for key, value in document.metadata.items()]
    if document.created_at is not None:
        facts.append(("created at", utc(document.created_at)))
    if document.verdict is not None:
        facts.append(("evidence hash", document.verdict.evidence_hash))
    return facts
