"""The commands of a review: sign, decisions, promote (and back), verify."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harnesskit.commands import root_of
from harnesskit.harness import Harness
from harnesskit.model.config import HarnessConfig
from harnesskit.model.errors import ReportError, WorkspaceError
from harnesskit.review_verify import read_report
from harnesskit.terminal import print_json, print_table, strict_code, tell
from harnesskit.workspace.layout import workspace_root

_SHOWN = ("decision_id", "at", "subject", "guard_kind", "verdict", "author", "approver", "status")


def run_sign(arguments: Namespace) -> int:
    """Sign the verdict on a guard or run as it is now, or the one of a saved report if it is still that."""
    harness = _harness(arguments)
    found = _reviewed(harness, arguments.subject)
    decision_id = harness.sign(
        found, author=arguments.author, approver=arguments.approver, note=arguments.note, review_by=arguments.review_by
    )
    decision = found.decision
    if arguments.json:
        print_json({"decision_id": decision_id, "subject": decision.subject, "verdict": decision.verdict})
    tell(arguments, f"Signed as {decision_id}: {decision}")
    return strict_code(arguments, harness.problems())


def _reviewed(harness: Harness, subject: str) -> Any:
    """Return the result that is signed."""
    path = Path(subject)
    if path.suffix != ".json":
        runs = set(harness.table("runs")["run_id"])
        return harness.regression(subject) if subject in runs else harness.evidence(subject)
    checked = harness.verify(path)
    if not checked.same:
        raise ReportError(f"the report {path} is not what its evidence says, so it is not signed. {checked}")
    report = read_report(path)
    assert report.verdict is not None  # verify() refuses a report without one
    run = report.evidence.get("run")
    result: Any = (
        harness.regression(str(run))
        if report.evidence.get("kind") == "regression"
        else harness.evidence(checked.subject)
    )
    if result.decision.evidence_hash != report.verdict.evidence_hash:
        raise ReportError(
            f"the report {path} is sound, but not what is known of {checked.subject} by now: another policy, baseline, "
            "or newer evidence. Make the report again, or sign its result in Python."
        )
    return result


def run_decisions(arguments: Namespace) -> int:
    """List every signed review, what was done on it, and whether it still holds."""
    harness = _harness(arguments)
    found = harness.decisions()
    if arguments.json:
        print_json({"decisions": json.loads(found.to_json(orient="records", date_format="iso"))})
    else:
        print_table(found.loc[:, list(_SHOWN)])
    if found.empty:
        tell(arguments, "Nobody has signed anything here.")
    return strict_code(arguments, harness.problems())


def run_promote(arguments: Namespace) -> int:
    """Promote a guard on its signed review, or take it back."""
    harness = _harness(arguments)
    if arguments.retire is not None:
        if arguments.override is not None:
            raise WorkspaceError("--override is for promoting; --retire needs none. Give one of the two.")
        change = harness.retire(arguments.guard, arguments.retire, author=arguments.author)
    else:
        change = harness.promote(arguments.guard, override=arguments.override, author=arguments.author)
    if arguments.json:
        print_json(asdict(change))
    tell(arguments, str(change))
    return strict_code(arguments, harness.problems())


def run_verify(arguments: Namespace) -> int:
    """Compute the verdict of a report again; exit 1 when it differs."""
    harness = _harness(arguments)
    found = harness.verify(arguments.report)
    if arguments.json:
        print_json({**asdict(found), "same": found.same})
    tell(arguments, str(found))
    return strict_code(arguments, harness.problems(), remind=True) or (0 if found.same else 1)


def _harness(arguments: Namespace) -> Harness:
    """Return the harness of an existing workspace, with the fingerprint of the agent when it was given."""
    from harnesskit.agent_side import Agent

    root = workspace_root(root_of(arguments))
    config = HarnessConfig.from_env(harness_root=root)
    return Harness(root, config=config, agent=Agent(fingerprint=_fingerprint(getattr(arguments, "fingerprint", None))))


def _fingerprint(text: str | None) -> Any:
    """Return a fingerprint: a JSON object as such, any other text as a version."""
    if text is None or not text.lstrip().startswith("{"):
        return text or None
    try:
        return json.loads(text)
    except ValueError as error:
        raise WorkspaceError(f"--fingerprint must be a text or a JSON object; found {text!r}: {error}.") from error
