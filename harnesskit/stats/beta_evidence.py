"""Evidence from pass or fail: e-values that a case fails more often now than its history predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

CLEAN_BELOW = 0.25
"""E-value below which a case is closed as clean."""
CENTRE = (0.5, 9.5)
"""Prior of a protected case's chance to fail before any is known: 5 %, worth 10 runs."""
ALTERNATIVES = ((2.0, 2.0), (4.0, 1.0))
"""What a broken case's chance to fail may look like, with equal weights."""
WEIGHT_RANGE = (2.0, 30.0)


class BetaPrior(NamedTuple):
    """Beta distribution of a chance, a + b its weight in runs."""

    a: float
    b: float


def beta_moments(hits: ArrayLike, runs: ArrayLike) -> BetaPrior:
    """Return the beta-binomial fitted to the cases by moments (Kleinman 1973), its weight between 2 and 30.

    Mean = hits / runs in all; intra-case correlation by one-way analysis of variance, weight = 1/correlation - 1.
    No excess spread gives the largest weight. NaN when no case has runs.

    Examples
    --------
    >>> found = beta_moments([0, 4, 0, 4], [4, 4, 4, 4])
    >>> found.a, found.b
    (1.0, 1.0)
    """
    hit, n = (np.asarray(x, dtype=float) for x in (hits, runs))
    hit, n = hit[n > 0], n[n > 0]
    total, cases = float(n.sum()), len(n)
    if not cases:
        return BetaPrior(float("nan"), float("nan"))
    mean = float(hit.sum()) / total
    weight = WEIGHT_RANGE[1]
    if cases > 1 and total > cases:
        share = hit / n
        between = float((n * (share - mean) ** 2).sum()) / (cases - 1)
        within = float((n * share * (1 - share)).sum()) / (total - cases)
        size = (total - float((n**2).sum()) / total) / (cases - 1)
        correlation = (between - within) / (between + (size - 1) * within) if between + within > 0 else 0.0
        if correlation > 0:
            weight = float(np.clip(1 / correlation - 1, *WEIGHT_RANGE))
    return BetaPrior(mean * weight, (1 - mean) * weight)


def failure_prior(fails: ArrayLike, runs: ArrayLike, *, centre: tuple[float, float] = CENTRE) -> BetaPrior:
    """Return the prior of a case's chance to fail: the moments of the bank drawn towards `centre`.

    Mean: that of the bank's cases, each case counting once beside the a + b of `centre` (failures gather in a few
    cases, so cases and not runs are what is independent). Weight: the fitted one, at most that of `centre`: a lighter
    prior has the longer tail and is the careful side. A bank without a failure leaves some belief in failures.

    Parameters
    ----------
    fails, runs
        Per protected case, of its control runs.

    Examples
    --------
    >>> failure_prior([], [])
    BetaPrior(a=0.5, b=9.5)
    >>> round(failure_prior([0] * 40, [5] * 40).a, 6)
    0.1
    """
    hit, n = (np.asarray(x, dtype=float) for x in (fails, runs))
    hit, n = hit[n > 0], n[n > 0]
    known = sum(centre)
    if not len(n):
        return BetaPrior(*centre)
    mean = (float((hit / n).sum()) + centre[0]) / (len(n) + known)
    weight = min(known, sum(beta_moments(hit, n)))
    return BetaPrior(mean * weight, (1 - mean) * weight)


def log_failure_e(
    fails: ArrayLike, runs: ArrayLike, *, bank_fails: ArrayLike, bank_runs: ArrayLike, prior: tuple[float, float]
) -> Floats:
    """Return ln of the e-value that a case fails more often than its bank predicts, entry by entry.

    ln of the marginal likelihood of the new runs under half Beta(2,2), half Beta(4,1), minus that under Beta(a + f,
    b + m - f). Only counts matter, not their order, so it may be looked at after every run; a case is regressed at
    (number of cases) / alpha (Ville 1939), clean below 1/4. An e-value on average over cases drawn from the prior.

    Parameters
    ----------
    fails, runs
        Failures among the new runs of the case, and the new runs.
    bank_fails, bank_runs
        The same of its control runs.
    prior
        Of the chance to fail over cases, see `failure_prior`.

    Raises
    ------
    ValueError
        If there are more failures than runs.

    Examples
    --------
    >>> log_e = log_failure_e([1, 4, 0], [1, 4, 2], bank_fails=0, bank_runs=5, prior=(0.5, 9.5))
    >>> np.exp(log_e).round(3).tolist()
    [19.5, 3597.061, 0.196]
    """
    k, n, f, m = (np.asarray(x, dtype=float) for x in (fails, runs, bank_fails, bank_runs))
    if (k < 0).any() or (k > n).any() or (f < 0).any() or (f > m).any():
        raise ValueError("failures must be between 0 and the number of runs")
    expected = _log_marginal(k, n, prior[0] + f, prior[1] + m - f)
    broken = np.logaddexp.reduce([_log_marginal(k, n, a, b) for a, b in ALTERNATIVES], axis=0)
    return np.asarray(broken - np.log(len(ALTERNATIVES)) - expected, dtype=float)


def _log_marginal(k: Floats, n: Floats, a: Floats | float, b: Floats | float) -> Floats:
    return np.asarray(special.betaln(a + k, b + n - k) - special.betaln(a, b), dtype=float)
