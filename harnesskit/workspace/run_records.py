"""Records of a run folder as rows of the tables runs, samples and scores, and rows as records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from harnesskit.workspace.documents import kind_of
from harnesskit.workspace.fields import Fields, read_score
from harnesskit.workspace.problems import Finding, Problem, shown
from harnesskit.workspace.reading import clean_text, to_json
from harnesskit.workspace.rows import RunRow, SampleRow, ScoreRow

ROLES = ("captured", "control", "candidate", "replay", "online")
STATUSES = ("scored", "inconclusive", "skipped", "error", "timeout")
UNFINISHED = ("error", "timeout")
"""Statuses of an attempt that gave nothing to judge."""

SCORE_STATUSES = ("ok", "unscored", "error", "out_of_range", "not_applicable")
UNKNOWN_GRADER = "unknown"
"""Grader of a score that does not name one; a key must not be missing."""

_JSON = ("parameters", "policy", "fingerprint", "input", "output", "steps", "attributes")
_TIMES = ("started_at", "finished_at", "occurred_at")
_COUNTS = ("turn_index", "trial", "attempt", "round", "input_tokens", "output_tokens")
_NUMBERS = ("duration_s", "env_wait_s", "cost_usd")
_FLAGS = ("counts", "candidate_surfaced")
_SAMPLE_KEYS = frozenset(SampleRow._fields) | {"scores"}


class Attempt(NamedTuple):
    """One line of samples.jsonl: its sample, its scores, whether it said itself that it counts, and findings."""

    sample: SampleRow | None
    scores: list[ScoreRow]
    counts_given: bool
    findings: list[Finding]


def read_run_record(record: dict[str, Any], run_id: str) -> tuple[RunRow, list[Finding]]:
    """Return the run in `record`; `run_id` stands in for an id that is missing."""
    fields = Fields(record)
    named = fields.text("run_id", required=True) or run_id
    role = fields.choice("role", ROLES)
    rest = {name: _field(fields, name) for name in RunRow._fields[2:]}
    return RunRow(named, role, **rest), fields.findings


def read_attempt(record: dict[str, Any], run_id: str, said: Sequence[Problem] = ()) -> Attempt:
    """Return the attempt on one line of samples.jsonl.

    Parameters
    ----------
    record
        The object on the line.
    run_id
        Run of the folder; what the line says of it is checked and never used.
    said
        What reading the line already found, e.g. that a value was NaN.
    """
    fields = Fields(record)
    sample_id = fields.text("sample_id")
    if not sample_id:
        fields.say("sample_id", "no_id", "sample_id is missing or empty, so nothing can refer to it; it was left out.")
        return Attempt(None, [], False, fields.findings)
    if fields.text("run_id") not in (None, run_id):
        fields.say("run_id", "run_id_mismatch", f"run_id is {shown(record['run_id'])} in the folder of {run_id!r}.")
    values = {name: _field(fields, name) for name in SampleRow._fields[2:]}
    values["attributes"] = _with_unknown(record, values["attributes"])
    scores = _scores(fields, sample_id, said)
    values["attempt"] = values["attempt"] or 1
    given = values["counts"] is not None
    values["counts"] = values["counts"] is not False
    _settle_status(values, fields, scores)
    return Attempt(SampleRow(sample_id, run_id, **values), scores, given, fields.findings)


def _field(fields: Fields, name: str) -> Any:
    raw = fields.record.get(name)
    if raw is None:
        return None
    if name in _JSON:
        return clean_text(to_json(raw))
    if name in _TIMES:
        return fields.time(name)
    if name in _COUNTS:
        return fields.integer(name)
    if name in _NUMBERS:
        return fields.number(name)
    if name in _FLAGS:
        return _flag(fields, name, raw)
    return fields.option(name, STATUSES) if name == "status" else fields.text(name)


def _flag(fields: Fields, name: str, raw: object) -> bool | None:
    if isinstance(raw, bool):
        return raw
    fields.say(name, "not_a_flag", f"{name} must be true or false; found {kind_of(raw)}. It is kept as missing.")
    return None


def _with_unknown(record: dict[str, Any], attributes: str | None) -> str | None:
    """Keep what a later version, or a hand, wrote beside the known keys: nothing that was said disappears."""
    unknown = {key: value for key, value in record.items() if key not in _SAMPLE_KEYS}
    if not unknown:
        return attributes
    given = record.get("attributes")
    return clean_text(to_json({**unknown, **given} if isinstance(given, dict) else {**unknown, "attributes": given}))


def _settle_status(values: dict[str, Any], fields: Fields, scores: list[ScoreRow]) -> None:
    """Fill a status that was not given, or not known, from the scores."""
    if values["status"] is None:
        scored = any(score.status == "ok" for score in scores)
        values["status"] = "scored" if scored else "inconclusive"
        if not scored and values["reason"] is None:
            found = kind_of(fields.record["status"]) if "status" in fields.record else "none"
            values["reason"] = f"no usable status ({found}) and no usable score"


def _scores(fields: Fields, sample_id: str, said: Sequence[Problem]) -> list[ScoreRow]:
    raw = fields.record.get("scores")
    if raw is None:
        return []
    if not isinstance(raw, list):
        fields.say("scores", "not_a_list", f"scores must be a list of objects; found {kind_of(raw)}. It was left out.")
        return []
    broken = {finding.field: finding for finding in said}
    found: dict[tuple[str, str], ScoreRow] = {}
    for i, item in enumerate(raw):
        score = _score(fields, sample_id, f"scores[{i}]", item, broken.get(f"scores[{i}].value"))
        if score is None:
            continue
        if (score.metric, score.grader) in found:
            message = f"{score.metric!r} by {score.grader!r} is given twice for {sample_id!r}; the first is kept."
            fields.say(f"scores[{i}]", "duplicate_score", message)
            continue
        found[score.metric, score.grader] = score
    return list(found.values())


def _score(fields: Fields, sample_id: str, where: str, item: object, nan: Problem | None) -> ScoreRow | None:
    if not isinstance(item, dict) or not isinstance(item.get("metric"), str):
        found = f"its metric is {kind_of(item.get('metric'))}" if isinstance(item, dict) else kind_of(item)
        fields.say(where, "bad_score", f"{where} must be an object that names its metric; found {found}. Left out.")
        return None
    inner = Fields(item, prefix=f"{where}.")
    status, reason = inner.option("status", SCORE_STATUSES), inner.text("reason")
    grader = inner.text("grader")
    if grader is None:
        inner.say("grader", "no_grader", f"no grader is named; it is read as {UNKNOWN_GRADER!r}.", "note")
    value, why = read_score(item.get("value"))
    if nan is not None:
        value, why = None, "the value was " + ("NaN" if nan.kind == "not_a_number" else "infinite")
    elif value is None and item.get("value") is not None:
        inner.say("value", "not_a_number", f"{where}.value: {why}; the score is unscored.")
    if value is None and status in (None, "ok"):
        status, reason = "unscored", reason or why
        if nan is None and item.get("value") is None and item.get("status") == "ok":
            inner.say("value", "no_value", f"{where} is ok but has no value; the score is unscored.")
    elif value is not None and status not in (None, "ok"):
        value, reason = None, reason or f"the value was {value}"
    fields.findings.extend(inner.findings)
    version = inner.text("grader_version")
    metric = clean_text(item["metric"])
    grader = UNKNOWN_GRADER if grader is None else grader
    return ScoreRow(sample_id, metric, grader, version, value, status or "ok", reason)


def mark_counting(attempts: Iterable[Attempt]) -> list[SampleRow]:
    """Return the samples, in order, with `counts` set where the line did not say it.

    Of the attempts of one case, arm and trial, the last one that finished counts; if none finished, the last one, so
    that the trial is seen to be missing. An attempt without a case or a trial stands alone and counts.
    """
    kept = [(one.sample, one.counts_given) for one in attempts if one.sample is not None]
    chosen: dict[tuple[object, ...], tuple[bool, int, int]] = {}
    for place, (sample, _) in enumerate(kept):
        rank = (sample.status not in UNFINISHED, sample.attempt, place)
        chosen[_trial(sample, place)] = max(chosen.get(_trial(sample, place), rank), rank)
    return [
        sample if given else sample._replace(counts=chosen[_trial(sample, place)][2] == place)
        for place, (sample, given) in enumerate(kept)
    ]


def _trial(sample: SampleRow, place: int) -> tuple[object, ...]:
    if sample.case_id is None or sample.trial is None:
        return (place,)
    return (sample.case_id, sample.arm, sample.trial)


def run_record(row: RunRow) -> dict[str, Any]:
    """Return `row` as the object that run.json holds."""
    return {"format": 1, **{name: _plain(name, value) for name, value in row._asdict().items()}}


def attempt_record(sample: SampleRow, scores: Iterable[ScoreRow]) -> dict[str, Any]:
    """Return an attempt as the object on its line; what is missing, and the run of the folder, is left out."""
    record = {name: _plain(name, value) for name, value in sample._asdict().items() if value is not None}
    del record["run_id"]
    record["scores"] = [
        {name: value for name, value in score._asdict().items() if name != "sample_id" and value is not None}
        for score in scores
    ]
    return record


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if name in _JSON and value is not None:
        return json.loads(value)
    return value
