"""Whether runs of the protected wins collapse by themselves, told by the trial's own runs where there is no bank.

A rule that harms a win lowers all candidate runs of it. A win of which one candidate run is far below another, or a
control run made now far below the rest, shows that runs collapse now and then, rule or no rule. The more of them do,
the less one bad run may say against a rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harnesskit.stats.harm_prior import COLLAPSE, ONE_RUN_CAPTURE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from harnesskit.stats.harm_prior import HarmPrior
    from harnesskit.stats.win_runs import WinRuns

    Floats = NDArray[np.float64]

FAR = 4.0
"""Standard deviations of the mean over the metrics of one run, below the best run of the same win and arm."""
BEFORE = 10.0
"""Runs that the share of low runs before the trial counts for; the share is that of `ONE_RUN_CAPTURE`."""


def one_run_factor(known: HarmPrior, runs: WinRuns) -> float:
    """Return by how much one run may raise the evidence of harm to its win, as the runs so far tell.

    With a bank it is fixed before the first replay. Without, COLLAPSE over the share of low runs, 1 to 8: (low + .02
    BEFORE) / (runs + BEFORE).

    Examples
    --------
    >>> from harnesskit.stats.harm_prior import harm_prior
    >>> from harnesskit.stats.win_runs import WinRuns
    >>> known = harm_prior(captures=[[0.9, 0.8], [0.8, 0.9]], sd=[0.1, 0.1])
    >>> runs = WinRuns(known)
    >>> one_run_factor(known, runs)
    8.0
    >>> for row in ([0.2, 0.1], [0.8, 0.9], [0.2, 0.2]):
    ...     runs.add(0, True, np.array(row))
    >>> round(one_run_factor(known, runs), 2)
    1.0
    """
    if not known.fresh:
        return known.one_run
    far = FAR * float((known.correlation * np.outer(known.sd, known.sd)).mean()) ** 0.5
    candidate = [_low(rows, far) for rows in runs.candidate_rows.values()]
    control = [_low(rows, far, best=_captured(known, win)) for win, rows in runs.fresh_rows.items()]
    low = sum(candidate) + sum(control)
    made = int(runs.n_candidate.sum() + runs.n_fresh.sum())
    share = (low + BEFORE * COLLAPSE / ONE_RUN_CAPTURE) / (made + BEFORE)
    return min(ONE_RUN_CAPTURE, max(COLLAPSE / share, 1.0))


def _low(rows: Sequence[Floats], far: float, best: float = -np.inf) -> int:
    """Return how many of the runs of one win and arm lie far below its best."""
    mean = np.nanmean(np.array(rows), axis=1)
    return int((mean < max(float(mean.max()), best) - far).sum())


def _captured(known: HarmPrior, win: int) -> float:
    """Return the mean of a captured win, moved by what captures are expected to be too high; else -inf."""
    if not known.captured[win]:
        return -np.inf
    return float(np.nanmean(known.control[win, 0] + known.shift))
