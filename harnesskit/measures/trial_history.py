"""What sessions before a forward trial say: how much scores scatter, and what to expect of a task type or cluster.

Everything here is fixed before the trial, so that subtracting what was expected makes the evidence sharper and never
wrong (CUPED: Deng, Xu, Kohavi & Walker 2013).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.measures.trial_units import Sessions

    Floats = NDArray[np.float64]

ASSUMED_SD = 0.20
"""Standard deviation of a session mean, on the common scale, where nothing is known of it."""
LEAST_SD = 0.02
FEWEST = 8
"""Historical units below which their spread is not believed."""


@dataclass(frozen=True)
class Expected:
    """What is known of one metric before the trial, on the common scale.

    Attributes
    ----------
    sd
        Standard deviation of one session, what was expected subtracted.
    source
        Where it comes from: ``history``, ``given`` or ``assumed``.
    mean, strata
        Mean of all sessions, and of each stratum with two or more.
    clusters
        Cluster to the mean difference of its sessions from what was expected, drawn towards 0 by its reliability.
    n
        Historical units behind it.
    """

    sd: float
    source: str
    mean: float = 0.0
    strata: dict[object, float] = field(default_factory=dict)
    clusters: dict[str, float] = field(default_factory=dict)
    n: int = 0

    def of(self, cluster: str, stratum: object) -> float:
        """Return what was expected of a session."""
        return self.strata.get(stratum, self.mean) + self.clusters.get(cluster, 0.0)


def expected(history: Sessions | None, metric: str, *, sd: float | None) -> Expected:
    """Return what sessions before the trial say of a metric; without any, the given or the assumed scatter.

    Of a cluster with n sessions the weight is tau^2 / (tau^2 + sigma^2 / n), the variances between and within clusters
    by the one-way analysis of variance: the regression of a session on the mean of earlier ones (theta = cov / var).
    """
    known = "given" if sd is not None else "assumed"
    plain = Expected(sd if sd is not None else ASSUMED_SD, known)
    if history is None:
        return plain
    value = history.scores[metric].to_numpy(dtype=float)
    there = np.isfinite(value)
    table = history.table[there].reset_index(drop=True)
    value = value[there]
    if len(value) < FEWEST:
        return plain
    overall = float(value.mean())
    stratum = table["stratum"].astype(object).where(table["stratum"].notna(), None)
    found = pd.Series(value).groupby(stratum.to_numpy()).agg(["mean", "size"])
    strata = {name: float(one["mean"]) for name, one in found.iterrows() if one["size"] > 1}
    rest = value - np.array([strata.get(s, overall) for s in stratum], dtype=float)
    groups = pd.Series(rest).groupby(table["cluster"].to_numpy()).agg(["mean", "size"])
    within, between = _components(rest, table["cluster"].to_numpy())
    size = groups["size"].to_numpy(dtype=float)
    weight = between / (between + within / size) if between > 0 else np.zeros(len(size))
    spread = within + between * (1 - float(weight.mean()))
    clusters = {
        history.clusters[int(code)]: float(w * m)
        for code, w, m in zip(groups.index, weight, groups["mean"], strict=True)
        if w > 0
    }
    scatter = max(spread**0.5, LEAST_SD)
    return Expected(sd or scatter, "given" if sd else "history", overall, strata, clusters, len(groups))


def _components(rest: Floats, cluster: NDArray[np.int64]) -> tuple[float, float]:
    """Return the variances within and between clusters; all of it within, where no cluster comes back."""
    codes = np.unique(cluster, return_inverse=True)[1]
    size = np.bincount(codes)
    n, groups = len(rest), len(size)
    if groups in (1, n):
        return float(rest.var(ddof=1)), 0.0
    means = np.bincount(codes, rest) / size
    within = float(((rest - means[codes]) ** 2).sum()) / (n - groups)
    among = float((size * (means - rest.mean()) ** 2).sum()) / (groups - 1)
    typical = (n - float((size**2).sum()) / n) / (groups - 1)
    return within, max(0.0, (among - within) / typical)
