"""What is known of PandaProbe's command: one function per command line, one per JSON answer, nothing else.

Assumed (its manual, version 0.2): JSON on standard output unless asked for a table; ``traces list`` answers with
``items``; ``evals runs batch`` starts an evaluation run and answers with its ``id`` and ``status``, ``evals runs get``
with the same, ``evals runs scores`` with a list. Score values are text. Exit codes 2, 3 and 4 mean that asking again
is pointless (not allowed, not found, not valid).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from harnesskit.replays.command_json import CommandError
from harnesskit.replays.trace_scores import MetricScore
from harnesskit.workspace.documents import kind_of
from harnesskit.workspace.fields import read_score
from harnesskit.workspace.times import read_time


class EvalRun(NamedTuple):
    """State of an evaluation run: whether it ended, and its error when it failed."""

    run_id: str
    ended: bool
    error: str | None


def argv_traces(binary: str, session_id: str, limit: int) -> list[str]:
    """Return the command line that lists a session's completed traces, newest first.

    A value is joined to its option, so that an id that begins with a dash stays a value.

    Examples
    --------
    >>> argv_traces("pandaprobe", "-s 1", 50)[3:6]
    ['traces', 'list', '--session-id=-s 1']
    """
    filters = [f"--session-id={session_id}", "--status=COMPLETED", "--sort-by=started_at", "--sort-order=desc"]
    return [binary, "--format", "json", "traces", "list", *filters, f"--limit={limit}"]


def argv_evaluate(binary: str, trace_ids: Sequence[str], metrics: Sequence[str]) -> list[str]:
    """Return the command line that starts an evaluation run over traces.

    Raises
    ------
    CommandError
        An id or a metric holds a comma or a quote, which the command would read as several.
    """
    for name in (*trace_ids, *metrics):
        if any(mark in name for mark in ',"\n\r'):
            raise CommandError(
                f"The command 'pandaprobe' takes no name with a comma, quote or line end; found {name!r}."
            )
    wanted = [f"--metrics={','.join(metrics)}", f"--trace-ids={','.join(trace_ids)}"]
    return [binary, "--format", "json", "evals", "runs", "batch", "--target=trace", *wanted]


def argv_run(binary: str, run_id: str) -> list[str]:
    """Return the command line that asks for the state of an evaluation run."""
    return [binary, "--format", "json", "evals", "runs", "get", "--target=trace", "--", run_id]


def argv_scores(binary: str, run_id: str) -> list[str]:
    """Return the command line that lists the scores of an evaluation run."""
    return [binary, "--format", "json", "evals", "runs", "scores", "--target=trace", "--", run_id]


def argv_version(binary: str) -> list[str]:
    """Return the command line that needs neither a key nor the network."""
    return [binary, "--format", "json", "version"]


def read_traces(answer: Any) -> list[str]:
    """Return the ids of the completed traces in the answer, oldest first.

    Examples
    --------
    >>> old = {"trace_id": "t-1", "status": "COMPLETED", "started_at": "2026-06-01T10:00:00Z"}
    >>> new = {"trace_id": "t-2", "status": "COMPLETED", "started_at": "2026-06-01T10:00:05Z"}
    >>> read_traces({"items": [new, old, {"trace_id": "t-3", "status": "RUNNING"}]})
    ['t-1', 't-2']
    """
    done = [item for item in _items(answer, "traces") if str(item.get("status", "COMPLETED")).upper() == "COMPLETED"]
    found = [item for item in done if isinstance(item.get("trace_id"), str) and item["trace_id"]]
    if len(found) < len(done):
        raise CommandError("The command 'pandaprobe' listed a completed trace without trace_id.", again=True)
    found.reverse()  # the answer is newest first: that order holds where times are equal or missing
    in_time = sorted(found, key=lambda item: _when(item, "started_at"))
    return [item["trace_id"] for item in in_time]


def read_run(answer: Any) -> EvalRun:
    """Return the state of the evaluation run in the answer.

    Examples
    --------
    >>> read_run({"id": "e-1", "status": "FAILED", "error_message": "no judge"})
    EvalRun(run_id='e-1', ended=True, error='no judge')
    """
    if not isinstance(answer, Mapping) or not isinstance(answer.get("id"), str) or not answer["id"]:
        found = f"keys {sorted(answer)[:5]}" if isinstance(answer, Mapping) else kind_of(answer)
        raise CommandError(f"The command 'pandaprobe' must name an evaluation run by id; found {found}.", again=True)
    status = str(answer.get("status", "")).upper()
    error = str(answer.get("error_message") or "the evaluation run failed") if status == "FAILED" else None
    return EvalRun(answer["id"], status in ("COMPLETED", "FAILED"), error)


def read_scores(answer: Any) -> dict[tuple[str, str], MetricScore]:
    """Return trace and metric to score; of several for one metric the newest, a later one of the list when equal.

    Examples
    --------
    >>> read_scores([{"trace_id": "t", "name": "coherence", "value": "0.8", "status": "SUCCESS"}])
    {('t', 'coherence'): MetricScore(value=0.8, threshold=None, reason='', pending=False)}
    """
    found: dict[tuple[str, str], MetricScore] = {}
    for item in sorted(_items(answer, "scores"), key=lambda item: _when(item, "created_at")):
        key = (str(item.get("trace_id", "")), str(item.get("name", "")))
        status = str(item.get("status", "SUCCESS")).upper()
        said = item.get("reason")
        reason = said if isinstance(said, str) else ""
        value, why = _number(item.get("value")) if status == "SUCCESS" else (None, f"the score is {status.lower()}")
        metadata = item.get("metadata")
        bar = _number(metadata.get("threshold"))[0] if isinstance(metadata, Mapping) else None
        found[key] = MetricScore(value, bar, reason or why or "", status == "PENDING")
    return found


def _number(raw: Any) -> tuple[float | None, str | None]:
    if isinstance(raw, str):
        try:
            return read_score(float(raw))
        except ValueError:
            return None, f"{kind_of(raw)} is not a number"
    return read_score(raw)


def _when(item: Mapping[str, Any], field: str) -> float:
    at = read_time(item.get(field), field).at
    return at.timestamp() if at else 0.0


def _items(answer: Any, what: str) -> list[Mapping[str, Any]]:
    """Return the objects of a list, bare or under ``items``."""
    items = answer.get("items") if isinstance(answer, Mapping) else answer
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise CommandError(f"The command 'pandaprobe' must list {what}; found {kind_of(answer)}.", again=True)
    return items
