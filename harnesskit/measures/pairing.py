"""Both sides of a comparison, matched by case and metric: what can be compared, and the runs behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.failed_runs import count_as_failed, failed_notes
from harnesskit.measures.trials import NOT_A_NUMBER, SCORED, SKIPPED, UNSCORED, Side, one_side
from harnesskit.model.results import GRADERS_DIFFER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.model.metrics import Metrics

NO_METRIC = "(none)"
"""Metric of a case for which no metric is known on either side."""
BASELINE, CANDIDATE = 0, 1
HARNESS = "harness"
"""Grader of what a harness captured: the name of the recorder, whatever judge it asked."""
RECORDED = "captured by "
"""How the note begins that says so."""


@dataclass(frozen=True)
class Pairs:
    """Cases and metrics of both sides, and their scored runs.

    Attributes
    ----------
    cells
        One row per case and metric, sorted by both: ``case_id, kind, metric, cluster, n_baseline, n_candidate``,
        ``n_unscored, n_skipped`` (candidate), ``captured`` (the baseline used), ``missing, baseline_missing`` (why a
        side has no score), ``mismatch`` (the graders of both sides, when they differ), ``n_copies, n_averaged`` (rows
        of both sides), ``note`` (what to know about the scores, in words).
    trials
        One row per trial and cell: ``cell, arm, value, state, reason, failed`` (scored as failed: it ended early).
    runs
        The scored trials in use: ``cell, arm, value, group`` (runs of one fingerprint), in an order of their own.
    n_unmatched
        Rows without a case, baseline and candidate.
    """

    cells: pd.DataFrame
    trials: pd.DataFrame
    runs: pd.DataFrame
    n_unmatched: tuple[int, int]


def pair_cases(
    baseline: pd.DataFrame,
    candidate: pd.DataFrame,
    metrics: Metrics,
    *,
    by: str,
    prefer_captured: bool = False,
    failed_count: bool = False,
) -> Pairs:
    """Return both sides matched by case and metric.

    A case is a win if either side says so. Where a cell has captured and control baselines only one kind is used:
    control, or captured with `prefer_captured`. With `failed_count` a candidate replay that ended in an error or a
    timeout fails the yes-or-no metrics of its case.

    Examples
    --------
    >>> from harnesskit.model.metrics import Metrics
    >>> before = pd.DataFrame({"case_id": ["a", None], "metric": ["q", "q"], "value": [0.9, 0.2]})
    >>> pairs = pair_cases(before, before, Metrics(), by="example()")
    >>> pairs.cells[["case_id", "n_baseline", "n_candidate"]].values.tolist(), pairs.n_unmatched
    ([['a', 1, 1]], (1, 1))
    """
    sides = (
        one_side(baseline, metrics, by=by, what="as the baseline"),
        one_side(candidate, metrics, by=by, what="as the candidate"),
    )
    trials = pd.concat([s.trials.assign(arm=arm) for arm, s in enumerate(sides)], ignore_index=True)
    cells, trials = _cells(trials)
    trials = _one_baseline(trials, len(cells), prefer_captured)
    after = (trials["arm"] == CANDIDATE).to_numpy(dtype=bool) & failed_count
    count_as_failed(trials, cells["metric"].to_numpy(dtype=object), after, metrics)
    facts = _facts(sides).reindex(cells["case_id"])
    cells["kind"], cells["cluster"] = facts["kind"].to_numpy(), facts["cluster"].to_numpy()
    _count(cells, trials)
    graders = _grader_notes(cells, sides)
    cells["note"] = _joined(
        graders.pop("note"),
        *(_partial(trials, a, cells) for a in (BASELINE, CANDIDATE)),
        failed_notes(trials, len(cells)),
    )
    cells["mismatch"] = graders["mismatch"]
    runs = trials.loc[trials["state"] == SCORED, ["cell", "arm", "value", "fingerprint"]]
    runs = runs.assign(group=pd.factorize(runs.pop("fingerprint"), sort=True)[0])
    columns = [runs[name].to_numpy() for name in ("value", "group", "arm", "cell")]
    runs = runs.iloc[np.lexsort(columns)].reset_index(drop=True)  # sums must not depend on row order
    return Pairs(cells, trials, runs, (sides[0].n_unmatched, sides[1].n_unmatched))


def _cells(trials: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the cells in key order, and the trials with their cell; a trial without a metric is in all of its case."""
    case, cases = pd.factorize(trials["case_id"], sort=True)
    metric, metrics = pd.factorize(trials["metric"], sort=True)
    width = max(len(metrics), 1)
    whole = metric < 0
    key = case.astype(np.int64) * width + metric
    known = np.unique(key[~whole])
    bare = np.setdiff1d(np.unique(case[whole]), known // width)  # cases of which no metric is known: all of them
    known = np.union1d(known, (bare[:, None] * width + np.arange(width)).ravel())
    names = np.asarray(metrics, dtype=object) if len(metrics) else np.array([NO_METRIC], dtype=object)
    labels = np.asarray(cases, dtype=object)
    cells = pd.DataFrame({"case_id": labels[known // width], "metric": names[known % width]})
    single = trials[~whole].assign(cell=np.searchsorted(known, key[~whole]))
    spread = (
        trials[whole]
        .assign(case=case[whole])
        .merge(pd.DataFrame({"case": known // width, "cell": np.arange(len(known))}), on="case", how="inner")
    )
    both = pd.concat([single, spread[single.columns]], ignore_index=True) if len(spread) else single
    return cells, both.reset_index(drop=True)


def _one_baseline(trials: pd.DataFrame, n_cells: int, prefer_captured: bool) -> pd.DataFrame:
    base = ((trials["arm"] == BASELINE) & (trials["state"] == SCORED)).to_numpy(dtype=bool)
    wanted = base & (trials["captured"].to_numpy(dtype=bool) == prefer_captured)
    cell = trials["cell"].to_numpy()
    has = np.zeros(n_cells, dtype=bool)
    has[cell[wanted]] = True
    kept: pd.DataFrame = trials[~(base & ~wanted & has[cell])]
    return kept.reset_index(drop=True)


def _facts(sides: tuple[Side, Side]) -> pd.DataFrame:
    facts = pd.concat([side.cases for side in sides], ignore_index=True)
    facts["kind"] = facts["kind"].fillna("")
    rank = np.select([facts["kind"] == "win", facts["kind"] == ""], [0, 2], 1)
    kinds = facts.assign(rank=rank).sort_values(["case_id", "rank", "kind"]).drop_duplicates("case_id")
    kind = kinds.set_index("case_id")["kind"].replace("", "win")
    clusters = facts.dropna(subset=["cluster"]).sort_values(["case_id", "cluster"]).drop_duplicates("case_id")
    return pd.DataFrame({"kind": kind, "cluster": clusters.set_index("case_id")["cluster"].reindex(kind.index)})


def _count(cells: pd.DataFrame, trials: pd.DataFrame) -> None:
    """Add the counts of each cell, and why a side has no score."""
    cell, arm = trials["cell"].to_numpy(dtype=np.int64), trials["arm"].to_numpy()
    state = trials["state"].to_numpy()

    def count(rows: Any) -> NDArray[np.int64]:
        return np.bincount(cell[rows], minlength=len(cells)).astype(np.int64)

    cells["n_baseline"] = count((arm == BASELINE) & (state == SCORED))
    cells["n_candidate"] = count((arm == CANDIDATE) & (state == SCORED))
    cells["n_unscored"] = count((arm == CANDIDATE) & (state == UNSCORED))
    cells["n_skipped"] = count((arm == CANDIDATE) & (state == SKIPPED))
    captured = trials["captured"].to_numpy(dtype=bool) & (arm == BASELINE) & (state == SCORED)
    cells["captured"] = count(captured) > 0
    for column in ("copies", "averaged"):
        cells[f"n_{column}"] = np.bincount(cell, trials[column], minlength=len(cells)).astype(np.int64)
    cells["missing"], cells["baseline_missing"] = (
        _missing(trials, arm == a, len(cells)) for a in (CANDIDATE, BASELINE)
    )


def _grader_notes(cells: pd.DataFrame, sides: tuple[Side, Side]) -> dict[str, Any]:
    """Return, per cell, what to say of graders that differ: a mismatch, or a note where the difference is known.

    A captured score names the harness that recorded it, not the judge that gave it. It is compared all the same: it
    never fails a run by its mean, and a control run is what settles it.
    """
    before, after = (cells["metric"].map(side.graders).astype(object) for side in sides)
    differ = before.notna() & after.notna() & (before != after) & (cells["n_baseline"] > 0) & (cells["n_candidate"] > 0)
    recorded = differ & cells["captured"] & (before == HARNESS)
    texts = GRADERS_DIFFER + "the baseline was scored by " + before.map(repr) + ", the candidate by " + after.map(repr)
    known = RECORDED + before.map(repr) + ", replayed by " + after.map(repr)
    return {
        "mismatch": np.where(differ & ~recorded, texts, np.array(None, dtype=object)),
        "note": np.where(recorded, known, np.array(None, dtype=object)),
    }


def _partial(trials: pd.DataFrame, arm: int, cells: pd.DataFrame) -> NDArray[np.object_]:
    """Return, per cell that has a score on this side, how many others it lacks and the most frequent reason."""
    side = ("baseline", "candidate")[arm]
    lost = ((trials["arm"] == arm) & (trials["state"] == UNSCORED)).to_numpy(dtype=bool)
    n = np.bincount(trials.loc[lost, "cell"], minlength=len(cells))
    why = _missing(trials, lost, len(cells))
    note = np.full(len(cells), None, dtype=object)
    for at in np.flatnonzero((n > 0) & (cells[f"n_{side}"] > 0).to_numpy(dtype=bool)):
        many = n[at] > 1
        scores = f"{n[at]} {side} score{'s' if many else ''}"
        bare = f"{scores} {'are' if many else 'is'} not a number"
        note[at] = bare if why[at] in NOT_A_NUMBER else f"{scores} not used: {why[at]}"
    return note


def _joined(*notes: NDArray[np.object_]) -> NDArray[np.object_]:
    """Return the notes of each cell as one text, missing where there is none."""
    out = notes[0].copy()
    for more in notes[1:]:
        has = ~pd.isna(more)
        out[has] = [
            text if pd.isna(first) else f"{first}; {text}" for first, text in zip(out[has], more[has], strict=True)
        ]
    return out


def _missing(trials: pd.DataFrame, rows: NDArray[np.bool_], n_cells: int) -> NDArray[np.object_]:
    """Return, per cell, the most frequent reason for a missing score; the first by name among equals."""
    note = np.full(n_cells, None, dtype=object)
    lacking = trials.loc[rows & (trials["state"] != SCORED).to_numpy(), ["cell", "reason"]]
    if len(lacking):
        n = lacking.groupby(["cell", "reason"], as_index=False).size()
        n = n.sort_values(["cell", "size", "reason"], ascending=[True, False, True]).drop_duplicates("cell")
        note[n["cell"].to_numpy()] = n["reason"].to_numpy(dtype=object)
    return note
