"""Rounds of validation as the reference harness makes them: every candidate judged in turn, verdicts applied."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from harnesskit.model.config import HarnessConfig
from harnesskit.model.errors import HarnesskitError
from harnesskit.model.records import RuleRecord
from harnesskit.trials.reference_forward import judge_trial
from harnesskit.trials.reference_validation import Cases, ReplayValidator
from harnesskit.trials.replay_verdict import ReplayedCase
from harnesskit.trials.replayer import Replayer
from harnesskit.trials.verdict import Outcome, Validator, Verdict
from harnesskit.workspace.journal_writer import append_event
from harnesskit.workspace.rule_book import RuleBook, RuleChangedError

MOST_ATTEMPTS = 3
"""Rounds in which a candidate is replayed before the forward trial alone decides."""

BUDGET = "round_budget_exhausted"
_VERBS: dict[Outcome, tuple[str, Any]] = {"promote": ("promoted", "active"), "retire": ("retired", "retired")}


class ReferenceRounds:
    """Judges the candidates of one workspace, round by round.

    What is remembered from round to round (where the last one began, whether the missing replay function was
    announced) lives as long as this object, as in the reference.

    Parameters
    ----------
    book
        The rules; verdicts are written to it.
    evalset
        The cases that candidates are replayed on.
    replayer
        None when there is no replay function: candidates are watched in the forward trial, announced once.
    config
        Margins, limits and the budget of a round.
    monotonic
        Seconds of a clock that never goes back, for the budget.
    lower_is_better
        Metrics that get worse as they rise.
    """

    def __init__(
        self,
        book: RuleBook,
        evalset: Cases,
        replayer: Replayer | None,
        config: HarnessConfig,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        lower_is_better: Collection[str] = (),
    ) -> None:
        self._book = book
        self._config = config
        self._monotonic = monotonic
        self._validator = (
            None if replayer is None else ReplayValidator(evalset, replayer, config, lower_is_better=lower_is_better)
        )
        self._head: RuleRecord | None = None
        self._announced = False

    async def run(self) -> list[Verdict]:
        """Judge every candidate once and return one verdict per candidate, in the order judged.

        A decided verdict is applied: the rule becomes active or retired, with an event. A pending verdict of the
        replays is journaled, then the forward trial is asked in the same round, and its verdict holds. Without a
        candidate nothing is journaled.
        """
        queue = self._queue()
        if not queue:
            return []
        budget = self._config.validation_round_budget_s
        started = self._monotonic()
        self._announce()
        self._say(
            "validation_round_started",
            queued_rule_ids=[rule.rule_id for rule in queue],
            budget_s=budget if budget > 0 else None,
            has_replay=self._validator is not None,
        )
        verdicts: list[Verdict] = []
        for queued in queue:
            rule = self._book.get(queued.rule_id)
            if rule is None or rule.status != "candidate":
                continue
            spent = budget > 0 and self._monotonic() - started >= budget
            verdicts.append(await self._judge(rule, spent))
        self._finish(verdicts, self._monotonic() - started if budget > 0 else None)
        return verdicts

    def _queue(self) -> list[RuleRecord]:
        """Return the candidates, oldest first, begun one after the head of the last round."""
        found = self._book.candidates()
        ids = [rule.rule_id for rule in found]
        start = 0
        if self._head is not None and found:
            head = self._head
            at = ids.index(head.rule_id) + 1 if head.rule_id in ids else _place_after(head, found)
            start = at % len(found)
        queue = [*found[start:], *found[:start]]
        self._head = queue[0] if queue else self._head
        return queue

    def _announce(self) -> None:
        if self._validator is None and not self._announced:
            self._say("validation", mode="forward_trial", reason="no replay function wired")
            self._announced = True

    async def _judge(self, rule: RuleRecord, spent: bool) -> Verdict:
        pending: Verdict | None = None
        if self._validator is not None and (rule.replay_attempts or 0) < MOST_ATTEMPTS:
            verdict = _out_of_budget(rule, self._config) if spent else await self._replayed(rule, self._validator)
            self._say("validation_verdict", **verdict.to_dict())
            if verdict.outcome != "pending":
                return self._apply(rule, verdict)
            pending = verdict
            if verdict.details.get("cases") and rule.trial is not None:  # nothing replayed, no attempt used up
                attempts = (rule.replay_attempts or 0) + 1
                rule = self._book.record(rule.rule_id, trial=lambda trial: {**trial, "replay_attempts": attempts})
        reason = BUDGET if pending is not None and pending.pending_reason == BUDGET else None
        self._start(rule, "forward_trial", reason=reason)
        verdict = replace(judge_trial(rule, self._config), replay=pending)
        self._say("validation_verdict", **verdict.to_dict())
        return self._apply(rule, verdict)

    async def _replayed(self, rule: RuleRecord, validator: ReplayValidator) -> Verdict:
        self._start(rule, "replay")

        def say(case: ReplayedCase) -> None:
            self._say("validation_replay_case", rule_id=rule.rule_id, **case.to_dict())

        try:
            return await validator.validate(rule, self._book.rules(), say)
        except (HarnesskitError, OSError) as error:  # one candidate that cannot be judged stops no other
            reason = f"replay inconclusive: {error}"
            return Verdict(rule.rule_id, "pending", "replay", reason, "replay_inconclusive")

    def _start(self, rule: RuleRecord, validator: Validator, **more: Any) -> None:
        self._say(
            "validation_candidate_started",
            rule_id=rule.rule_id,
            validator=validator,
            replay_attempts=rule.replay_attempts or 0,
            observed_sessions=len(rule.observed_sessions),
            sessions_needed=self._config.rule_trial_min_sessions,
            **more,
        )

    def _apply(self, rule: RuleRecord, verdict: Verdict) -> Verdict:
        """Stamp the trial and promote or retire, in one record; a rule that somebody else decided on is left alone."""
        if verdict.outcome == "pending":
            return verdict
        verb, status = _VERBS[verdict.outcome]
        try:
            self._book.record(
                rule.rule_id,
                status=status,
                trial=lambda trial: {**trial, "verdict": f"{verb}:{verdict.reason}"},
                expect="candidate",
                reason=verdict.reason,
                validator=verdict.validator,
                evidence=verdict.details,
            )
        except RuleChangedError:
            return verdict
        return replace(verdict, applied=True)

    def _finish(self, verdicts: list[Verdict], elapsed: float | None) -> None:
        outcomes = [verdict.outcome for verdict in verdicts]
        self._say(
            "validation_round_finished",
            decided=len(outcomes) - outcomes.count("pending"),
            pending=outcomes.count("pending"),
            promoted=outcomes.count("promote"),
            retired=outcomes.count("retire"),
            budget_exhausted=any(v.replay is not None and v.replay.pending_reason == BUDGET for v in verdicts),
            elapsed_s=None if elapsed is None else round(elapsed, 3),
        )

    def _say(self, event: str, **fields: Any) -> None:
        append_event(self._book.root, event, clock=self._book.clock, **fields)


def _out_of_budget(rule: RuleRecord, config: HarnessConfig) -> Verdict:
    reason = f"not replayed: the {config.validation_round_budget_s:g} s of this round were used up"
    return Verdict(rule.rule_id, "pending", "replay", reason, BUDGET)


def _place_after(head: RuleRecord, rules: list[RuleRecord]) -> int:
    """Return the place of the first rule that came after `head`, which is no candidate any more."""
    if head.created_at is None:
        return 0
    key = (head.created_at, head.rule_id)
    later = (
        place for place, rule in enumerate(rules) if rule.created_at is None or (rule.created_at, rule.rule_id) > key
    )
    return next(later, 0)
