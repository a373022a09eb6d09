"""What a signature has to bind and the result does not say itself, from the workspace that it was made in."""

from __future__ import annotations

import json

from harnesskit.agent_side import AgentSide
from harnesskit.model.replay import ReplayError
from harnesskit.replays.run_store import rules_hash, rules_of
from harnesskit.replays.setup import Setup
from harnesskit.review_signing import Reviewed
from harnesskit.store.database import script
from harnesskit.stored_runs import StoredRuns
from harnesskit.trials.promotion_frozen import text_hash
from harnesskit.workspace.rows import RunRow
from harnesskit.workspace.runs import read_run_row, run_folder


def completed(found: Reviewed, tables: StoredRuns, side: AgentSide) -> Reviewed:
    """Return `found` with what it lacks: text and agent of a rule's runs, mean scores of the runs of a case."""
    kind = found.decision.guard_kind
    if kind == "rule" and found.runs and None in (found.guard_hash, found.fingerprint):
        run = read_run_row(run_folder(side.root, found.runs[0]))
        prints = json.loads(run.fingerprint or "{}")
        return found._replace(
            guard_hash=found.guard_hash or _text_read(found.decision.subject, run, side),
            fingerprint=found.fingerprint or prints or None,
        )
    if kind == "case" and found.baseline_scores is None and found.samples:
        rows = tables.sql(
            script("queries/sample_means.sql"), case=found.decision.subject, samples=list(found.samples)
        ).to_dict("records")
        return found._replace(baseline_scores={str(row["metric"]): float(row["value"]) for row in rows} or None)
    return found


def _text_read(rule_id: str, run: RunRow, side: AgentSide) -> str | None:
    """Return the hash of a rule's text when a run of replays read just that: it keeps a digest of the rules it saw."""
    rule = side.rules.get(rule_id)
    if rule is None:
        return None
    parameters = json.loads(run.parameters or "{}")
    identity = parameters.get("identity") if isinstance(parameters, dict) else None
    seen = identity.get("rules") if isinstance(identity, dict) else None
    try:
        now = rules_hash(Setup("", None, rule=rule.rule_id, rules=rules_of(side.root)))
    except ReplayError:  # a retired rule is read by no replay
        return None
    return text_hash(rule.rule) if seen == now else None
