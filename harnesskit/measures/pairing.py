"""Both sides of a comparison, matched by case and metric: what can be compared, and the runs behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from harnesskit.measures.failed_runs import count_as_failed, failed_notes
from harnesskit.measures.trials import NOT_A_NUMBER, SCORED, SKIPPED, STATES, UNSCORED, Side, one_side
from harnesskit.model.names import named, of_codes, row_numbers, spelled
from harnesskit.model.results import GRADERS_DIFFER
from harnesskit.stats.cells import cell_order

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
        of both sides), ``note`` (what to know about the scores, in words). Names are categoricals, sorted.
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
    trials = _stacked([side.trials for side in sides]).assign(arm=np.repeat((0, 1), [len(s.trials) for s in sides]))
    cells, trials = _cells(trials)
    trials = _one_baseline(trials, len(cells), prefer_captured)
    after = (trials["arm"] == CANDIDATE).to_numpy(dtype=bool) & failed_count
    count_as_failed(trials, cells["metric"].to_numpy(dtype=object), after, metrics)
    cells["kind"], cells["cluster"] = _facts(sides, cells["case_id"])
    _count(cells, trials)
    graders = _grader_notes(cells, sides)
    cells["note"] = _joined(
        graders.pop("note"),
        *(_partial(trials, a, cells) for a in (BASELINE, CANDIDATE)),
        failed_notes(trials, len(cells)),
    )
    cells["mismatch"] = graders["mismatch"]
    return Pairs(cells, trials, _scored(trials), (sides[0].n_unmatched, sides[1].n_unmatched))


def with_texts(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a copy of (some columns of) the cells, the names as text."""
    names = [str(name) for name in cells if isinstance(cells[name].dtype, pd.CategoricalDtype)]
    return cells.assign(**{name: spelled(cells[name].array) for name in names})


