"""The generic operations that the field reports call, in terms of harnesskit.

A field report gives a folder of case files, or a file of samples with stand-in names; here each becomes a workspace of
its own in a temporary folder. Reports of anything are not built yet, and say so.
"""

from __future__ import annotations

import atexit
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import duckdb
import pandas as pd

import harnesskit as hk
from harnesskit.model.case import EvalCase
from harnesskit.model.replay import ReplayError, ReplayResult
from harnesskit.replays import replay as replaying
from harnesskit.workspace.fields import read_score
from harnesskit.workspace.jsonlines import JsonLines, Record
from harnesskit.workspace.problems import Problem
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import RunRow, SampleRow, ScoreRow
from harnesskit.workspace.runs import RunWriter, create_run, run_folders
from harnesskit.workspace.times import read_time

PROJECT = Path(__file__).resolve().parent.parent
GRADER = "field-report"
_GIVEN = (
    "sample_id",
    "case_id",
    "session_id",
    "run_id",
    "attempt",
    "repeat",
    "created_at",
    "scores",
    "error",
    "output",
)


class Loaded(NamedTuple):
    """What made it into the tables, and what was said about the rest; `harness` is the open workspace."""

    rows: list[dict[str, Any]]
    problems: list[dict[str, Any]]
    harness: Any

    @property
    def cases(self) -> list[dict[str, Any]]:
        """The rows, by the name that reports on cases use."""
        return self.rows


