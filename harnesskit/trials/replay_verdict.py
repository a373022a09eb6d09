"""Promote, retire or pending: what the replays of a candidate rule say, by the reference's rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from harnesskit.model.case import EvalCase
from harnesskit.model.config import HarnessConfig
from harnesskit.model.records import RuleRecord
from harnesskit.trials.case_changes import gain
from harnesskit.trials.verdict import Verdict

OUTCOME = "outcome_correct"
CaseOutcome = Literal["scored", "inconclusive", "env_wait_timeout", "candidate_not_exercised"]

_PENDING = {
    "env_wait_timeout": "environment never became available",
    "candidate_not_exercised": "the candidate was never read",
    "replay_inconclusive": "no failing case produced comparable scores",
}


class ReplayedCase(NamedTuple):
    """One replay of a candidate, as it is journaled."""

    case_id: str
    kind: str
    outcome: CaseOutcome
    session_id: str
    candidate_surfaced: bool
    deltas: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of ``details.cases`` and of the journal's ``validation_replay_case``."""
        return {**self._asdict(), "deltas": dict(self.deltas)}


class _Fall(NamedTuple):
    case_id: str
    metric: str
    delta: float


def target_signatures(rule: RuleRecord) -> list[str]:
    """Return the labels of the failures that a rule is about: its own, and every condition of its metric.

    The reference reads them from the tags alone, which are cut at 48 characters and in lower case; here the rule's
    ``failure_signatures``, which are whole, count as well.

    Examples
    --------
    >>> target_signatures(RuleRecord(rule_id="r-1", status="candidate", metric="q", tags=("api", "stall:q")))
    ['stall:q', 'breach:q', 'regression:q']
    """
    labels = [label for label in (*rule.tags, *rule.failure_signatures) if ":" in label]
    own = [f"{condition}:{rule.metric}" for condition in ("breach", "stall", "regression")] if rule.metric else []
    return list(dict.fromkeys([*labels, *own]))


def retiring_metrics(rule: RuleRecord) -> set[str]:
    """Return the metrics whose fall in a failure retires a rule: the outcome, its own, those its labels name.

    Examples
    --------
    >>> sorted(retiring_metrics(RuleRecord(rule_id="r-1", status="candidate", metric="q", tags=("api", "stall:r"))))
    ['outcome_correct', 'q', 'r']
    """
    labels = (*rule.failure_signatures, *rule.tags)
    named = {label.partition(":")[2] for label in labels if ":" in label}
    return {OUTCOME, *named, *([rule.metric] if rule.metric else [])}


def judge_replays(
    rule: RuleRecord,
    failures: Sequence[EvalCase],
    replayed: Sequence[ReplayedCase],
    config: HarnessConfig,
    lower_is_better: Collection[str] = (),
) -> Verdict:
    """Return the verdict on a candidate.

    Retire when a win fell by the margin in any metric, or a failure in one of `retiring_metrics`; else promote when a
    failure improved by the margin in its target metric; else pending when no failure gave comparable scores; else
    retire. The last fall found is the one reported.

    Parameters
    ----------
    rule
        The candidate.
    failures
        The failures chosen, newest first.
    replayed
        All replays, in order, failures before wins.
    config
        Margins.
    lower_is_better
        Metrics that get worse as they rise.
    """
    details: dict[str, Any] = {
        "cases": [case.to_dict() for case in replayed],
        "env_wait_timeouts": sum(case.outcome == "env_wait_timeout" for case in replayed),
        "inconclusive": sum(case.outcome != "scored" for case in replayed),
        "retire_on": sorted(retiring_metrics(rule)),
        "unexercised": sum(case.outcome == "candidate_not_exercised" for case in replayed),
    }
    scored = [case for case in replayed if case.outcome == "scored"]
    falls = list(_falls(scored, rule, config, lower_is_better))
    if falls:
        last = falls[-1]
        reason = f"replay: regression on case {last.case_id} metric {last.metric} (Δ={last.delta:.2f})"
        return Verdict(rule.rule_id, "retire", "replay", reason, details=details)
    conclusive = [case for case in scored if case.kind == "failure"]
    for case in conclusive:
        metric = _improved(case, rule, failures, config, lower_is_better)
        if metric is not None:
            reason = f"replay: {metric} improved past margin on the failing scenario"
            return Verdict(rule.rule_id, "promote", "replay", reason, details=details)
    if not conclusive:
        why = _pending(details["env_wait_timeouts"], details["unexercised"])
        return Verdict(rule.rule_id, "pending", "replay", f"replay inconclusive: {_PENDING[why]}", why, details)
    reason = f"replay: no improvement on {', '.join(case.id for case in failures)}"
    return Verdict(rule.rule_id, "retire", "replay", reason, details=details)


def _falls(
    scored: Iterable[ReplayedCase], rule: RuleRecord, config: HarnessConfig, lower_is_better: Collection[str]
) -> Iterable[_Fall]:
    retire_on = retiring_metrics(rule)
    for case in scored:
        for metric, delta in case.deltas.items():
            counts = case.kind == "win" or metric in retire_on
            if counts and gain(metric, delta, lower_is_better) <= -config.rule_regress_margin:
                yield _Fall(case.case_id, metric, delta)


def _improved(
    case: ReplayedCase,
    rule: RuleRecord,
    failures: Sequence[EvalCase],
    config: HarnessConfig,
    lower_is_better: Collection[str],
) -> str | None:
    """Return the metric in which a failure improved by the margin, None when it did not."""
    first = failures[0].signature[0].partition(":")[2] if failures and failures[0].signature else ""
    targets = [metric for metric in (OUTCOME, rule.metric, first) if metric and metric in case.deltas]
    looked_at = targets[:1] or list(case.deltas)
    good = (m for m in looked_at if gain(m, case.deltas[m], lower_is_better) >= config.rule_promote_margin)
    return next(good, None)


def _pending(env_timeouts: int, unexercised: int) -> str:
    if env_timeouts and env_timeouts >= unexercised:
        return "env_wait_timeout"
    return "candidate_not_exercised" if unexercised else "replay_inconclusive"
