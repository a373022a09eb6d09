"""PandaProbe's command as a scorer: newest completed trace of a session, its metric scores, over JSON on stdout."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from harnesskit.model.config import HarnessConfig
from harnesskit.replays.command_json import CommandError, Run, run_json
from harnesskit.replays.pandaprobe_json import (
    argv_evaluate,
    argv_run,
    argv_scores,
    argv_traces,
    argv_version,
    read_run,
    read_scores,
    read_traces,
)
from harnesskit.replays.trace_scores import MetricScore, TraceScores

MAX_PAGE = 200
"""Largest page that the command lists."""


class PandaProbe:
    """Scores a session through the ``pandaprobe`` command; calling it gives metric to score.

    Every call of the command is bounded by ``cli_timeout_s`` and tried ``eval_retry_attempts`` times, waiting
    ``eval_retry_backoff_s`` and twice as long each time after. Scores not ready are asked for again every
    ``poll_interval_s``, ``poll_max_attempts`` times in all; what is not ready then is unscored and says so.

    Parameters
    ----------
    config
        Binary, limits and metrics.
    sleep
        How to wait between attempts, in seconds.
    run
        How to run the command: argument list and limit in seconds to the JSON on its standard output.

    Examples
    --------
    >>> scorer = PandaProbe(HarnessConfig(cli_binary="no-such-command"))
    >>> scorer("s-1")
    Traceback (most recent call last):
    ...
    harnesskit.replays.command_json.CommandError: The command 'no-such-command' was not found; ...
    """

    def __init__(
        self, config: HarnessConfig, *, sleep: Callable[[float], None] = time.sleep, run: Run = run_json
    ) -> None:
        self.config = config
        self._sleep = sleep
        self._run = run

    def __call__(self, session_id: str) -> dict[str, float | None]:
        """Return the Tier 1 and Tier 2 scores of the newest completed trace; None for a metric without one.

        Raises
        ------
        CommandError
            The command failed in every attempt, or the session has no completed trace.
        """
        traces = self.new_traces(session_id, ())
        if not traces:
            raise CommandError(f"The session {session_id!r} has no completed trace to score.")
        metrics = (*self.config.trace_metrics_tier1, *self.config.trace_metrics_tier2)
        (found,) = self.score_traces(traces[-1:], metrics)
        return {name: score.value for name, score in found.scores.items()}

    def new_traces(self, session_id: str, known: Collection[str]) -> list[str]:
        """Return the completed traces of a session that are not in `known`, oldest first; asked again while empty.

        Raises
        ------
        CommandError
            The command failed in every attempt.
        """
        limit = max(1, min(self.config.trace_list_limit, MAX_PAGE))
        for attempt in range(max(1, self.config.poll_max_attempts)):
            if attempt:
                self._sleep(self.config.poll_interval_s)
            listed = read_traces(self._ask(argv_traces(self.config.cli_binary, session_id, limit)))
            new = [trace for trace in listed if trace not in known]
            if new:
                return new
        return []

    def score_traces(self, trace_ids: Sequence[str], metrics: Sequence[str]) -> list[TraceScores]:
        """Return the scores of each trace, in the order of `trace_ids`; a metric without one says why.

        Raises
        ------
        CommandError
            The command failed in every attempt.
        """
        if not trace_ids or not metrics:
            return [TraceScores(trace) for trace in trace_ids]
        binary = self.config.cli_binary
        started = read_run(self._ask(argv_evaluate(binary, trace_ids, metrics)))
        attempts = max(1, self.config.poll_max_attempts)
        state = started
        for _ in range(attempts):
            if state.ended:
                break
            self._sleep(self.config.poll_interval_s)
            state = read_run(self._ask(argv_run(binary, started.run_id)))
        found = read_scores(self._ask(argv_scores(binary, started.run_id)))
        missing = MetricScore(None, reason=state.error or "the command returned no score")
        if not state.ended:
            missing = MetricScore(None, reason=f"not ready after {attempts} looks", pending=True)
        return [
            TraceScores(trace, {metric: found.get((trace, metric), missing) for metric in metrics})
            for trace in trace_ids
        ]

    def health(self) -> str | None:
        """Return why the command cannot be used; None when it answers."""
        try:
            self._run(argv_version(self.config.cli_binary), self.config.cli_timeout_s)
        except CommandError as error:
            return str(error)
        return None

    def _ask(self, argv: Sequence[str]) -> object:
        attempts = max(1, self.config.eval_retry_attempts)
        for attempt in range(attempts):
            try:
                return self._run(argv, self.config.cli_timeout_s)
            except CommandError as error:
                if not error.again or attempt == attempts - 1:
                    raise
                self._sleep(self.config.eval_retry_backoff_s * 2**attempt)
        raise AssertionError("unreachable: the last attempt returns or raises")
