"""The facade of one workspace: it hands out tables and verdicts, and computes nothing itself."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from harnesskit.agent_side import Agent, AgentSide
from harnesskit.calibration_verbs import CalibrationVerbs
from harnesskit.check_verbs import CheckVerbs
from harnesskit.forward_verbs import ForwardVerbs
from harnesskit.guard_verbs import GuardVerbs
from harnesskit.health_verbs import HealthVerbs
from harnesskit.import_verbs import ImportVerbs
from harnesskit.live.capture import CaptureReport
from harnesskit.live.outcome import TurnOutcome
from harnesskit.live.scope import Turn
from harnesskit.model.config import HarnessConfig
from harnesskit.model.errors import WorkspaceError
from harnesskit.model.metrics import Metric
from harnesskit.model.policy import RegressionPolicy
from harnesskit.replays.pandaprobe import PandaProbe
from harnesskit.review_verbs import ReviewVerbs
from harnesskit.study_verbs import StudyVerbs
from harnesskit.tables import as_utc
from harnesskit.workspace.evalset_store import EvalSet
from harnesskit.workspace.layout import provision, workspace_root
from harnesskit.workspace.rule_book import RuleBook

if TYPE_CHECKING:
    import pandas as pd

    from harnesskit.regression import RegressionResult
    from harnesskit.trials.regression_report import RegressionReport


class Harness(
    GuardVerbs, ForwardVerbs, CheckVerbs, ReviewVerbs, ImportVerbs, HealthVerbs, StudyVerbs, CalibrationVerbs
):
    """One workspace: its tables, the verbs that decide from stored runs, and those that meet a live agent.

    The tables are described at `harnesskit.tables.Tables`. Without a replay function everything but replaying works.

    Parameters
    ----------
    root
        The workspace.
    as_of, metrics
        See `hk.open`.
    config
        The settings; the defaults with this root when None.
    agent
        What the host hands over.
    """

    def __init__(
        self,
        root: Path,
        *,
        as_of: datetime | None = None,
        metrics: Iterable[Metric] = (),
        config: HarnessConfig | None = None,
        agent: Agent | None = None,
    ) -> None:
        super().__init__(root, as_of=as_of, metrics=metrics)
        self.config = (config or HarnessConfig()).model_copy(update={"harness_root": root})
        self._side = AgentSide(root, self.config, agent or Agent())

    @classmethod
    def create(
        cls,
        config: HarnessConfig | None = None,
        *,
        replay: Callable[..., Any] | None = None,
        scorer: Any = None,
        verifier: Callable[..., Any] | None = None,
        control: Any = None,
        fingerprint: Any = None,
    ) -> Self:
        """Return the harness of a workspace, making its folders where there are none; tables load at their first use.

        Parameters
        ----------
        config
            `HarnessConfig.from_env()` when None.
        replay
            ``(case, context) -> session id`` (or a `ReplayResult`), sync or async.
        scorer
            Session id to ``{metric: value}``, sync or async. PandaProbe's command when None.
        verifier
            Says whether the outcome of a session was right, or None.
        control
            A run id, or the replay function of the version before the change.
        fingerprint
            Names what produces the samples (agent, prompt, model, tools, judge): a text or a dict.
        """
        settings = HarnessConfig.from_env() if config is None else config
        if scorer is None:
            scorer = PandaProbe(settings)
        agent = Agent(replay, scorer, verifier, control, fingerprint)
        harness = cls(settings.harness_root.expanduser().absolute(), config=settings, agent=agent)
        harness.given = str(settings.harness_root)
        provision(harness.root)
        return harness

    @property
    def agent(self) -> Agent:
        """What the host handed over: replay function, scorer, verifier, control, fingerprint."""
        return self._side.agent

    @property
    def evalset(self) -> EvalSet:
        """The eval set: ``capture``, ``attach_input``, ``get``, ``cases``, ``matching``, ``remove``."""
        return self._side.evalset

    @property
    def rules(self) -> RuleBook:
        """The rules: ``add`` writes a candidate."""
        return self._side.rules

    def turn(self, session_id: str | Callable[..., str], end_state: Any = None) -> Turn[TurnOutcome]:
        """Return one turn of a live session, for ``async with``, ``with``, or as a decorator; its end is scored."""
        return self._side.turn(session_id, end_state)

    async def on_turn_end(self, event: Any) -> TurnOutcome:
        """Score the turn that `event` reports: notices, captured cases and trials follow from it.

        Parameters
        ----------
        event
            ``{"session_id": …, "end_state": …, "scores": …, "turn_index": …}``; only the session is needed.
        """
        return await self._side.on_turn_end(event)

    def on_turn_end_now(self, event: Any) -> TurnOutcome:
        """Do the same as `on_turn_end`, and return when it is done."""
        return self._side.on_turn_end_now(event)

    @property
    def skips(self) -> Counter[str]:
        """Reason to number of turns that were not scored on purpose, and of notices that were held back."""
        return self._side.turns.skips

    def capture_from_notices(self, replay_input_of: Callable[[str], Any] | None = None) -> CaptureReport:
        """Capture a case for every breach in the mailbox and the journal that has none yet.

        Parameters
        ----------
        replay_input_of
            Session id to replay input, or None where there is none.
        """
        return self._side.capture_from_notices(replay_input_of)

    async def run_regression(
        self,
        *,
        policy: str | RegressionPolicy = "default",
        sample: int | None = None,
        label: str | None = None,
        seed: int = 0,
        time_limit_s: float | None = None,
        resume: str | None = None,
    ) -> RegressionResult:
        """Replay the eval set through the agent and return the verdict; every attempt is on disk as it ends.

        Parameters
        ----------
        policy
            ``default`` and ``thorough`` replay every win once, then those where a verdict can still change, up to two
            and three runs per win; ``classic`` does so by the classic test. ``fixed:N`` replays each case N times,
            ``floor:X`` and ``reference`` once. Without control runs to compare with, each case is replayed twice and
            held against its captured score.
        sample
            Only the first so many cases, wins first, newest first; ``regression_sample`` of the settings when None.
        label
            Name of the run, for people.
        seed
            Seed of an adaptive run.
        time_limit_s
            Seconds after which an adaptive run begins no further round; its rounds are then 3 wins x 2 runs at once.
        resume
            Id of an adaptive run to go on with, under the policy that it froze.
        """
        from harnesskit import regression_run as runs

        rules = self.policy(policy)
        common: dict[str, Any] = {"sample": self._sample(sample), "label": label}
        if rules.margin is not None:
            return self._judged(*await runs.reference_run(self._side, rules, blocking=False, **common), rules)
        limits: dict[str, Any] = {"seed": seed, "time_limit_s": time_limit_s, "resume": resume}
        return self._judged(*await runs.tested_run(self._side, rules, self.metrics, **common, **limits), rules)

    def run_regression_now(
        self,
        *,
        policy: str | RegressionPolicy = "default",
        sample: int | None = None,
        label: str | None = None,
        seed: int = 0,
        time_limit_s: float | None = None,
        resume: str | None = None,
    ) -> RegressionResult:
        """Do the same as `run_regression`, and return when it is done; works in a notebook cell and in a thread."""
        from harnesskit import regression_run as runs

        rules = self.policy(policy)
        common: dict[str, Any] = {"sample": self._sample(sample), "label": label}
        if rules.margin is not None:
            return self._judged(*runs.reference_run_now(self._side, rules, **common), rules)
        limits: dict[str, Any] = {"seed": seed, "time_limit_s": time_limit_s, "resume": resume}
        return self._judged(*runs.tested_run_now(self._side, rules, self.metrics, **common, **limits), rules)

    def plan_regression(self, *, policy: str | RegressionPolicy = "default", sample: int | None = None) -> pd.DataFrame:
        """Return what an adaptive run would cost and could see, one row per drop and place; nothing is replayed.

        No rows when there is no control bank: fresh controls, or captured scores, are then all there is.
        """
        from harnesskit.adaptive_run import plan, prepare

        rules = self.policy(policy)
        return plan(prepare(self._side, rules, self.metrics, sample=self._sample(sample), blocking=True))

    def _sample(self, sample: int | None) -> int:
        return self.config.regression_sample if sample is None else sample

    def _judged(self, run_id: str, found: RegressionReport | str | None, policy: RegressionPolicy) -> RegressionResult:
        """Return the verdict on a run just made; `found` is its report in the reference's terms, or its control run."""
        from harnesskit.trials.regression_report import RegressionReport

        self.refresh()
        summary = found if policy.margin is not None and not isinstance(found, str) else None
        baseline = "captured" if policy.margin is not None else found if isinstance(found, str) else None
        result = self.regression(run_id, baseline=baseline, policy=policy)
        if not isinstance(summary, RegressionReport):
            return result
        # the reference compares raw floats, so at a nominal margin its own verdict is the one that holds here
        decision = dataclasses.replace(summary.decision, subject=run_id)
        return dataclasses.replace(result, summary=summary, decision=decision)

    def __repr__(self) -> str:
        """Return the root and what is loaded."""
        return f"<Harness {self.root}: {self.loaded}>"


def open_workspace(root: str | Path, *, as_of: datetime | str | None = None, metrics: Iterable[Metric] = ()) -> Harness:
    """Open an existing workspace and load it; nothing is created or written.

    Parameters
    ----------
    root
        The workspace folder: it holds ``evalset/``, ``journal.jsonl`` or another file of the harness.
    as_of
        Look at the workspace as it was then: later cases, runs, samples, events and notices are left out, and rules
        have the status that the journal had recorded. A text without zone is read as UTC.
    metrics
        Declarations besides those in ``harnesskit/metrics.toml``; one of the same name replaces the file's.

    Raises
    ------
    WorkspaceError
        There is no workspace at `root`, or `as_of` is not a time.

    Examples
    --------
    >>> import harnesskit as hk
    >>> harness = hk.open("data/demo")
    >>> harness.sql("SELECT kind FROM cases GROUP BY kind ORDER BY kind")["kind"].tolist()
    ['failure', 'win']
    """
    if not isinstance(root, str | os.PathLike):
        raise WorkspaceError(f"open() needs the folder of a workspace, a path; found {root!r}.")
    harness = Harness(workspace_root(root), as_of=as_utc(as_of, "as_of"), metrics=metrics)
    harness.given = str(root)
    harness.refresh()
    return harness
