"""Is the control bank still true? A few banked wins, replayed in control, held against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harnesskit.model.metrics import Metrics
from harnesskit.stats.cells import cell_variances
from harnesskit.stats.noise import pool_noise
from harnesskit.trials.common_scale import Scale, common_values, fit_scales
from harnesskit.trials.frozen import ControlRun

LIMIT = 3.0
"""Moderated standard errors by which the mean of the replayed wins may differ from the bank."""


def bank_is_stale(
    bank: Mapping[str, Sequence[ControlRun]],
    fresh: Mapping[str, Sequence[ControlRun]],
    wins: Sequence[str],
    metrics: Metrics,
) -> bool:
    """Return whether fresh control runs differ from the bank by more than 3 moderated standard errors.

    The mean over the replayed wins of (fresh mean minus bank mean), each run being the mean of its metrics; noise
    pooled over the whole bank. False when nothing was scored.

    Examples
    --------
    >>> runs = {c: [ControlRun(f"{c}{i}", {"q": 0.8 + 0.01 * i}) for i in range(5)] for c in "abc"}
    >>> low = {c: [ControlRun("x", {"q": 0.5})] for c in "abc"}
    >>> bank_is_stale(runs, low, list("abc"), Metrics()), bank_is_stale(runs, runs, list("abc"), Metrics())
    (True, False)
    """
    scales = fit_scales([run.scores for case_id in wins for run in bank.get(case_id, ())], metrics)
    levels = {case_id: _levels(bank.get(case_id, ()), scales) for case_id in wins}
    looked = [case_id for case_id in wins if len(levels[case_id]) and len(_levels(fresh.get(case_id, ()), scales))]
    if not looked:
        return False
    case = np.repeat(np.arange(len(wins)), [len(levels[case_id]) for case_id in wins])
    values = np.concatenate([levels[case_id] for case_id in wins])
    found = cell_variances(values, case, case, len(wins))
    noise = pool_noise(found.s2, found.df)
    gaps = [float(_levels(fresh[c], scales).mean() - levels[c].mean()) for c in looked]
    spread = [1 / len(fresh[c]) + 1 / len(levels[c]) for c in looked]
    error = (noise.prior.s2 * sum(spread)) ** 0.5 / len(looked)
    return bool(abs(sum(gaps) / len(gaps)) > LIMIT * error)


def _levels(runs: Sequence[ControlRun], scales: Sequence[Scale]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the mean over metrics of each run that has a score."""
    rows = [[v for v in common_values(run.scores, scales) if v is not None] for run in runs]
    return np.array([sum(row) / len(row) for row in rows if row], dtype=np.float64)
