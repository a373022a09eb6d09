"""The overview of a review: which guards are ready, which need how many more runs, and what these would cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from harnesskit.model.decision import GUARD_VERDICTS
from harnesskit.model.promotion_results import GUARDS
from harnesskit.model.text import counted
from harnesskit.reports.cells import Column, number
from harnesskit.reports.document import Block, Code, Prose, Section, Table, Tally
from harnesskit.reports.model import Report

_COLUMNS = (
    Column("id", "Guard", "text"),
    Column("kind", "Kind", "text"),
    Column("status", "Now", "text"),
    Column("verdict", "Verdict", "status"),
    Column("reason", "Reason", "text"),
    Column("runs_needed", "More runs", "count"),
    Column("cost_estimate", "Cost, USD", "number"),
    Column("looks", "Looks", "count"),
    Column("note", "In a sentence", "text"),
    Column("last_decision", "Signed", "text"),
)
_APPLIED = ("active", "win", "enforcing")
"""What a guard is called once it is trusted, by kind."""


def guards_report(
    guards: pd.DataFrame,
    *,
    title: str = "Guards under review",
    reproduce: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Report:
    """Arrange all guards of a workspace by what is to be done with them.

    Parameters
    ----------
    guards
        One row per guard: `Harness.guards`.
    title, reproduce, metadata
        Heading; a command line that makes this report again; facts for the foot.

    Returns
    -------
    Report
        ``.save("guards.html")``, ``.md`` or ``.json``.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> row = {"id": "r-1", "kind": "rule", "verdict": "pending", "reason": "guard_incomplete", "runs_needed": 26}
    >>> rest = {"cost_estimate": 0.05, "looks": 8, "last_decision": None, "status": "candidate", "note": "Not yet."}
    >>> report = guards_report(pd.DataFrame([row | rest]))
    >>> [section.title for section in report.sections]
    ['In short', 'Need more runs']
    """
    GUARDS.require(guards, "id", "kind", "verdict", "reason", "runs_needed", "status", by="guards_report()")
    applied = guards["status"].isin(_APPLIED).to_numpy(dtype=bool)
    open_, trusted = guards[~applied], guards[applied]
    parts = [
        ("Ready to promote", "ready", open_[_is(open_, "promote")],
         "The evidence says promote: look at the page of each, sign it, promote it."),
        ("To be retired", "retire", open_[_is(open_, "retire")],
         "The evidence is against them: no effect worth having, or harm."),
        ("Need more runs", "pending", open_[_is(open_, "pending")], _needed(open_[_is(open_, "pending")])),
        ("In force", "in_force", trusted,
         "What is trusted already, and what stored trials say of it: any verdict but promote is a reason to look."),
    ]  # fmt: skip
    sections = [Section("In short", tuple(_short(guards)))]
    for heading, name, rows, words in parts:
        if len(rows):
            table = Table(name, "One row per guard", rows.reset_index(drop=True), _COLUMNS)
            sections.append(Section(heading, (Prose((words,)), table)))
    if reproduce:
        sections.append(Section("How to reproduce", (Code(reproduce),)))
    return Report(title, None, tuple(sections), None, dict(metadata or {}))


def _short(guards: pd.DataFrame) -> list[Block]:
    if guards.empty:
        return [Prose(("There is no guard: no candidate or active rule, and no case that was tried for a win.",))]
    counts = tuple((verdict, int(_is(guards, verdict).sum())) for verdict in GUARD_VERDICTS)
    return [Tally(counts, "guards, by what stored trials say of them")]


def _needed(rows: pd.DataFrame) -> str:
    known = pd.to_numeric(rows["runs_needed"], errors="coerce")
    said = f"About {counted(int(known.sum()), 'more run')} would settle {int(known.notna().sum())} of them"
    costs = pd.to_numeric(rows.get("cost_estimate", pd.Series(dtype=float)), errors="coerce")
    if costs.notna().any():
        said += f", at about {number(float(costs.sum()))} USD by the mean cost of a stored replay"
    unknown = int(known.isna().sum())
    return f"{said}; for {unknown} it is not known." if unknown else f"{said}."


def _is(guards: pd.DataFrame, verdict: str) -> Any:
    return (guards["verdict"] == verdict).to_numpy(dtype=bool)
