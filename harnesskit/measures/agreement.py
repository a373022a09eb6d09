"""Do raters agree, people with people or a judge with people? Agreement beyond chance, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from harnesskit.measures.label_table import REVISED, Ratings, ratings_of
from harnesskit.model.errors import FrameError
from harnesskit.model.grader_trust import AGREEMENT, CONFUSION
from harnesskit.stats.raters import gwet_ac1, label_counts, mean_kappa, observed_agreement
from harnesskit.stats.reliability import bootstrap_interval, krippendorff

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Level = Literal["nominal", "ordinal", "interval"]
_LEVELS = ("nominal", "ordinal", "interval")
_LOPSIDED, _FEWEST = 0.9, 20
LOPSIDED = "nearly all labels are the same: kappa and alpha collapse then, read ac1"
FEW = "fewer than 20 units: no interval"
ALONE = "no unit was labelled by two raters"


def agreement(
    labels: pd.DataFrame,
    *,
    unit: str = "session_id",
    rater: str = "rater",
    value: str = "value",
    cluster: str | None = None,
    level: Level = "nominal",
    draws: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Say how well raters agree: one row per statistic (and per metric, where labels name one).

    ``agreement`` is the share of agreeing pairs of raters; ``ac1`` is Gwet's, to be read first; ``kappa`` is Cohen's
    (of several raters: the mean over pairs); ``alpha`` is Krippendorff's. A judge is a rater like any other: append
    its verdicts as rows with its name.

    Parameters
    ----------
    labels
        One row per label: the columns `unit`, `rater` and `value`; ``metric`` and ``at`` when there. Where a rater
        labelled a unit twice the last label counts.
    unit, rater, value
        Names of the columns. Labels are true or false, numbers or text; ``failed`` for the labels of a workspace.
    cluster
        Column of what groups dependent units (users): these are drawn together; the units by default.
    level
        For alpha: what a distance between labels means. The others treat every difference alike.
    draws, seed
        Of the bootstrap.

    Raises
    ------
    FrameError
        A column is missing, labels are of different kinds, or text is given a distance.

    Examples
    --------
    >>> least = {"aiko": 0, "jo": 1}
    >>> rows = [(f"s-{i}", rater, i % 4 > bar) for i in range(40) for rater, bar in least.items()]
    >>> labels = pd.DataFrame(rows, columns=["session_id", "rater", "value"])
    >>> agreement(labels, draws=200)[["statistic", "value", "low", "high"]].round(2).values.tolist()[:2]
    [['agreement', 0.75, 0.62, 0.88], ['ac1', 0.53, 0.27, 0.78]]

    References
    ----------
    Cohen (1960); Light (1971); Gwet (2008), Brit. J. Math. Stat. Psych. 61; Krippendorff (2011).
    """
    if level not in _LEVELS:
        raise FrameError(f"agreement() needs level as one of {', '.join(_LEVELS)}; found {level!r}.")
    found: list[dict[str, Any]] = []
    for one in ratings_of(labels, unit=unit, rater=rater, value=value, cluster=cluster, by="agreement()"):
        if level != "nominal" and any(isinstance(label, str) for label in one.labels):
            raise FrameError(f"agreement() needs numbers for the level {level}; found text. Use level='nominal'.")
        found += _rows(one, level, draws, seed)
    frame = pd.DataFrame(found, columns=list(AGREEMENT.columns))
    return frame.astype(dict.fromkeys(("n_units", "n_raters", "n_labels"), "Int64"))


def _rows(one: Ratings, level: Level, draws: int, seed: int) -> list[dict[str, Any]]:
    codes = one.table.to_numpy(dtype=float)
    shared = (~np.isnan(codes)).sum(axis=1) > 1
    codes = codes[shared]
    cluster = None if one.cluster is None else np.asarray(one.cluster)[shared]
    counts = label_counts(codes, np.arange(len(one.labels))) if len(codes) else np.zeros((0, 1))
    lopsided = counts.sum() > 0 and float(counts.sum(axis=0).max() / counts.sum()) >= _LOPSIDED
    few = len(codes) if cluster is None else len(set(cluster.tolist()))
    doubts = [ALONE] if not len(codes) else [FEW] if few < _FEWEST else []
    doubts += [REVISED] if one.revised else []
    rows = []
    for name, (method, statistic) in _statistics(one, level).items():
        ends = bootstrap_interval(codes, statistic, cluster=cluster, draws=draws, seed=seed)
        warn = [*doubts, *([LOPSIDED] if lopsided and name in ("kappa", "alpha") else [])]
        rows.append(
            {
                "metric": one.metric, "statistic": name, "value": statistic(codes) if len(codes) else np.nan,
                "low": ends.low, "high": ends.high, "n_units": len(codes),
                "n_raters": int((~np.isnan(codes)).any(axis=0).sum()), "n_labels": int(counts.sum()),
                "method": method, "warning": "; ".join(warn) or None,
            }
        )  # fmt: skip
    return rows


def _statistics(one: Ratings, level: Level) -> dict[str, tuple[str, Callable[[Floats], float]]]:
    codes = np.arange(len(one.labels), dtype=float)
    numbers = codes if level == "nominal" else np.asarray([float(label) for label in one.labels])
    pairs = "Cohen's kappa" if one.table.shape[1] < 3 else "Cohen's kappa, mean over pairs of raters (Light)"

    def alpha(rows: Floats) -> float:
        known = np.where(np.isnan(rows), 0, rows).astype(np.int64)
        return krippendorff(np.where(np.isnan(rows), np.nan, numbers[known]).T, level=level)

    return {
        "agreement": ("share of agreeing pairs of raters", lambda rows: observed_agreement(rows, codes)),
        "ac1": ("Gwet's AC1", lambda rows: gwet_ac1(rows, codes)),
        "kappa": (pairs, mean_kappa),
        "alpha": (f"Krippendorff's alpha, {level}", alpha),
    }


def label_confusion(
    labels: pd.DataFrame, *, unit: str = "session_id", rater: str = "rater", value: str = "value"
) -> pd.DataFrame:
    """Count who said what where another said something else: one row per pair of raters and pair of labels.

    Parameters
    ----------
    labels, unit, rater, value
        As for `harnesskit.agreement`.

    Raises
    ------
    FrameError
        A column is missing, or labels are of different kinds.

    Examples
    --------
    >>> rows = [("s-1", "aiko", True), ("s-1", "jo", True), ("s-2", "aiko", True), ("s-2", "jo", False)]
    >>> labels = pd.DataFrame(rows, columns=["session_id", "rater", "value"])
    >>> label_confusion(labels)[["label_a", "label_b", "n"]].values.tolist()
    [['False', 'False', 0], ['False', 'True', 0], ['True', 'False', 1], ['True', 'True', 1]]
    """
    found = []
    for one in ratings_of(labels, unit=unit, rater=rater, value=value, cluster=None, by="label_confusion()"):
        places = list(enumerate(one.labels))
        for a, b in combinations(one.table.columns, 2):
            both = one.table[[a, b]].dropna().to_numpy(dtype=np.int64)
            counts = np.bincount(both[:, 0] * len(places) + both[:, 1], minlength=len(places) ** 2)
            for (i, left), (j, right) in ((x, y) for x in places for y in places):
                n = int(counts[i * len(places) + j])
                found.append(
                    {
                        "metric": one.metric, "rater_a": a, "rater_b": b, "label_a": str(left), "label_b": str(right),
                        "n": n, "share": n / len(both) if len(both) else np.nan,
                    }
                )  # fmt: skip
    return pd.DataFrame(found, columns=list(CONFUSION.columns)).astype({"n": "Int64"})
