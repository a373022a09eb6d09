"""The report of a study: how reliably each arm passes over repeats, what changed, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from harnesskit.model.study_results import PASS_DIFFERENCES, PASS_RATES, TRIAL_COSTS
from harnesskit.model.text import counted
from harnesskit.plots.pass_rates import plot_pass_rates
from harnesskit.reports.cells import Column, number
from harnesskit.reports.document import Block, Chart, Code, Prose, Section, Table
from harnesskit.reports.model import Report

_MOST_CHARTS = 4
_ROWS = 24
_RATES = (
    Column("k", "k", "count"),
    Column("pass_at_k", "pass@k", "number"),
    Column("at_low", "95 % interval", "range", "at_high"),
    Column("pass_hat_k", "pass^k", "number"),
    Column("hat_low", "95 % interval", "range", "hat_high"),
    Column("n_cases", "Cases", "count"),
    Column("n_trials", "Trials", "count"),
    Column("n_short", "Fewer than k", "of", "n_cases"),
    Column("n_unscored", "Unscored", "count"),
    Column("note", "Note", "text", rare=True),
)
_DIFFERENCES = (
    Column("baseline", "Baseline", "text"),
    Column("arm", "Arm", "text"),
    Column("metric", "Metric", "text"),
    Column("k", "k", "count"),
    Column("at_delta", "pass@k change", "change"),
    Column("at_low", "95 % interval", "interval", "at_high"),
    Column("hat_delta", "pass^k change", "change"),
    Column("hat_low", "95 % interval", "interval", "hat_high"),
    Column("n_paired", "Cases", "count"),
    Column("improved", "More / less often", "pair", "worse"),
    Column("p_value", "Exact p", "number"),
    Column("note", "Note", "text", rare=True),
)
_COSTS = (
    Column("arm", "Arm", "text"),
    Column("quantity", "Quantity", "text"),
    Column("mean", "Mean per trial", "number"),
    Column("low", "95 % interval", "range", "high"),
    Column("median", "Median", "number"),
    Column("p90", "90th percentile", "number"),
    Column("total", "Spent, retries included", "number"),
    Column("delta", "Change", "change"),
    Column("delta_low", "95 % interval", "interval", "delta_high"),
    Column("n_cases", "Cases", "count"),
    Column("n_missing", "Not known", "count"),
)


def study_report(
    rates: pd.DataFrame,
    differences: pd.DataFrame | None = None,
    costs: pd.DataFrame | None = None,
    *,
    title: str = "How reliably does each arm pass?",
    runs: Sequence[str] = (),
    reproduce: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Report:
    """Arrange pass rates, paired differences and costs.

    Parameters
    ----------
    rates, differences, costs
        `harnesskit.pass_rates`, `harnesskit.pass_differences`, `harnesskit.trial_costs`.
    title, runs, reproduce, metadata
        Heading; the runs that took part; a command line that makes this report again; facts for the foot.

    Returns
    -------
    Report
        ``.save("study.html")``, ``.md`` or ``.json``. It gives no verdict.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> import harnesskit as hk
    >>> rows = pd.DataFrame({"case_id": list("ab") * 2, "metric": "ok", "value": [1, 0, 1, 1], "arm": "new"})
    >>> [section.title for section in study_report(hk.pass_rates(rows, by="arm", k=(1, 2))).sections]
    ['In short', 'Pass rates', 'How to read this']
    """
    PASS_RATES.require(rates, "k", "pass_at_k", "pass_hat_k", "n_cases", "n_trials", "n_short", by="study_report()")
    sections = [Section("In short", (Prose(tuple(_short(rates, differences)), listed=True),))]
    sections.append(Section("Pass rates", tuple(_rates(rates))))
    if differences is not None and len(differences):
        PASS_DIFFERENCES.require(differences, "arm", "k", "at_delta", by="study_report()")
        caption = "One row per metric, arm and k: the mean over the cases that both arms have, case by case"
        table = Table("differences", caption, differences, _DIFFERENCES)
        sections.append(Section("What changed", (Prose((_CHANGED,)), table)))
    if costs is not None and len(costs):
        TRIAL_COSTS.require(costs, "arm", "quantity", "mean", by="study_report()")
        sections.append(Section("Cost and latency", (Table("costs", "One row per arm and quantity", costs, _COSTS),)))
    sections.append(Section("How to read this", (Prose(_READ, listed=True),)))
    if reproduce:
        sections.append(Section("How to reproduce", (Code(reproduce),)))
    facts = {**({"runs": ", ".join(runs)} if runs else {}), **dict(metadata or {})}
    return Report(title, None, tuple(sections), None, facts)


_CHANGED = (
    "An interval that holds 0 leaves open whether anything changed. The exact test compares the cases that pass more "
    "often with those that pass less often, over the trials that both arms have; several rows are several tests."
)
_READ = (
    (
        "pass@k: the chance that at least one of k trials of a case passes; pass^k: that all of them pass. Both are "
        "unbiased estimates per case, then the mean over cases."
    ),
    (
        "A case with fewer than k scored trials is not solved: it counts as 0, and the column 'Fewer than k' says how "
        "many there are. Trials without a score are neither pass nor fail."
    ),
    (
        "The case is the unit of every interval: more trials of the same case are not more evidence about other cases. "
        "Where cases come in clusters, the cluster is the unit."
    ),
)


def _groups(rates: pd.DataFrame) -> list[str]:
    columns = [str(name) for name in rates.columns]
    return columns[: columns.index("k")]


def _rates(rates: pd.DataFrame) -> list[Block]:
    groups = _groups(rates)
    named = tuple(Column(name, name.replace("_", " ").capitalize(), "text") for name in groups)
    blocks: list[Block] = []
    metrics = list(dict.fromkeys(rates["metric"])) if "metric" in rates else [None]
    for metric in metrics[:_MOST_CHARTS]:
        part = rates if metric is None else rates[rates["metric"] == metric]
        part = part[part["pass_at_k"].notna() & (part["n_short"] < part["n_cases"])]
        if len(part):
            heading = "Pass rates" if metric is None else f"Pass rates: {metric}"
            blocks.append(Chart(plot_pass_rates, part, heading, _finding(part), min(len(part), _ROWS) + 1))
    if len(metrics) > _MOST_CHARTS:
        blocks.append(Prose((f"Not drawn: {', '.join(str(m) for m in metrics[_MOST_CHARTS:])}. The table has them.",)))
    blocks.append(Table("rates", "One row per group and k", rates, (*named, *_RATES)))
    return blocks


def _finding(part: pd.DataFrame) -> str:
    return " ".join(_sentence(row, _groups(part)) for row in _extremes(part))


def _extremes(part: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the row with the largest k of each group."""
    groups = _groups(part)
    part = part[part["n_short"] < part["n_cases"]]
    last = part.groupby(groups, sort=False, dropna=False).tail(1) if groups else part.tail(1)
    return [{str(key): value for key, value in row.items()} for row in last.head(8).to_dict("records")]


