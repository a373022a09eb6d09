"""What a report is made of: a verdict, sections, and in them prose, tables, charts. Every renderer reads this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeAlias

import pandas as pd

from harnesskit.model.decision import Decision
from harnesskit.reports.cells import Cell, Column, cell
from harnesskit.reports.masking import mask_decision, mask_frame, mask_text, mask_value


@dataclass(frozen=True)
class Prose:
    """A paragraph, or a list of sentences when `listed`; `strong` asks for the reader's attention."""

    sentences: tuple[str, ...]
    listed: bool = False
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """A frame to show.

    Attributes
    ----------
    name
        Short name of the table for machines, unique in the report.
    caption
        What one row is.
    frame
        The rows, in the order to show them.
    columns
        What to show and how; empty for every column as it is. The JSON report always holds every column.
    open_rows
        Rows that stand in the open; the rest is folded where the format can fold.
    """

    name: str
    caption: str
    frame: pd.DataFrame = field(repr=False, compare=False)
    columns: tuple[Column, ...] = ()
    open_rows: int = 25

    def shown(self) -> tuple[Column, ...]:
        """Return the columns to show: those asked for that hold something, seldom needed ones last; else all of it."""
        have = [str(name) for name in self.frame.columns]
        asked = tuple(column for column in self.columns if column.name in have and self._holds(column))
        asked = tuple(sorted(asked, key=lambda column: column.rare))
        return asked or tuple(Column(name, name.replace("_", " ")) for name in have)

    def _holds(self, column: Column) -> bool:
        """Whether a column is worth its space: one of texts or marks that is blank in every row is not."""
        if self.frame.empty or column.kind not in ("text", "mark", "flag") or column == self.columns[0]:
            return True
        return any(cell(value, column.kind).text for value in self.frame[column.name])

    def cells(self, limit: int) -> list[list[Cell]]:
        """Return the cells of the first `limit` rows, as every format with cells shows them."""
        frame = self.frame.head(limit)
        values = {str(name): frame.iloc[:, position].tolist() for position, name in enumerate(frame.columns)}
        none: list[Any] = [None] * len(frame)
        shown = []
        for column in self.shown():
            highs = values.get(column.other, none) if column.other else none
            shown.append([cell(v, column.kind, high) for v, high in zip(values[column.name], highs, strict=True)])
        return [list(row) for row in zip(*shown, strict=True)]


@dataclass(frozen=True)
class Chart:
    """A chart to draw from a frame: `plot(frame, ax=...)` and the finding in words, for readers without the image."""

    plot: Callable[..., Any]
    frame: pd.DataFrame = field(repr=False, compare=False)
    title: str
    alt: str
    rows: int


@dataclass(frozen=True)
class Tally:
    """How often each status occurs, as ``(status, count)`` pairs; `unit` is what is counted."""

    counts: tuple[tuple[str, int], ...]
    unit: str


@dataclass(frozen=True)
class Code:
    """Lines to run."""

    text: str


Block: TypeAlias = Prose | Table | Chart | Tally | Code


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """A report before it is rendered. Credentials are masked on the way in, so no renderer can leak one.

    Attributes
    ----------
    evidence
        What the verdict was computed from, for `harnesskit verify`: run, sample ids, seed; in the JSON report only.
    """

    title: str
    verdict: Decision | None = None
    sections: tuple[Section, ...] = ()
    created_at: datetime | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    evidence: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Copy and mask everything that came from data."""
        masked = {
            "title": mask_text(self.title) or "Report",
            "verdict": None if self.verdict is None else mask_decision(self.verdict),
            "sections": tuple(replace(s, title=mask_text(s.title), blocks=_masked(s.blocks)) for s in self.sections),
            "metadata": mask_value(dict(self.metadata)),
            "evidence": mask_value(dict(self.evidence)),
        }
        for name, value in masked.items():
            object.__setattr__(self, name, value)

    @property
    def tables(self) -> list[Table]:
        """The tables of all sections, in order."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, Table)]

    @property
    def charts(self) -> list[Chart]:
        """The charts of all sections, in order."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, Chart)]


def _masked(blocks: Sequence[Block]) -> tuple[Block, ...]:
    return tuple(_masked_block(block) for block in blocks)


def _masked_block(block: Block) -> Block:
    if isinstance(block, Prose):
        return replace(block, sentences=tuple(mask_text(sentence) for sentence in block.sentences))
    if isinstance(block, Table):
        return replace(block, caption=mask_text(block.caption), frame=mask_frame(block.frame))
    if isinstance(block, Chart):
        return replace(block, title=mask_text(block.title), alt=mask_text(block.alt), frame=mask_frame(block.frame))
    return replace(block, text=mask_text(block.text)) if isinstance(block, Code) else block
