"""The forward trial of the reference harness, minus its faults: a candidate watched on live sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from harnesskit.model.config import HarnessConfig
from harnesskit.model.records import RuleRecord
from harnesskit.trials.verdict import Verdict
from harnesskit.workspace.rule_book import RuleBook, RuleChangedError
from harnesskit.workspace.trial_baseline import in_family


def judge_trial(rule: RuleRecord, config: HarnessConfig) -> Verdict:
    """Return the verdict on a candidate by the sessions seen since it came.

    Pending below ``rule_trial_min_sessions`` (at least one) sessions. Then promote when none of them breached, or when
    their rate lies below that of the baseline by ``rule_promote_margin``; else retire. Without a baseline session the
    baseline rate is 1, as in the reference. Breaches are counted once per observed session, and a baseline that has
    more breached sessions than sessions decides nothing (``missing_data``); the reference computes rates above 1.

    Examples
    --------
    >>> rule = RuleRecord(rule_id="r-1", status="candidate", observed_sessions=("s-1", "s-2"))
    >>> judge_trial(rule, HarnessConfig()).reason
    'trial in progress: 2/5 sessions observed'
    """
    needed = max(1, config.rule_trial_min_sessions)
    observed = set(rule.observed_sessions)
    if len(observed) < needed:
        reason = f"trial in progress: {len(observed)}/{needed} sessions observed"
        details: dict[str, Any] = {"observed_sessions": len(observed), "sessions_needed": needed}
        return Verdict(rule.rule_id, "pending", "forward_trial", reason, "trial_in_progress", details)
    sessions, breached = rule.baseline_sessions or 0, rule.baseline_breached_sessions or 0
    if breached > sessions:
        reason = f"forward-trial: the baseline says {breached} of {sessions} sessions breached, which cannot be"
        details = {"baseline_breached_sessions": breached, "baseline_sessions": sessions}
        return Verdict(rule.rule_id, "pending", "forward_trial", reason, "missing_data", details)
    baseline = breached / sessions if sessions else 1.0
    rate = len(observed & set(rule.breached_sessions)) / len(observed)
    details = {"baseline_rate": baseline, "observed_sessions": len(observed), "trial_rate": rate}
    if rate == 0 or rate <= baseline - config.rule_promote_margin:
        reason = f"forward-trial: breach rate {rate:.2f} vs baseline {baseline:.2f} over {len(observed)} sessions"
        return Verdict(rule.rule_id, "promote", "forward_trial", reason, details=details)
    reason = (
        f"forward-trial: breach rate {rate:.2f} did not improve on baseline {baseline:.2f} "
        f"after {len(observed)} sessions"
    )
    return Verdict(rule.rule_id, "retire", "forward_trial", reason, details=details)


def observe_session(
    book: RuleBook, config: HarnessConfig, session_id: str, signatures: Iterable[str], *, scored: bool
) -> list[str]:
    """Count a live session in the trial of every candidate and return the ids of the rules whose trial changed.

    The first ``rule_trial_min_sessions`` distinct sessions are in a trial; one that is in it may still turn breached.
    A session whose scoring failed is not counted: it says nothing, while the reference takes it for healthy.

    Parameters
    ----------
    book
        The rules.
    config
        ``rule_trial_min_sessions``.
    session_id
        The session.
    signatures
        Labels of what alerted in it.
    scored
        Whether the session has any score.
    """
    if not scored or not session_id:
        return []
    labels = list(signatures)
    needed = max(1, config.rule_trial_min_sessions)
    changed = []
    for rule in book.candidates():
        breached = in_family(labels, rule.metric)

        def observed(trial: Mapping[str, Any], breached: bool = breached) -> dict[str, Any]:
            return _observed(trial, session_id, breached, needed)

        if rule.trial is None or observed(rule.trial) == rule.trial:
            continue
        try:
            book.record(rule.rule_id, trial=observed, expect="candidate")
        except RuleChangedError:  # decided meanwhile: its trial is over
            continue
        changed.append(rule.rule_id)
    return changed


def _observed(trial: Mapping[str, Any], session_id: str, breached: bool, needed: int) -> dict[str, Any]:
    """Return the trial with the session in it, or as it was when it is full or nothing is new."""
    observed, before = _texts(trial, "observed_sessions"), _texts(trial, "breached_sessions")
    if session_id not in observed:
        if len(set(observed)) >= needed:
            return dict(trial)
        observed = [*observed, session_id]
    elif not breached or session_id in before:
        return dict(trial)
    now = [*before, session_id] if breached and session_id not in before else before
    return {**trial, "observed_sessions": observed, "breached_sessions": now, "observed_breaches": len(now)}


def _texts(trial: Mapping[str, Any], field: str) -> list[str]:
    found = trial.get(field)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
