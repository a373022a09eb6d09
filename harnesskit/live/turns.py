"""The hook at the end of every turn: score it, post what alerts, capture what breached, and never get in the way."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import logging
import threading
import time
import uuid
import weakref
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from harnesskit.live.alerts import CircuitBreaker, Sessions, SessionState
from harnesskit.live.evaluation import Evaluator
from harnesskit.live.events import TurnEvent, TurnEventError, read_turn
from harnesskit.live.gate import ScoreHistory
from harnesskit.live.notices import Mailbox
from harnesskit.live.outcome import Append, CaseSink, TurnOutcome
from harnesskit.live.report import TurnReport
from harnesskit.live.scope import Turn
from harnesskit.model.config import HarnessConfig
from harnesskit.model.metrics import Metrics
from harnesskit.replays.bounded import Calls, Limit, LoopCalls, WorkerCalls
from harnesskit.replays.trace_scores import TraceScorer
from harnesskit.workspace.clock import Clock, utc_now

log = logging.getLogger("harnesskit.live")


class LiveTurns:
    """Turns of a live agent: everything that follows the end of one.

    Nothing raises into the agent: what goes wrong is logged (logger ``harnesskit.live``), journaled, and the turn is
    unscored. One object serves all sessions and threads of a process; several processes may share a workspace.

    Parameters
    ----------
    root, config
        The workspace and the settings.
    evalset
        Where breaches are captured when ``capture_eval_cases`` is on.
    append
        Appends an event to the journal of the workspace.
    scorer, verifier, metrics
        See `harnesskit.live.evaluation.Evaluator`.
    clock, monotonic, new_hex
        Time of what is written, seconds for limits of rate, and the end of a notice id.

    Attributes
    ----------
    skips
        Reason to number of turns not looked at (``sampling``, ``interval``, ``budget``) and of notices held back
        (``circuit_breaker``).
    """

    def __init__(
        self,
        root: Path,
        config: HarnessConfig,
        *,
        evalset: CaseSink,
        append: Append,
        scorer: TraceScorer | Callable[[str], Any] | None = None,
        verifier: Callable[..., Any] | None = None,
        metrics: Metrics | None = None,
        clock: Clock = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
        new_hex: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self.config = config
        self.skips: Counter[str] = Counter()
        self._evalset = evalset
        self._append = append
        self._evaluator = Evaluator(
            config,
            ScoreHistory(root, config, clock=clock),
            metrics=metrics or Metrics(),
            scorer=scorer,
            verifier=verifier,
        )
        self._mailbox = Mailbox(root, clock=clock, new_hex=new_hex)
        self._breaker = CircuitBreaker(config, monotonic)
        self._monotonic = monotonic
        self._sessions = Sessions()
        self._evaluations = 0
        self._health_known = not config.health_check
        self._one_at_a_time = threading.RLock()
        self._loop_calls = LoopCalls()
        self._slots: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]
        self._slots = weakref.WeakKeyDictionary()

    def turn(
        self,
        session_id: str | Callable[..., str],
        end_state: Any = None,
        *,
        turn_index: int | None = None,
    ) -> Turn[TurnOutcome]:
        """Return a turn for ``async with``, ``with``, or to decorate a function with; see `harnesskit.live.scope.Turn`.

        Leaving it is the end of the turn, also when the code inside raised: the exception goes on untouched.
        """
        return Turn(self, session_id, end_state, turn_index=turn_index)

    async def on_turn_end(self, event: Any) -> TurnOutcome:
        """Score the turn that `event` reports and do what follows; see `harnesskit.live.events.read_turn`."""
        return await self._guarded(event, self._loop_calls)

    def on_turn_end_now(self, event: Any) -> TurnOutcome:
        """Do the same as `on_turn_end`, and return when it is done; works inside a running event loop too."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self._guarded(event, WorkerCalls()))
        with ThreadPoolExecutor(1) as pool:
            context = contextvars.copy_context()
            return pool.submit(context.run, asyncio.run, self._guarded(event, WorkerCalls())).result()

    def give_up(self, session_id: str, turn_index: int | None, reason: str) -> TurnOutcome:
        """Journal a turn that is not going to be scored, and say so in the outcome."""
        return self._unscored(session_id, turn_index or 0, [], reason)

    async def _guarded(self, event: Any, calls: Calls) -> TurnOutcome:
        session_id, index = "", 0
        try:
            turn = read_turn(event)
            session_id, index = turn.session_id, turn.turn_index or 0
            return await self._handle(turn, calls)
        except TurnEventError as error:
            found = event.get("session_id") if hasattr(event, "get") else None
            return self._unscored(found if isinstance(found, str) else "", index, [], str(error))
        except Exception as error:
            log.exception("The end of a turn of session %r could not be handled.", session_id)
            return self._unscored(session_id, index, [], f"{type(error).__name__}: {error}")

    async def _handle(self, turn: TurnEvent, calls: Calls) -> TurnOutcome:
        with self._one_at_a_time:
            state = self._sessions[turn.session_id]
            state.turns += 1
            index = state.turns if turn.turn_index is None else turn.turn_index
            skipped = self._skip(state)
            if not skipped:
                state.last_scored_at = self._monotonic()
                state.end_state = turn.end_state if turn.end_state is not None else state.end_state
                self._evaluations += 1
        if skipped:
            return self._skipped(turn.session_id, index, skipped)
        await self._check_health(calls)
        slots = self._slots.setdefault(
            asyncio.get_running_loop(), asyncio.Semaphore(max(1, self.config.max_concurrent_evals))
        )
        async with slots:
            report = await self._evaluator.evaluate(turn, index, state.traces, calls)
        return await asyncio.to_thread(self._conclude, report, state)

    def _skip(self, state: SessionState) -> str:
        """Return why a turn is not looked at: not its turn in the sample, too soon, or over the budget."""
        config = self.config
        if config.eval_sample_every > 1 and (state.turns - 1) % config.eval_sample_every:
            return "sampling"
        wait = config.session_min_eval_interval_s
        if wait > 0 and state.last_scored_at is not None and self._monotonic() - state.last_scored_at < wait:
            return "interval"
        return "budget" if 0 < config.max_evals_per_run <= self._evaluations else ""

    def _skipped(self, session_id: str, index: int, reason: str) -> TurnOutcome:
        with self._one_at_a_time:
            self.skips[reason] += 1
            first = self.skips[reason] == 1
        log.info("Turn %d of session %r is not scored: %s.", index, session_id, reason)
        if reason == "budget" and first:  # the reference journals it once per process
            self._append("skip", session_id=session_id, reason=reason)
        return TurnOutcome(session_id, index, "skipped", reason)

    async def _check_health(self, calls: Calls) -> None:
        """Journal once whether the scorer can be used, when it can tell."""
        with self._one_at_a_time:
            known, self._health_known = self._health_known, True
        health = getattr(self._evaluator.scorer, "health", None)
        if known or not callable(health):
            return
        ended = await calls.call(health, Limit(self.config.drain_timeout_s), awaits=False)
        why = "it did not answer" if ended is None else ended.error or ended.value
        if why is not None:
            log.warning("The scorer cannot be used, so turns will be unscored: %s", why)
        await asyncio.to_thread(self._append, "health", ok=why is None, reason=None if why is None else str(why))

    def _conclude(self, report: TurnReport, state: SessionState) -> TurnOutcome:
        missing = report.unscored_metrics
        outcome = TurnOutcome(report.session_id, report.turn_index, "scored", signatures=report.signatures)
        with self._one_at_a_time:
            if missing or not report.scored:
                reason = next((one.reason for one in report.scores if one.value is None), "the turn brought no scores")
                done = self._unscored(report.session_id, report.turn_index, sorted(missing), reason)
                if not report.scored:
                    return done
            before = copy.copy(state)
            held = [condition for condition in state.conditions if condition.partition(":")[2] in missing]
            alert = state.meet(report.signatures, held, self.config.alert_cooldown_turns)
            if alert.recovered:
                self._breaker.recover()
                self._append("recovery", session_id=report.session_id)
            if not alert.post:
                return outcome
            try:
                return self._notify(report, state)
            except Exception:
                state.conditions, state.cooldown_left = before.conditions, before.cooldown_left  # due again next turn
                raise

    def _notify(self, report: TurnReport, state: SessionState) -> TurnOutcome:
        session_id, index, signatures = report.session_id, report.turn_index, report.signatures
        admitted = "observe_only" if self.config.observe_only else self._breaker.admit()
        if admitted == "silence":
            self.skips["circuit_breaker"] += 1
            self._append("skip", session_id=session_id, reason="circuit_breaker", signatures=list(signatures))
            return TurnOutcome(session_id, index, "scored", "circuit_breaker", signatures, report.severity)
        summary = report.summary(self.config.sanitize_max_len)
        if admitted == "needs_human":
            rate = f"{self._breaker.limit} notices in {self._breaker.window_s:g} s"
            summary = f"{rate}, and one more was due: no further notices until it is calm again. Somebody should look."
        notice = self._mailbox.post(report, summary, admitted)
        self._append("notice", **notice, observe_only=self.config.observe_only)
        case_id = None
        if admitted == "post" and report.severity == "breach" and self.config.capture_eval_cases:
            case_id = self._capture(report, state, summary, notice["id"])
        severity = notice["severity"]
        return TurnOutcome(session_id, index, "scored", "", signatures, severity, notice["id"], case_id)

    def _capture(self, report: TurnReport, state: SessionState, summary: str, notice_id: str) -> str | None:
        """Capture the turn's session; a payload that is no JSON must not cost the notice."""
        try:
            case = self._evalset.capture(
                session_id=report.session_id,
                kind="failure",
                signature=report.signatures,
                baseline_scores=report.baseline,
                replay_input=copy.copy(state.end_state),
                notes=summary,
            )
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            log.warning("Session %r was not captured (notice %s): %s", report.session_id, notice_id, reason)
            self._append("capture_failed", session_id=report.session_id, notice_id=notice_id, reason=reason)
            return None
        return case.id if case is not None else None

    def _unscored(self, session_id: str, index: int, metrics: list[str], reason: str) -> TurnOutcome:
        """Journal what could not be scored; without a journal it is at least in the log."""
        log.warning("Turn %d of session %r: %s unscored: %s", index, session_id, ", ".join(metrics) or "all", reason)
        try:
            self._append("turn_unscored", session_id=session_id, turn_index=index, metrics=metrics, reason=reason)
        except Exception:
            log.exception("The journal could not be written.")
        return TurnOutcome(session_id, index, "unscored", reason)
