"""What the runs say about each case and metric: the change, its noise borrowed across cases, and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import stats

from harnesskit.measures.pairing import BASELINE, CANDIDATE
from harnesskit.stats.cells import cell_counts, cell_means, cell_medians, cell_variances
from harnesskit.stats.noise import COLD_DF, COLD_PRIOR_DF, Noise, Prior, grid_step, pool_noise, robust_sd, sd_floor
from harnesskit.stats.paired import ModeratedT, moderated_t

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.measures.pairing import Pairs
    from harnesskit.model.metrics import Metric, Metrics

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

CLIP_SDS = 3.0
_COLLAPSED = 0.02
_SAME_REPEATS = 0.8
_KINDS = {
    "measured": "moderated t",
    "partly assumed": "moderated t, noise partly assumed",
    "assumed": "assumed noise",
    "floor": "smallest noise believed",
}
_COLUMNS = ("baseline", "candidate", "drop", "test_drop", "se", "df", "z", "low", "high", "sd")


def scales(pairs: Pairs, metrics: Metrics) -> pd.DataFrame:
    """Return how each metric is judged: one row per metric, with ``higher_is_better, unit, tolerance, doubt``.

    A metric that was not declared and has a value outside 0 to 1 cannot be judged; neither can one without a
    direction, or without bounds and tolerance. `unit` is then missing and `doubt` says why.
    """
    rows = []
    cell_metric = pairs.cells["metric"].to_numpy(dtype=object)[pairs.runs["cell"].to_numpy()]
    limits = pairs.runs["value"].groupby(cell_metric).agg(["min", "max"]) if len(pairs.runs) else pd.DataFrame()
    for name in sorted(pairs.cells["metric"].unique()):
        metric = metrics[name]
        ends = limits.loc[name].tolist() if name in limits.index else []
        rows.append({"metric": name, **scale_of(metric, ends)})
    names = ["metric", "higher_is_better", "unit", "tolerance", "doubt", "range_low", "range_high"]
    numbers = dict.fromkeys(("unit", "tolerance", "range_low", "range_high"), float)
    return pd.DataFrame(rows, columns=names).astype({"doubt": object, **numbers}).set_index("metric")


def scale_of(metric: Metric, ends: list[float]) -> dict[str, object]:
    """Return how one metric is judged whose scores lie between `ends`: the columns of `scales`.

    Examples
    --------
    >>> from harnesskit.model.metrics import Metric
    >>> scale_of(Metric("q"), [0.2, 0.9])["unit"], scale_of(Metric("q", declared=False), [0.2, 7.0])["unit"]
    (1.0, None)
    """
    higher, unit, doubt = metric.higher_is_better, metric.unit, None
    if not metric.declared and not all(metric.holds(value) for value in ends):
        higher, unit = None, None
        shown = " to ".join(f"{end:.6g}" for end in ends)
        doubt = f"scale not declared: values from {shown}, expected 0 to 1; declare the metric's range and direction"
    elif higher is None:
        unit, doubt = None, "direction not declared: the change is shown without a verdict"
    elif unit is None:
        doubt = "range open and no tolerance declared: the change is shown without a verdict"
    ends_of_range = {"range_low": metric.low, "range_high": metric.high}
    return {"higher_is_better": higher, "unit": unit, "tolerance": metric.tolerance, "doubt": doubt, **ends_of_range}


def weigh(pairs: Pairs, scale: pd.DataFrame) -> pd.DataFrame:
    """Return the evidence of every cell, in the order of ``pairs.cells``.

    Columns: ``baseline, candidate, low, high, sd`` in the metric's own unit; ``drop`` (of the plain means), and of the
    test ``test_drop, se, df, z`` on the common scale, positive when worse; ``interval_kind, n_clipped, copies``
    (whether the repeats of the metric are copies of each other).
    Moderated two-sample t (Smyth 2004); where runs collapse, both arms are clipped to 3 robust standard deviations
    around the median of the case's baseline.
    """
    out: dict[str, NDArray[Any]] = {c: np.full(len(pairs.cells), np.nan) for c in _COLUMNS}
    out["interval_kind"] = np.full(len(pairs.cells), None, dtype=object)
    out["n_clipped"] = np.zeros(len(pairs.cells), dtype=np.int64)
    out["copies"] = np.zeros(len(pairs.cells), dtype=bool)
    code = pd.Index(scale.index).get_indexer(pd.Index(pairs.cells["metric"]))
    of_run = code[pairs.runs["cell"].to_numpy()] if len(pairs.runs) else np.empty(0, dtype=np.int64)
    for position in range(len(scale)):
        here = np.flatnonzero(code == position)
        runs = pairs.runs[of_run == position]
        cell = np.searchsorted(here, runs["cell"].to_numpy())
        for column, values in _weigh_metric(runs, cell, len(here), scale.iloc[position]).items():
            out[column][here] = values
    return pd.DataFrame(out, index=pairs.cells.index)


def _weigh_metric(runs: pd.DataFrame, cell: Ints, n_cells: int, scale: pd.Series[Any]) -> dict[str, NDArray[Any]]:
    value, arm = runs["value"].to_numpy(dtype=float), runs["arm"].to_numpy(dtype=np.int64)
    names = ((BASELINE, "baseline"), (CANDIDATE, "candidate"))
    means = {name: cell_means(value[arm == a], cell[arm == a], n_cells) for a, name in names}
    found: dict[str, NDArray[Any]] = dict(means)
    if pd.isna(scale["unit"]):
        return found
    sign, unit = (1.0 if scale["higher_is_better"] else -1.0), float(scale["unit"])
    good = sign * value / unit
    groups = numbered(cell, arm, runs["group"].to_numpy(dtype=np.int64))
    clipped = _clip(good, cell, arm, n_cells)
    ends = (value == scale["range_low"]) | (value == scale["range_high"])
    same = repeats_alike(good, groups, ends)
    counts = _counts(good, cell, arm, n_cells, same)
    plain, noise = _compare(good, cell, arm, groups, counts, same)
    test = plain if clipped is good else _compare(clipped, cell, arm, groups, counts, same)[0]
    delta, half = means["candidate"] - means["baseline"], stats.t.isf(0.025, plain.df) * plain.se * unit
    kind = _KINDS[noise.source] + (", repeats alike" if same else "")
    found["copies"] = np.full(n_cells, same)
    paired = ~np.isnan(delta)
    spread = np.sqrt(1 / counts[CANDIDATE] + 1 / counts[BASELINE])
    found |= {"drop": -plain.delta, "test_drop": -test.delta, "se": test.se, "df": test.df, "z": test.z}
    found |= {"low": delta - half, "high": delta + half, "sd": np.where(paired, test.se / spread * unit, np.nan)}
    found["interval_kind"] = np.where(paired, np.array(kind, dtype=object), np.array(None))
    found["n_clipped"] = np.bincount(cell, clipped != good, minlength=n_cells).astype(int)
    return found


def _counts(good: Floats, cell: Ints, arm: Ints, n_cells: int, same: bool) -> tuple[Ints, Ints]:
    """Return the runs of each cell, baseline and candidate, at least 1; distinct ones where repeats are copies."""
    found = []
    for side in (BASELINE, CANDIDATE):
        cells, values = cell[arm == side], good[arm == side]
        if same:
            order = np.lexsort((values, cells))
            first = np.flatnonzero(np.diff(numbered(cells[order], values[order]), prepend=-1))
            cells = cells[order][first]
        found.append(np.maximum(cell_counts(cells, n_cells), 1))
    return found[0], found[1]


def _compare(
    good: Floats, cell: Ints, arm: Ints, groups: Ints, counts: tuple[Ints, Ints], same: bool
) -> tuple[ModeratedT, Noise]:
    """Return the moderated t test of every cell; NaN where a side has no run."""
    n_cells = len(counts[0])
    variance = cell_variances(good, groups, cell, n_cells, distinct=same)
    noise = pool_noise(variance.s2, variance.df, floor=sd_floor(good))
    if same and not noise.df:  # not one repeat differs: the noise is unknown, the smallest one believed stands for it
        noise = Noise(Prior(noise.floor**2, COLD_PRIOR_DF), noise.floor, 0.0, "floor")
    after, before = (cell_means(good[arm == a], cell[arm == a], n_cells) for a in (CANDIDATE, BASELINE))
    delta = after - before
    delta[np.abs(delta) < 1e-12] = 0.0  # a difference of equal sums is float noise, not a change
    test = moderated_t(delta, variance.s2, variance.df, counts[CANDIDATE], counts[BASELINE], noise)
    gone = np.isnan(delta)
    return ModeratedT(*(np.where(gone, np.nan, column) for column in test)), noise


def _clip(good: Floats, cell: Ints, arm: Ints, n_cells: int) -> Floats:
    """Return the runs clipped around the median of their case's baseline, or the very same array.

    Clipping is for noise with collapses: it is done when more than 2 % of the baseline runs lie out of reach. Without
    them it would only cost power: no test of two runs a side can exceed 3 standard errors when both are clipped.
    Simulated with 60 wins, 4 metrics, sd .10: family-wise error as with clipping throughout (0 to .03), a drop of .30
    found with 3 + 3 runs in .63 instead of .30 of the cases; with 8 % collapses both are the same from 3 + 3 runs on.
    """
    base = arm == BASELINE
    m = cell_counts(cell[base], n_cells)
    if int(np.maximum(m - 1, 0).sum()) < COLD_DF:
        return good
    repeated = (m > 1)[cell]
    mean = cell_means(good[base], cell[base], n_cells)
    use = base & repeated
    residuals = (good[use] - mean[cell[use]]) * np.sqrt(m[cell[use]] / (m[cell[use]] - 1))
    reach = CLIP_SDS * robust_sd(residuals, floor=sd_floor(good))
    centre = cell_medians(good[base], cell[base], n_cells)[cell]
    limited = np.where(repeated, np.clip(good, centre - reach, centre + reach), good)
    collapsed = float((limited != good)[base].mean())
    return limited if collapsed > _COLLAPSED else good


def numbered(*columns: NDArray[Any]) -> Ints:
    """Return a number per distinct row, of columns sorted so that equal rows stand together."""
    if not len(columns[0]):
        return np.empty(0, dtype=np.int64)
    new = np.any([np.diff(column) != 0 for column in columns], axis=0)
    return np.concatenate([[0], np.cumsum(new)]).astype(np.int64)


def repeats_alike(good: Floats, groups: Ints, ends: NDArray[np.bool_]) -> bool:
    """Whether repeats are mostly copies of each other, on a judge without a grid: they are not independent then.

    Scores at the ends of the range prove nothing (a judge that says 1.0 every time copies nothing), so the copies must
    be more than 80 % of the repeats elsewhere and at least half of all repeats.
    """
    repeats = len(good) - len(np.unique(groups))
    inside, value = groups[~ends], good[~ends]
    repeats_inside = len(inside) - len(np.unique(inside))
    if not repeats_inside or grid_step(good):
        return False
    copies = len(value) - (int(numbered(inside, value)[-1]) + 1)
    return copies / repeats_inside > _SAME_REPEATS and 2 * copies >= repeats
