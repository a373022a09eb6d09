"""The query that turns the rows of a flat file into rows of scores; values are parameters, never parts of its text.

Every row of the file becomes one row per metric, with what is large on the first, and one more for each thing that has
to be said about it (``day`` is then `SAID`). It reads a relation ``rows(line, raw, f, j)``: the number of the row, the
row as JSON, and the mapped columns as texts and as JSON, in the order of `places`.
"""

from __future__ import annotations

from collections.abc import Sequence

from harnesskit.importers.columns import ColumnMap
from harnesskit.workspace.online import NO_DATE

SAID = "said"
"""Day of the rows that are no samples, but what was wrong with one."""

STATUSES = "('scored', 'inconclusive', 'skipped', 'error', 'timeout')"
_TEXTS = ("case_id", "session_id", "trace_id", "arm", "cluster", "error", "version", "grader_version")
_WHOLE = ("turn_index", "trial", "attempt", "input_tokens", "output_tokens")
_NUMBERS = ("duration_s", "cost_usd")
_JSON = ("input", "output", "steps")


def places(columns: ColumnMap) -> list[str]:
    """Return the columns of the file that the query reads, in the order in which it wants them."""
    return [*columns.fields.values(), *columns.metrics.values()]


class FlatQuery:
    """Builds the query for one column map.

    Parameters
    ----------
    columns
        The map.
    dedupe
        Whether rows of one sample must be told apart: two with one id, or several scores of one sample.
    number_trials
        Whether repeats of a case are counted in the order of the file.
    """

    def __init__(self, columns: ColumnMap, *, dedupe: bool, number_trials: bool) -> None:
        self.columns = columns
        self.dedupe = dedupe
        self.number_trials = number_trials
        self.order = {name: place for place, name in enumerate(columns.fields, start=1)}

    def text(self) -> str:
        """Return the query; its parameters are those of `parameters`."""
        windows = []
        if self.dedupe:
            per = "sample_id, metric, grader" if self.columns.long else "sample_id, metric"
            windows.append(f"row_number() OVER (PARTITION BY {per}, said ORDER BY line) AS copy")
            windows.append("row_number() OVER (PARTITION BY sample_id, said ORDER BY line, place) AS nth")
        if self.number_trials:
            windows.append("dense_rank() OVER (PARTITION BY case_id, arm ORDER BY line) AS repeat")
        more = f", {', '.join(windows)}" if windows else ""
        # names from the file and values are parameters; what is put together here are pieces of this class
        return f"""
WITH read AS (SELECT {self._sample()} FROM rows), spread AS (SELECT *, {self._spread()}), counted AS (
    SELECT * EXCLUDE (item), item.place AS place, item.metric AS metric, item.said AS said, item.field AS field,
        item.value AS shown, {self._value("item.value")} AS number
    FROM spread
), marked AS (SELECT *{more} FROM counted)
{self._rows()}"""  # noqa: S608

    def parameters(self, *, prefix: str, run: str, source: str, arm: str | None) -> dict[str, object]:
        """Return what the query stands in need of, names from the file included."""
        named: dict[str, object] = {"prefix": prefix, "run": run, "source": source, "arm": arm, "grader": source}
        if self.columns.metrics:
            named["metrics"] = list(self.columns.metrics)
        if "occurred_at" in self.order:
            named["time_column"] = self.columns.fields["occurred_at"]
        return named

    def _field(self, name: str) -> str:
        return f"f[{self.order[name]}]" if name in self.order else "NULL::VARCHAR"

    def _sample(self) -> str:
        parts = ["line", "raw", "f", "j", f"{self._key()} AS sample_id", f"{self._time()} AS occurred_at"]
        parts += [f"nullif({self._field(name)}, '') AS {name}" for name in _TEXTS if name not in ("arm", "case_id")]
        parts.append(f"nullif({self._field('case_id')}, '') AS case_id")
        parts.append(f"coalesce(nullif({self._field('arm')}, ''), $arm) AS arm")
        for name in _WHOLE:
            shift = f" + {self.columns.shift}" if name == "trial" and self.columns.shift else ""
            parts.append(f"TRY_CAST(TRY_CAST({self._field(name)} AS DOUBLE) AS BIGINT){shift} AS {name}")
        for name in _NUMBERS:
            thousandth = " / 1000" if self.columns.fields.get(name, "").lower().endswith("ms") else ""
            parts.append(f"TRY_CAST({self._field(name)} AS DOUBLE){thousandth} AS {name}")
        parts += [f"{f'j[{self.order[n]}]' if n in self.order else 'NULL'}::VARCHAR AS {n}" for n in _JSON]
        parts.append(f"lower({self._field('status')}) AS said_status")
        parts.append(f"coalesce(nullif({self._field('grader')}, ''), $grader) AS grader")
        parts.append(f"{self._field('reason')} AS why")
        return ", ".join(parts)

    def _key(self) -> str:
        if "sample_id" in self.order:
            given = f"coalesce({self._field('sample_id')}, 'row-' || line)"
            return f"CASE WHEN f IS NOT NULL THEN $prefix || ':' || {given} END"
        names = [
            n for n in ("session_id", "trace_id", "turn_index", "case_id", "arm", "trial", "attempt") if n in self.order
        ]
        if self.columns.long and names:
            joined = " || '/' || ".join(f"coalesce({self._field(name)}, '')" for name in names)
            return f"CASE WHEN f IS NOT NULL THEN $prefix || ':' || {joined} END"
        return "CASE WHEN f IS NOT NULL THEN $prefix || ':' || line || '-' || left(md5(raw), 16) END"

    def _time(self) -> str:
        if "occurred_at" not in self.order:
            return "NULL::TIMESTAMPTZ"
        t = self._field("occurred_at")
        n = f"TRY_CAST({t} AS DOUBLE)"
        unit = f"CASE WHEN {n} > 1e17 THEN 1e9 WHEN {n} > 1e14 THEN 1e6 WHEN {n} > 1e11 THEN 1e3 ELSE 1 END"
        epoch = f"TRY(to_timestamp({n} / {unit}))"
        return f"CASE WHEN {n} IS NULL THEN TRY_CAST({t} AS TIMESTAMPTZ) ELSE {epoch} END"

    def _spread(self) -> str:
        """Return one item per metric, and one per thing to say."""
        kept = []
        if self.columns.long:
            metric = self._field("metric")
            kept.append(self._item("1", f"nullif({metric}, '')", self._field("value")))
        start = len(self.columns.fields)
        for place in range(1, len(self.columns.metrics) + 1):
            kept.append(self._item(str(place), f"$metrics[{place}]", f"f[{start + place}]"))
        if not kept:
            kept.append(self._item("1", "NULL", "NULL"))
        said = [f"CASE WHEN f IS NULL THEN [{self._item('0', 'NULL', 'left(raw, 80)', 'not_json')}] ELSE [] END"]
        if "occurred_at" in self.order:
            t = self._field("occurred_at")
            item = self._item("0", "NULL", t, "bad_time", "$time_column")
            said.append(f"CASE WHEN occurred_at IS NULL AND nullif({t}, '') IS NOT NULL THEN [{item}] ELSE [] END")
        rows = f"CASE WHEN f IS NULL THEN [] ELSE [{', '.join(kept)}] END"
        filled = "(f IS NOT NULL OR trim(raw, chr(10) || chr(13) || ' ') <> '')"
        return f"unnest(list_concat({', '.join([rows, *said])})) AS item FROM read WHERE {filled}"

    @staticmethod
    def _item(place: str, metric: str, value: str, said: str | None = None, field: str = "''") -> str:
        kind = "NULL::VARCHAR" if said is None else f"'{said}'"
        return (
            f"{{'place': {place}, 'metric': {metric}::VARCHAR, 'value': {value}::VARCHAR, 'said': {kind}, "
            f"'field': {field}}}"
        )

    @staticmethod
    def _value(raw: str) -> str:
        number = f"TRY_CAST({raw} AS DOUBLE)"
        return (
            f"CASE WHEN lower({raw}) = 'true' THEN 1.0 WHEN lower({raw}) = 'false' THEN 0.0 "
            f"WHEN isfinite({number}) THEN {number} END"
        )

    def _rows(self) -> str:
        head = "nth = 1" if self.dedupe else "place = 1"
        trial = "coalesce(trial, repeat)" if self.number_trials else "trial"
        heavy = ", ".join(f"CASE WHEN {head} THEN {name} END AS {name}" for name in _JSON)
        strange = "contains(raw, 'NaN') OR contains(raw, 'Infinity')"
        keep = f"CASE WHEN {strange} THEN json_object('original', raw)::VARCHAR ELSE replace(raw, chr(10), '') END"
        twice = "copy > 1 AND said IS NULL" if self.dedupe else "false"
        status = (
            f"CASE WHEN said_status IN {STATUSES} THEN said_status WHEN error IS NOT NULL THEN 'error' "
            "ELSE 'scored' END"
        )
        wrong = f"said IS NOT NULL OR {twice}"
        return f"""
SELECT sample_id, $run AS run_id, case_id, session_id, trace_id, turn_index, arm, {trial} AS trial,
    coalesce(attempt, 1) AS attempt, true AS counts, NULL::VARCHAR AS pair, NULL::BIGINT AS round, cluster, occurred_at,
    {status} AS status, CASE WHEN metric IS NULL AND number IS NULL THEN why END AS reason, {heavy}, error,
    duration_s, NULL::DOUBLE AS env_wait_s, input_tokens, output_tokens, cost_usd, NULL::BOOLEAN AS candidate_surfaced,
    CASE WHEN {head} THEN {keep} END AS attributes,
    CASE WHEN {wrong} THEN field ELSE metric END AS metric, CASE WHEN metric IS NOT NULL THEN grader END AS grader,
    grader_version, number AS value,
    CASE WHEN said IS NOT NULL THEN said WHEN {twice} THEN 'duplicate_sample' WHEN metric IS NULL THEN NULL
        WHEN number IS NULL THEN 'unscored' ELSE 'ok' END AS score_status,
    CASE WHEN {wrong} THEN coalesce(shown, sample_id) WHEN metric IS NULL OR number IS NOT NULL THEN why
        WHEN nullif(shown, '') IS NULL THEN coalesce(why, 'no value was given')
        ELSE 'the value was ' || left(shown, 80) || coalesce('; ' || why, '') END AS score_reason,
    {head} AS head, $source AS source, version, line,
    CASE WHEN {wrong} THEN '{SAID}' ELSE coalesce(occurred_at::DATE::VARCHAR, '{NO_DATE}') END AS day
FROM marked"""  # noqa: S608


def json_paths(names: Sequence[str]) -> list[str]:
    """Return the JSON path of each column; a dot goes one level down, as in ``scores.accuracy``.

    Examples
    --------
    >>> json_paths(["id", "scores.a b"])
    ['$."id"', '$."scores"."a b"']
    """
    return ["$" + "".join('."' + part.replace('"', '\\"') + '"' for part in name.split(".")) for name in names]
