"""Did an arm pass more often? Paired differences of pass@k and pass^k, the case as the unit, with an exact test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.clusters import groups_of
from harnesskit.measures.pass_bars import PassAt
from harnesskit.measures.pass_rates import NO_BAR, numbers_of_trials
from harnesskit.measures.trial_passes import Unscored, trial_passes
from harnesskit.model.errors import PolicyError, listed, nearest
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.study_results import PASS_DIFFERENCES
from harnesskit.model.text import counted
from harnesskit.stats.intervals import mean_interval
from harnesskit.stats.paired import mcnemar_exact
from harnesskit.stats.passk import pass_at_k, pass_hat_k

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_BY = "pass_differences()"


def pass_differences(
    scores: pd.DataFrame,
    *,
    arm: str = "arm",
    baseline: str | None = None,
    k: int | Iterable[int] = (1, 2, 3, 4),
    by: str | Sequence[str] | None = None,
    pass_at: PassAt = 1.0,
    metrics: Iterable[Metric] | None = None,
    unscored: Unscored = "left_out",
) -> pd.DataFrame:
    """Compare the pass rates of arms over the same cases: one row per group, arm and k.

    Per case the change of pass@k and of pass^k, then the mean over the cases with k scored trials in both arms; its
    interval is t over cases, over clusters (CR1) where cases have them. The exact test asks whether more cases pass
    more often than less often, over the first trials that both arms have of a case, so that an arm with more trials
    has no advantage. With one trial each it is McNemar's (1947).

    Parameters
    ----------
    scores, k, by, pass_at, metrics, unscored
        As for `harnesskit.pass_rates`.
    arm
        Column that names the arm.
    baseline
        Arm that the others are compared with; ``control`` or ``baseline`` when there is one, else the first by name.

    Returns
    -------
    DataFrame
        By the contract ``pass differences``, the columns of `by` first.

    Raises
    ------
    FrameError
        A column is missing, or a score is text.
    PolicyError
        There is no arm `baseline`, or an argument of `harnesskit.pass_rates` is refused.

    Examples
    --------
    >>> rows = pd.DataFrame({"case_id": list("abcdef") * 2, "metric": "ok", "arm": ["control"] * 6 + ["new"] * 6})
    >>> found = pass_differences(rows.assign(value=[0, 0, 0, 0, 1, 1] + [1, 1, 1, 1, 1, 1]), k=1)
    >>> found[["at_delta", "improved", "worse", "p_value"]].round(3).values.tolist()
    [[0.667, 4, 0, 0.125]]
    """
    wanted = [by] if isinstance(by, str) else list(by or ())
    found = trial_passes(scores, [*wanted, arm], Metrics.of(metrics), pass_at, unscored, caller=_BY)
    cells = found.cells
    arms = [str(one) for one in pd.unique(cells[arm].dropna())] if len(cells) else []
    base = baseline_arm(arms, baseline, _BY)
    groups = [name for name in found.groups if name != arm]
    rows: list[dict[str, Any]] = []
    before = cells[cells[arm] == base]
    for other in sorted(set(arms) - {base or ""}):
        both = _both(before, cells[cells[arm] == other], groups, found.trials)
        for key, part in both.groupby(groups, sort=True, dropna=False):
            names = dict(zip(groups, key if isinstance(key, tuple) else (key,), strict=True))
            rows += [{**names, "baseline": base, "arm": other, **_row(part, n)} for n in numbers_of_trials(k, _BY)]
    columns = [*groups, *(c for c in PASS_DIFFERENCES.columns if c not in groups and c != "grader")]
    frame = pd.DataFrame(rows, columns=columns)
    counts = ("k", "n_paired", "n_short", "n_one_sided", "improved", "worse")
    return frame.astype(dict.fromkeys(counts, "Int64"))


def baseline_arm(arms: Sequence[str], given: str | None, caller: str) -> str | None:
    """Return the arm to compare with, None without arms.

    Examples
    --------
    >>> baseline_arm(["harness", "baseline"], None, "example()")
    'baseline'
    """
    if given is not None:
        if str(given) not in arms:
            raise PolicyError(
                f"{caller}: there is no arm {given!r}{nearest(str(given), list(arms))}; there are: "
                f"{listed(sorted(arms)) or 'none'}."
            )
        return str(given)
    return next((name for name in ("control", "baseline") if name in arms), min(arms, default=None))


def _both(before: pd.DataFrame, after: pd.DataFrame, groups: list[str], trials: pd.DataFrame) -> pd.DataFrame:
    """Return one row per group and case with the counts of both arms, and of the trials that both have."""
    keys = list(dict.fromkeys([*groups, "case_id"]))
    kept = [*keys, "n", "passed", "cluster", "pass_at", "cell"]
    sides = [side.assign(cell=side.index)[kept] for side in (before, after)]
    both = sides[0].merge(sides[1], on=keys, how="outer", suffixes=("_b", "_a"))
    common = both[["n_b", "n_a"]].fillna(0).min(axis=1).to_numpy(dtype=np.int64)
    scored = trials[trials["passed"].notna()]
    rank = np.asarray(scored.groupby("cell", sort=False).cumcount(), dtype=np.int64)
    size = int(trials["cell"].max()) + 1 if len(trials) else 1
    cell = scored["cell"].to_numpy(dtype=np.int64)
    for side in ("b", "a"):
        limit = np.zeros(size, dtype=np.int64)
        at = both[f"cell_{side}"]
        have = at.notna().to_numpy()
        place = at[have].to_numpy(dtype=np.int64)
        limit[place] = common[have]
        use = rank < limit[cell]
        hits = np.bincount(cell[use], scored["passed"].to_numpy(dtype=float)[use], minlength=size)
        both[f"first_{side}"] = 0.0
        both.loc[have, f"first_{side}"] = hits[place]
    return both


def _row(part: pd.DataFrame, k: int) -> dict[str, Any]:
    """Return what is known of one group and k."""
    in_both = part["cell_b"].notna() & part["cell_a"].notna()
    enough = in_both & (part["n_b"] >= k) & (part["n_a"] >= k)
    use = part[enough]
    cluster = groups_of(use["cluster_b"].where(use["cluster_b"].notna(), use["cluster_a"]))
    barred = bool(part["pass_at_b"].notna().any() or part["pass_at_a"].notna().any())
    found: dict[str, Any] = {"k": k, "n_paired": int(enough.sum()), "n_short": int((in_both & ~enough).sum()),
                             "n_one_sided": int((~in_both).sum())}  # fmt: skip
    for name, rate in (("at", pass_at_k), ("hat", pass_hat_k)):
        one, two = (
            rate(use[f"n_{s}"].to_numpy(dtype=float), use[f"passed_{s}"].to_numpy(dtype=float), k) for s in "ba"
        )
        delta, low, high = change_interval(two - one, cluster)
        means = (float(side.mean()) if len(side) else np.nan for side in (one, two))
        values = (*means, delta, low, high)
        names = (f"{name}_baseline", f"{name}_arm", f"{name}_delta", f"{name}_low", f"{name}_high")
        found |= dict(zip(names, values if barred else (np.nan,) * 5, strict=True))
    gained = int((part["first_a"] > part["first_b"]).sum())
    lost = int((part["first_a"] < part["first_b"]).sum())
    found |= {"improved": gained, "worse": lost, "p_value": mcnemar_exact(gained, lost) if in_both.any() else np.nan}
    return found | {"note": _note(found, barred)}


def change_interval(change: Floats, cluster: NDArray[np.int64] | None) -> tuple[float, float, float]:
    """Return the mean of changes between -1 and 1 with its 95 % interval, NaN ends for fewer than two units.

    t over cases or clusters. When all changes are equal there is nothing to estimate a spread from; then the ends are
    as far away as the share of units that may differ unseen, 1 - .025^(1/units).

    Examples
    --------
    >>> [round(x, 3) for x in change_interval(np.zeros(10), None)]
    [0.0, -0.308, 0.308]
    """
    found = mean_interval(change, cluster)
    if np.isnan(found.low):
        return found.mean, float("nan"), float("nan")
    low, high = found.low, found.high
    if np.ptp(change) < 1e-12:
        unseen = 1 - 0.025 ** (1 / (found.df + 1))
        low, high = found.mean - unseen, found.mean + unseen
    return found.mean, max(low, -1.0), min(high, 1.0)


def _note(found: dict[str, Any], barred: bool) -> str | None:
    said = [] if barred else [NO_BAR]
    if found["n_short"]:
        said.append(f"{counted(found['n_short'], 'case')} with fewer than {found['k']} scored trials in an arm")
    if found["n_one_sided"]:
        said.append(f"{counted(found['n_one_sided'], 'case')} in one arm only")
    if barred and found["n_paired"] < 2:
        said.append("fewer than two cases to compare: no interval")
    return "; ".join(said) or None
