"""The report for pull requests and text files: verdict in the first line, tables, no figures."""

from __future__ import annotations

from harnesskit.model.decision import Decision
from harnesskit.reports.cells import NUMERIC, SYMBOLS, Cell, utc
from harnesskit.reports.document import Block, Chart, Code, Document, Prose, Table, Tally
from harnesskit.reports.text import markdown_cell, markdown_code, markdown_text

ROW_LIMIT = 200  # a comment on a code host holds 65,536 characters


def render(document: Document) -> bytes:
    """Return the report as Markdown in UTF-8; tables follow the GitHub dialect."""
    parts = _head(document)
    for section in document.sections:
        parts.append(f"## {markdown_text(section.title)}")
        parts += [text for block in section.blocks if (text := _block(block))]
    parts += _foot(document)
    return ("\n\n".join(parts) + "\n").encode("utf-8")


def _head(document: Document) -> list[str]:
    decision, title = document.verdict, markdown_text(document.title)
    if decision is None:
        return [f"# {title}"]
    return [f"# {decision.verdict.upper()}: {title}", *_reasons(decision)]


def _reasons(decision: Decision) -> list[str]:
    first, *rest = decision.reasons or [decision.reason]
    lines = [f"**{markdown_text(first)}**"]
    if rest:
        lines.append("\n".join(f"- {markdown_text(sentence)}" for sentence in rest))
    return lines


def _block(block: Block) -> str:
    if isinstance(block, Prose):
        texts = [markdown_text(sentence) for sentence in block.sentences]
        if block.listed:
            return "\n".join(f"- {text}" for text in texts)
        return ("> " if block.strong else "") + " ".join(texts)
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Tally):
        counts = ", ".join(f"{SYMBOLS.get(status, '')} {count} {status}".strip() for status, count in block.counts)
        return f"{counts}, of {sum(n for _, n in block.counts):,} {markdown_text(block.unit)}"
    if isinstance(block, Code):
        return markdown_code(block.text)
    return f"_{markdown_text(block.alt)}_" if isinstance(block, Chart) else ""


def _table(table: Table) -> str:
    columns = table.shown()
    caption = f"**{markdown_text(table.caption)}**"
    if table.frame.empty:
        return f"{caption}: none."
    kinds = [column.kind for column in columns]
    rows = table.cells(ROW_LIMIT)
    numeric = [kind in NUMERIC or (kind == "auto" and _all_numbers(rows, i)) for i, kind in enumerate(kinds)]
    lines = [_line([markdown_cell(column.label) for column in columns])]
    lines.append(_line(["---:" if right else ":---" for right in numeric]))
    lines += [_line([markdown_cell(one.text) for one in row]) for row in rows]
    more = len(table.frame) - len(rows)
    left = f"\n\nand {more:,} more rows, which the HTML and JSON reports hold" if more > 0 else ""
    text = "\n".join(lines) + left
    if len(rows) <= table.open_rows:
        return f"{caption}\n\n{text}"
    summary = f"<summary>{markdown_text(table.caption)}: {_rows(len(table.frame))}</summary>"
    return f"<details>\n{summary}\n\n{text}\n\n</details>"


def _all_numbers(rows: list[list[Cell]], position: int) -> bool:
    return all(row[position].kind in NUMERIC or not row[position].text for row in rows)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _foot(document: Document) -> list[str]:
    facts = {str(key): str(value) for key, value in document.metadata.items()}
    if document.created_at is not None:
        facts["created at"] = utc(document.created_at)
    if document.verdict is not None:
        facts["evidence hash"] = document.verdict.evidence_hash
    lines = [f"{markdown_text(key)}: {markdown_text(value)}" for key, value in facts.items()]
    return ["---", "<br>".join(lines)] if lines else []


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"
