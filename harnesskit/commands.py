"""What each command of the command line does: the same public functions that a notebook calls."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from pathlib import Path
from typing import Any

import pandas as pd

from harnesskit.advice import advise
from harnesskit.demo import demo_root
from harnesskit.harness import Harness, open_workspace
from harnesskit.import_commands import import_from
from harnesskit.model.decision import Decision
from harnesskit.model.text import counted
from harnesskit.reports.cells import as_text, missing
from harnesskit.reports.model import check_target
from harnesskit.terminal import print_json, print_table, say, strict_code, tell
from harnesskit.workspace.layout import keep_out


def run_demo(arguments: Namespace) -> int:
    """Judge the planted change in the demo workspace and write the report."""
    root = arguments.root or demo_root()
    return _write_report(root, arguments, run="candidate", policy="default")


def run_load(arguments: Namespace) -> int:
    """Import a file, if one is given, load the workspace, and say what was loaded and what was wrong."""
    found: dict[str, Any] = {}
    if arguments.file is None:
        harness = open_workspace(root_of(arguments))
    else:
        harness = Harness(root_of(arguments).expanduser().absolute())  # a file is enough to begin a workspace
        found = {"imported": import_from(harness, arguments)}
    problems = harness.problems()
    if arguments.json:
        print_json({"counts": harness.loaded.counts, "problems": _records(problems), **found})
    tell(arguments, str(harness.loaded))
    for row in problems.itertuples():
        tell(arguments, f"{row.severity}: {_place(row)}: {row.message}")
    return strict_code(arguments, problems)


def run_list(arguments: Namespace) -> int:
    """List the cases: a table for people, the reference's own JSON with ``--json``."""
    harness = open_workspace(root_of(arguments))
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
        print_table(cases.loc[:, ["case_id", "kind", "created_at", "replayable", "signature_key", "notes"]])
        say(f"{counted(len(cases), 'case')}, {int(cases['replayable'].sum()):,} replayable")
    return strict_code(arguments, harness.problems())


def run_report(arguments: Namespace) -> int:
    """Judge a stored run and write the report."""
    return _write_report(root_of(arguments), arguments, run=arguments.run, policy=arguments.policy or "default")


def run_export(arguments: Namespace) -> int:
    """Write every table to one DuckDB file."""
    harness = open_workspace(root_of(arguments))
    path = harness.export(arguments.path)
    if arguments.json:
        print_json({"path": str(path)})
    say(f"Wrote {path}")
    return strict_code(arguments, harness.problems())


def run_doctor(arguments: Namespace) -> int:
    """Say whether the workspace is sound, and what to do about each kind of problem."""
    harness = open_workspace(root_of(arguments))
    problems = harness.problems()
    groups = advise(problems)
    if arguments.json:
        print_json({"sound": not (problems["severity"] == "problem").any(), "findings": _records(groups)})
    tell(arguments, f"{harness.root}: {harness.loaded}")
    for row in groups.itertuples():
        tell(arguments, f"\n{row.severity}: {row.kind} ({row.n} in {row.files})")
        tell(arguments, f"  first: {row.example}")
        tell(arguments, f"  do:    {row.advice}")
    if groups.empty:
        tell(arguments, "The workspace is sound: every file was read as it stands.")
    return strict_code(arguments, problems)


def root_of(arguments: Namespace) -> Path:
    """Return the workspace that a command is about: ``--root``, else ``HARNESS_ROOT``, else the current folder."""
    return arguments.root or Path(os.environ.get("HARNESS_ROOT") or ".")


def tell_verdict(arguments: Namespace, decision: Decision) -> None:
    """Print the verdict and its reasons."""
    tell(arguments, str(decision))
    for reason in decision.reasons[1:]:
        tell(arguments, f"  {reason}")


def _write_report(root: Path, arguments: Namespace, *, run: str | None, policy: str) -> int:
    keep_out(root, check_target(arguments.out))  # before anything is computed
    harness = open_workspace(root)
    result = harness.regression(run, baseline=getattr(arguments, "baseline", None), policy=policy)
    path = result.report(overview=harness.regressions(policy=policy)).save(arguments.out)
    decision = result.decision
    if arguments.json:
        print_json(
            {"verdict": decision.verdict, "reasons": decision.reasons, "run": result.run_id, "report": str(path)}
        )
    tell_verdict(arguments, decision)
    strict = strict_code(arguments, harness.problems(), remind=True)
    say(f"Report: {path}")
    return strict or (decision.exit_code if getattr(arguments, "gate", False) else 0)


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
