"""How a trial replays cases: the user's function, what scores its sessions, and the limits, in one place."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from harnesskit.model.case import EvalCase
from harnesskit.model.config import HarnessConfig
from harnesskit.model.records import RuleRecord
from harnesskit.replays.engine import areplay_cases, replay_cases
from harnesskit.replays.scoring import Scorer, Verifier
from harnesskit.replays.setup import ReplayFunction, Sessions
from harnesskit.workspace.rows import SampleRow, ScoreRow

Sink = Callable[[SampleRow, list[ScoreRow]], None]
_T = TypeVar("_T")


@dataclass(frozen=True)
class Replayer:
    """A replay function with its scorers; the reference's limits come from the configuration.

    Attributes
    ----------
    replay
        The user's function.
    scorer
        Session id to ``{metric: value}``, for replays that do not bring their scores.
    verifier
        Says whether the outcome was right; asked in the validation of candidates only.
    blocking
        Replay in worker threads and block the caller, who then drives the trial with `finish`; else replays run on
        the caller's event loop.
    keep
        Is given every attempt with its scores as it ends, beside the trial itself.
    run_id
        Run that the attempts belong to.
    progress
        Show a progress bar.
    """

    replay: ReplayFunction
    scorer: Scorer | None = None
    verifier: Verifier | None = None
    blocking: bool = False
    keep: Sink | None = None
    run_id: str = "reference"
    progress: bool = False
    sessions: Sessions = field(default_factory=Sessions, repr=False)

    async def regression(
        self, cases: Sequence[EvalCase], rules: Iterable[RuleRecord], config: HarnessConfig, sink: Sink
    ) -> None:
        """Replay cases one after another, with the active ones of `rules` to be found."""
        await self._go(cases, sink, rules=tuple(rules), timeout_s=config.replay_timeout_s)

    async def candidate(
        self,
        cases: Sequence[EvalCase],
        rule: RuleRecord,
        rules: Iterable[RuleRecord],
        config: HarnessConfig,
        sink: Sink,
    ) -> None:
        """Replay cases one after another, with the active ones of `rules` and one candidate to be found.

        A retired rule cannot be found by any replay, so that none exercises it.
        """
        others = tuple(other for other in rules if other.rule_id != rule.rule_id)
        await self._go(
            cases,
            sink,
            rule=rule.rule_id if rule.status in ("candidate", "active") else None,
            rules=(*others, rule),
            verifier=self.verifier,
            timeout_s=config.replay_timeout_s,
            env_wait_s=max(0.0, config.replay_env_wait_timeout_s),
        )

    async def _go(self, cases: Sequence[EvalCase], sink: Sink, **setup: Any) -> None:
        def both(sample: SampleRow, scores: list[ScoreRow]) -> None:
            if self.keep is not None:
                self.keep(sample, scores)
            sink(sample, scores)

        common: dict[str, Any] = {
            "run_id": self.run_id,
            "scorer": self.scorer,
            "sessions": self.sessions,
            "progress": self.progress,
        }
        if self.blocking:
            replay_cases(cases, self.replay, sink=both, **common, **setup)
        else:
            await areplay_cases(cases, self.replay, sink=both, **common, **setup)


def finish(trial: Coroutine[Any, Any, _T]) -> _T:
    """Run a trial of a blocking `Replayer` to its end and return what it returns; needs no event loop.

    Raises
    ------
    RuntimeError
        The trial waits for an event loop: its replayer is not blocking.

    Examples
    --------
    >>> async def trial() -> int:
    ...     return 3
    >>> finish(trial())
    3
    """
    try:
        trial.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    trial.close()
    raise RuntimeError("the trial waits for an event loop; await it, or use a Replayer with blocking=True")


def scored_values(scores: Iterable[ScoreRow]) -> dict[str, float]:
    """Return metric to value of the scores that are there.

    Examples
    --------
    >>> scored_values([ScoreRow("s", "q", "judge", None, 0.5, "ok", None)])
    {'q': 0.5}
    """
    return {score.metric: score.value for score in scores if score.status == "ok" and score.value is not None}


def reason_code(sample: SampleRow) -> str:
    """Return the word of the closed set of reasons that an attempt is not scored for; empty when it is scored."""
    return (sample.reason or "").partition(":")[0]


def why_unscored(sample: SampleRow) -> str:
    """Return why an attempt has no score, in the words of the reference where it has them.

    Examples
    --------
    >>> why_unscored(SampleRow("s", "r", status="timeout", reason="timed_out: after 300 s"))
    'replay failed: timed out after 300 s'
    """
    code, _, text = (sample.reason or "").partition(":")
    text = text.strip()
    if code == "no_scores":
        return "replayed session produced no resolved scores"
    if code == "scoring_failed":
        return f"scoring failed: {text}"
    if code == "timed_out":
        return f"replay failed: timed out {text}".rstrip()
    if code == "env_wait_timeout":
        return f"replay failed: waited for the environment, {text}"
    if code == "interrupted":
        return INTERRUPTED
    return f"replay failed: {text or code}"


INTERRUPTED = "the run was stopped before this case was replayed"
