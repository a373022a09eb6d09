"""Regression runs found in the journal: one run per ``regression`` record, one sample per case result kept in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from harnesskit.workspace.documents import kind_of
from harnesskit.workspace.fields import Fields, read_score
from harnesskit.workspace.layout import JOURNAL
from harnesskit.workspace.problems import Finding, Problem
from harnesskit.workspace.reading import clean_text, parse_json, to_json
from harnesskit.workspace.rows import REFERENCE_GRADER, EventRow, RunRow, SampleRow, ScoreRow, score_row

RESULTS_KEPT = 50
"""Case results that the reference harness keeps in one journal record."""

_COUNTS = ("total", "replayed", "improved", "unchanged", "regressed", "skipped")
_STATUSES = ("improved", "unchanged", "regressed", "skipped", "inconclusive")
_FAILED = ("replay failed:", "scoring failed:")
_TIMED_OUT = "replay failed: timed out"


class Rows(NamedTuple):
    """Runs, samples and scores from one place, and what had to be said about them."""

    runs: list[RunRow]
    samples: list[SampleRow]
    scores: list[ScoreRow]
    problems: list[Problem]


def journaled_runs(events: Iterable[EventRow], *, file: str = JOURNAL) -> Rows:
    """Return the regression runs among `events`, one run per record, one sample per case result in it.

    The journal does not say when a run began; its ``ts``, written at the end, is the end of the run and the time of
    its samples. What the journal does not keep (results beyond the 50th, scores of a skipped case) is counted in the
    run's parameters and noted; a metric of the baseline without a journaled score is an unscored row.

    Examples
    --------
    >>> journaled_runs([])
    Rows(runs=[], samples=[], scores=[], problems=[])
    """
    rows = Rows([], [], [], [])
    for event in events:
        if event.type != "regression":
            continue
        record, _ = parse_json(event.payload.encode("utf-8"))
        if isinstance(record.get("run_id"), str):  # recorded whole under harnesskit/runs: counted there
            continue
        findings: list[Finding] = []
        results = record.get("results")
        results = results if isinstance(results, list) else []
        run_id = f"journal:{event.offset}"
        rows.runs.append(_run(run_id, event, record, len(results), findings))
        trials: Counter[str | None] = Counter()
        for index, result in enumerate(results):
            if not isinstance(result, dict):
                message = f"Case result {index} is {kind_of(result)}, not an object; it was left out."
                findings.append(Finding(f"results[{index}]", "problem", "not_an_object", message))
                continue
            _add_result(result, index, run_id, event, trials, rows, findings)
        rows.problems.extend(finding.at("journal", file, event.line) for finding in findings)
    return rows


def _run(run_id: str, event: EventRow, record: dict[str, Any], kept: int, findings: list[Finding]) -> RunRow:
    ours = ("inconclusive",) if "inconclusive" in record else ()  # the reference counts such cases as skipped
    counts: dict[str, Any] = {name: _count(record.get(name)) for name in (*_COUNTS, *ours)}
    total = counts["total"]
    missing = None if total is None else max(0, total - kept)
    if missing:
        message = (
            f"The run had {total} cases; the journal keeps the results of {kept} (at most {RESULTS_KEPT} per run), "
            f"so {missing} are not known."
        )
        findings.append(Finding("results", "note", "results_missing", message))
    elif total is not None and kept > total:
        message = f"The record says total {total} but holds {kept} results; all of them were read."
        findings.append(Finding("total", "problem", "contradiction", message))
    clean = record.get("clean")
    parameters = {
        **counts,
        "clean": clean if isinstance(clean, bool) else None,
        "results_kept": kept,
        "results_missing": missing,
    }
    return RunRow(run_id, "replay", finished_at=event.ts, parameters=to_json(parameters))


def _count(raw: Any) -> int | None:
    return raw if isinstance(raw, int) and not isinstance(raw, bool) and raw >= 0 else None


def _add_result(
    result: dict[str, Any],
    index: int,
    run_id: str,
    event: EventRow,
    trials: Counter[str | None],
    rows: Rows,
    findings: list[Finding],
) -> None:
    fields = Fields(result, f"results[{index}].")
    case_id = fields.text("case_id", required=True)
    session_id = fields.text("replay_session_id") or None
    sample_id = f"{run_id}:{index}"
    trials[case_id] += 1
    if trials[case_id] > 1 and case_id is not None:
        message = f"Case {case_id} has more than one result in this run; each is a trial of its own."
        fields.say("case_id", "repeated_case", message)
    status, reason = _status(result, fields)
    scores = _scores(result, sample_id, status, fields)
    rows.scores.extend(scores)
    said = {name: result.get(name) for name in ("kind", "status", "baseline_scores", "deltas")}
    attributes = {("journaled_status" if name == "status" else name): value for name, value in said.items()}
    rows.samples.append(
        SampleRow(
            sample_id,
            run_id,
            case_id,
            session_id,
            trial=trials[case_id],
            occurred_at=event.ts,
            status=status,
            reason=reason,
            error=reason if status == "error" else None,
            attributes=to_json(attributes),
        )
    )
    findings.extend(fields.findings)


def _status(result: dict[str, Any], fields: Fields) -> tuple[str, str | None]:
    """Return the status of the attempt and why it is not scored.

    In the reference's records a replay that ran out of time leaves an empty text after ``replay failed:``, but so may
    other exceptions: it is an error of unknown cause, not a timeout. Ours say that it timed out.
    """
    journaled = fields.choice("status", _STATUSES)
    reason = fields.text("reason") or ""
    replayed = result.get("replay_scores")
    numbers = isinstance(replayed, dict) and any(read_score(value)[0] is not None for value in replayed.values())
    if numbers:
        return "scored", None
    if reason.startswith(_TIMED_OUT):
        return "timeout", reason
    if reason.startswith(_FAILED):
        if not reason.partition(":")[2].strip():
            reason = f"{reason.strip()} the journal gives no text (a replay that runs out of time leaves none)"
        return "error", reason
    if journaled == "skipped" and "no resolved scores" not in reason:
        return "skipped", reason or "the journal gives no reason"
    return "inconclusive", reason or "the case was replayed, but no score was journaled"


def _scores(result: dict[str, Any], sample_id: str, status: str, fields: Fields) -> list[ScoreRow]:
    replayed = result.get("replay_scores")
    if not isinstance(replayed, dict):
        if replayed is not None or status == "scored":
            message = f"replay_scores must be an object; found {kind_of(replayed)}. It is read as no score."
            fields.say("replay_scores", "wrong_type", message)
        replayed = {}
    rows = []
    for metric, raw in replayed.items():
        value, reason = read_score(raw)
        if value is None:
            fields.say(f"replay_scores.{metric}", "not_a_number", f"{json.dumps(metric)}: {reason}; it is unscored.")
        rows.append(score_row(sample_id, clean_text(metric), value, reason, REFERENCE_GRADER))
    baseline = result.get("baseline_scores")
    if status in ("scored", "inconclusive") and isinstance(baseline, dict):
        for metric in baseline:
            if metric not in replayed:
                why = "the baseline has this metric, the journaled replay has no score for it"
                rows.append(score_row(sample_id, clean_text(metric), None, why, REFERENCE_GRADER))
    return rows
