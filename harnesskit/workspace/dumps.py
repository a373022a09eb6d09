"""Evaluation dumps: the scores of an alerting turn that the score history does not hold, tier 2 and 3 above all."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from harnesskit.workspace.documents import kind_of, list_documents, printable, read_document
from harnesskit.workspace.fields import Fields, read_score
from harnesskit.workspace.journaled import Rows
from harnesskit.workspace.layout import DUMPS
from harnesskit.workspace.problems import Finding
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import REFERENCE_GRADER, RunRow, SampleRow, score_row

SOURCE = "dump"
RUN_ID = "online:dumps"
LATEST = "latest_eval.json"
_FLAGS = ("threshold", "breached", "below_threshold", "stalled", "regressed", "pending")


class _Score(NamedTuple):
    """One score of a dump, and the place it was found at."""

    metric: str
    trace_id: str | None
    tier: int | None
    value: float | None
    reason: str | None
    raw: dict[str, Any]


def read_dumps(folder: str | Path, held: Collection[tuple[str, str]] = (), *, shown_as: str = DUMPS) -> Rows:
    """Return the dumped scores that the history does not hold, one online sample per dump and trace.

    A score of tier 1 (or, in 0.6, without a tier) whose session and metric are in `held` is already a sample of the
    history. Dumps exist for alerting turns only, so these scores are no fair picture of all turns. The time is the
    one in the name of the dump; ``latest_eval.json``, a copy of the newest dump, adds only what no other dump has.

    Parameters
    ----------
    folder
        The folder of dumps; a missing one is empty.
    held
        Sessions and metrics with scores in the history (`History.held`).
    shown_as
        Name that problems give to the folder.

    Examples
    --------
    >>> read_dumps("no/such/traces")
    Rows(runs=[], samples=[], scores=[], problems=[])
    """
    names, problems = list_documents(folder, SOURCE, shown_as)
    rows = Rows([], [], [], problems)
    seen: dict[tuple[str, int | None, str | None, str], float | None] = {}
    for name in sorted(names, key=lambda name: (name == LATEST, name)):
        value, findings = read_document(Path(folder) / name)
        if value is not None:
            _read_dump(value, printable(name)[: -len(".json")], frozenset(held), seen, rows, findings)
        problems.extend(finding.at(SOURCE, f"{shown_as}/{printable(name)}") for finding in findings)
    if rows.samples:
        rows.runs.append(RunRow(RUN_ID, "online", label="evaluation dumps", parameters=to_json({"folder": shown_as})))
    return rows


def time_in_name(stem: str) -> datetime | None:
    """Return the UTC time in a notice id, None when there is none.

    Examples
    --------
    >>> time_in_name("n-20260612T231843119749-a5821673").isoformat()
    '2026-06-12T23:18:43.119749+00:00'
    """
    match = re.match(r"n-(\d{8}T\d{12})(-|$)", stem, re.ASCII)
    try:
        return datetime.strptime(match[1], "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC) if match else None
    except ValueError:
        return None


def _read_dump(
    dump: dict[str, Any],
    stem: str,
    held: frozenset[tuple[str, str]],
    seen: dict[tuple[str, int | None, str | None, str], float | None],
    rows: Rows,
    findings: list[Finding],
) -> None:
    fields = Fields(dump)
    session_id = fields.text("session_id")
    turn = fields.integer("turn_index", required=False)
    if not session_id:
        fields.say("session_id", "no_id", "The dump does not say which session it is of; it was left out.")
        findings.extend(fields.findings)
        return
    by_trace: dict[str | None, dict[str, _Score]] = {}
    for score in _scores(fields):
        if score.tier in (1, None) and (session_id, score.metric) in held:
            continue
        key = (session_id, turn, score.trace_id, score.metric)
        if seen.get(key) is None:
            seen[key] = score.value
            by_trace.setdefault(score.trace_id, {})[score.metric] = score
        elif score.value not in (None, seen[key]):
            message = f"{score.metric} of the same session, turn and trace was {seen[key]} before; the first holds."
            fields.say("scores", "contradiction", message)
    for trace_id, scores in by_trace.items():
        _add_sample(stem, session_id, turn, trace_id, list(scores.values()), rows)
    findings.extend(fields.findings)


def _scores(fields: Fields) -> list[_Score]:
    raw = fields.record.get("scores")
    if not isinstance(raw, list):
        found = kind_of(raw) if "scores" in fields.record else "nothing"
        fields.say("scores", "not_a_list", f"scores must be a list; found {found}. It is read as empty.")
        return []
    scores = []
    for index, item in enumerate(raw):
        if not isinstance(item, dict):
            message = f"A score must be an object; found {kind_of(item)}. It was left out."
            fields.say(f"scores[{index}]", "not_an_object", message)
            continue
        inner = Fields(item, f"scores[{index}].")
        score = _score(inner)
        scores.extend([score] if score else [])
        fields.findings.extend(inner.findings)
    return scores


def _score(fields: Fields) -> _Score | None:
    metric = fields.text("metric")
    if not metric:
        fields.say("metric", "no_id", "The score does not say of which metric it is; it was left out.")
        return None
    item = fields.record
    value, reason = read_score(item.get("value"))
    said = fields.text("reason") or None
    if value is None and item.get("value") is None:
        reason = said or ("the score was pending" if item.get("pending") is True else reason)
    elif value is None:
        fields.say("value", "not_a_number", f"value: {reason}; it is unscored.")
    else:
        reason = said
    trace_id = fields.text("trace_id") or None
    return _Score(metric, trace_id, fields.integer("tier", required=False), value, reason, item)


def _add_sample(
    stem: str, session_id: str, turn: int | None, trace_id: str | None, scores: list[_Score], rows: Rows
) -> None:
    sample_id = f"dump:{stem}:{trace_id}" if trace_id else f"dump:{stem}"
    scored = any(score.value is not None for score in scores)
    flags = {
        score.metric: {"tier": score.tier, **{name: score.raw[name] for name in _FLAGS if name in score.raw}}
        for score in scores
    }
    rows.samples.append(
        SampleRow(
            sample_id,
            RUN_ID,
            session_id=session_id,
            trace_id=trace_id,
            turn_index=turn,
            occurred_at=time_in_name(stem),
            status="scored" if scored else "inconclusive",
            reason=None if scored else scores[0].reason,
            attributes=to_json({"dump": stem, "scores": flags}),
        )
    )
    for score in scores:
        rows.scores.append(score_row(sample_id, score.metric, score.value, score.reason, REFERENCE_GRADER))