def new_workspace() -> Path:
    """Return an empty folder for a workspace, removed when the process ends."""
    root = Path(tempfile.mkdtemp(prefix="field-report-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root


def load_evalset(folder: str | Path, db: str | Path | None = None) -> Loaded:
    """Load a folder of case files, copied with their names, links and bytes; with `db`, export the tables there."""
    root = new_workspace()
    shutil.copytree(folder, root / "evalset", symlinks=True)
    harness = hk.open(root)
    if db is not None:
        harness.export(db)
    cases = [_case(row) for row in harness.table("cases").to_dict("records")]
    return Loaded(cases, _problems(harness), harness)


def stored_cases(db: str | Path) -> list[dict[str, Any]]:
    """Return the cases as they come back from an exported file, opened anew."""
    with duckdb.connect(str(db), read_only=True) as connection:
        found = connection.execute("SELECT * FROM cases ORDER BY case_id")
        names = [column[0] for column in found.description]
        return [_case(dict(zip(names, row, strict=True))) for row in found.fetchall()]


def _case(row: Mapping[str, Any]) -> dict[str, Any]:
    case = {name: _missing_as_none(value) for name, value in row.items()}
    case["id"] = case.pop("case_id")
    for name in ("baseline_scores", "replay_input"):
        case[name] = None if case[name] is None else json.loads(case[name])
    return case


def _missing_as_none(value: Any) -> Any:
    return value if isinstance(value, (list, str)) or not pd.isna(value) else None


def _problems(harness: Any, before: Iterable[Problem] = ()) -> list[dict[str, Any]]:
    rows = [*(problem._asdict() for problem in before), *harness.problems().to_dict("records")]
    return [
        {name: _missing_as_none(value) for name, value in (row | {"reason": row["message"]}).items()} for row in rows
    ]


def load_samples(path: str | Path, db: str | Path | None = None) -> Loaded:
    """Load a JSONL file of samples, or of baselines (a case, a metric, a score), as runs; `db` as in `load_evalset`."""
    root, path = new_workspace(), Path(path)
    (root / "evalset").mkdir()
    lines = JsonLines(path, "samples", path.name)
    runs: dict[str, RunWriter] = {}
    for record in lines:
        sample, scores = _attempt(
            record, path.stem, {problem.field for problem in lines.problems if problem.line == record.line}
        )
        if sample.run_id not in runs:
            role = "control" if "metric" in record.value else "candidate"
            runs[sample.run_id] = create_run(root, RunRow(sample.run_id, role))
        runs[sample.run_id].append(sample, scores)
    harness = hk.open(root)
    if db is not None:
        harness.export(db)
    return Loaded(_sample_rows(harness), _problems(harness, lines.problems), harness)


def _attempt(record: Record, stem: str, broken: set[str]) -> tuple[SampleRow, list[ScoreRow]]:
    """Return one line under our names; what has none goes into the attributes, token counts apart."""
    said = record.value
    given = {said["metric"]: said.get("score")} if "metric" in said else said.get("scores") or {}
    sample_id = said.get("sample_id", f"{stem}:{record.line}")
    scores = [_score(sample_id, metric, value, f"scores.{metric}" in broken) for metric, value in given.items()]
    rest = {name: value for name, value in said.items() if name not in (*_GIVEN, "metric", "score", "tokens")}
    sample = SampleRow(
        sample_id,
        said.get("run_id", stem),
        case_id=said.get("case_id"),
        session_id=said.get("session_id"),
        trial=None if said.get("case_id") is None else said.get("repeat", 0) + 1,
        attempt=said.get("attempt", 1),
        occurred_at=read_time(said["created_at"], "created_at").at if "created_at" in said else None,
        status=_status(said.get("error"), scores),
        reason=said.get("error"),
        output=None if said.get("output") is None else to_json(said["output"]),
        error=said.get("error"),
        input_tokens=said.get("tokens"),
        attributes=to_json(rest) if rest else None,
    )
    return sample, scores


def _score(sample_id: str, metric: str, raw: Any, broken: bool) -> ScoreRow:
    value, reason = read_score(raw)
    reason = "the value was not a finite number" if broken else reason
    return ScoreRow(sample_id, metric, GRADER, None, value, "unscored" if value is None else "ok", reason)


def _status(error: str | None, scores: Sequence[ScoreRow]) -> str:
    if error:
        return "timeout" if error == "timeout" else "error"
    return "scored" if any(score.value is not None for score in scores) else "inconclusive"


def _sample_rows(harness: Any) -> list[dict[str, Any]]:
    values: dict[tuple[str, str], dict[str, float | None]] = {}
    for row in harness.sql("SELECT run_id, sample_id, metric, value FROM raw.scores").itertuples():
        values.setdefault((row.run_id, row.sample_id), {})[row.metric] = _missing_as_none(row.value)
    rows = []
    for sample in harness.sql("SELECT * FROM samples WHERE run_id <> 'captured'").to_dict("records"):
        row = {name: _missing_as_none(value) for name, value in sample.items()}
        rows.append(row | {"scores": values.get((row["run_id"], row["sample_id"]), {})})
    return rows


def compare(
    base: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]], *, policy: Any = None, metrics: Any = ()
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Compare cases (their captured scores) or samples with samples: rows per case and metric, and the whole.

    Without a policy, captured scores and a single replay of each are compared as the reference does, with margins.
    """
    if policy is None:
        policy = "reference" if base and "baseline_scores" in base[0] else "default"
    before, after = _scores_frame(base), _scores_frame(new)
    deltas = hk.case_deltas(before, after, policy=policy, metrics=metrics)
    decision = hk.decide_regression(deltas, policy=policy)
    names = {"baseline": "base", "candidate": "new", "status": "verdict"}
    per_case = deltas.rename(columns=names)[["case_id", "metric", "base", "new", "delta", "verdict", "reason"]]
    summary = {
        "verdict": decision.verdict,
        "reasons": decision.reasons,
        "means": hk.compare_runs(deltas).to_dict("records"),
        "unmatched_base": int(before.drop_duplicates("row")["case_id"].isna().sum()),
        "unmatched_new": int(after.drop_duplicates("row")["case_id"].isna().sum()),
    }
    rows = [{name: _missing_as_none(value) for name, value in row.items()} for row in per_case.to_dict("records")]
    return rows, summary


def _scores_frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    found = []
    for place, row in enumerate(rows):
        if row.get("counts") is False:
            continue
        captured = "baseline_scores" in row
        scores = row["baseline_scores"] if captured else row.get("scores") or {}
        fixed = {
            "row": place,
            "case_id": row["id"] if captured else row.get("case_id"),
            "kind": row.get("kind"),
            "source": "captured" if captured else "control",
            "reason": row.get("reason") or row.get("error"),
        }
        plain = captured or row.get("status") in (None, "ok", "scored")
        for metric, value in (scores or {None: None}).items():
            status = row["status"] if not plain else "ok" if value is not None else "unscored"
            found.append(fixed | {"metric": metric, "value": value, "status": status})
    columns = ["row", "case_id", "kind", "source", "reason", "metric", "value", "status"]
    return pd.DataFrame(found, columns=columns).astype({"value": "float64"})


def query(db: str | Path, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query over an exported file."""
    with duckdb.connect(str(db), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def cli(
    *argv: str, cwd: str | Path | None = None, env: Mapping[str, str] | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run the ``harnesskit`` command of this checkout."""
    return subprocess.run(
        [sys.executable, "-m", "harnesskit.cli", *argv],
        cwd=cwd,
        env=process_environment(env),
        timeout=timeout,
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        check=False,
    )


def process_environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a process of this checkout, with `changes`."""
    path = os.pathsep.join(part for part in (str(PROJECT), os.environ.get("PYTHONPATH")) if part)
    return {
        **os.environ,
        "PYTHONPATH": path,
        "HARNESSKIT_CASES_ADAPTER": str(Path(__file__).resolve()),
        **(changes or {}),
    }


def _not_yet(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what} is not part of harnesskit yet: so far a workspace is loaded, queried, compared and graded."
    )


def grade(rows: Sequence[Mapping[str, Any]], grader: Any, *, cache: Any = None, **options: Any) -> list[dict[str, Any]]:
    """Grade rows with functions of a row that return scores: one row per sample, metric and grader."""
    fns = [grader] if callable(grader) else list(grader)
    samples = pd.DataFrame([{"sample_id": row.get("sample_id", row.get("id")), "row": dict(row)} for row in rows])
    made = [hk.grader(name=fn.__name__)(_of_row(fn)) for fn in fns]
    graded = hk.grade(samples, made, cache=cache, **options).to_dict("records")
    return [
        {name: _missing_as_none(value) for name, value in (one | {"score": one["value"]}).items()} for one in graded
    ]


def _of_row(fn: Any) -> Any:
    def of_row(row: Any) -> Any:
        return fn(row)

    return of_row


def replay(cases: Sequence[Mapping[str, Any]], fn: Any, *, cache_dir: Any = None, **options: Any) -> Any:
    """Replay cases through a function that returns the scores of the new session: one row per attempt."""
    given, kept = _replayable(cases), _replay_options(**options)
    if cache_dir is None:
        return _replayed(replaying.replay(given, _with_scores(fn), **kept))
    for folder in reversed(run_folders(Path(cache_dir))):  # a cache is a run that is taken up again, or refuses
        try:
            return _replayed(replaying.replay(given, _with_scores(fn), root=cache_dir, resume=folder.name, **kept))
        except ReplayError:
            continue
    return _replayed(replaying.replay(given, _with_scores(fn), root=cache_dir, **kept))


async def areplay(cases: Sequence[Mapping[str, Any]], fn: Any, **options: Any) -> Any:
    """Replay cases on the running event loop."""
    return _replayed(await replaying.areplay(_replayable(cases), _with_scores(fn), **_replay_options(**options)))


def _replay_options(
    *, timeout: float | None = None, retries: int = 0, repeats: int = 1, db: Any = None, resume: bool = False
) -> dict[str, Any]:
    options: dict[str, Any] = {"timeout_s": timeout or 300.0, "retries": retries, "trials": repeats, "progress": False}
    if db is not None:
        options |= {"root": f"{db}.workspace", "resume" if resume else "run": "field-report"}
    return options


def _replayable(cases: Sequence[Mapping[str, Any]]) -> list[Any]:
    given = ("id", "session_id", "kind", "signature", "baseline_scores", "replay_input", "notes")
    return [EvalCase(**{name: case[name] for name in given if case.get(name) is not None}) for case in cases]


def _with_scores(fn: Any) -> Any:
    """Make the scores that `fn` returns those of a new session, as the replay contract wants them."""

    def session(scores: Any) -> Any:
        return ReplayResult(f"new-{uuid.uuid4().hex}", scores=scores)

    if inspect.iscoroutinefunction(fn):

        async def later(case: Any) -> Any:
            return session(await fn(case.record()))

        return later
    return lambda case: session(fn(case.record()))


def _replayed(samples: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for row in samples.to_dict("records"):
        known = {name: _missing_as_none(value) for name, value in row.items() if name != "scores"}
        scores = {one["metric"]: one["value"] for one in json.loads(row["scores"])}
        status = {"scored": "ok", "inconclusive": "ok"}.get(row["status"], row["status"])
        rows.append({**known, "repeat": row["trial"] - 1, "status": status, "scores": scores, "error": known["reason"]})
    return rows


def report(result: Any, fmt: str, path: Any) -> Any:
    """Reports on any frame or result come with the rest of harnesskit.reports."""
    _not_yet(f"a report of this in {fmt}")
