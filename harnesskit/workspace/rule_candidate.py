"""The first record of a rule: a candidate, in the form that the reference harness writes."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from harnesskit.model.errors import WorkspaceError, listed, nearest
from harnesskit.workspace.problems import shown
from harnesskit.workspace.rule_novelty import rule_words
from harnesskit.workspace.rules import APPLICABILITIES, slug
from harnesskit.workspace.trial_baseline import TrialBaseline

LONGEST_TAG = 48
MOST_TAGS = 16


def candidate_record(
    rule: str,
    *,
    metric: str | None,
    rationale: str,
    signatures: Sequence[str],
    scope: str,
    applicability: str | None,
    source_notice_id: str | None,
    tags: Sequence[str],
    longest: int,
    at: str,
) -> dict[str, Any]:
    """Return the record of a new candidate, its trial still missing; parameters as `RuleBook.add`.

    Raises
    ------
    WorkspaceError
        The text, the scope, the applicability or a list cannot be used.
    """
    text = _usable_text(rule, longest)
    filed = slug(scope)
    if not filed:
        raise WorkspaceError(f"a rule needs a scope with letters or digits; found {shown(scope)}.")
    if applicability is not None and applicability not in APPLICABILITIES:
        known: list[str] = list(APPLICABILITIES)
        hint = nearest(applicability, known)
        raise WorkspaceError(f"applicability must be one of {listed(known)}; found {shown(applicability)}{hint}.")
    labels = [str(label) for label in _listed(signatures, "signatures")]
    return {
        "applicability": applicability or ("global" if filed == "global" else "topical"),
        "created_at": at,
        "failure_signatures": list(dict.fromkeys(labels))[:MOST_TAGS],
        "id": f"r-{uuid.uuid4().hex[:10]}",
        "metric": metric,
        "rationale": rationale,
        "rule": text,
        "scope": filed,
        "source_notice_id": source_notice_id,
        "status": "candidate",
        "tags": rule_tags([*labels, *_listed(tags, "tags")]),
        "trial": None,
    }


def new_trial(baseline: TrialBaseline, at: str) -> dict[str, Any]:
    """Return the trial of a rule that nothing was observed of yet."""
    return {
        "baseline_breached_sessions": baseline.breached,
        "baseline_sessions": baseline.sessions,
        "baseline_window": baseline.window,
        "breached_sessions": [],
        "observed_breaches": 0,
        "observed_sessions": [],
        "replay_attempts": 0,
        "trial_started_at": at,
        "verdict": "",
    }


def _usable_text(rule: str, longest: int) -> str:
    text = rule.strip() if isinstance(rule, str) else ""
    if not rule_words(text):
        raise WorkspaceError(f"a rule must be an instruction in words; found {shown(rule)}.")
    if len(text) > longest > 0:
        raise WorkspaceError(
            f"a rule may have {longest:,} characters (sanitize_max_len), this one has {len(text):,}; "
            "shorten it, or make it several rules."
        )
    return text


def rule_tags(words: Iterable[str]) -> list[str]:
    """Return tags as the reference writes them: lower case, stripped, at most 48 characters, unique, at most 16.

    Examples
    --------
    >>> rule_tags([" Breach:Coherence", "breach:coherence", "", "x" * 60])[0], len(rule_tags(["x" * 60])[0])
    ('breach:coherence', 48)
    """
    cut = (str(word).casefold().strip()[:LONGEST_TAG] for word in words)
    return list(dict.fromkeys(tag for tag in cut if tag))[:MOST_TAGS]


def _listed(values: Sequence[str], name: str) -> Sequence[str]:
    if isinstance(values, str):
        raise WorkspaceError(f"{name} must be a list of texts; found the text {shown(values)}. Put it in a list.")
    return values
