"""One attempt: call the replay function within its limits, check the new session, score it, and say how it ended."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from harnesskit.model.replay import ReplayResult, ReplayStatus
from harnesskit.model.text import shorten
from harnesskit.replays.bounded import Calls, Limit, awaits
from harnesskit.replays.plain_data import amount_or_none, count_or_none, plain_json
from harnesskit.replays.scoring import (
    REPLAY_GRADER,
    NotScoresError,
    Scored,
    checked_scores,
    grader_name,
    outcome_score,
    verifier_call,
)
from harnesskit.replays.setup import InconclusiveError, Interrupted, Record, Setup, Trial
from harnesskit.workspace.reading import clean_text, to_json
from harnesskit.workspace.rows import SampleRow, ScoreRow

LONGEST_ERROR = 2_000


class Attempt:
    """One attempt of one trial.

    Parameters
    ----------
    setup
        What all attempts of the run share.
    trial
        Case, trial and attempt.
    """

    def __init__(self, setup: Setup, trial: Trial) -> None:
        self.setup = setup
        self.trial = trial
        self.sample_id = setup.sample_id(trial)
        self.context = setup.context(trial)
        self._at = datetime.now(UTC)
        self._result: ReplayResult | None = None
        self._begun: float | None = None
        self._ended: float | None = None
        self._never_ready = False

    async def run(self, calls: Calls) -> Record:
        """Return the attempt as it ended; no exception of the replay function or of a grader escapes.

        Raises
        ------
        Interrupted
            The replay raised ``KeyboardInterrupt``.
        """
        case, replay = self.trial.case, self.setup.replay
        if replay is None:
            return self.record("skipped", "no_replay_function")
        if not case.replayable:
            return self.record("skipped", "no_replay_input")
        arguments: list[Any] = [case.model_copy(deep=True)]
        if self.setup.with_context:
            arguments.append(self.context)
        self._begun = time.monotonic()
        limit = Limit(
            self.setup.timeout_s, self.setup.env_wait_s, lambda: self.context.execution_started_at, self._begun
        )
        ended = await calls.call(functools.partial(replay, *arguments), limit, awaits=awaits(replay))
        self._ended = time.monotonic() if ended is None else ended.at
        if ended is None:
            return self._late(limit)
        if ended.error is not None:
            return self._failed(ended.error)
        given = ended.value
        self._result = given if isinstance(given, ReplayResult) else ReplayResult(given)
        refusal = self.setup.sessions.refusal(self._result.session_id, case)
        if refusal is not None:
            return self.record("error", f"bad_session_id: {refusal}")
        return self._scored(await self._score(calls, self._result))

    def _late(self, limit: Limit) -> Record:
        if limit.waiting:
            self._never_ready = True
            return self.record("timeout", f"env_wait_timeout: not ready after {limit.env_wait_s:g} s")
        return self.record("timeout", f"timed_out: after {limit.timeout_s:g} s")

    def _failed(self, error: BaseException) -> Record:
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted
        if isinstance(error, InconclusiveError):
            return self.record("inconclusive", f"no_scores: {error}")
        text = described(error)
        return self.record("error", f"raised: {text}", error=text)

    def _scored(self, scored: Scored) -> Record:
        if scored.failure is not None:
            return self.record("inconclusive", f"scoring_failed: {scored.failure}", scored.scores)
        if not any(score.status == "ok" for score in scored.scores):
            return self.record("inconclusive", "no_scores", scored.scores)
        return self.record("scored", None, scored.scores)

    async def _score(self, calls: Calls, result: ReplayResult) -> Scored:
        """Take the scores of the replay itself, else of the scorer, and the verifier's; each may fail by itself."""
        setup, found, failures = self.setup, list[ScoreRow](), list[str]()
        scorer = setup.scorer if result.scores is None else None
        asked: Callable[[], Any]
        if result.scores is not None:
            _collect(lambda: checked_scores(self.sample_id, result.scores, REPLAY_GRADER), found, failures)
        if scorer is not None:
            asked = functools.partial(scorer, result.session_id)
            answer = await self._ask(calls, asked, awaits(scorer))
            _collect(lambda: checked_scores(self.sample_id, answer(), grader_name(scorer)), found, failures)
        if setup.verifier is not None:
            asked = verifier_call(setup.verifier, self.trial.case.model_copy(deep=True), result.session_id)
            answer = await self._ask(calls, asked, awaits(setup.verifier))
            _collect(lambda: outcome_score(self.sample_id, answer()), found, failures)
        return Scored(found, "; ".join(failures) or None)

    async def _ask(self, calls: Calls, call: Callable[[], Any], waits: bool) -> Callable[[], Any]:
        """Return what gives the answer of a grader, or raises `NotScoresError` with why there is none."""
        ended = await calls.call(call, Limit(self.setup.scoring_timeout_s), awaits=waits)
        if ended is not None and isinstance(ended.error, KeyboardInterrupt):
            raise Interrupted

        def answer() -> Any:
            if ended is None:
                raise NotScoresError(f"no answer after {self.setup.scoring_timeout_s:g} s")
            if ended.error is not None:
                raise NotScoresError(described(ended.error))
            return ended.value

        return answer

    def record(
        self, status: ReplayStatus, reason: str | None, scores: Iterable[ScoreRow] = (), *, error: str | None = None
    ) -> Record:
        """Return the attempt as a row, with all that is known of it."""
        result = self._result or ReplayResult("")
        duration, wait = self._times()
        sample = SampleRow(
            self.sample_id,
            self.setup.run_id,
            case_id=self.trial.case.id,
            session_id=result.session_id if isinstance(result.session_id, str) and result.session_id else None,
            arm=self.setup.arm,
            trial=self.trial.trial,
            attempt=self.trial.attempt,
            occurred_at=self._at,
            status=status,
            reason=reason,
            input=None if self.trial.case.replay_input is None else clean_text(to_json(self.trial.case.replay_input)),
            output=plain_json(result.output),
            steps=plain_json(result.steps),
            error=error,
            duration_s=duration,
            env_wait_s=wait,
            input_tokens=count_or_none(result.input_tokens),
            output_tokens=count_or_none(result.output_tokens),
            cost_usd=amount_or_none(result.cost_usd),
            candidate_surfaced=self._surfaced(),
            attributes=to_json({"kind": self.trial.case.kind}),
        )
        return Record(sample, list(scores))

    def interrupted(self) -> Record:
        """Return the attempt as one that was stopped before it ended."""
        self._ended = self._ended or time.monotonic()
        return self.record("error", "interrupted")

    def _surfaced(self) -> bool | None:
        if self.setup.rule is None or self._begun is None:
            return None
        return self.setup.rule in self.context.task_tools.surfaced

    def _times(self) -> tuple[float | None, float | None]:
        """Return the seconds of execution, and those waited for the environment before it."""
        if self._begun is None or self._ended is None:
            return None, None
        started = self.context.execution_started_at
        if started is None:
            started = self._ended if self._never_ready else self._begun
        return round(self._ended - started, 6), round(started - self._begun, 6)


def described(error: BaseException) -> str:
    """Return the type and the message of an exception, whatever its own ``__str__`` does."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be read)"
    return shorten(clean_text(f"{name}: {text}" if text else name), LONGEST_ERROR)


def _collect(read: Callable[[], list[ScoreRow]], found: list[ScoreRow], failures: list[str]) -> None:
    try:
        found += read()
    except NotScoresError as error:
        failures.append(str(error))