def _sentence(row: Mapping[str, Any], groups: list[str]) -> str:
    name = ", ".join(str(row[group]) for group in groups) or "all trials"
    short = f"; {int(row['n_short'])} of {counted(int(row['n_cases']), 'case')} have fewer" if row["n_short"] else ""
    if pd.isna(row["pass_at_k"]):
        return f"{name}: {row.get('note') or 'no rate'}."
    ends = "" if pd.isna(row["hat_low"]) else f" ({number(float(row['hat_low']))} to {number(float(row['hat_high']))})"
    one, every = (number(float(row[rate])) for rate in ("pass_at_k", "pass_hat_k"))
    return f"{name}: of {int(row['k'])} trials at least one passes in {one} of cases, all pass in {every}{ends}{short}."


def _short(rates: pd.DataFrame, differences: pd.DataFrame | None) -> list[str]:
    if rates.empty:
        return ["There are no trials of cases: nothing can be said."]
    said = [_sentence(row, _groups(rates)) for row in _extremes(rates)]
    if differences is not None and len(differences):
        for row in differences[differences["k"] == differences["k"].min()].head(8).to_dict("records"):
            if pd.notna(row["at_low"]):
                sure = "" if row["at_low"] > 0 or row["at_high"] < 0 else ": whether it changed is open"
                ends = f"{number(row['at_low'], signed=True)} to {number(row['at_high'], signed=True)}"
                said.append(
                    f"{row['metric']}: {row['arm']} against {row['baseline']} changes pass@{int(row['k'])} by "
                    f"{number(row['at_delta'], signed=True)} ({ends}) over "
                    f"{counted(int(row['n_paired']), 'case')}{sure}."
                )
    return said
