"""Benchmark studies: runs/<run>/records.jsonl and manifest.json, one task trial per record, as runs and samples."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from harnesskit.workspace.documents import is_absent, printable, read_document
from harnesskit.workspace.fields import Fields
from harnesskit.workspace.journaled import Rows
from harnesskit.workspace.jsonlines import JsonLines
from harnesskit.workspace.problems import Finding, Problem
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import RunRow, SampleRow, ScoreRow

SOURCE = "study"
METRIC = "passed"
SCHEMA_VERSION = 2
_ROLES = {"baseline": "control", "harness": "candidate"}
_MADE_BY = (
    "model", "provider", "backend", "git_sha", "uv_lock_hash", "pandaprobe_harness_version", "litellm_version",
    "env_fingerprint",
)  # fmt: skip
_SETTINGS = ("benchmark", "seed", "resolved_config", "learning_outcome", "schema_version")
_KEPT = ("benchmark", "phase", "seed", "model", "backend", "resolved_model", "native_metrics", "turns", "harness")


def read_study(folder: str | Path, *, shown_as: str = "runs") -> Rows:
    """Return the runs of a benchmark study, one sample per recorded trial of a task, scored by ``passed`` (0 or 1).

    The arm ``baseline`` is the control and ``harness`` the candidate; trials of the same task, seed and number in the
    two arms are one pair. Trials count from 1. Only the phase ``eval`` is evidence: ``counts`` is false for learning.
    A trial recorded twice is a retry, of which the last counts. A trial that raised an error is not scored.

    Parameters
    ----------
    folder
        The folder with one sub-folder per run; a missing one is empty.
    shown_as
        Name that problems give to the folder.

    Examples
    --------
    >>> read_study("no/such/study/runs")
    Rows(runs=[], samples=[], scores=[], problems=[])
    """
    rows = Rows([], [], [], [])
    if is_absent(folder):
        return rows
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    except OSError as error:
        message = f"The folder cannot be read ({error.strerror or error}); no run was loaded."
        rows.problems.append(Problem(SOURCE, shown_as, None, "", "problem", "unreadable", message))
        return rows
    for name in names:
        _read_run(Path(folder) / name, f"{shown_as}/{printable(name)}", printable(name), rows)
    return rows


def _read_run(path: Path, file: str, name: str, rows: Rows) -> None:
    value, findings = read_document(path / "manifest.json")
    if value is None and not findings:
        message = "The run has no manifest; its records are read all the same."
        findings = [Finding("", "note", "no_manifest", message)]
    fields = Fields(value or {})
    arm = fields.text("arm")
    run_id = fields.text("run_id") or name
    if value is not None and value.get("schema_version") != SCHEMA_VERSION:
        message = f"schema_version is not {SCHEMA_VERSION}; the file is read by the rules of that version."
        fields.say("schema_version", "other_version", message, "note")
    rows.problems.extend(finding.at(SOURCE, f"{file}/manifest.json") for finding in [*findings, *fields.findings])
    lines = JsonLines(path / "records.jsonl", SOURCE, f"{file}/records.jsonl")
    samples: list[SampleRow] = []
    scores: list[ScoreRow] = []
    tries: Counter[tuple[str | None, ...]] = Counter()
    arms: set[str] = set()
    for record in lines:
        inner = Fields(record.value)
        recorded_arm = _add_trial(inner, run_id, arm, record.offset, tries, samples, scores)
        arms.update([recorded_arm] if recorded_arm else [])
        lines.problems.extend(finding.at(SOURCE, lines.file, record.line) for finding in inner.findings)
    rows.problems.extend(lines.problems)
    if value is None and not samples:
        return
    arm = arm or (arms.pop() if len(arms) == 1 else None)
    started = fields.time("started_at") if value and value.get("started_at") is not None else None
    rows.runs.append(
        RunRow(
            run_id,
            _ROLES.get(arm or "", "replay"),
            label=" ".join(str(part) for part in (fields.text("benchmark"), fields.text("model"), arm) if part) or None,
            agent=fields.text("model"),
            started_at=started,
            parameters=to_json({key: fields.record[key] for key in _SETTINGS if key in fields.record}),
            fingerprint=to_json({key: fields.record[key] for key in _MADE_BY if key in fields.record}),
        )
    )
    rows.samples.extend(_last_counts(samples))
    rows.scores.extend(scores)


def _add_trial(
    fields: Fields,
    run_id: str,
    arm: str | None,
    offset: int,
    tries: Counter[tuple[str | None, ...]],
    samples: list[SampleRow],
    scores: list[ScoreRow],
) -> str | None:
    """Append one record's sample and score; return the arm it names."""
    raw = fields.record
    task = fields.text("task_id", required=True)
    benchmark = fields.text("benchmark") or ""
    phase, seed = fields.text("phase"), fields.integer("seed", required=False)
    trial = fields.integer("trial", required=False) or 0
    recorded_arm = fields.text("arm") or arm
    if fields.text("run_id") not in (None, run_id):
        fields.say("run_id", "other_run", f"The record names another run than {run_id}; it is kept in this one.")
    case_id = None if task is None else f"{benchmark}/{task}" if benchmark else task
    key = (case_id, recorded_arm, phase, str(seed), str(trial))
    tries[key] += 1
    raised = raw.get("error")
    error = None if raised is None else raised if isinstance(raised, str) else to_json(raised)
    value, status, reason = _passed(fields, error)
    sample_id = f"{run_id}:{offset}"
    usage = Fields(raw["usage"] if isinstance(raw.get("usage"), dict) else {}, "usage.")
    samples.append(
        SampleRow(
            sample_id,
            run_id,
            case_id,
            arm=recorded_arm,
            trial=trial + 1,
            attempt=tries[key],
            counts=phase in (None, "eval"),
            pair=None if case_id is None else f"{case_id}:seed {seed}:trial {trial + 1}",
            status={"ok": "scored", "error": "error"}.get(status, "inconclusive"),
            reason=reason,
            error=error,
            duration_s=fields.number("wall_time_s"),
            input_tokens=usage.integer("input_tokens", required=False),
            output_tokens=usage.integer("output_tokens", required=False),
            cost_usd=usage.number("cost_usd"),
            attributes=to_json({name: raw[name] for name in _KEPT if raw.get(name) is not None}),
        )
    )
    scores.append(ScoreRow(sample_id, METRIC, benchmark or "benchmark", None, value, status, reason))
    fields.findings.extend(usage.findings)
    return recorded_arm


def _passed(fields: Fields, error: str | None) -> tuple[float | None, str, str | None]:
    raw = fields.record.get("passed")
    if error is not None:
        return None, "error", f"the trial raised an error: {error}"
    if isinstance(raw, bool):
        return float(raw), "ok", None
    if raw is not None:
        fields.say("passed", "wrong_type", "passed must be true or false; the trial is unscored.")
    return None, "unscored", "the record does not say whether the task passed"


def _last_counts(samples: list[SampleRow]) -> list[SampleRow]:
    """Return the samples with `counts` kept for the last attempt of each trial only."""
    last = {_trial_key(sample): sample.sample_id for sample in samples}
    return [
        sample if last[_trial_key(sample)] == sample.sample_id else sample._replace(counts=False) for sample in samples
    ]


def _trial_key(sample: SampleRow) -> tuple[str | None, ...]:
    return (sample.case_id, sample.arm, sample.pair, str(sample.counts))
