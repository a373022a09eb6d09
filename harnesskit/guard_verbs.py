"""The verbs about guards: trials of candidate rules, and what is known of a guard from stored trials."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from harnesskit.agent_side import AgentSide
from harnesskit.check_verbs import BY, CheckVerbs
from harnesskit.forward_verbs import ForwardVerbs
from harnesskit.model.promotion_policy import PromotionPolicy

if TYPE_CHECKING:
    import pandas as pd

    from harnesskit.promotion import PromotionResult
    from harnesskit.trials.verdict import Verdict

NO_REPLAY = "No replay function was given, so no candidate can be replayed; pass one as replay= to Harness.create()."


class GuardVerbs(ForwardVerbs, CheckVerbs):
    """Trials of candidate rules (`validate`, which replays), and what stored trials say (`evidence`, which never does).

    Nothing here promotes or retires a rule, but a round under the policy ``reference``, which does what the reference
    does.
    """

    _side: AgentSide
    _told_no_replay: bool = False

    async def validate(
        self,
        rule_id: str,
        *,
        policy: str | PromotionPolicy = "budgeted",
        target_metric: str | None = None,
        seed: int = 0,
        time_limit_s: float | None = None,
        resume: str | None = None,
        concurrency: int = 1,
        sentinels: int | None = None,
        label: str | None = None,
    ) -> PromotionResult:
        """Try a rule on replays with and without it, and return the verdict; every attempt is on disk as it ends.

        The failures that it is about are replayed in both arms, in random order, one replay at a time and looked at
        after each; when it was seen to help, protected wins are. A trial of the same text under the same policy that
        was stopped, or killed, is gone on with. The verdict changes nothing: see `sign` and `promote`.

        Parameters
        ----------
        rule_id
            A rule of the workspace, of any status; in the control arm it is hidden, active or not.
        policy
            ``budgeted`` (40 replays at most), ``budgeted:20``, ``open_ended`` (until decided), ``certified``,
            ``classic``, or a `harnesskit.PromotionPolicy`.
        target_metric
            Metric that the rule is to improve; the outcome where it is known, else the rule's own when None.
        seed
            Seed of the order of wins, of ties between replays, and of the replays themselves.
        time_limit_s
            Seconds after which no further replay is begun.
        resume
            Id of the trial to go on with, whatever policy it was begun under.
        concurrency
            Replays made at once; a few may be made beyond the one that decided.
        sentinels
            Banked wins replayed in control first, to see whether the control bank still holds; 3 when it is older
            than a week, else none, when None.
        label
            Name of the run, for people.

        Raises
        ------
        WorkspaceError
            There is no such rule or trial.
        PolicyError
            There is no such policy, or it is ``reference``, which judges all candidates at once.
        ReplayError
            The trial to resume was begun with other functions, cases or another text.
        """
        asked = self._asked(policy, False, target_metric, seed, time_limit_s, resume, concurrency, sentinels, label)
        return await self._one(rule_id, asked)

    def validate_now(
        self,
        rule_id: str,
        *,
        policy: str | PromotionPolicy = "budgeted",
        target_metric: str | None = None,
        seed: int = 0,
        time_limit_s: float | None = None,
        resume: str | None = None,
        concurrency: int = 1,
        sentinels: int | None = None,
        label: str | None = None,
    ) -> PromotionResult:
        """Do the same as `validate`, and return when it is done; works in a notebook cell and in a thread."""
        from harnesskit.trials.replayer import finish

        asked = self._asked(policy, True, target_metric, seed, time_limit_s, resume, concurrency, sentinels, label)
        return finish(self._one(rule_id, asked))

    async def validate_candidates(
        self,
        *,
        policy: str | PromotionPolicy = "reference",
        seed: int = 0,
        time_limit_s: float | None = None,
        concurrency: int = 1,
    ) -> list[Any]:
        """Judge every candidate rule once.

        Parameters
        ----------
        policy
            ``reference``: as the reference does, by a replay each of a few cases or in the forward trial; what is
            decided is applied, and `harnesskit.trials.verdict.Verdict` returned. Any other: as `validate` does, K
            candidates at min(alpha, .10 / K) each and with the same control runs; nothing is applied, and
            `harnesskit.promotion.PromotionResult` returned.
        seed, time_limit_s, concurrency
            As for `validate`; the time is that of the whole round, ``validation_round_budget_s`` of the settings when
            None.
        """
        if _is_reference(policy):
            return list(await self._side.rounds(blocking=False).run())
        return list(await self._all(policy, False, seed, time_limit_s, concurrency))

    def validate_candidates_now(
        self,
        *,
        policy: str | PromotionPolicy = "reference",
        seed: int = 0,
        time_limit_s: float | None = None,
        concurrency: int = 1,
    ) -> list[Any]:
        """Do the same as `validate_candidates`, and return when it is done."""
        from harnesskit.trials.replayer import finish

        if _is_reference(policy):
            found: list[Verdict] = finish(self._side.rounds(blocking=True).run())
            return list(found)
        return list(finish(self._all(policy, True, seed, time_limit_s, concurrency)))

    async def _one(self, rule_id: str, asked: Any) -> PromotionResult:
        from harnesskit.promotion_run import rule_of, trial
        from harnesskit.win_run import win_trial

        case = self._side.rules.get(rule_id) is None and self._side.evalset.get(rule_id) is not None
        if case and self._side.agent.replay is not None:
            result = await win_trial(self._side, rule_id, asked)
        else:
            rule = rule_of(self._side, rule_id)
            if self._side.agent.replay is None:
                return self._not_replayed(asked, rule)
            result = await trial(self._side, rule, asked)
        self.refresh()
        return result

    async def _all(
        self, policy: str | PromotionPolicy, blocking: bool, seed: int, time_limit_s: float | None, concurrency: int
    ) -> list[PromotionResult]:
        from harnesskit.promotion_round import round_of_trials

        limit = time_limit_s if time_limit_s is not None else self._side.config.validation_round_budget_s or None
        asked = self._asked(policy, blocking, None, seed, limit, None, concurrency, None, None)
        if self._side.agent.replay is None:
            return [self._not_replayed(asked, rule) for rule in self._side.rules.candidates()]
        results = await round_of_trials(self._side, asked)
        self.refresh()
        return results

    def _not_replayed(self, asked: Any, rule: Any) -> PromotionResult:
        from harnesskit.promotion_trials import pending

        if not self._told_no_replay:
            self._told_no_replay = True
            warnings.warn(NO_REPLAY, UserWarning, stacklevel=4)
        return pending(asked, rule, "replay_inconclusive", "skipped: no replay function was given")

    def _asked(
        self,
        policy: str | PromotionPolicy,
        blocking: bool,
        target: str | None,
        seed: int,
        time_limit_s: float | None,
        resume: str | None,
        concurrency: int,
        sentinels: int | None,
        label: str | None,
    ) -> Any:
        from harnesskit.measures.promotion_trial import judging_policy
        from harnesskit.promotion_trials import Asked
        from harnesskit.replays.engine import check_counts

        check_counts(trials=1, concurrency=concurrency, retries=0)
        return Asked(
            judging_policy(policy, by="validate()"), self.metrics, seed=seed, target=target, time_limit_s=time_limit_s,
            resume=resume, concurrency=concurrency, sentinels=sentinels, label=label, blocking=blocking,
            given=self.given or str(self.root),
        )  # fmt: skip

    def evidence(self, guard_id: str, policy: str | PromotionPolicy | None = None) -> PromotionResult:
        """Return what stored trials say about a guard; nothing is replayed.

        The newest trial of the rule counts, by what it froze: the verdict is the one that it gave, whatever was added
        to the workspace since. A rule that was not replayed but is on trial in live sessions has that evidence; a case
        the runs in which it was tried for a win.

        Parameters
        ----------
        guard_id
            A rule, a case, or a check: its metric, or ``metric@grader`` where several graders scored it; it is then
            held against its bar as `check` does.
        policy
            Another policy than the frozen one: recorded in ``harnesskit/looks.jsonl`` and said in the reasons.

        Raises
        ------
        WorkspaceError
            There is no such guard.
        PolicyError
            There is no such policy.
        """
        from harnesskit.guard_evidence import stored_evidence

        metric, grader = self._check_named(guard_id)
        if metric is not None:
            return self.check(metric, grader=grader, policy="budgeted" if policy is None else policy)
        return stored_evidence(self, self._side, guard_id, policy)

    def _check_named(self, guard_id: str) -> tuple[str | None, str | None]:
        """Return metric and grader where the name is that of a check, and of no rule or case; else None for both."""
        if self._side.rules.get(guard_id) is not None or self._side.evalset.get(guard_id) is not None:
            return None, None
        metrics = set(self.table("metrics")["metric"])
        if guard_id in metrics:
            return guard_id, None
        metric, found, grader = str(guard_id).rpartition(BY)
        return (metric, grader) if found and metric in metrics else (None, None)

    def guards(self) -> pd.DataFrame:
        """Return one row per guard (`GUARDS`): its verdict by stored trials, and what would settle it."""
        from harnesskit.guard_evidence import guards_frame

        return guards_frame(self, self._side)

    def pairs(self, guard_id: str) -> pd.DataFrame:
        """Return one row per control run and candidate run of a case (`PAIRS`), worst first, inputs and outputs too."""
        return self.evidence(guard_id).pairs

    def plan(
        self, guard_id: str, policy: str | PromotionPolicy = "budgeted", *, draws: int = 200, seed: int = 0
    ) -> pd.DataFrame:
        """Return what a trial of a rule would cost and could tell, one row per true effect; nothing is replayed.

        Parameters
        ----------
        guard_id
            A rule.
        policy
            As for `validate`.
        draws, seed
            Trials simulated for each effect, with the noise of this workspace, and their seed.
        """
        from harnesskit.guard_evidence import plan_of

        return plan_of(self, self._side, guard_id, policy, draws=draws, seed=seed)


def _is_reference(policy: str | PromotionPolicy) -> bool:
    return PromotionPolicy.parse(policy).mode == "reference"
