"""The folder of a run of replays: opened new, or again to run what is missing, and closed."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from harnesskit.model.case import EvalCase
from harnesskit.model.errors import WorkspaceError, listed, nearest
from harnesskit.model.identity import identity_of
from harnesskit.model.records import RuleRecord
from harnesskit.model.replay import ReplayError
from harnesskit.replays.plain_data import plain, plain_json
from harnesskit.replays.rule_tools import visible_rules
from harnesskit.replays.setup import Record, Setup
from harnesskit.workspace.layout import RULES
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import RunRow, SampleRow, ScoreRow
from harnesskit.workspace.rules import read_rules
from harnesskit.workspace.runs import RunWriter, create_run, read_run, resume_run, run_folder, run_folders

ROLES = ("replay", "control", "candidate")
_WORDS = {
    "replay": "the replay function",
    "scorer": "the scorer",
    "verifier": "the verifier",
    "rules": "the rules that a replay can find",
    "fingerprint": "the fingerprint",
}
Fingerprint = Mapping[str, Any] | str | None


class OpenRun(NamedTuple):
    """A run that is being made: its id, what it had already, and where its attempts go (nowhere without a root)."""

    run_id: str
    earlier: list[Record]
    writer: RunWriter | None

    @property
    def rows(self) -> list[SampleRow]:
        """The attempts that the run had when it was opened."""
        return [record.sample for record in self.earlier]

    def keep(self, sample: SampleRow, scores: list[ScoreRow]) -> None:
        """Write one attempt; it is on disk when this returns."""
        if self.writer is not None:
            self.writer.append(sample, scores)

    def finish(self) -> None:
        """Say in run.json that the run came to its end."""
        if self.writer is not None:
            self.writer.finish()


def rules_of(root: str | Path | None) -> list[RuleRecord]:
    """Return the rules of a workspace, none without one."""
    return [] if root is None else read_rules(Path(root) / RULES).rules


def open_run(
    cases: Sequence[EvalCase],
    setup: Setup,
    *,
    role: str,
    root: str | Path | None,
    run: str | None,
    resume: str | None,
    counts: Mapping[str, int],
    fingerprint: Fingerprint = None,
    label: str | None = None,
) -> OpenRun:
    """Return a new run, or the one to `resume`; with a root its folder is there.

    Parameters
    ----------
    setup
        What will be run; its ``run_id`` is not read.
    counts
        ``trials``, ``concurrency`` and ``retries``, kept with the run.

    Raises
    ------
    ReplayError
        There is no such role, or `resume` meets something else than what the run was begun with.
    WorkspaceError
        The folder cannot be made or read.
    """
    if role not in ROLES:
        raise ReplayError(f"role must be one of {', '.join(ROLES)}; found {role!r}{nearest(str(role), ROLES)}.")
    given = _fingerprint(fingerprint, setup)
    identity = _identity(setup, role, given)
    if resume is not None:
        return _again(resume, root, identity, cases)
    now = datetime.now(UTC)
    run_id = run or f"{role}-{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}"
    if root is None:
        return OpenRun(run_id, [], None)
    named = {name: given[name] for name in ("agent", "version") if isinstance((given or {}).get(name), str)}
    row = RunRow(
        run_id,
        role,
        label=label,
        rule_id=setup.rule,
        started_at=now,
        parameters=to_json({"total": len(cases), **counts, "identity": identity}),
        fingerprint=plain_json(given),
        **named,
    )
    return OpenRun(run_id, [], create_run(Path(root), row))


def _fingerprint(fingerprint: Fingerprint, setup: Setup) -> dict[str, Any]:
    """Return the fingerprint with the hash of the visible rules; empty when none was given."""
    if fingerprint is None:
        return {}
    given = {"version": fingerprint} if isinstance(fingerprint, str) else {str(k): v for k, v in fingerprint.items()}
    return {**given, "rules_hash": rules_hash(setup)}


def rules_hash(setup: Setup) -> str:
    """Return a digest of the rules that a replay can find: their ids, statuses, scopes and texts."""
    seen = visible_rules(setup.rules, setup.rule)
    told = sorted((rule.rule_id, rule.status, rule.scope, rule.rule or "") for rule in seen)
    return hashlib.sha256(to_json(told).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _identity(setup: Setup, role: str, fingerprint: dict[str, Any]) -> dict[str, Any]:
    settings = ("arm", "rule", "seed", "timeout_s", "env_wait_s", "scoring_timeout_s")
    return {
        "replay": identity_of(setup.replay),
        "scorer": identity_of(setup.scorer),
        "verifier": identity_of(setup.verifier),
        "rules": rules_hash(setup),
        "fingerprint": plain(fingerprint),
        "role": role,
        **{name: getattr(setup, name) for name in settings},
    }


def _again(run_id: str, root: str | Path | None, identity: dict[str, Any], cases: Sequence[EvalCase]) -> OpenRun:
    if root is None:
        raise ReplayError(f"resume={run_id!r} needs root=, the workspace that the run was written to.")
    folder = run_folder(Path(root), run_id)
    if not folder.is_dir():
        known = [path.name for path in run_folders(Path(root))]
        there = f"the runs are {listed(known)}" if known else "there are no runs"
        raise WorkspaceError(f"there is no run {run_id!r} under {root} to resume; {there}{nearest(run_id, known)}.")
    writer = resume_run(Path(root), run_id)
    begun = json.loads(writer.row.parameters or "{}").get("identity")
    if not isinstance(begun, dict):
        raise ReplayError(f"cannot resume run {run_id!r}: its run.json does not say what it was run with.")
    _, samples, scores, _ = read_run(folder)
    found = [*_changes(begun, identity), *_changed_inputs(samples, cases)]
    if found:
        advice = "Start a new run, or go back to what it was begun with."
        raise ReplayError(f"cannot resume run {run_id!r}: {listed(found, limit=3)}. {advice}")
    by_sample: dict[str, list[ScoreRow]] = {}
    for score in scores:
        by_sample.setdefault(score.sample_id, []).append(score)
    return OpenRun(run_id, [Record(sample, by_sample.get(sample.sample_id, [])) for sample in samples], writer)


def _changes(begun: dict[str, Any], now: dict[str, Any]) -> list[str]:
    same = json.loads(to_json(now))
    return [
        f"{_WORDS.get(name, name)} changed (was {begun.get(name)}, is now {same.get(name)})"
        for name in same
        if begun.get(name) != same.get(name)
    ]


def _changed_inputs(samples: Sequence[SampleRow], cases: Sequence[EvalCase]) -> list[str]:
    inputs = {case.id: case.replay_input for case in cases}
    found: dict[str, str] = {}
    for sample in samples:
        case_id = sample.case_id or ""
        if case_id not in inputs:
            found[case_id] = f"case {case_id!r} is not among the cases any more"
        elif case_id not in found:
            before = None if sample.input is None else json.loads(sample.input)
            if _canonical(before) != _canonical(inputs[case_id]):
                found[case_id] = f"the replay input of case {case_id!r} changed"
    return list(found.values())


def _canonical(value: Any) -> str:
    return json.dumps(json.loads(to_json(value)), sort_keys=True)
