"""The report on the eval set: what to do with each case, and which traffic has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from harnesskit.model.health_results import ACTIONS, CASE_TIMELINE, CORPUS_HEALTH, COVERAGE, TOO_FEW
from harnesskit.model.text import counted
from harnesskit.plots.case_timeline import plot_case_timeline
from harnesskit.plots.coverage import LABEL_LIMIT, plot_coverage, slice_names, slice_texts
from harnesskit.plots.labels import label_keys
from harnesskit.reports.cells import Column
from harnesskit.reports.document import Block, Chart, Code, Prose, Section, Table, Tally
from harnesskit.reports.model import Report

_CASES = (
    Column("case_id", "Case", "text"),
    Column("kind", "Kind", "text"),
    Column("action", "Do", "text"),
    Column("reason", "Why", "text"),
    Column("timeline", "Runs", "text"),
    Column("passed", "Passed", "of", "n_trials"),
    Column("pass_low", "95 % interval", "range", "pass_high"),
    Column("stability", "Stability", "text"),
    Column("n_repeats", "Repeats", "count", rare=True),
    Column("informs", "Tells a change", "text", rare=True),
    Column("noise_metric", "Noisiest metric", "text", rare=True),
    Column("noise_sd", "Its sd", "number", rare=True),
    Column("age_days", "Age, days", "number", rare=True),
    Column("baseline_source", "Baseline", "text", rare=True),
    Column("similar_to", "Nearly the same as", "text", rare=True),
)
_COVERAGE = (
    Column("by", "By", "text"),
    Column("value", "Value", "text"),
    Column("action", "Do", "text"),
    Column("n_sessions", "Sessions", "count"),
    Column("share", "Share", "number"),
    Column("low", "95 % interval", "range", "high"),
    Column("n_replayable", "Replayable", "of", "n_cases"),
    Column("n_failures", "Failures / wins", "pair", "n_wins"),
)
_MEANINGS = {
    "attach_input": "attach a replay input: harness.evalset.attach_input(case, …)",
    "retire": "remove: an older case is exactly the same",
    "demote": "no longer a win: harness.validate(case) shows it as a review",
    "review": "broke in the newest run: look at the regression report",
    "repair": "flaky: mend the task, the grader or the bar",
    "replay": "replay: too few or too old runs to say",
    "re-baseline": "measure the control again: its baseline is old",
    "try_as_win": "a fixed failure: try it as a protected win",
    "keep": "keep as it is",
}


def health_report(
    cases: pd.DataFrame,
    timeline: pd.DataFrame | None = None,
    coverage: pd.DataFrame | None = None,
    *,
    title: str = "Is the eval set in order?",
    reproduce: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Report:
    """Arrange what is known of the eval set by what is to be done.

    Parameters
    ----------
    cases, timeline, coverage
        `harnesskit.corpus_health`, `harnesskit.case_timeline`, `harnesskit.coverage`.
    title, reproduce, metadata
        Heading; a command line that makes this report again; facts for the foot.

    Returns
    -------
    Report
        ``.save("health.html")``, ``.md`` or ``.json``. It gives no verdict.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> import harnesskit as hk
    >>> cases = pd.DataFrame({"case_id": ["a"], "kind": "win", "replayable": False})
    >>> none = pd.DataFrame({"case_id": [], "metric": [], "value": []})
    >>> [section.title for section in health_report(hk.corpus_health(cases, none)).sections]
    ['In short', 'What to do', 'How to read this']
    """
    CORPUS_HEALTH.require(cases, "case_id", "action", "reason", by="health_report()")
    sections = [Section("In short", tuple(_short(cases, coverage)))]
    todo = cases[cases["action"] != "keep"].reset_index(drop=True)
    if len(todo):
        words = [f"{name}: {_MEANINGS[name]}." for name in ACTIONS if (todo["action"] == name).any()]
        table = Table("todo", "One row per case with something to do, the most pressing first", todo, _CASES)
        sections.append(Section("What to do", (Prose(tuple(words), listed=True), table)))
    if coverage is not None and len(coverage):
        COVERAGE.require(coverage, "by", "value", "action", "share", by="health_report()")
        sections.append(Section("Traffic without a case", tuple(_traffic(coverage))))
    if timeline is not None and len(timeline):
        CASE_TIMELINE.require(timeline, "case_id", "run_id", "state", by="health_report()")
        sections.append(Section("What happened to each case", tuple(_timeline(timeline))))
    kept = cases[cases["action"] == "keep"].reset_index(drop=True)
    if len(kept):
        table = Table("kept", "One row per case to keep as it is", kept, _CASES, open_rows=10)
        sections.append(Section("Cases in order", (table,)))
    sections.append(Section("How to read this", (Prose(_READ, listed=True),)))
    if reproduce:
        sections.append(Section("How to reproduce", (Code(reproduce),)))
    return Report(title, None, tuple(sections), None, dict(metadata or {}))


_READ = (
    (
        "Runs: ✓ all trials passed, ✗ all failed, ~ mixed, · no verdict; the first mark is the capture. A trial passes "
        "when every metric with a threshold reaches it."
    ),
    (
        "flaky: the 95 % interval of the share of repeats that turn lies above 5 %; steady: below 20 % with 95 % "
        f"confidence, which takes 14 repeats without a turn; anything else: {TOO_FEW}."
    ),
    (
        "A case that always passes, or always fails, tells nothing about a change until it turns; a win of that kind "
        "is worth protecting all the same."
    ),
    "With many cases a few look flaky or broken by chance: this page says where to look, and decides nothing.",
)


def _short(cases: pd.DataFrame, coverage: pd.DataFrame | None) -> list[Block]:
    if cases.empty:
        return [Prose(("There are no cases. Capture some: harness.evalset.capture(…), or harnesskit load.",))]
    counts = tuple((name, int((cases["action"] == name).sum())) for name in ACTIONS)
    blocks: list[Block] = [Tally(tuple(pair for pair in counts if pair[1]), "cases, by what to do")]
    unsure = int((cases["stability"] == TOO_FEW).sum()) if "stability" in cases else 0
    said = [f"{counted(len(cases), 'case')}; of {unsure} there are {TOO_FEW} whether they are flaky."]
    if coverage is not None and len(coverage):
        said += _uncovered(coverage)
    return [*blocks, Prose(tuple(said), listed=True)]


def _uncovered(coverage: pd.DataFrame) -> list[str]:
    row = coverage[(coverage["by"] == "traffic") & (coverage["value"] == "without a replayable case")]
    if row.empty or pd.isna(row["share"].iloc[0]):
        return []
    share, low, high = (float(row[name].iloc[0]) for name in ("share", "low", "high"))
    said = [f"{share:.1%} of the scored sessions ({low:.1%} to {high:.1%}) have a signature without a replayable case."]
    first = coverage[(coverage["by"] != "traffic") & (coverage["action"] == "add")].head(1)
    for one in first.to_dict("records"):
        said.append(f"Add first: {slice_names(first)[0]}: {one['reason']}.")
    return said


def _traffic(coverage: pd.DataFrame) -> list[Block]:
    parts = coverage[coverage["by"] != "traffic"]
    finding = " ".join(_uncovered(coverage)) or "No session was scored."
    chart = Chart(plot_coverage, coverage, "Share of the traffic, and whether it has a case", finding,
                  min(len(parts), 20) + 1)  # fmt: skip
    told = coverage.assign(value=slice_texts(coverage))
    table = Table("coverage", "One row per signature and slice value, what to add first on top", told, _COVERAGE)
    return [*([chart, *_keys(parts)] if len(parts) else []), table]


def _keys(parts: pd.DataFrame) -> list[Block]:
    """Return the table of what the keys in the chart stand for, nothing when there are none."""
    keys = label_keys(slice_names(parts.head(20)), LABEL_LIMIT)
    columns = (Column("key", "Key", "text"), Column("text", "Stands for", "text"))
    return [] if keys.empty else [Table("keys_coverage", "Names behind the keys in the chart", keys, columns)]


def _timeline(timeline: pd.DataFrame) -> list[Block]:
    moved = timeline[timeline["event"].isin(["broke", "fixed", "flaky"])] if "event" in timeline else timeline.head(0)
    n = int(moved["case_id"].nunique())
    finding = (
        f"{counted(n, 'case')} of {timeline['case_id'].nunique():,} broke, were fixed or were mixed at least once."
    )
    drawn = timeline[timeline["case_id"].isin(moved["case_id"])] if n else timeline
    rows = min(int(drawn["case_id"].nunique()), 30) + 1
    heading = "Cases that changed, run after run" if n else "Cases, run after run"
    return [Prose((finding,)), Chart(plot_case_timeline, drawn, heading, finding, rows)]
