"""The regression report: did this change break an old win, and how do we know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pandas as pd

from harnesskit.model.case_status import ONE_SIDE, case_states, row_states
from harnesskit.model.decision import CASE_STATUSES, Decision
from harnesskit.model.errors import listed
from harnesskit.model.results import CASE_DELTAS, COMPARISON, PLANNED
from harnesskit.plots.regression import plot_case_deltas, plot_comparison
from harnesskit.reports.cells import Column
from harnesskit.reports.document import Block, Code, Prose, Section, Table, Tally
from harnesskit.reports.fingerprints import changed, fingerprint_tables
from harnesskit.reports.model import Report
from harnesskit.reports.ordering import worst_first
from harnesskit.reports.regression_charts import change_charts, sequence_blocks
from harnesskit.reports.regression_columns import CASES, LEDGER, OVERVIEW, RUNS, STATES, metric_columns
from harnesskit.reports.regression_words import (
    CAPTURED,
    cluster_words,
    compared,
    comparison_finding,
    forest_finding,
    policy_table,
    policy_words,
    uses_captured,
)  # fmt: skip
from harnesskit.reports.worse_cases import worse_cases

_ONE_SIDED = ("case_id", "metric", "kind", "n_baseline", "reason")


def regression_report(
    deltas: pd.DataFrame,
    comparison: pd.DataFrame,
    decision: Decision,
    *,
    ledger: pd.DataFrame | None = None,
    runs: pd.DataFrame | None = None,
    overview: pd.DataFrame | None = None,
    problems: pd.DataFrame | None = None,
    cases: pd.DataFrame | None = None,
    fingerprints: pd.DataFrame | None = None,
    looks: pd.DataFrame | None = None,
    title: str = "Regression report",
    reproduce: str | Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    created_at: datetime | None = None,
    evidence: Mapping[str, Any] | None = None,
) -> Report:
    """Arrange a regression run as a report: the verdict first, then everything it rests on.

    Parameters
    ----------
    deltas
        Case deltas, in any order; shown worst first.
    comparison
        Comparison, one row per kind and metric.
    decision
        The verdict on the run.
    ledger
        Evidence ledger: what became of every case and trial, folded under the counts of `comparison`.
    runs
        The runs compared, rows of ``runs``.
    overview
        Other runs of the workspace with their verdicts (`harnesskit.model.results.RUN_VERDICTS`), newest first.
    problems
        What was wrong on the way in, rows of ``problems``; None when it was not looked at, which the report says.
    cases
        Rows of ``cases``: what the cases that got worse and the suspects are. Not shown when None.
    fingerprints
        What produced the samples of the runs: `harnesskit.run_fingerprints`.
    looks
        How the evidence of an adaptive run came in: `Harness.sequence`.
    title
        Heading of the report.
    reproduce
        Command lines or code that make this report again.
    metadata
        Facts for the foot of the report, e.g. the version of the package.
    created_at
        When the report was made. Left out when None, so that the same evidence gives the same bytes.
    evidence
        What ``harnesskit verify`` needs to compute the verdict again (`Report.evidence`).

    Returns
    -------
    Report
        ``.save("report.html")``, ``.md`` or ``.json``.

    Raises
    ------
    FrameError
        A frame lacks a column that the report cannot do without.

    Examples
    --------
    >>> change = {"metric": "q", "delta": -0.2, "low": -0.3, "high": -0.1}
    >>> deltas = pd.DataFrame([{"case_id": "refund", "status": "regressed", **change}])
    >>> comparison = pd.DataFrame([{"kind": "win", "baseline": 0.9, "candidate": 0.7, **change}])
    >>> decision = Decision("run-7", None, "fail", "wins", "", ["refund fell by 0.2."], pd.DataFrame(), 0, {}, "")
    >>> report = regression_report(deltas, comparison, decision)
    >>> report.render(".md").decode().splitlines()[0]
    '# FAIL: Regression report'
    """
    by = "regression_report()"
    CASE_DELTAS.require(deltas, "case_id", "metric", "delta", "low", "high", "status", by=by)
    COMPARISON.require(comparison, "kind", "metric", "baseline", "candidate", "delta", "low", "high", by=by)
    ranked = worst_first(deltas)
    sections: list[tuple[str, list[Block]]] = [
        ("In short", [*_case_tallies(ranked), _tally(ranked)]),
        ("The cases that got worse", _worse(ranked, cases)),
        ("Evidence", _ledger(ledger, comparison)),
        ("What is compared with what", _compared(ranked, comparison, runs, decision.subject, fingerprints)),
        ("Runs in this workspace", _overview(overview)),
        ("Policy", _policy(decision)),
        ("Metrics", _metrics(comparison)),
        ("Cases, worst first", _cases(ranked)),
        ("How the evidence came in", sequence_blocks(looks)),
        ("Scored on one side only", _one_sided(ranked)),
        ("Problems in the data", _problems(problems)),
        ("How to reproduce", _reproduce(reproduce)),
    ]
    made = tuple(Section(heading, tuple(blocks)) for heading, blocks in sections if blocks)
    return Report(title, decision, made, created_at, dict(metadata or {}), dict(evidence or {}))


def _case_tallies(deltas: pd.DataFrame) -> list[Tally]:
    """Return the cases of each kind, each once, by what its metrics say together."""
    if "kind" not in deltas:
        return []
    found = []
    for kind, noun in (("win", "protected win"), ("failure", "failure")):
        states = case_states(deltas[deltas["kind"] == kind])
        counts = states.value_counts()
        if len(states):
            found.append(Tally(_counted(counts), f"{noun}{'' if len(states) == 1 else 's'} (cases)"))
    return found


def _worse(deltas: pd.DataFrame, cases: pd.DataFrame | None) -> list[Block]:
    table = None if cases is None else worse_cases(deltas, cases)
    return [] if table is None else [table]


def _tally(deltas: pd.DataFrame) -> Tally:
    return Tally(_counted(row_states(deltas).value_counts()), "changes (case × metric)")


def _counted(counts: pd.Series[int]) -> tuple[tuple[str, int], ...]:
    """Return every status with its count; what is on one side only when there is any."""
    found = [(status, int(counts.get(status, 0))) for status in CASE_STATUSES]
    return (*found, *([(ONE_SIDE, int(counts[ONE_SIDE]))] if ONE_SIDE in counts else []))


def _ledger(ledger: pd.DataFrame | None, comparison: pd.DataFrame) -> list[Block]:
    blocks: list[Block] = []
    columns = [column.name for column in LEDGER if column.name in comparison]
    caption = "Cases asked for and scored, one row per kind and metric"
    blocks.append(Table("scored", caption, comparison[columns], LEDGER))
    if ledger is not None:
        caption = (
            "What became of every case and trial: a case with a scored trial counts as scored, so trials can be lost "
            "where no case is"
        )
        blocks.append(Table("ledger", caption, ledger, STATES, open_rows=0))
    return blocks


def _compared(
    deltas: pd.DataFrame,
    comparison: pd.DataFrame,
    runs: pd.DataFrame | None,
    subject: str,
    fingerprints: pd.DataFrame | None,
) -> list[Block]:
    blocks: list[Block] = [Prose(tuple(compared(deltas, comparison, runs, subject)))]
    if uses_captured(deltas, comparison):
        blocks.append(Prose((CAPTURED,), strong=True))
    if runs is not None:
        said = changed(runs, subject)
        blocks += [Prose(tuple(said))] if said else []
        blocks.append(Table("runs", "The runs compared, one row per run", runs, RUNS))
    return [*blocks, *fingerprint_tables(fingerprints)]


def _overview(overview: pd.DataFrame | None) -> list[Block]:
    if overview is None or overview.empty:
        return []
    caption = "Each run judged alone by the same policy, newest first; every count is of cases"
    return [Table("overview", caption, overview, OVERVIEW)]


def _policy(decision: Decision) -> list[Block]:
    if not decision.policy:
        return []
    columns = (Column("field", "Field", "text"), Column("value", "Value", "text"), Column("meaning", "Meaning", "text"))
    plan = decision.checks[decision.checks["check"] == PLANNED] if "check" in decision.checks else decision.checks[:0]
    words = Prose((*policy_words(decision.policy), *(f"{note}." for note in plan.get("note", ()))), listed=True)
    table = Table("policy", "Every field of the policy", policy_table(decision.policy), columns, open_rows=0)
    return [words, table]


def _metrics(comparison: pd.DataFrame) -> list[Block]:
    caption = "Mean change, one row per kind and metric; every count is of cases"
    table = Table("comparison", caption, comparison, metric_columns(comparison))
    both = [Prose((said,)) for said in cluster_words(comparison)]
    title = "Mean change from the baseline (square) to the candidate (dot), with its 95 % interval"
    charts = change_charts(plot_comparison, comparison, title, comparison_finding, ("kind", "metric"))
    return [table, *both, *_doubts(comparison), *charts]


def _doubts(comparison: pd.DataFrame) -> list[Block]:
    if "warning" not in comparison:
        return []
    about: dict[str, list[str]] = {}
    for row in comparison[comparison["warning"].notna()].to_dict("records"):
        for doubt in str(row["warning"]).split("; "):
            if not doubt.startswith("captured baseline"):  # said where the runs are compared
                about.setdefault(doubt, []).append(f"{row['kind']} {row['metric']}")
    said = []
    for doubt, names in about.items():
        where = "all of them" if len(names) == len(comparison) > 1 else listed(names, 8)
        said.append(f"{doubt[:1].upper()}{doubt[1:]}: {where}.")
    return [Prose(("Doubts about these means:",)), Prose(tuple(said), listed=True)] if said else []


def _cases(deltas: pd.DataFrame) -> list[Block]:
    title = "Change of each case with its 95 % interval, worst first"
    charts = change_charts(plot_case_deltas, deltas, title, forest_finding, ("case_id", "metric"))
    return [*charts, Table("case_deltas", "Change of each case, one row per case and metric", deltas, CASES)]


def _one_sided(deltas: pd.DataFrame) -> list[Block]:
    if "n_baseline" not in deltas or "n_candidate" not in deltas:
        return []
    base, cand = (pd.to_numeric(deltas[name], errors="coerce").fillna(0) > 0 for name in ("n_baseline", "n_candidate"))
    columns = tuple(column for column in CASES if column.name in _ONE_SIDED)
    sides = deltas[base.to_numpy() != cand.to_numpy()]
    return [Table("one_sided", "Cases with a score on one side only: compared with nothing", sides, columns)]


def _problems(problems: pd.DataFrame | None) -> list[Block]:
    if problems is None:
        return [Prose(("Not looked at for this report.",))]
    return [Table("problems", "What was refused or read by a rule on the way in", problems)]


def _reproduce(reproduce: str | Sequence[str] | None) -> list[Block]:
    if reproduce is None:
        return []
    return [Code(reproduce if isinstance(reproduce, str) else "\n".join(reproduce))]
