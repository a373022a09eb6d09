"""The verbs that meet a live agent: capture from turns, replays of the eval set, validation of candidate rules.

What spends money is named for it (`run_regression`, `validate_candidates`); each has a blocking twin in ``_now``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harnesskit.live.capture import CaptureReport, capture_from_notices
from harnesskit.live.outcome import TurnOutcome
from harnesskit.live.scope import Turn
from harnesskit.live.turns import LiveTurns
from harnesskit.model.config import HarnessConfig
from harnesskit.model.metrics import Metrics
from harnesskit.workspace.declarations import read_declarations
from harnesskit.workspace.evalset_store import EvalSet
from harnesskit.workspace.journal_writer import append_event
from harnesskit.workspace.layout import provision
from harnesskit.workspace.rule_book import RuleBook

if TYPE_CHECKING:
    from harnesskit.trials.reference_rounds import ReferenceRounds
    from harnesskit.trials.replayer import Replayer
    from harnesskit.workspace.runs import RunWriter


@dataclass(frozen=True)
class Agent:
    """What the host hands over: how to replay a case, how to score a session, what the agent is.

    Attributes
    ----------
    replay
        ``(case, context) -> session id or ReplayResult``; None: nothing can be replayed.
    scorer
        Session id to ``{metric: value}``, or an object that scores traces, such as `PandaProbe`.
    verifier
        Says whether the outcome of a session was right, or None.
    control
        A run id, or the replay function of the version before the change.
    fingerprint
        Names what produces the samples (agent, prompt, model, tools, judge).
    """

    replay: Callable[..., Any] | None = None
    scorer: Any = None
    verifier: Callable[..., Any] | None = None
    control: Any = None
    fingerprint: Any = None


@dataclass
class AgentSide:
    """The eval set, the rules and the turns of one workspace, and the trials that replay cases."""

    root: Path
    config: HarnessConfig
    agent: Agent = field(default_factory=Agent)

    def provision(self) -> None:
        """Create the folders of a workspace that are not there."""
        provision(self.root)

    @cached_property
    def evalset(self) -> EvalSet:
        """The eval set; it creates nothing until a case is captured."""
        return EvalSet(self.root, self.config)

    @cached_property
    def rules(self) -> RuleBook:
        """The rules; nothing is created until one is added."""
        return RuleBook(self.root, self.config)

    @cached_property
    def turns(self) -> LiveTurns:
        """The turns of the live agent."""
        return LiveTurns(
            self.root,
            self.config,
            evalset=self.evalset,
            append=self._append,
            scorer=self.agent.scorer,
            verifier=self.agent.verifier,
            metrics=Metrics(read_declarations(self.root).metrics),
        )

    def _append(self, event_type: str, /, **fields: Any) -> None:
        append_event(self.root, event_type, **fields)

    def turn(self, session_id: str | Callable[..., str], end_state: Any = None) -> Turn[TurnOutcome]:
        """Return a turn for ``async with``, ``with``, or to decorate a function with."""
        return Turn(self, session_id, end_state, turn_index=None)

    async def on_turn_end(self, event: Any) -> TurnOutcome:
        """Score the turn that `event` reports, and count its session in the trials of candidate rules."""
        return self._observed(await self.turns.on_turn_end(event))

    def on_turn_end_now(self, event: Any) -> TurnOutcome:
        """Do the same as `on_turn_end`, and return when it is done."""
        return self._observed(self.turns.on_turn_end_now(event))

    def give_up(self, session_id: str, turn_index: int | None, reason: str) -> TurnOutcome:
        """Journal a turn that is not going to be scored."""
        return self.turns.give_up(session_id, turn_index, reason)

    def _observed(self, outcome: TurnOutcome) -> TurnOutcome:
        if self.config.rule_validation and outcome.status == "scored":
            from harnesskit.trials.reference_forward import observe_session

            observe_session(self.rules, self.config, outcome.session_id, outcome.signatures, scored=True)
        return outcome

    def capture_from_notices(self, replay_input_of: Callable[[str], Any] | None = None) -> CaptureReport:
        """Capture a case for every breach in the mailbox and the journal that has none yet."""
        return capture_from_notices(self.root, self.evalset, replay_input_of=replay_input_of)

    def replayer(self, *, blocking: bool, keep: RunWriter | None = None, progress: bool = True) -> Replayer | None:
        """Return the replay function with its scorers; None when the host gave no replay function."""
        from harnesskit.trials.replayer import Replayer

        if self.agent.replay is None:
            return None
        return Replayer(
            self.agent.replay,
            scorer=self.agent.scorer,
            verifier=self.agent.verifier,
            blocking=blocking,
            keep=keep.append if keep is not None else None,
            run_id=keep.row.run_id if keep is not None else "reference",
            progress=progress,
        )

    @cached_property
    def _rounds(self) -> dict[bool, ReferenceRounds]:
        return {}

    def rounds(self, *, blocking: bool) -> ReferenceRounds:
        """Return the rounds of candidate validation; they remember where the last round began."""
        from harnesskit.trials.reference_rounds import ReferenceRounds

        if blocking not in self._rounds:
            self._rounds[blocking] = ReferenceRounds(
                self.rules, self.evalset, self.replayer(blocking=blocking), self.config
            )
        return self._rounds[blocking]
