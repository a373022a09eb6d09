"""What each command of the command line does: the same public functions that a notebook calls."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pandas as pd

from harnesskit.advice import advise
from harnesskit.demo import demo_root
from harnesskit.harness import Harness, open_workspace
from harnesskit.reports.cells import as_text, missing
from harnesskit.reports.text import terminal_text


def run_demo(arguments: Namespace) -> int:
    """Judge the planted change in the demo workspace and write the report."""
    return _write_report(open_workspace(arguments.root or demo_root()), arguments, run="candidate", policy="default")


def run_load(arguments: Namespace) -> int:
    """Load the workspace and say what was loaded and what was wrong."""
    harness = _open(arguments)
    problems = harness.problems()
    if arguments.json:
        print_json({"counts": harness.loaded.counts, "problems": _records(problems)})
    say(str(harness.loaded))
    for row in problems.itertuples():
        say(f"{row.severity}: {_place(row)}: {row.message}")
    return strict_code(arguments, problems)


def run_list(arguments: Namespace) -> int:
    """List the cases: a table for people, the reference's own JSON with ``--json``."""
    harness = _open(arguments)
    cases = harness.table("cases")
    if arguments.kind:
        cases = cases[cases["kind"] == arguments.kind]
    if arguments.case:
        cases = cases[cases["case_id"].isin(arguments.case)]
        missing = [case_id for case_id in arguments.case if case_id not in set(cases["case_id"])]
        if missing:
            say(f"No case {', '.join(map(repr, missing))} in this workspace.")
            return 2
    if arguments.json:
        print_json({"cases": [_summary(row) for row in cases.itertuples()], "ok": True})
    else:
        shown = cases.loc[:, ["case_id", "kind", "created_at", "replayable", "signature_key", "notes"]]
        _table(shown)
        say(f"{len(cases):,} case(s), {int(cases['replayable'].sum()):,} replayable")
    return strict_code(arguments, harness.problems())


def run_report(arguments: Namespace) -> int:
    """Judge a stored run and write the report."""
    return _write_report(_open(arguments), arguments, run=arguments.run, policy=arguments.policy)


def run_export(arguments: Namespace) -> int:
    """Write every table to one DuckDB file."""
    harness = _open(arguments)
    path = harness.export(arguments.path)
    if arguments.json:
        print_json({"path": str(path)})
    say(f"Wrote {path}")
    return strict_code(arguments, harness.problems())


def run_doctor(arguments: Namespace) -> int:
    """Say whether the workspace is sound, and what to do about each kind of problem."""
    harness = _open(arguments)
    problems = harness.problems()
    groups = advise(problems)
    if arguments.json:
        print_json({"sound": not (problems["severity"] == "problem").any(), "findings": _records(groups)})
    say(f"{harness.root}: {harness.loaded}")
    for row in groups.itertuples():
        say(f"\n{row.severity}: {row.kind} ({row.n} in {row.files})")
        say(f"  first: {row.example}")
        say(f"  do:    {row.advice}")
    if groups.empty:
        say("The workspace is sound: every file was read as it stands.")
    return strict_code(arguments, problems)


def _open(arguments: Namespace) -> Harness:
    return open_workspace(arguments.root if arguments.root is not None else Path.cwd())


def _write_report(harness: Harness, arguments: Namespace, *, run: str | None, policy: str) -> int:
    result = harness.regression(run, baseline=getattr(arguments, "baseline", None), policy=policy)
    path = result.report(overview=harness.regressions(policy=policy)).save(arguments.out)
    decision = result.decision
    if arguments.json:
        print_json(
            {"verdict": decision.verdict, "reasons": decision.reasons, "run": result.run_id, "report": str(path)}
        )
    say(str(decision))
    for reason in decision.reasons[1:]:
        say(f"  {reason}")
    say(f"Report: {path}")
    strict = strict_code(arguments, harness.problems())
    return strict or (decision.exit_code if getattr(arguments, "gate", False) else 0)


def strict_code(arguments: Namespace, problems: pd.DataFrame) -> int:
    """Return 2 when ``--strict`` was asked for and a file has a problem, else 0."""
    return 2 if arguments.strict and bool((problems["severity"] == "problem").any()) else 0


def _place(row: Any) -> str:
    file = as_text(row.source if missing(row.file) else row.file)
    return file if pd.isna(row.line) else f"{file}:{int(row.line)}"


def _summary(row: Any) -> dict[str, Any]:
    """Return a case as the reference's ``--list`` gives it."""
    return {
        "baseline_scores": json.loads(row.baseline_scores),
        "created_at": "" if pd.isna(row.created_at) else row.created_at.isoformat(),
        "id": row.case_id,
        "kind": row.kind,
        "notes": row.notes or "",
        "replayable": bool(row.replayable),
        "session_id": row.session_id or "",
        "signature": list(row.signature),
    }


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(key): value for key, value in row.items()} for row in rows]


def print_json(value: Any) -> None:
    """Print a value as strict JSON to standard output."""
    print(json.dumps(value, indent=2, sort_keys=True, allow_nan=False, default=str), flush=True)


def say(text: str) -> None:
    """Print text to standard error, harmless to a terminal."""
    print("\n".join(terminal_text(line) for line in text.split("\n")), file=sys.stderr)


def _table(frame: pd.DataFrame) -> None:
    """Print a frame to standard output, one line per row, columns as wide as they need, long text cut visibly."""
    cells = [
        [_short("" if missing(value) else as_text(value)) for value in row] for row in frame.itertuples(index=False)
    ]
    heads = [str(column) for column in frame.columns]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)] if cells else [len(h) for h in heads]
    for line in [heads, *cells]:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    sys.stdout.flush()


def _short(text: str, limit: int = 60) -> str:
    safe = terminal_text(text)
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"
