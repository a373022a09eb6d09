"""The guard and its evidence as blocks of a report: its text, the facts to sign, the chart of the path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from harnesskit.model.decision import Decision
from harnesskit.model.text import counted, visible
from harnesskit.plots.axes import name_x
from harnesskit.plots.promotion import plot_evidence_path
from harnesskit.reports.document import Block, Chart, Prose
from harnesskit.reports.promotion_findings import path_finding
from harnesskit.reports.promotion_words import more_of, status_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHART_ROWS = 7


def rule_text(guard: Mapping[str, Any]) -> list[Block]:
    """Return the text of a guard in full."""
    text = guard.get("text")
    return [Prose((f"“{visible(str(text), keep=chr(10))}”",))] if text else []


def facts(
    decision: Decision, guard: Mapping[str, Any], lineage: pd.DataFrame | None, reviews: pd.DataFrame | None
) -> list[tuple[str, str]]:
    """Return what is known of a guard, as pairs of a name and a text."""
    rows = [
        ("Verdict", verdict_words(decision)),
        ("Page", status_words(reviews, decision.evidence_hash)),
        ("Guard", f"{decision.guard_kind or 'guard'} {decision.subject}"),
    ]
    rows += [(str(name), str(value)) for name, value in guard.items() if name != "text" and value not in (None, "")]
    if decision.guard_kind == "rule":
        n = 0 if lineage is None else len(lineage)
        rows.append(("Earlier trials", f"{counted(n, 'trial')}; see the appendix" if n else "none"))
    return rows


def verdict_words(decision: Decision) -> str:
    """Return the verdict with its reason, as one line."""
    word = decision.reason.replace("_", " ")
    detail = decision.detail.replace("_", " ")
    more = f" ({detail})" if detail and detail != word else ""
    needed = "" if decision.runs_needed is None else f"; about {counted(decision.runs_needed, more_of(decision))}"
    return f"{decision.verdict}: {word}{more}{needed}"


def path_chart(path: pd.DataFrame | None, scales: Sequence[str], title: str, *, unit: str = "replay") -> list[Block]:
    """Return the chart of an evidence path on one of these scales; nothing where there is none."""
    if path is None or path.empty:
        return []
    rows = path[path["scale"].isin(list(scales)).to_numpy(dtype=bool)]
    drawn = rows[rows["evidence"].notna().to_numpy(dtype=bool)]
    plot = _session_path if unit == "session" else plot_evidence_path
    return [Chart(plot, drawn, title, path_finding(drawn, unit), _CHART_ROWS)] if len(drawn) else []


def _session_path(path: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the path of a forward trial, whose steps are live sessions."""
    axes = plot_evidence_path(path, ax=ax)
    name_x(axes, "live sessions in the trial, with and without the guard")
    return axes
