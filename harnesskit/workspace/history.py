"""The score history: every production score of the every-turn metrics, and the state of the gate on each series."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from harnesskit.workspace.documents import kind_of, read_document
from harnesskit.workspace.fields import Fields, read_score
from harnesskit.workspace.layout import HISTORY
from harnesskit.workspace.problems import Finding, Problem, shown
from harnesskit.workspace.reading import clean_text, to_json
from harnesskit.workspace.rows import REFERENCE_GRADER, RunRow, SampleRow, ScoreRow, score_row

SOURCE = "history"
RUN_ID = "online:history"
SERIES_CAP = 500
"""Samples that the reference harness keeps per series; older ones are gone."""


class Gate(NamedTuple):
    """State of the gate of one session and metric: best value so far, and turns since it last rose."""

    session_id: str
    metric: str
    peak: float | None
    turns_since_gain: int | None


class History(NamedTuple):
    """One sample and one score per item of a series, in file order, and what had to be said.

    Attributes
    ----------
    held
        The sessions and metrics that have at least one scored item.
    """

    runs: list[RunRow]
    samples: list[SampleRow]
    scores: list[ScoreRow]
    gates: list[Gate]
    held: frozenset[tuple[str, str]]
    problems: list[Problem]


def read_history(path: str | Path, *, file: str = HISTORY) -> History:
    """Return the score history as online samples, one per item of a series.

    A key is session and metric, parted at its last ``::``, since a session id may hold ``::``. An item without a
    usable number is an unscored sample and a problem. The ``ewma`` that versions up to 0.7 kept is not read.

    Examples
    --------
    >>> read_history("no/such/score_history.json").samples
    []
    """
    value, findings = read_document(path)
    nan = {finding.field: finding.message for finding in findings if finding.kind in ("not_a_number", "infinite")}
    found = History([], [], [], [], frozenset(), [])
    if value is not None:
        for key, entry in value.items():
            _read_entry(clean_text(key), key, entry, nan, found, findings)
    if found.samples:
        found.runs.append(RunRow(RUN_ID, "online", label="score history", parameters=to_json({"file": file})))
    names = {sample.sample_id: sample.session_id or "" for sample in found.samples}
    held = frozenset((names[score.sample_id], score.metric) for score in found.scores if score.status == "ok")
    return found._replace(held=held, problems=[finding.at(SOURCE, file) for finding in findings])


def split_key(key: str) -> tuple[str, str] | None:
    """Return session and metric of a key of the history, None when it is not one.

    Examples
    --------
    >>> split_key("a::b::coherence"), split_key("no-separator")
    (('a::b', 'coherence'), None)
    """
    session_id, separator, metric = key.rpartition("::")
    return (session_id, metric) if separator and session_id and metric else None


def _read_entry(
    key: str, raw_key: str, entry: Any, nan: dict[str, str], found: History, findings: list[Finding]
) -> None:
    def say(field: str, kind: str, message: str, severity: str = "problem") -> None:
        findings.append(Finding(field, "note" if severity == "note" else "problem", kind, message))

    parts = split_key(key)
    if parts is None:
        say(key, "bad_key", f"The key {shown(key)} is not session::metric; the series was left out.")
        return
    if not isinstance(entry, dict):
        say(key, "not_an_object", f"The entry must be an object; found {kind_of(entry)}. It was left out.")
        return
    if "ewma" in entry:
        say(f"{key}.ewma", "old_ewma", "ewma, which versions up to 0.7 wrote, is not read.", "note")
    series = entry.get("series")
    if isinstance(series, list):
        if len(series) >= SERIES_CAP:
            message = f"The series holds {len(series)} items; the harness keeps {SERIES_CAP}, older ones may be gone."
            say(f"{key}.series", "series_full", message, "note")
        for index, item in enumerate(series):
            _read_item(key, f"{raw_key}.series[{index}]", index, parts, item, nan, found, findings)
    else:
        what = kind_of(series) if "series" in entry else "nothing"
        say(f"{key}.series", "not_a_list", f"series must be a list; found {what}. It is read as empty.")
    _read_gate(key, parts, entry, nan, found, findings)


def _read_item(
    key: str,
    field: str,
    index: int,
    parts: tuple[str, str],
    item: Any,
    nan: dict[str, str],
    found: History,
    findings: list[Finding],
) -> None:
    session_id, metric = parts
    sample_id = f"history:{key}:{index}"
    fields = Fields(item if isinstance(item, dict) else {}, clean_text(field) + ".")
    at, attributes = None, None
    if isinstance(item, dict):
        value, reason = read_score(item.get("value"))
        already = nan.get(f"{field}.value")
        reason = "the value is not a finite number" if already else reason
        if value is None and not already:
            fields.say("value", "not_a_number", f"value: {reason}; it is unscored.")
        at = fields.time("ts")
        attributes = to_json({"run_id": item["run_id"]}) if item.get("run_id") is not None else None
    else:
        value, reason = None, f"the item is {kind_of(item)}, not an object"
        fields.say("", "not_an_object", f"An item must be an object; found {kind_of(item)}. It is unscored.")
    status = "scored" if value is not None else "inconclusive"
    found.samples.append(
        SampleRow(
            sample_id,
            RUN_ID,
            session_id=session_id,
            occurred_at=at,
            status=status,
            reason=reason,
            attributes=attributes,
        )
    )
    found.scores.append(score_row(sample_id, metric, value, reason, REFERENCE_GRADER))
    findings.extend(fields.findings)


def _read_gate(
    key: str,
    parts: tuple[str, str],
    entry: dict[str, Any],
    nan: dict[str, str],
    found: History,
    findings: list[Finding],
) -> None:
    raw = entry.get("gate")
    if raw is None:  # versions up to 0.6 had no gate
        return
    if not isinstance(raw, dict):
        message = f"gate must be an object; found {kind_of(raw)}. It was left out."
        findings.append(Finding(f"{key}.gate", "problem", "wrong_type", message))
        return
    fields = Fields(raw, f"{key}.gate.")
    found.gates.append(Gate(*parts, fields.number("peak"), fields.integer("turns_since_gain", required=False)))
    findings.extend(fields.findings)
