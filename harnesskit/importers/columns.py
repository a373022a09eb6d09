"""Which column of a flat file is which of ours: guessed from names and first rows, shown, and overridable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harnesskit.importers.shape import number_of
from harnesskit.model.errors import WorkspaceError, listed, nearest

NAMES: dict[str, tuple[str, ...]] = {
    "sample_id": ("sampleid", "rowid", "uuid", "resultid", "runid"),
    "case_id": ("caseid", "case", "exampleid", "testid", "docid", "itemid", "scenario", "scenarioid", "questionid"),
    "session_id": ("sessionid", "session", "conversationid", "threadid"),
    "trace_id": ("traceid", "trace"),
    "turn_index": ("turnindex", "turn"),
    "arm": ("arm", "variant", "condition"),
    "trial": ("trial", "repeat", "repetition", "repetitionnumber", "epoch"),
    "attempt": ("attempt",),
    "cluster": ("cluster", "family", "userid", "user"),
    "occurred_at": ("occurredat", "timestamp", "ts", "time", "createdat", "datetime", "date", "starttime", "startedat"),
    "status": ("status",),
    "error": ("error", "errormessage", "exception"),
    "input": ("input", "inputs", "prompt", "question", "query"),
    "output": ("output", "outputs", "response", "answer", "completion"),
    "steps": ("steps", "toolcalls", "trajectory", "messages"),
    "duration_s": ("durations", "latencys", "duration", "latency", "durationms", "latencyms"),
    "input_tokens": ("inputtokens", "prompttokens"),
    "output_tokens": ("outputtokens", "completiontokens"),
    "cost_usd": ("costusd", "cost", "totalcost"),
    "version": ("version", "agentversion", "release"),
    "metric": ("metric", "metricname", "metrickey"),
    "value": ("value", "score", "metricvalue"),
    "grader": ("grader", "judge", "evaluator", "scorer"),
    "grader_version": ("graderversion", "judgeversion"),
    "reason": ("reason", "explanation", "comment", "rationale"),
}
"""Our column, to the names it goes by elsewhere, without case and punctuation, the likeliest first."""

OPENED = ("scores", "metrics", "evals", "metadata")
"""Objects in a row whose members count as columns."""

_NO_METRIC = ("id", "index", "idx", "count", "tokens", "seed", "version", "number", "no", "ms", "turn", "step")


@dataclass(frozen=True)
class ColumnMap:
    """What is read from where.

    Attributes
    ----------
    fields
        Our column to the file's.
    metrics
        Metric to the column that holds its values, for a file with one row per sample; empty when there is one row
        per score (`fields` then has metric and value).
    scale
        Factor for a column with another unit (milliseconds).
    shift
        1 when trials are counted from 0.
    notes
        What was decided by a rule.
    """

    fields: dict[str, str]
    metrics: dict[str, str] = field(default_factory=dict)
    shift: int = 0
    notes: tuple[str, ...] = ()

    @property
    def long(self) -> bool:
        """Whether a row is one score rather than one sample."""
        return "metric" in self.fields

    def shown(self) -> dict[str, Any]:
        """Return the map as it is given to ``columns=``."""
        return {**self.fields, **({} if self.long else {"metrics": dict(self.metrics)})}

    def __str__(self) -> str:
        """Return the map in one line."""
        pairs = [f"{ours} from {theirs!r}" for ours, theirs in self.fields.items()]
        return ", ".join([*pairs, *(f"metric {name!r} from {column!r}" for name, column in self.metrics.items())])


def map_columns(
    names: Sequence[str], rows: Sequence[Mapping[str, Any]], given: Mapping[str, Any] | None, *, online: bool
) -> ColumnMap:
    """Return the column map of a file: what was given, then what the names and the first rows say.

    Parameters
    ----------
    names
        Columns of the file.
    rows
        Its first rows.
    given
        Our column to the file's, or to None for one that must not be guessed; ``metrics`` is a list of columns, or
        metric to column. With ``metrics`` given, no metric is guessed.
    online
        Whether a bare ``id`` names the sample (production) rather than the case.

    Raises
    ------
    WorkspaceError
        A column is given that the file or harnesskit does not have, or nothing can be recognised.
    """
    given = dict(given or {})
    _check(given, names)
    metrics = given.pop("metrics", None)
    fields = {ours: theirs for ours, theirs in given.items() if theirs is not None}
    taken = set(fields.values())
    plain = {_plain(name): name for name in reversed(names)}
    for ours, spellings in NAMES.items():
        if ours not in given and (
            found := next((plain[s] for s in spellings if plain.get(s) not in (None, *taken)), None)
        ):
            fields[ours] = found
            taken.add(found)
    if metrics is not None or "metric" not in fields:  # one row per sample: a column called score is a metric
        for ours in ("metric", "value"):
            if ours in fields and ours not in given:
                taken.discard(fields.pop(ours))
    if "id" in plain and plain["id"] not in taken:
        ours = "sample_id" if online and "sample_id" not in fields and _distinct(rows, plain["id"]) else "case_id"
        if ours not in fields and ours not in given:
            fields[ours] = plain["id"]
            taken.add(plain["id"])
    wide = (
        _given_metrics(metrics) if metrics is not None else {} if "metric" in fields else _metrics(names, rows, taken)
    )
    _check_found(fields, wide, names)
    zero = "trial" in fields and any(str(row.get(fields["trial"])) == "0" for row in rows)
    notes = ("trials are counted from 0 in the file; they are stored from 1",) if zero else ()
    return ColumnMap(fields, wide, int(zero), notes)


def _check(given: Mapping[str, Any], names: Sequence[str]) -> None:
    ours = (*NAMES, "metrics")
    for name, theirs in given.items():
        if name not in ours:
            raise WorkspaceError(
                f"columns= knows no column {name!r}{nearest(name, ours)}; there are {', '.join(ours)}."
            )
        wanted = list(_given_metrics(theirs).values()) if name == "metrics" else [] if theirs is None else [theirs]
        for column in wanted:
            if column not in names:
                found = listed([repr(n) for n in names])
                raise WorkspaceError(
                    f"columns= takes {name} from {column!r}, which the file does not have"
                    f"{nearest(str(column), list(names))}; it has {found}."
                )


def _check_found(fields: Mapping[str, str], wide: Mapping[str, str], names: Sequence[str]) -> None:
    found = listed([repr(name) for name in names], 12)
    if "metric" in fields and "value" not in fields:
        raise WorkspaceError(
            f"a file with a metric column needs one with its values; the file has {found}. Say columns={{'value': …}}."
        )
    if not wide and not {"metric", "sample_id", "case_id", "session_id", "trace_id"} & set(fields):
        raise WorkspaceError(
            f"no column with scores, cases or sessions was recognised; the file has {found}. "
            "Say columns={'metrics': ['…'], 'case_id': '…'}."
        )


def _given_metrics(metrics: Any) -> dict[str, str]:
    if isinstance(metrics, str):
        return {metrics: metrics}
    return dict(metrics) if isinstance(metrics, Mapping) else {str(name): str(name) for name in metrics}


def _metrics(names: Sequence[str], rows: Sequence[Mapping[str, Any]], taken: set[str]) -> dict[str, str]:
    found = {}
    for name in names:
        values = [row[name] for row in rows if row.get(name) is not None and row[name] != ""]
        numeric = bool(values) and all(_numeric(value) for value in values)
        if name not in taken and numeric and not _plain(name).endswith(_NO_METRIC):
            found[name.removeprefix("scores.")] = name
    return found


def _numeric(value: Any) -> bool:
    if isinstance(value, str):
        if value.strip().lower() in ("true", "false"):
            return True
        try:
            float(value)
        except ValueError:
            return False
        return True
    return number_of(value) is not None or value != value  # a NaN says that the column holds numbers


def _distinct(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    values = [str(row.get(name)) for row in rows]
    return len(set(values)) > 0.9 * len(values)


def _plain(name: str) -> str:
    group, _, inner = name.partition(".")
    return "".join(c for c in (inner if group in OPENED else name).casefold() if c.isalnum())
