"""How reliably cases pass over repeats: pass@k and pass^k, the case as the unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.clusters import groups_of
from harnesskit.measures.pass_bars import PassAt
from harnesskit.measures.trial_passes import TrialPasses, Unscored, trial_passes
from harnesskit.model.errors import PolicyError
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.study_results import PASS_RATES
from harnesskit.model.text import counted
from harnesskit.stats.case_rates import case_rates
from harnesskit.stats.passk import pass_at_k, pass_hat_k

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_BAR = "no threshold: declare one or give pass_at"
_COUNTS = ("k", "n_cases", "n_trials", "n_short", "n_unscored", "n_extra", "n_units")


def pass_rates(
    scores: pd.DataFrame,
    *,
    k: int | Iterable[int] = (1, 2, 3, 4),
    by: str | Sequence[str] | None = None,
    pass_at: PassAt = 1.0,
    metrics: Iterable[Metric] | None = None,
    unscored: Unscored = "left_out",
) -> pd.DataFrame:
    """Give the chance that at least one, and that all, of k trials pass: one row per group and k.

    Per case 1 - C(n-c, k)/C(n, k) and C(c, k)/C(n, k) for c passes of n scored trials (Chen et al. 2021; tau-bench,
    2024), both unbiased, then the mean over cases. A case with fewer than k scored trials is **not solved**: it stays
    in the mean as 0, and `n_short` counts it; the columns ``…_enough`` leave it out. Metrics, and graders of one
    metric, are always groups of their own.

    Parameters
    ----------
    scores
        Rows of case_scores, or any frame with ``case_id, metric, value``; reads ``trial`` (else every row is a
        trial), ``run_id, arm, pair, round, sample_id, attempt, status, cluster, grader`` when there.
    k
        Numbers of trials.
    by
        Columns that make groups, e.g. ``"arm"``.
    pass_at
        Score from which a trial passes: a number, or a mapping by metric; None takes the declared thresholds.
    metrics
        Declarations: direction, and threshold for `pass_at` None.
    unscored
        ``left_out``: a trial without a score is neither pass nor fail. ``fail``: it failed.

    Returns
    -------
    DataFrame
        By the contract ``pass rates``, the columns of `by` first, sorted by group and k. The 95 % intervals take cases
        (clusters where there is a ``cluster``) as the units: Clopper-Pearson at the effective number of trials (Korn &
        Graubard 1998); none for one case.

    Raises
    ------
    FrameError
        A column is missing, or a score is text.
    PolicyError
        `k` or `unscored` is none, or `pass_at` names a metric that is not there.

    Examples
    --------
    >>> rows = pd.DataFrame({"case_id": list("aaaabbbbcc"), "metric": "ok", "value": [1, 1, 0, 0, 1, 1, 1, 1, 1, 1]})
    >>> found = pass_rates(rows, k=(1, 3))
    >>> found[["k", "pass_at_k", "pass_hat_k", "n_cases", "n_trials", "n_short"]].round(3).values.tolist()
    [[1, 0.833, 0.833, 3, 10, 0], [3, 0.667, 0.333, 3, 10, 1]]
    """
    draws = numbers_of_trials(k, "pass_rates()")
    wanted = [by] if isinstance(by, str) else list(by or ())
    found = trial_passes(scores, wanted, Metrics.of(metrics), pass_at, unscored, caller="pass_rates()")
    frame = pd.concat([_of_k(found, one) for one in draws], ignore_index=True)
    frame = frame.sort_values([*found.groups, "k"], kind="stable") if len(frame) else frame
    first = [*wanted, *(c for c in PASS_RATES.columns if c in frame and c not in wanted)]
    return frame.loc[:, first].astype(dict.fromkeys(_COUNTS, "Int64")).reset_index(drop=True)


def numbers_of_trials(k: int | Iterable[int], caller: str) -> list[int]:
    """Return the different values of k, in order.

    Examples
    --------
    >>> numbers_of_trials((3, 1, 3), "example()")
    [1, 3]
    """
    given = [k] if isinstance(k, int | np.integer) else list(k)
    odd = [one for one in given if isinstance(one, bool) or not isinstance(one, int | np.integer) or one < 1]
    if odd or not given:
        raise PolicyError(f"{caller}: k must be whole numbers from 1, found {odd[0] if odd else 'none'!r}.")
    return sorted({int(one) for one in given})


def _of_k(found: TrialPasses, k: int) -> pd.DataFrame:
    """Return one row per group for one k."""
    cells = found.cells
    if cells.empty:
        return pd.DataFrame(columns=[*found.groups, *(c for c in PASS_RATES.columns if c not in found.groups)])
    number = cells.groupby(found.groups, sort=True, dropna=False).ngroup()
    group: NDArray[np.int64] = np.asarray(number, dtype=np.int64)
    first = np.unique(group, return_index=True)[1]
    size = len(first)
    n, c = (cells[name].to_numpy(dtype=float) for name in ("n", "passed"))
    short, barred = n < k, cells["pass_at"].notna().to_numpy()[first]
    enough = np.bincount(group, ~short, minlength=size)
    out = cells.loc[first, found.groups].reset_index(drop=True)
    out["k"], out["pass_at"] = k, cells["pass_at"].to_numpy(dtype=float)[first]
    cluster = groups_of(cells["cluster"])
    for name, ends, rate in (("pass_at_k", "at", pass_at_k(n, c, k)), ("pass_hat_k", "hat", pass_hat_k(n, c, k))):
        solved = np.where(short, 0.0, rate)
        mean = case_rates(solved, group, cluster=cluster, trials=np.maximum(n, 1), n_groups=size)
        for column, values in ((name, mean.mean), (f"{ends}_low", mean.low), (f"{ends}_high", mean.high)):
            known = barred if column == name else barred & (enough > 0)  # 0 of nothing has no interval
            out[column] = np.where(known, values, np.nan)
        out[f"{name}_enough"] = np.where(barred, _mean_of(solved, group, ~short, size), np.nan)
        out["n_units"] = mean.units
    counts = {"n_cases": np.ones(len(n)), "n_trials": n, "n_short": short, "n_unscored": cells["n_unscored"],
              "n_extra": cells["n_extra"]}  # fmt: skip
    for name, counted_in in counts.items():
        out[name] = np.bincount(group, np.asarray(counted_in, dtype=float), minlength=size).astype(np.int64)
    notes = [_note(row, bar, found) for row, bar in zip(out.itertuples(), barred, strict=True)]
    out["note"] = pd.Series(notes, index=out.index, dtype=object)
    return out


def _mean_of(
    value: NDArray[np.float64], group: NDArray[np.int64], use: NDArray[np.bool_], size: int
) -> NDArray[np.float64]:
    n = np.bincount(group[use], minlength=size)
    mean = np.bincount(group[use], value[use], minlength=size) / np.maximum(n, 1)
    return np.asarray(np.where(n > 0, mean, np.nan), dtype=float)


def _note(row: Any, barred: bool, found: TrialPasses) -> str | None:
    said = [*([] if barred else [NO_BAR]), *found.pooled]
    short, cases, k = int(row.n_short), int(row.n_cases), int(row.k)
    if short and barred:
        said.append(f"{short} of {cases} cases have fewer than {k} scored trials: not solved")
    if int(row.n_unscored):
        said.append(f"{counted(int(row.n_unscored), 'trial')} without a score")
    if int(row.n_units) < 2 and barred:
        said.append("one unit: no interval")
    if found.n_unmatched:
        said.append(f"{counted(found.n_unmatched, 'row')} without a case left out")
    return "; ".join(said) or None