def _scored(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the scored trials by cell, arm, group and value: sums must not depend on the order of the rows."""
    runs = trials if (trials["state"] == SCORED).all() else trials[trials["state"] == SCORED]
    cell, arm = (runs[c].to_numpy(dtype=np.int64) for c in ("cell", "arm"))
    group = pd.factorize(runs["fingerprint"].cat.codes.to_numpy(dtype=np.int64), sort=True)[0]
    columns = {"cell": cell, "arm": arm, "value": runs["value"].to_numpy(), "group": group}
    order = cell_order(columns["value"], row_numbers(cell, arm, group))
    return pd.DataFrame({name: column[order] for name, column in columns.items()})


def _stacked(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Return frames of the same columns as one, the categoricals with the names of all."""
    columns: dict[str, Any] = {}
    for name in frames[0]:
        parts = [frame[name] for frame in frames]
        if len({part.dtype for part in parts}) > 1 and isinstance(parts[0].dtype, pd.CategoricalDtype):
            columns[str(name)] = union_categoricals(parts, sort_categories=True)
        else:
            columns[str(name)] = pd.concat(parts, ignore_index=True)
    return pd.DataFrame(columns)


def _cells(trials: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the cells in key order, and the trials with their cell; a trial without a metric is in all of its case."""
    case, metric = (trials[c].cat.codes.to_numpy(dtype=np.int64) for c in ("case_id", "metric"))
    cases, metrics = (trials[c].cat.categories for c in ("case_id", "metric"))
    width = max(len(metrics), 1)
    whole = metric < 0
    key = case * width + metric
    cell, known = pd.factorize(key[~whole], sort=True)
    bare = np.setdiff1d(case[whole], known // width)  # cases of which no metric is known: all of them
    if len(bare):
        known = np.union1d(known, (bare[:, None] * width + np.arange(width)).ravel())
        cell = np.searchsorted(known, key[~whole])
    names = metrics if len(metrics) else [NO_METRIC]
    cells = pd.DataFrame({"case_id": of_codes(known // width, cases), "metric": of_codes(known % width, names)})
    if not whole.any():
        return cells, trials.assign(cell=cell)
    spread = (
        trials[whole]
        .assign(case=case[whole])
        .merge(pd.DataFrame({"case": known // width, "cell": np.arange(len(known))}), on="case", how="inner")
    )
    single = trials[~whole].assign(cell=cell)
    return cells, pd.concat([single, spread[single.columns]], ignore_index=True)


def _one_baseline(trials: pd.DataFrame, n_cells: int, prefer_captured: bool) -> pd.DataFrame:
    base = ((trials["arm"] == BASELINE) & (trials["state"] == SCORED)).to_numpy(dtype=bool)
    wanted = base & (trials["captured"].to_numpy(dtype=bool) == prefer_captured)
    cell = trials["cell"].to_numpy()
    has = np.zeros(n_cells, dtype=bool)
    has[cell[wanted]] = True
    left = base & ~wanted & has[cell]
    return trials[~left].reset_index(drop=True) if left.any() else trials


def _facts(sides: tuple[Side, Side], case_id: pd.Series[Any]) -> tuple[pd.Categorical, pd.Categorical]:
    """Return the kind and the cluster of the case of each cell: a win if either side says so, the first cluster."""
    facts = _stacked([side.cases for side in sides])
    case = facts["case_id"].cat.set_categories(case_id.cat.categories).cat.codes.to_numpy()
    kind, cluster = (facts[c].to_numpy(dtype=object) for c in ("kind", "cluster"))
    kind = np.where(pd.isna(kind), "", kind)
    rank = np.select([kind == "win", kind == ""], [0, 2], 1)
    found = []
    for name, first in ((np.where(kind == "", "win", kind), rank), (cluster, pd.isna(cluster))):
        column = named(name)
        order = np.lexsort((column.codes, first, case))[::-1]  # the first of a case is written last
        of_case = np.full(len(case_id.cat.categories), -1)
        of_case[case[order]] = column.codes[order]
        found.append(of_codes(of_case[case_id.cat.codes], column.categories))
    return found[0], found[1]


def _count(cells: pd.DataFrame, trials: pd.DataFrame) -> None:
    """Add the counts of each cell, and why a side has no score."""
    cell, arm = trials["cell"].to_numpy(dtype=np.int64), trials["arm"].to_numpy()
    shape = len(cells), 2, len(STATES)
    key = (cell * 2 + arm) * len(STATES) + trials["state"].cat.codes.to_numpy()
    n = np.bincount(key, minlength=len(cells) * 2 * len(STATES)).reshape(shape)
    cells["n_baseline"], cells["n_candidate"] = (n[:, a, STATES.index(SCORED)] for a in (BASELINE, CANDIDATE))
    cells["n_unscored"], cells["n_skipped"] = (n[:, CANDIDATE, STATES.index(s)] for s in (UNSCORED, SKIPPED))
    captured = trials["captured"].to_numpy(dtype=bool) & (arm == BASELINE) & (trials["state"] == SCORED).to_numpy()
    cells["captured"] = np.bincount(cell[captured], minlength=len(cells)) > 0
    for column in ("copies", "averaged"):
        some = np.flatnonzero(trials[column])
        n_rows = np.bincount(cell[some], trials[column].to_numpy()[some], minlength=len(cells))
        cells[f"n_{column}"] = n_rows.astype(np.int64)
    cells["missing"], cells["baseline_missing"] = (
        _missing(trials, arm == a, len(cells)) for a in (CANDIDATE, BASELINE)
    )


def _grader_notes(cells: pd.DataFrame, sides: tuple[Side, Side]) -> dict[str, Any]:
    """Return, per cell, what to say of graders that differ: a mismatch, or a note where the difference is known.

    A captured score names the harness that recorded it, not the judge that gave it. It is compared all the same: it
    never fails a run by its mean, and a control run is what settles it.
    """
    said: dict[str, NDArray[Any]] = {c: np.full(len(cells), None, dtype=object) for c in ("mismatch", "note")}
    metric, metrics = cells["metric"].cat.codes.to_numpy(), cells["metric"].cat.categories
    both = ((cells["n_baseline"] > 0) & (cells["n_candidate"] > 0)).to_numpy()
    for code, name in enumerate(metrics):
        before, after = (side.graders.get(name) for side in sides)
        if before is None or after is None or before == after:
            continue
        differ = both & (metric == code)
        recorded = differ & cells["captured"].to_numpy() & (before == HARNESS)
        scored_by = f"{GRADERS_DIFFER}the baseline was scored by {before!r}, the candidate by {after!r}"
        said["mismatch"][differ & ~recorded] = scored_by
        said["note"][recorded] = f"{RECORDED}{before!r}, replayed by {after!r}"
    return said


def _partial(trials: pd.DataFrame, arm: int, cells: pd.DataFrame) -> NDArray[np.object_]:
    """Return, per cell that has a score on this side, how many others it lacks and the most frequent reason."""
    side = ("baseline", "candidate")[arm]
    lost = ((trials["arm"] == arm) & (trials["state"] == UNSCORED)).to_numpy(dtype=bool)
    n = np.bincount(trials["cell"].to_numpy()[lost], minlength=len(cells))
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
        n = lacking.groupby(["cell", "reason"], as_index=False, observed=True).size()
        n = n.sort_values(["cell", "size", "reason"], ascending=[True, False, True]).drop_duplicates("cell")
        note[n["cell"].to_numpy()] = n["reason"].to_numpy(dtype=object)
    return note
