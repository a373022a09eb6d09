"""The replay validator of the reference harness, minus its faults: a candidate replayed on what it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from harnesskit.model.case import CaseKind, EvalCase
from harnesskit.model.config import HarnessConfig
from harnesskit.model.records import RuleRecord
from harnesskit.trials.case_changes import score_deltas
from harnesskit.trials.replay_verdict import CaseOutcome, ReplayedCase, judge_replays, target_signatures
from harnesskit.trials.replayer import Replayer, reason_code, scored_values
from harnesskit.trials.verdict import Verdict
from harnesskit.workspace.rows import SampleRow, ScoreRow

MOST_FAILURES = 3
MOST_WINS = 2


class Cases(Protocol):
    """The part of an eval set that a trial needs."""

    def cases(self, kind: CaseKind | None = None) -> list[EvalCase]:
        """Return the cases, oldest first."""

    def matching(self, signature: Iterable[str], kind: CaseKind | None = "failure") -> list[EvalCase]:
        """Return the cases that share a label, newest first."""


def chosen_cases(rule: RuleRecord, evalset: Cases) -> tuple[list[EvalCase], list[EvalCase]]:
    """Return the failures and the wins that a candidate is replayed on, newest first.

    The newest 3 replayable failures with a label of the rule, and the newest 2 replayable wins, related or not; no
    wins when there is no failure, since nothing is replayed then. An id that is in two files names no case.
    """
    targets = target_signatures(rule)
    matching = [case for case in evalset.matching(targets, "failure") if case.replayable] if targets else []
    wins = [case for case in reversed(evalset.cases("win")) if case.replayable] if matching else []
    times = Counter(case.id for case in (*matching, *wins))
    failures = [case for case in matching if times[case.id] == 1][:MOST_FAILURES]
    return failures, [case for case in wins if times[case.id] == 1][:MOST_WINS] if failures else []


class ReplayValidator:
    """Judges candidate rules by replaying cases with the candidate to be found.

    Every replay has its own context, so that what one replay read, and whether it had begun, says nothing of another.
    Only a replay that really waited for its environment until the limit is an environment wait; one that crashed is
    inconclusive.

    Parameters
    ----------
    evalset
        Where the cases come from.
    replayer
        The user's replay function, scorer and verifier.
    config
        Margins and limits.
    lower_is_better
        Metrics that get worse as they rise.
    """

    def __init__(
        self, evalset: Cases, replayer: Replayer, config: HarnessConfig, *, lower_is_better: Collection[str] = ()
    ) -> None:
        self.evalset = evalset
        self.replayer = replayer
        self.config = config
        self.lower_is_better = lower_is_better

    async def validate(
        self,
        rule: RuleRecord,
        rules: Iterable[RuleRecord] = (),
        on_case: Callable[[ReplayedCase], None] | None = None,
    ) -> Verdict:
        """Return the verdict on one rule; nothing is written to the workspace.

        Parameters
        ----------
        rule
            The candidate.
        rules
            All rules; the active ones and the candidate can be found by the replays.
        on_case
            Is given every replay as it ends.
        """
        failures, wins = chosen_cases(rule, self.evalset)
        if not failures:
            reason = "no replayable eval case matches the candidate"
            details = {"target_signatures": target_signatures(rule)}
            return Verdict(rule.rule_id, "pending", "replay", reason, "no_matching_replayable_case", details)
        known = {case.id: case for case in (*failures, *wins)}
        replayed: list[ReplayedCase] = []

        def keep(attempt: SampleRow, scores: list[ScoreRow]) -> None:
            found = _replayed(known[str(attempt.case_id)], attempt, scores, self.config)
            replayed.append(found)
            if on_case is not None:
                on_case(found)

        await self.replayer.candidate([*failures, *wins], rule, rules, self.config, keep)
        return judge_replays(rule, failures, replayed, self.config, self.lower_is_better)


def _replayed(case: EvalCase, attempt: SampleRow, scores: list[ScoreRow], config: HarnessConfig) -> ReplayedCase:
    judged = attempt.status == "scored"
    deltas = score_deltas(case.baseline_scores, scored_values(scores), config) if judged else {}
    surfaced = bool(attempt.candidate_surfaced)
    outcome: CaseOutcome = "scored" if surfaced else "candidate_not_exercised"
    if not deltas:
        outcome = "env_wait_timeout" if reason_code(attempt) == "env_wait_timeout" else "inconclusive"
    session = attempt.session_id if reason_code(attempt) != "bad_session_id" else None
    return ReplayedCase(case.id, case.kind, outcome, session or "", surfaced, deltas)
