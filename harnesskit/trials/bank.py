"""The control bank: runs without the change that are paid for already, under the fingerprint of the baseline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harnesskit.trials.frozen import ControlRun
from harnesskit.trials.replayer import scored_values
from harnesskit.workspace.decisions import read_decisions
from harnesskit.workspace.rows import RunRow
from harnesskit.workspace.runs import read_run, read_run_row, run_folder, run_folders

_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Bank:
    """Control runs by case, and where they come from.

    Attributes
    ----------
    runs
        Case to its control runs, oldest first.
    source
        ``fingerprint``, ``run`` (named by the user), ``newest control run`` (it has no fingerprint) or ``none``.
    run_ids
        The runs that they were taken from.
    fingerprint
        Fingerprint of the baseline; None when it is not known.
    """

    runs: Mapping[str, tuple[ControlRun, ...]] = field(default_factory=dict)
    source: str = "none"
    run_ids: tuple[str, ...] = ()
    fingerprint: Mapping[str, Any] | None = None

    def depth(self, cases: Iterable[str]) -> int:
        """Return the degrees of freedom that these cases have within themselves."""
        return sum(max(len(self.runs.get(case_id, ())) - 1, 0) for case_id in cases)

    def plain(self) -> dict[str, Any]:
        """Return where the bank comes from, for run.json."""
        fingerprint = None if self.fingerprint is None else dict(self.fingerprint)
        return {"source": self.source, "runs": list(self.run_ids), "fingerprint": fingerprint}


def find_bank(root: Path, *, control: str | None = None) -> Bank:
    """Return the bank of the baseline: of the run named, else of the last accepted run, else of the newest control run.

    The bank of a fingerprint is every control run under exactly that fingerprint, the control top-ups of adaptive runs
    whose baseline had it, and the replays of accepted runs that had it. A run without a fingerprint stands alone.
    """
    rows = {row.run_id: row for row in map(read_run_row, run_folders(root))}
    if control is not None:
        return _bank(root, [rows[control]], "run") if control in rows else Bank()
    accepted = _accepted(root, rows)
    controls = [row for row in rows.values() if row.role == "control"]
    newest = max(accepted or controls, key=_time, default=None)
    if newest is None:
        return Bank()
    wanted = _fingerprint(newest)
    if not wanted:
        return _bank(root, [newest], "newest control run")
    same = [row for row in (*controls, *accepted) if _fingerprint(row) == wanted]
    topped = [row for row in rows.values() if row not in same and _baseline(row) == wanted]
    return _bank(root, [*same, *topped], "fingerprint", wanted, {row.run_id for row in topped})


def bank_of(root: Path, fingerprint: Mapping[str, Any], *, since: datetime | None = None) -> Bank:
    """Return the bank of exactly this fingerprint, empty when nothing was run under it.

    Parameters
    ----------
    root
        The workspace.
    fingerprint
        What produces the samples, with the hash of the rules that can be found.
    since
        Leave out runs that ended earlier: the bank was found to be stale then.
    """
    every = map(read_run_row, run_folders(root))
    rows = {row.run_id: row for row in every if since is None or _time(row) >= since}
    controls = [row for row in rows.values() if row.role == "control"]
    same = [row for row in (*controls, *_accepted(root, rows)) if _fingerprint(row) == fingerprint]
    topped = [row for row in rows.values() if row not in same and _baseline(row) == fingerprint]
    if not same and not topped:
        return Bank(fingerprint=fingerprint)
    return _bank(root, [*same, *topped], "fingerprint", fingerprint, {row.run_id for row in topped})


def _bank(
    root: Path,
    rows: list[RunRow],
    source: str,
    fingerprint: Mapping[str, Any] | None = None,
    topped: Iterable[str] = (),
) -> Bank:
    found: dict[str, list[ControlRun]] = {}
    named = sorted(rows, key=lambda row: (_time(row), row.run_id))
    for row in named:
        only_controls = row.run_id in set(topped)
        _, samples, scores, _ = read_run(run_folder(root, row.run_id))
        by_sample: dict[str, list[Any]] = {}
        for score in scores:
            by_sample.setdefault(score.sample_id, []).append(score)
        for sample in sorted(samples, key=lambda one: (one.case_id or "", one.trial or 0, one.attempt)):
            wanted = sample.arm == "control" if only_controls else (row.role == "control" or sample.arm != "control")
            values = scored_values(by_sample.get(sample.sample_id, []))
            if sample.counts and wanted and sample.case_id and sample.status == "scored" and values:
                found.setdefault(sample.case_id, []).append(ControlRun(sample.sample_id, values))
    runs = {case_id: tuple(of) for case_id, of in found.items()}
    known = fingerprint if fingerprint is not None else (_fingerprint(rows[0]) or None)
    return Bank(runs, source, tuple(row.run_id for row in named), known)


def _accepted(root: Path, rows: Mapping[str, RunRow]) -> list[RunRow]:
    """Return the runs that a signed review let pass."""
    decisions, _ = read_decisions(root)
    gone = {one.supersedes for one in decisions if one.supersedes}
    passed = [one.subject for one in decisions if one.verdict == "pass" and one.decision_id not in gone]
    return [rows[run_id] for run_id in dict.fromkeys(passed) if run_id is not None and run_id in rows]


def _fingerprint(row: RunRow) -> dict[str, Any]:
    return _json(row.fingerprint)


def _baseline(row: RunRow) -> dict[str, Any]:
    """Return the fingerprint of the control arm of a run that has both arms."""
    parameters = _json(row.parameters)
    for name in ("frozen", "promotion"):
        frozen = parameters.get(name)
        baseline = frozen.get("baseline") if isinstance(frozen, dict) else None
        found = baseline.get("fingerprint") if isinstance(baseline, dict) else None
        if isinstance(found, dict):
            return found
    return {}


def _json(text: str | None) -> dict[str, Any]:
    value = json.loads(text or "{}")
    return value if isinstance(value, dict) else {}


def _time(row: RunRow) -> datetime:
    return row.finished_at or row.started_at or _LONG_AGO
