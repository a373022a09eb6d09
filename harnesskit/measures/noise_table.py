"""How noisy each metric is, where that number comes from, and what to buy against it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.evidence import CLIP_SDS, numbered, repeats_alike, scales
from harnesskit.measures.pairing import pair_cases
from harnesskit.model.analyses import NOISE
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.stats.cells import cell_counts, cell_means, cell_medians, cell_variances
from harnesskit.stats.judge_noise import JudgeNoise, best_calls, sd_interval, split_judge
from harnesskit.stats.noise import floor_of, grid_step, pool_noise, robust_sd, sd_floor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

COLLAPSED = 0.05
COLLAPSES = "some runs collapse: look at the share below the threshold as well"
ASSUMED = "no case has two runs under one condition: the noise is assumed, replay the unchanged agent again"
PARTLY = "few repeats: part of the noise is assumed"
ALIKE = "most repeats give the same score: they may not be independent"
_CONDITION = ("fingerprint", "role", "arm")
_JUDGED_BY = ("case_id", "metric", "sample_id", "run_id", "role", "arm", "round", "trial", "grader", "fingerprint")


def noise_table(
    scores: pd.DataFrame, *, metrics: Iterable[Metric] | None = None, replay_cost: float = 10.0
) -> pd.DataFrame:
    """Estimate the noise of one run, as comparisons use it: one row per metric.

    Repeats are runs of one case under one condition: the same ``fingerprint``, ``role`` and ``arm``, and where no
    fingerprint is given the same ``run_id``. Their variance is pooled over cases; below 8 degrees of freedom an
    assumed standard deviation of .10 of the range is mixed in, and `source` says so.

    Parameters
    ----------
    scores
        Rows of case_scores, or any frame with ``case_id, metric, value``. A column ``judging`` (1, 2, ...) numbers
        repeated judgements of one run: with it the noise is split into the judge's part and the agent's.
    metrics
        Declarations of metrics.
    replay_cost
        Cost of one replay in judge calls, for ``judge_calls``; above 0.

    Returns
    -------
    DataFrame
        By the contract ``noise``, sorted by metric. ``sd``, its 90 % chi-square interval, ``floor``, ``grid`` and the
        parts are in the metric's own unit. A metric without a direction or scale has no numbers and says why.

    Raises
    ------
    FrameError
        A column is missing, a score is text, or one metric has two graders.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(0.8, 0.05, 20)
    >>> rows = pd.DataFrame({"case_id": ["a", "b"] * 10, "metric": "q", "value": values})
    >>> row = noise_table(rows).iloc[0]
    >>> row["source"], int(row["df"]), [round(float(row[c]), 3) for c in ("low", "sd", "high")]
    ('measured', 18, [0.035, 0.044, 0.061])
    """
    if not replay_cost > 0:
        raise ValueError(f"noise_table() needs a replay_cost above 0 (in judge calls), found {replay_cost}")
    known = Metrics.of(metrics)
    rows, judged = _one_judgement(_with_condition(scores))
    pairs = pair_cases(rows, pd.DataFrame(), known, by="noise_table()")
    scale = scales(pairs, known)
    metric = pairs.cells["metric"].to_numpy(dtype=object)[pairs.runs["cell"].to_numpy(dtype=np.int64)]
    found = [
        {"metric": name, **_row(pairs.runs[metric == name], scale.loc[name], judged.get(name), replay_cost)}
        for name in scale.index
    ]
    frame = pd.DataFrame(found, columns=list(NOISE.columns))
    return frame.astype(dict.fromkeys(("n_cases", "n_runs", "judge_calls"), "Int64"))


def _with_condition(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with everything that tells conditions apart in the column ``fingerprint``."""
    if "case_id" not in scores or not len(scores):
        return scores
    parts = {c: pd.factorize(scores[c])[0] for c in _CONDITION if c in scores}
    if "run_id" in scores:
        unnamed = parts["fingerprint"] < 0 if "fingerprint" in parts else np.ones(len(scores), dtype=bool)
        parts["run_id"] = np.where(unnamed, pd.factorize(scores["run_id"])[0], -1)
    if not parts:
        return scores
    return scores.assign(fingerprint=pd.DataFrame(parts).groupby(list(parts)).ngroup().astype(str).to_numpy())


