"""The report as one HTML file: nothing is loaded from elsewhere, nothing runs, everything from data is text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harnesskit.model.decision import CASE_STATUSES, Decision
from harnesskit.reports.cells import DASH, NUMERIC, SYMBOLS, Cell, Column, utc
from harnesskit.reports.document import Block, Chart, Document, Prose, Table, Tally
from harnesskit.reports.figures import data_uri, svg
from harnesskit.reports.text import html_text

ROW_LIMIT = 2_000  # a browser lays out a few thousand rows at once; the JSON report holds all of them
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
    table = Table("checks", "What the verdict rests on, one row per check", decision.checks, _CHECKS, open_rows=40)
    return None if decision.checks.empty else _table(table)


def _section(number: int, title: str, blocks: tuple[Block, ...]) -> dict[str, Any]:
    return {"id": f"s{number}", "title": title, "blocks": [_block(block) for block in blocks]}


def _block(block: Block) -> dict[str, Any]:
    if isinstance(block, Prose):
        return {"kind": "prose", "sentences": block.sentences, "listed": block.listed, "strong": block.strong}
    if isinstance(block, Table):
        return {"kind": "table", **_table(block)}
    if isinstance(block, Chart):
        return {"kind": "chart", "title": block.title, "alt": block.alt, "src": Markup(data_uri(svg(block)))}
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
    heads = [{"label": column.label, "right": _right(rows, i, column)} for i, column in enumerate(table.shown())]
    return {
        "caption": table.caption,
        "heads": heads,
        "open": [_row(row, heads) for row in rows[: table.open_rows]],
        "folded": [_row(row, heads) for row in rows[table.open_rows :]],
        "left": max(len(table.frame) - len(rows), 0),
    }


# A right-to-left name must not reorder what stands beside it, hence bdi; plain ASCII cannot, and tables are long.
def _row(row: list[Cell], heads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "text": one.text if one.text.isascii() else Markup("<bdi>{}</bdi>").format(html_text(one.text)),
            "class": _class(one, head["right"]),
        }
        for one, head in zip(row, heads, strict=True)
    ]


def _class(one: Cell, right: bool) -> str:
    size = len(one.text) if one.kind == "text" else 0
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
