"""Puts staged rows where they belong: production samples behind the online view, anything else into a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from harnesskit.importers.staging import Draft, put
from harnesskit.model.errors import WorkspaceError
from harnesskit.workspace.atomic import append_lines, json_line_bytes
from harnesskit.workspace.jsonlines import JsonLines
from harnesskit.workspace.layout import ONLINE
from harnesskit.workspace.reading import parse_json
from harnesskit.workspace.rows import RunRow, SampleRow
from harnesskit.workspace.runs import SAMPLES_FILE, create_run, read_run_row, run_folder
from harnesskit.workspace.safe_names import safe_name

_SCORE = {"metric": "metric", "grader": "grader", "grader_version": "grader_version", "value": "value"}
_JSON = ("input", "output", "steps", "attributes")
_ROWS = """
SELECT * FROM read_parquet($files, hive_partitioning = false)
ORDER BY line, sample_id, head DESC, metric, grader
"""
_NEW = """
SELECT s.* FROM read_parquet($files, hive_partitioning = false) AS s
ANTI JOIN read_parquet($held, hive_partitioning = false) AS h USING (sample_id)
"""


class Landed(NamedTuple):
    """How many samples and scores were added, and how many were there already."""

    samples: int
    scores: int
    known: int


def land_online(root: Path, draft: Draft, source: str, key: str) -> Landed:
    """Put the staged files among the production samples of `source`; a sample that is there already is passed over.

    A part is named after the import, so that one begun again after a crash replaces what it had put there before.
    """
    place = root / ONLINE / safe_name(source)
    own = f"part-{key}-"
    held = [str(path) for path in place.glob("date=*/part-*.parquet") if not path.name.startswith(own)]
    for left in place.glob(f"date=*/{own}*.parquet"):
        left.unlink()
    total = _count(draft, draft.files())
    added = Landed(0, 0, 0)
    for day in draft.days():
        for number, path in enumerate(sorted(day.glob("*.parquet"))):
            staged = path
            if held:
                staged = path.with_suffix(".new")
                query = f"COPY ({_NEW}) TO '{staged.as_posix()}' (FORMAT parquet, COMPRESSION zstd)"
                draft.connection.execute(query, {"files": [str(path)], "held": held})
            count = _count(draft, [str(staged)])
            added = Landed(added.samples + count.samples, added.scores + count.scores, 0)
            if count.samples or count.scores:
                put(staged, place / day.name.replace("day=", "date=") / f"{own}{number}.parquet")
    return added._replace(known=total.samples - added.samples)


def _count(draft: Draft, files: list[str]) -> Landed:
    if not files:
        return Landed(0, 0, 0)
    query = "SELECT count(*) FILTER (head), count(metric) FROM read_parquet($files, hive_partitioning = false)"
    samples, scores = draft.connection.execute(query, {"files": files}).fetchall()[0]
    return Landed(int(samples), int(scores), 0)


def land_run(root: Path, draft: Draft, row: RunRow) -> Landed:
    """Append the staged samples to a run, which is made when there is none of that id.

    Raises
    ------
    WorkspaceError
        The run is there with another role.
    """
    folder = run_folder(root, row.run_id)
    if not folder.exists():
        create_run(root, row)
    held = read_run_row(folder)
    if held.role != row.role:
        raise WorkspaceError(
            f"the run {row.run_id!r} has the role {held.role!r}, these samples come as {row.role!r}; "
            "give them another run=, or the same role=."
        )
    known = {str(line.value.get("sample_id")) for line in JsonLines(folder / SAMPLES_FILE, "run", SAMPLES_FILE)}
    samples = scores = passed = 0
    lines: list[bytes] = []
    for record in _records(draft):
        if record["sample_id"] in known:
            passed += 1
            continue
        samples, scores = samples + 1, scores + len(record["scores"])
        lines.append(json_line_bytes(record, sort_keys=False))
        if len(lines) >= 5_000:
            append_lines(folder / SAMPLES_FILE, lines)
            lines = []
    if lines:
        append_lines(folder / SAMPLES_FILE, lines)
    return Landed(samples, scores, passed)


def _records(draft: Draft) -> Any:
    files = draft.files()
    if not files:
        return
    found = draft.connection.execute(_ROWS, {"files": files})
    names = [column[0] for column in found.description]
    record: dict[str, Any] | None = None
    while rows := found.fetchmany(2_000):
        for values in rows:
            row = dict(zip(names, values, strict=True))
            if record is None or record["sample_id"] != row["sample_id"]:
                if record is not None:
                    yield record
                record = _record(row)
            if row["metric"] is not None:
                record["scores"].append(_score(row))
    if record is not None:
        yield record


def _record(row: dict[str, Any]) -> dict[str, Any]:
    kept = {name: row[name] for name in SampleRow._fields if name != "run_id" and row.get(name) is not None}
    for name in _JSON:
        if name in kept:
            kept[name] = parse_json(kept[name].encode("utf-8"))[0]
    if "occurred_at" in kept:
        kept["occurred_at"] = kept["occurred_at"].isoformat()
    kept.pop("counts", None)
    return {**kept, "scores": []}


def _score(row: dict[str, Any]) -> dict[str, Any]:
    score = {name: row[column] for name, column in _SCORE.items() if row[column] is not None}
    score |= {"status": row["score_status"]} | ({"reason": row["score_reason"]} if row["score_reason"] else {})
    return score