def _one_judgement(rows: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Return one row per run, its judgements averaged, and the judgements of each metric."""
    if "judging" not in rows:
        return rows, {}
    keys = [c for c in _JUDGED_BY if c in rows]
    scored = rows[rows["value"].notna()]
    run = scored.groupby(keys, dropna=False).ngroup()
    first = scored.assign(run=run).drop_duplicates("run").set_index("run")
    first["value"] = scored["value"].astype(float).groupby(run).mean()
    judged = pd.DataFrame({"metric": scored["metric"].astype(str), "value": scored["value"].astype(float), "run": run})
    return first.reset_index(drop=True), {str(name): group for name, group in judged.groupby("metric")}


def _row(runs: pd.DataFrame, scale: pd.Series[Any], judged: pd.DataFrame | None, replay_cost: float) -> dict[str, Any]:
    if pd.isna(scale["unit"]):
        return {"n_cases": 0, "n_runs": 0, "warning": scale["doubt"]}
    unit, value = float(scale["unit"]), runs["value"].to_numpy(dtype=float)
    cell = np.unique(runs["cell"].to_numpy(dtype=np.int64), return_inverse=True)[1].astype(np.int64)
    group, scaled = numbered(cell, runs["group"].to_numpy(dtype=np.int64)), value / unit
    grid = grid_step(scaled) if len(scaled) else 0.0
    same = repeats_alike(scaled, group, (value == scale["range_low"]) | (value == scale["range_high"]), grid)
    n_cases = int(cell.max()) + 1 if len(cell) else 0
    variance = cell_variances(scaled, group, cell, n_cases, distinct=same)
    noise = pool_noise(variance.s2, variance.df, floor=floor_of(grid))
    measured = noise.source == "measured"
    spread = sd_interval(noise.prior.s2, noise.df if measured else 0.0)
    repeated = cell_counts(group, int(group.max()) + 1)[group] > 1 if len(group) else np.zeros(0, dtype=bool)
    clipped = _clipped(scaled[repeated], group[repeated])
    parts = _split(judged, unit, noise.prior.s2)
    doubts = [t for t, on in ((ALIKE, same), (COLLAPSES, clipped > COLLAPSED)) if on]
    doubts += {"assumed": [ASSUMED], "partly assumed": [PARTLY]}.get(noise.source, [])
    return {
        "sd": noise.prior.s2**0.5 * unit, "low": spread.low * unit, "high": spread.high * unit, "source": noise.source,
        "df": noise.df, "prior_df": noise.prior.df, "floor": noise.floor * unit, "grid": grid * unit,
        "n_cases": len(np.unique(cell[repeated])), "n_runs": int(repeated.sum()), "clipped": clipped,
        "judge_sd": parts.judge_s2**0.5 * unit, "agent_sd": parts.agent_s2**0.5 * unit, "judge_share": parts.share,
        "judge_calls": best_calls(parts, replay_cost=replay_cost), "warning": "; ".join(doubts) or None,
    }  # fmt: skip


def _clipped(values: Floats, group: Ints) -> float:
    """Return the share of runs farther than 3 robust standard deviations from the median of their repeats."""
    if not len(values):
        return float("nan")
    group = np.unique(group, return_inverse=True)[1].astype(np.int64)
    n_groups = int(group.max()) + 1
    n = cell_counts(group, n_groups)[group]
    residuals = (values - cell_means(values, group, n_groups)[group]) * np.sqrt(n / (n - 1))
    reach = CLIP_SDS * robust_sd(residuals, floor=sd_floor(values))
    return float((np.abs(values - cell_medians(values, group, n_groups)[group]) > reach + 1e-12).mean())


def _split(judged: pd.DataFrame | None, unit: float, run_s2: float) -> JudgeNoise:
    if judged is None:
        return split_judge(np.empty(0), np.empty(0, dtype=np.int64), run_s2)
    run = np.unique(judged["run"].to_numpy(dtype=np.int64), return_inverse=True)[1].astype(np.int64)
    return split_judge(judged["value"].to_numpy(dtype=float) / unit, run, run_s2)
