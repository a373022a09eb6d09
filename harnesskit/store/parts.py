"""The parts of a load that read whole files: rules, labels, reviews, history, mailbox, dumps, runs, declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from harnesskit.model.metrics import SEED_METRICS, Metric, Metrics
from harnesskit.model.policy import RegressionPolicy
from harnesskit.store.case_part import CasePart
from harnesskit.store.database import delete, insert
from harnesskit.store.journal_part import JournalPart
from harnesskit.store.load import NOTHING, Part, Touched, replace_problems
from harnesskit.store.notice_part import NoticePart
from harnesskit.store.online_part import OnlinePart
from harnesskit.store.run_part import RunPart
from harnesskit.store.stamps import Stamps, changes, stamps_of
from harnesskit.workspace import layout
from harnesskit.workspace.decisions import read_decisions
from harnesskit.workspace.declarations import read_declarations
from harnesskit.workspace.dumps import read_dumps
from harnesskit.workspace.history import read_history
from harnesskit.workspace.imports import IMPORTS, read_import_problems
from harnesskit.workspace.labels import read_labels
from harnesskit.workspace.problems import Problem
from harnesskit.workspace.rule_writes import INTENT, half_written
from harnesskit.workspace.rules import read_rules
from harnesskit.workspace.scopes import read_scopes


class Contents(NamedTuple):
    """Rows by table, and the runs whose samples and scores they replace."""

    rows: Mapping[str, Sequence[tuple[Any, ...]]]
    problems: list[Problem]


class WholePart:
    """Files that are read together: when one of them changed, all of them are read again.

    Parameters
    ----------
    source
        Name in problems and reports.
    paths
        Files, or folders of ``.json`` files, relative to the workspace.
    read
        Returns the rows by raw table, and the problems.
    clear
        Raw tables that hold nothing but rows of this part.
    runs
        Run ids whose runs, samples and scores come from this part.
    """

    def __init__(
        self,
        source: str,
        paths: tuple[str, ...],
        read: Callable[[Path], Contents],
        *,
        clear: tuple[str, ...] = (),
        runs: tuple[str, ...] = (),
    ) -> None:
        self.source, self.paths, self.read = source, paths, read
        self.clear, self.runs = clear, runs
        self.stamps: Stamps = {}
        self.next: Stamps = {}

    def refresh(self, root: Path, connection: duckdb.DuckDBPyConnection) -> Touched:
        """Read the files again when one of them changed."""
        self.next = stamps_of(root, self.paths)
        touched = changes(self.stamps, self.next)
        if touched == NOTHING:
            return NOTHING
        rows, problems = self.read(root)
        for table in self.clear:
            connection.execute(f"DELETE FROM raw.{table}")  # noqa: S608 - a name of this package
        for table in ("runs", "samples", "scores") if self.runs else ():
            delete(connection, table, "run_id", self.runs)
        for table, records in rows.items():
            insert(connection, table, records)
        replace_problems(connection, self.source, None, problems)
        return touched

    def keep(self) -> None:
        """Remember the stamps of what was read."""
        self.stamps = self.next


class DeclarationPart:
    """The declared metrics: the reference's own, those of ``metrics.toml``, and those given when opening."""

    source = "metrics"

    def __init__(self, given: Iterable[Metric]) -> None:
        self.given = tuple(given)
        self.metrics = Metrics(self.given)
        self.policies: dict[str, RegressionPolicy] = {}
        self.stamps: Stamps | None = None
        self.next: Stamps = {}

    def refresh(self, root: Path, connection: duckdb.DuckDBPyConnection) -> Touched:
        """Read the declarations again when the file changed."""
        self.next = stamps_of(root, (layout.METRICS,))
        if self.stamps == self.next:
            return NOTHING
        found = read_declarations(root)
        names = {metric.name for metric in self.given}
        self.metrics = Metrics([*(m for m in found.metrics if m.name not in names), *self.given])
        self.policies = found.policies
        known = SEED_METRICS | self.metrics.by_name
        connection.execute("DELETE FROM raw.metrics")
        insert(connection, "metrics", [_metric_row(metric, metric.name in self.metrics) for metric in known.values()])
        replace_problems(connection, self.source, None, found.problems)
        return changes(self.stamps or {}, self.next)

    def keep(self) -> None:
        """Remember the stamp of the file."""
        self.stamps = self.next


def _metric_row(metric: Metric, declared: bool) -> tuple[Any, ...]:
    values = (metric.low, metric.high, metric.higher_is_better, metric.threshold, metric.tolerance)
    return (metric.name, metric.tier, *values, declared)


def _rules(root: Path) -> Contents:
    found = read_rules(root / layout.RULES)
    return Contents({"rules": [_columns(rule) for rule in found.rules]}, [*found.problems, *half_written(root)])


def _columns(record: Any) -> tuple[Any, ...]:
    """Return the columns of a record in the order of its table (a raw part, kept for writers, is no column)."""
    return tuple(value for name, value in record if name != "trial")


def _history_and_dumps(root: Path) -> Contents:
    history = read_history(root / layout.HISTORY)
    dumps = read_dumps(root / layout.DUMPS, history.held)
    return Contents(
        {
            "runs": [*history.runs, *dumps.runs],
            "samples": [*history.samples, *dumps.samples],
            "scores": with_run(history.samples, history.scores) + with_run(dumps.samples, dumps.scores),
        },
        [*history.problems, *dumps.problems],
    )


def with_run(samples: Iterable[Any], scores: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return score rows with the run of their sample in front."""
    run_of = {sample.sample_id: sample.run_id for sample in samples}
    return [(run_of[score.sample_id], *score) for score in scores]


def _scopes(root: Path) -> Contents:
    return Contents({}, read_scopes(root / layout.SCOPES).problems)


def _labels(root: Path) -> Contents:
    rows, problems = read_labels(root)
    return Contents({"labels": rows}, problems)


def _imports(root: Path) -> Contents:
    return Contents({}, read_import_problems(root))


def _decisions(root: Path) -> Contents:
    rows, problems = read_decisions(root)
    return Contents({"decisions": rows}, problems)


def all_parts(declarations: DeclarationPart) -> list[Part]:
    """Return one part per kind of file, in the order in which they are loaded."""
    return [
        declarations,
        CasePart(),
        WholePart("rules", (layout.RULES, INTENT), _rules, clear=("rules",)),
        JournalPart(),
        NoticePart(),
        WholePart(
            "history", (layout.HISTORY, layout.DUMPS), _history_and_dumps, runs=("online:history", "online:dumps")
        ),
        WholePart("scopes", (layout.SCOPES,), _scopes),
        RunPart(),
        OnlinePart(),
        WholePart("import", (IMPORTS,), _imports),
        WholePart("labels", (layout.LABELS,), _labels, clear=("labels",)),
        WholePart("decisions", (layout.DECISIONS,), _decisions, clear=("decisions",)),
    ]
