"""Run folders: what was run, and every replay as it ends.

``harnesskit/runs/<run>/run.json`` says what was run; ``samples.jsonl`` has one line per attempt, its scores included,
appended and synced as the attempt ends, so that a crash loses nothing that had finished.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harnesskit.model.errors import WorkspaceError
from harnesskit.workspace.atomic import append_line, json_file_bytes, json_line_bytes, sync_folder, write_atomic
from harnesskit.workspace.documents import printable, read_document
from harnesskit.workspace.jsonlines import JsonLines
from harnesskit.workspace.layout import RUNS
from harnesskit.workspace.problems import Problem
from harnesskit.workspace.rows import RunRow, SampleRow, ScoreRow
from harnesskit.workspace.run_records import (
    Attempt,
    attempt_record,
    mark_counting,
    read_attempt,
    read_run_record,
    run_record,
)
from harnesskit.workspace.safe_names import id_of, safe_name

SOURCE = "run"
RUN_FILE = "run.json"
SAMPLES_FILE = "samples.jsonl"


def run_folder(root: Path, run_id: str) -> Path:
    """Return the folder of the run, whether it is there or not.

    Examples
    --------
    >>> run_folder(Path("work"), "../other").as_posix()
    'work/harnesskit/runs/..%2fother'
    """
    return root / RUNS / safe_name(run_id)


def run_folders(root: Path) -> list[Path]:
    """Return the folders of all runs of a workspace, sorted by name; none when there are no runs."""
    try:
        with os.scandir(root / RUNS) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [root / RUNS / name for name in names]


def read_run_row(folder: Path) -> RunRow:
    """Return what run.json says of a run, without its samples; what is wrong with it `read_run` tells."""
    return _read_run_file(folder, [])


def read_run(folder: Path) -> tuple[RunRow, list[SampleRow], list[ScoreRow], list[Problem]]:
    """Return one run with its samples and scores, and a problem for everything that was refused or read by a rule.

    Nothing stops the rest: without a usable run.json the samples are read all the same, their run named after the
    folder, its role ``unknown``. Of two samples with one id the first is kept. Where a line does not say whether it
    counts, the last finished attempt of its case, arm and trial does. A score that is no finite number is unscored.
    """
    problems: list[Problem] = []
    run = _read_run_file(folder, problems)
    attempts = _read_attempts(folder, run.run_id, problems)
    samples = mark_counting(attempts)
    return run, samples, [score for attempt in attempts for score in attempt.scores], problems


def _read_run_file(folder: Path, problems: list[Problem]) -> RunRow:
    file = f"{RUNS}/{printable(folder.name)}/{RUN_FILE}"
    named = id_of(printable(folder.name))
    record, findings = read_document(folder / RUN_FILE)
    problems.extend(finding.at(SOURCE, file) for finding in findings)
    if record is None:
        if not findings:
            message = f"There is no {RUN_FILE}; the run is named after its folder, what was run is not known."
            problems.append(Problem(SOURCE, file, None, "", "problem", "no_run_file", message))
        return RunRow(named, "unknown")
    run, findings = read_run_record(record, named)
    problems.extend(finding.at(SOURCE, file) for finding in findings)
    if isinstance(record.get("run_id"), str) and safe_name(record["run_id"]) != folder.name:
        message = f"The run {run.run_id!r} belongs into the folder {safe_name(record['run_id'])!r}; it was read here."
        problems.append(Problem(SOURCE, file, None, "run_id", "problem", "name_mismatch", message))
    return run


def _read_attempts(folder: Path, run_id: str, problems: list[Problem]) -> list[Attempt]:
    file = f"{RUNS}/{printable(folder.name)}/{SAMPLES_FILE}"
    lines = JsonLines(folder / SAMPLES_FILE, SOURCE, file)
    kept: dict[str, Attempt] = {}
    heard = 0
    for line in lines:
        said, heard = lines.problems[heard:], len(lines.problems)
        attempt = read_attempt(line.value, run_id, said)
        problems.extend(finding.at(SOURCE, file, line.line) for finding in attempt.findings)
        if attempt.sample is None:
            continue
        if attempt.sample.sample_id in kept:
            message = f"The sample {attempt.sample.sample_id!r} was there before; the first is kept, this one left out."
            problems.append(Problem(SOURCE, file, line.line, "sample_id", "problem", "duplicate_sample", message))
            continue
        kept[attempt.sample.sample_id] = attempt
    problems.extend(lines.problems)
    return list(kept.values())


class RunWriter:
    """An open run: appends attempts as they end.

    Attributes
    ----------
    row : RunRow
        The run as it stands in run.json.
    folder : Path
        Its folder.
    """

    def __init__(self, folder: Path, row: RunRow) -> None:
        self.folder = folder
        self.row = row

    def append(self, sample: SampleRow, scores: Iterable[ScoreRow] = ()) -> None:
        """Write one attempt and return when it is on disk.

        `counts` is left for the reader to work out, since a retry may follow; set on the row to False, it is kept.

        Raises
        ------
        ValueError
            A value cannot be written as JSON (NaN, an infinity, a column that is not JSON text), or a score belongs to
            another sample, or `sample` to another run.
        """
        scores = list(scores)
        strangers = [score.sample_id for score in scores if score.sample_id != sample.sample_id]
        if strangers or sample.run_id != self.row.run_id:
            found = f"a score of {strangers[0]!r}" if strangers else f"run {sample.run_id!r}"
            raise ValueError(f"sample {sample.sample_id!r} of run {self.row.run_id!r} was given {found}")
        record = attempt_record(sample, scores)
        if sample.counts:
            del record["counts"]
        append_line(self.folder / SAMPLES_FILE, json_line_bytes(record, sort_keys=False))

    def finish(self, at: datetime | None = None, **changes: Any) -> None:
        """Write the time at which the run ended (now, by default) and any other changed column into run.json."""
        self.row = self.row._replace(finished_at=at or datetime.now(UTC), **changes)
        write_atomic(self.folder / RUN_FILE, json_file_bytes(run_record(self.row)))


def create_run(root: Path, row: RunRow) -> RunWriter:
    """Create the folder of a new run, with its run.json, and return its writer.

    Raises
    ------
    WorkspaceError
        A run of this id is there already (or one that differs in upper and lower case only, where the file system does
        not tell them apart), or the folder cannot be made.
    """
    folder = run_folder(root, row.run_id)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
    except FileExistsError as error:
        raise WorkspaceError(f"a run is in {folder} already; give the new one another id, or resume it.") from error
    except OSError as error:
        raise WorkspaceError(f"cannot make the run folder {folder}: {error.strerror or error}.") from error
    sync_folder(folder.parent)
    write_atomic(folder / RUN_FILE, json_file_bytes(run_record(row)))
    return RunWriter(folder, row)


def resume_run(root: Path, run_id: str) -> RunWriter:
    """Return the writer of a run that was begun earlier; what it wrote is kept.

    Raises
    ------
    WorkspaceError
        There is no such run, or its run.json cannot be used.
    """
    folder = run_folder(root, run_id)
    problems: list[Problem] = []
    row = _read_run_file(folder, problems)
    wrong = [problem.message for problem in problems if problem.kind != "time_without_zone"]
    if wrong:
        raise WorkspaceError(f"cannot resume run {run_id!r} in {folder}: {wrong[0]}")
    return RunWriter(folder, row)
