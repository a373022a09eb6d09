"""One metric of a forward trial: its units, who is paired with whom, and the path of the evidence."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from harnesskit.measures.trial_history import Expected
from harnesskit.stats.forward import TrialPath, e_path, welch_path
from harnesskit.stats.trial_pairs import BLOCK, Pairs, trial_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.measures.trial_units import Sessions
    from harnesskit.model.promotion_policy import PromotionPolicy

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """The units of a trial in their order of entry.

    Attributes
    ----------
    table
        ``cluster, treated, stratum, n_sessions, n_unscored``.
    value
        Mean score of each unit on the common scale, what was expected subtracted; missing where none is scored.
    raw
        The same without subtracting.
    """

    table: pd.DataFrame
    value: Floats
    raw: Floats

    @property
    def treated(self) -> NDArray[np.bool_]:
        """Whether a unit had the rule."""
        return np.asarray(self.table["treated"].to_numpy(dtype=bool))

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Whether a unit has a score."""
        return np.isfinite(self.value)


def units_of(sessions: Sessions, metric: str, known: Expected, *, fill: tuple[float, float] | None = None) -> Units:
    """Return the units of one metric; `fill` stands in for unscored sessions of control and of treatment."""
    taking = sessions.table["treated"].notna().to_numpy()
    table = sessions.table[taking].reset_index(drop=True)
    value = sessions.scores.loc[taking, metric].to_numpy(dtype=float)
    treated = table["treated"].to_numpy(dtype=bool)
    if fill is not None:
        value = np.where(np.isnan(value), np.where(treated, fill[1], fill[0]), value)
    guess = np.array(
        [
            known.of(sessions.clusters[c], s)
            for c, s in zip(table["cluster"].to_numpy(), table["stratum"].to_numpy(dtype=object), strict=True)
        ],
        dtype=float,
    )
    key = table["cluster"].to_numpy(dtype=np.int64) * 2 + treated
    codes, uniques = pd.factorize(key)
    first = np.unique(codes, return_index=True)[1] if len(codes) else np.empty(0, dtype=np.int64)
    scored = np.isfinite(value)
    count = np.bincount(codes[scored], minlength=len(uniques))
    with np.errstate(invalid="ignore", divide="ignore"):
        raw, rest = (
            np.where(count > 0, np.bincount(codes[scored], x[scored], minlength=len(uniques)) / count, np.nan)
            for x in (value, value - guess)
        )
    size = np.bincount(codes, minlength=len(uniques))
    units = table.loc[first, ["cluster", "treated", "stratum"]].reset_index(drop=True)
    units = units.assign(treated=units["treated"].astype(bool), n_sessions=size, n_unscored=size - count)
    return Units(units, np.asarray(rest, dtype=float), np.asarray(raw, dtype=float))


def pair_units(units: Units, sessions: Sessions, *, by_stratum: bool) -> Pairs:
    """Return the pairs of units; inside strata where there is no history to subtract."""
    cluster = units.table["cluster"].to_numpy(dtype=np.int64)
    if by_stratum:
        return _inside_strata(units)
    both = pd.Series(units.treated).groupby(cluster).nunique()
    twin = np.where(np.isin(cluster, both.index[both > 1].to_numpy()), cluster, -1)
    first = [sessions.clusters[c] for c in cluster[::BLOCK]]
    swap = [hashlib.sha256(f"pairs:{name}".encode()).digest()[0] % 2 == 1 for name in first]
    return trial_pairs(units.treated, units.scored, twin=twin if (twin >= 0).any() else None, swap=swap)


def _inside_strata(units: Units) -> Pairs:
    parts = []
    codes = pd.factorize(units.table["stratum"].astype(object), use_na_sentinel=False)[0]
    for code in range(int(codes.max()) + 1 if len(codes) else 0):
        here = np.flatnonzero(codes == code)
        found = trial_pairs(units.treated[here], units.scored[here])
        parts.append((here[found.treated], here[found.control], here[found.closed], found.unpaired))
    treated, control, closed = (np.concatenate([np.empty(0, dtype=np.int64), *(p[i] for p in parts)]) for i in range(3))
    order = np.argsort(closed, kind="stable")
    return Pairs(treated[order], control[order], closed[order], sum(p[3] for p in parts), 0)


def path_of(units: Units, pairs: Pairs, known: Expected, rules: PromotionPolicy) -> TrialPath:
    """Return the path of the evidence under a policy: without end, or with the promised number of units."""
    if rules.mode == "open_ended":
        d = units.value[pairs.treated] - units.value[pairs.control]
        sd = 2**0.5 * known.sd
        return e_path(d, sd=sd, alpha=rules.alpha, beta=rules.beta, worthwhile=rules.worthwhile)
    scored = np.flatnonzero(units.scored)
    looks = np.searchsorted(scored, pairs.closed, side="right")
    return welch_path(
        units.value[scored],
        units.treated[scored],
        looks,
        planned=max(rules.budget // 2, 1),
        alpha=rules.alpha,
        beta=rules.beta,
        gamma=rules.gamma,
        worthwhile=rules.worthwhile,
        min_effect=rules.min_effect,
    )
