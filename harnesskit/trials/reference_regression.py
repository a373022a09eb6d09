"""A regression run as the reference harness makes it: one replay per case, one margin, minus its faults."""

from __future__ import annotations

import asyncio
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from harnesskit.model.case import EvalCase
from harnesskit.model.config import HarnessConfig
from harnesskit.model.records import RuleRecord
from harnesskit.trials.case_changes import case_change, score_deltas
from harnesskit.trials.regression_report import CaseResult, RegressionReport
from harnesskit.trials.replayer import INTERRUPTED, Replayer, scored_values, why_unscored
from harnesskit.workspace.clock import Clock, utc_now, written_time
from harnesskit.workspace.rows import SampleRow, ScoreRow

NO_FUNCTION = "no replay function wired"
NO_INPUT = "no replay_input attached (harness_evalset_attach)"
NOT_SHARED = "no score of the replay has a counterpart in the baseline"
AMBIGUOUS = "two files hold this id; which case is meant is not known"
NO_REPLAY_WARNING = "No replay function was given, so every case is skipped; pass one as replay=."

Journal = Callable[..., None]
"""Appends one event: takes its type, and its fields by name."""


def regression_order(cases: Sequence[EvalCase], sample: int = 0) -> list[EvalCase]:
    """Return the cases in the order of a run: wins newest first, then failures newest first; the first `sample`.

    Parameters
    ----------
    cases
        Oldest first, as `EvalSet.cases` gives them.
    sample
        How many from the front (not a random sample; cases without input count); 0 or less means all.

    Examples
    --------
    >>> cases = [EvalCase(id="c-1", kind="win"), EvalCase(id="c-2"), EvalCase(id="c-3", kind="win")]
    >>> [case.id for case in regression_order(cases)], [case.id for case in regression_order(cases, 1)]
    (['c-3', 'c-1', 'c-2'], ['c-3'])
    """
    newest = list(reversed(cases))
    ordered = [case for kind in ("win", "failure") for case in newest if case.kind == kind]
    return ordered[:sample] if sample > 0 else ordered


async def run_reference_regression(
    cases: Sequence[EvalCase],
    replayer: Replayer | None,
    config: HarnessConfig,
    *,
    sample: int | None = None,
    rules: Iterable[RuleRecord] = (),
    journal: Journal | None = None,
    clock: Clock = utc_now,
    lower_is_better: Collection[str] = (),
) -> RegressionReport:
    """Replay cases one after another and compare each with its captured scores.

    A case regressed when any metric fell by ``rule_regress_margin``, improved when any rose by
    ``rule_promote_margin``, wins and failures alike. Other than in the reference, a replay that failed, ran out of
    time or shares no metric with its baseline is ``inconclusive``, not skipped or unchanged; a run in which nothing
    was compared is not clean; metrics of the baseline that were not scored are named; and a run that is stopped
    journals what it had, then raises.

    Parameters
    ----------
    cases
        Oldest first. A case whose id is there twice is skipped.
    replayer
        None when there is no replay function: every case is skipped, with one warning.
    config
        Margins, time limit, and ``regression_sample``.
    sample
        Instead of ``regression_sample``.
    rules
        The active ones can be found through ``context.task_tools``.
    journal
        Appends the ``regression`` event; none is written without it.
    clock
        Returns the present, with its zone.
    lower_is_better
        Metrics that get worse as they rise; the reference knows none.

    Raises
    ------
    KeyboardInterrupt, asyncio.CancelledError
        The run was stopped; what had finished is in the journal.
    """
    asked = regression_order(cases, config.regression_sample if sample is None else sample)
    started = written_time(clock)
    results: dict[str, CaseResult] = {}
    times = Counter(case.id for case in cases)
    known = {case.id: case for case in asked if times[case.id] == 1}

    def keep(attempt: SampleRow, scores: list[ScoreRow]) -> None:
        case = known[str(attempt.case_id)]
        results[case.id] = _result(case, attempt, scores, config, lower_is_better)

    def report(missing: str, *, interrupted: bool = False) -> RegressionReport:
        reasons = [AMBIGUOUS if case.id not in known else _why_not(case, replayer, missing) for case in asked]
        rows = tuple(
            results.get(case.id) or _skipped(case, reason) for case, reason in zip(asked, reasons, strict=True)
        )
        margins = (config.rule_regress_margin, config.rule_promote_margin)
        made = RegressionReport(started, written_time(clock), rows, interrupted, margins)
        if journal is not None:
            journal("regression", **made.event())
        return made

    if replayer is None:
        if asked:
            warnings.warn(NO_REPLAY_WARNING, UserWarning, stacklevel=2)
        return report(NO_FUNCTION)
    try:
        await replayer.regression([case for case in known.values() if case.replayable], rules, config, keep)
    except (KeyboardInterrupt, asyncio.CancelledError):
        report(INTERRUPTED, interrupted=True)
        raise
    return report(INTERRUPTED)


def _why_not(case: EvalCase, replayer: Replayer | None, missing: str) -> str:
    return NO_INPUT if replayer is not None and not case.replayable else missing


def _skipped(case: EvalCase, reason: str) -> CaseResult:
    return CaseResult(case.id, case.kind, "skipped", baseline_scores=dict(case.baseline_scores), reason=reason)


def _result(
    case: EvalCase,
    attempt: SampleRow,
    scores: list[ScoreRow],
    config: HarnessConfig,
    lower_is_better: Collection[str],
) -> CaseResult:
    found: dict[str, Any] = {"baseline_scores": dict(case.baseline_scores)}
    if (attempt.reason or "").partition(":")[0] != "bad_session_id":
        found["replay_session_id"] = attempt.session_id
    if attempt.status != "scored":
        status: Any = "skipped" if (attempt.reason or "").startswith("interrupted") else "inconclusive"
        return CaseResult(case.id, case.kind, status, reason=why_unscored(attempt), **found)
    found["replay_scores"] = scored_values(scores)
    deltas = score_deltas(case.baseline_scores, found["replay_scores"], config)
    if not deltas:
        return CaseResult(case.id, case.kind, "inconclusive", reason=NOT_SHARED, **found)
    unscored = sorted(set(case.baseline_scores) - set(deltas))
    reason = f"not scored: {', '.join(unscored)}" if unscored else ""
    change = case_change(deltas, config, lower_is_better)
    return CaseResult(case.id, case.kind, change, deltas=deltas, reason=reason, **found)
