"""Score one turn: Tier 1 of every new trace through the gate, then only what the gate and the breaches call for."""

from __future__ import annotations

import asyncio
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harnesskit.live.events import TurnEvent, TurnEventError, read_traces
from harnesskit.live.gate import ScoreHistory
from harnesskit.live.report import LiveScore, TurnReport
from harnesskit.model.case import EvalCase
from harnesskit.model.config import HarnessConfig
from harnesskit.model.errors import HarnesskitError
from harnesskit.model.metrics import Metrics
from harnesskit.replays.bounded import Calls, Limit, awaits
from harnesskit.replays.scoring import OUTCOME, as_score, verifier_call
from harnesskit.replays.trace_scores import MetricScore, TraceScorer, TraceScores

NEVER_ALERTS = 3
"""Tier of a metric that no tier names: it is recorded, and never alerts on its level."""


class ScoringError(HarnesskitError):
    """A scorer or verifier gave nothing usable; the text says why."""


class Evaluator:
    """Scores turns; what cannot be scored stands in the report without a value and with the reason.

    Parameters
    ----------
    config
        Tiers, thresholds, gate; ``barrier_timeout_s`` bounds the scoring of one turn.
    history
        The gate and its file.
    metrics
        Declared metrics: their tier, threshold and direction count where the configuration names none.
    scorer
        A `TraceScorer`, which is asked tier by tier, or a function of the session id that returns metric to value.
    verifier
        Gives ``outcome_correct``, or None for "cannot say"; what it takes is as for replays.
    """

    def __init__(
        self,
        config: HarnessConfig,
        history: ScoreHistory,
        *,
        metrics: Metrics,
        scorer: TraceScorer | Callable[[str], Any] | None = None,
        verifier: Callable[..., Any] | None = None,
    ) -> None:
        self.config = config
        self.history = history
        self.metrics = metrics
        self.scorer = scorer
        self.verifier = verifier

    async def evaluate(self, event: TurnEvent, index: int, known: set[str], calls: Calls) -> TurnReport:
        """Return the report of one turn; `known` are the session's traces scored before, added to here.

        Raises
        ------
        WorkspaceError
            The score history cannot be used or written.
        """
        seconds = self.config.barrier_timeout_s
        # one limit for all the calls of a turn
        ask = functools.partial(self._ask, calls, Limit(seconds if seconds > 0 else math.inf))
        lazy = self.scorer if event.traces is None and isinstance(self.scorer, TraceScorer) else None
        traces = await self._traces(event, known, ask, lazy)
        scores = [self._score(name, one, trace.trace_id) for trace in traces for name, one in self._ordered(trace)]
        scores, fired = await self._gate(event.session_id, scores)
        newest = traces[-1].trace_id
        if lazy is not None and fired:
            scores += await self._tier(lazy, newest, self.config.trace_metrics_tier2, ask)
        # scores that were handed over without any of Tier 1 are not gated: there is nothing to gate them with
        ungated = lazy is None and not any(score.tier == 1 and score.value is not None for score in scores)
        scores = [self._breach(score, newest, tier2=fired or ungated) for score in scores]
        if lazy is not None and self.config.enable_tier3 and any(score.breached for score in scores):
            scores += await self._tier(lazy, newest, self.config.trace_metrics_tier3, ask)
        if self.verifier is not None and not any(score.metric == OUTCOME for score in scores):
            scores += [self._breach(score, newest, tier2=True) for score in await self._outcome(event, newest, ask)]
        return TurnReport(event.session_id, index, tuple(scores), fired, event.scope_hints)

    async def _traces(
        self, event: TurnEvent, known: set[str], ask: Callable[..., Any], lazy: TraceScorer | None
    ) -> Sequence[TraceScores]:
        """Return the scores at hand, traces oldest first; never empty."""
        if event.traces is not None:
            return event.traces
        tier1 = self.config.trace_metrics_tier1
        try:
            if lazy is not None:
                new = await ask(lazy.new_traces, event.session_id, frozenset(known))
                if not new:
                    raise ScoringError("the session has no new completed trace")
                found: Sequence[TraceScores] = await ask(lazy.score_traces, new, tier1)
                known.update(t.trace_id for t in found if any(one.value is not None for one in t.scores.values()))
                return found or [TraceScores("")]
            if self.scorer is None:
                raise ScoringError("the turn brought no scores, and there is no scorer")
            return read_traces({"scores": await ask(self.scorer, event.session_id)}) or [TraceScores("")]
        except (ScoringError, TurnEventError) as error:
            return [TraceScores("", {name: MetricScore(None, reason=str(error)) for name in tier1})]

    async def _gate(self, session_id: str, scores: list[LiveScore]) -> tuple[list[LiveScore], bool]:
        """Return the scores with what the gate said about those of Tier 1, and whether it fired."""
        gated = [i for i, score in enumerate(scores) if score.tier == 1 and self._rises(score.metric)]
        values = [(scores[i].metric, scores[i].value) for i in gated]
        steps = await asyncio.to_thread(self.history.record, session_id, values) if values else []
        for i, done in zip(gated, steps, strict=True):
            scores[i] = replace(scores[i], stalled=done.stalled, regressed=done.regressed)
        return scores, any(done.stalled or done.regressed for done in steps)

    async def _tier(
        self, scorer: TraceScorer, trace: str, metrics: Sequence[str], ask: Callable[..., Any]
    ) -> list[LiveScore]:
        if not metrics:
            return []
        try:
            (found,) = await ask(scorer.score_traces, [trace], metrics)
        except ScoringError as error:
            found = TraceScores(trace, {name: MetricScore(None, reason=str(error)) for name in metrics})
        return [self._score(name, one, trace) for name, one in self._ordered(found)]

    async def _outcome(self, event: TurnEvent, trace: str, ask: Callable[..., Any]) -> list[LiveScore]:
        assert self.verifier is not None
        turn = EvalCase(id=event.session_id, session_id=event.session_id, replay_input=event.end_state)
        call = verifier_call(self.verifier, turn, event.session_id)
        try:
            said = await ask(call)
        except ScoringError as error:
            return [self._score(OUTCOME, MetricScore(None, reason=str(error)), trace)]
        if said is None:
            return []
        value, reason = as_score(float(said) if isinstance(said, bool) else said)
        return [self._score(OUTCOME, MetricScore(value, reason=reason or ""), trace)]

    async def _ask(self, calls: Calls, limit: Limit, function: Callable[..., Any], *arguments: Any) -> Any:
        call = functools.partial(function, *arguments)
        ended = await calls.call(call, limit, awaits=awaits(function))
        if ended is None:
            raise ScoringError(f"scoring took longer than {limit.timeout_s:g} s (barrier_timeout_s)")
        if isinstance(ended.error, (KeyboardInterrupt, SystemExit)):
            raise ended.error
        if ended.error is not None:
            raise ScoringError(f"{type(ended.error).__name__}: {ended.error}") from ended.error
        return ended.value

    def _ordered(self, trace: TraceScores) -> list[tuple[str, MetricScore]]:
        """Return the scores of a trace, tier by tier in the order of the configuration, then the others."""
        config = self.config
        order = [*config.trace_metrics_tier1, *config.trace_metrics_tier2, *config.trace_metrics_tier3]
        known = [name for name in order if name in trace.scores]
        return [(name, trace.scores[name]) for name in dict.fromkeys([*known, *trace.scores])]

    def _score(self, metric: str, found: MetricScore, trace: str) -> LiveScore:
        declared = self.metrics.by_name.get(metric)
        threshold = self.config.outcome_threshold if metric == OUTCOME else 0.5
        for bar in (self.config.thresholds.get(metric), found.threshold, declared.threshold if declared else None):
            if bar is not None:
                threshold = bar
                break
        value, why = as_score(found.value)
        below = value is not None and self._is_below(metric, value, threshold)
        reason = found.reason or (why if value is None else "") or ""
        return LiveScore(metric, value, threshold, self._tier_of(metric), trace, reason, below, pending=found.pending)

    def _is_below(self, metric: str, value: float, threshold: float) -> bool:
        rising = self.metrics[metric].higher_is_better
        return False if rising is None else value < threshold if rising else value > threshold

    def _rises(self, metric: str) -> bool:
        """Whether the gate can read the series: higher is better."""
        return self.metrics[metric].higher_is_better is True

    def _tier_of(self, metric: str) -> int:
        tiers: Mapping[int, Sequence[str]] = {
            1: self.config.trace_metrics_tier1,
            2: self.config.trace_metrics_tier2,
            3: self.config.trace_metrics_tier3,
        }
        for tier, names in tiers.items():
            if metric in names:
                return tier
        declared = self.metrics.by_name.get(metric)
        if declared is not None and declared.tier is not None:
            return declared.tier
        return 0 if metric == OUTCOME else NEVER_ALERTS

    def _breach(self, score: LiveScore, newest: str, *, tier2: bool) -> LiveScore:
        counts = score.tier == 0 or (score.tier == 2 and tier2 and score.trace_id == newest)
        return replace(score, breached=counts and score.below)
