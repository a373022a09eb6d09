"""The A/A check of a promotion: how often a rule that does nothing would have passed this policy on these banks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from harnesskit.measures.failed_runs import OUTCOME
from harnesskit.measures.promotion_trial import judging_policy
from harnesskit.model.analyses import AA_CHECK
from harnesskit.model.contract import require_kinds
from harnesskit.model.decision import GUARD_VERDICTS
from harnesskit.model.errors import FrameError, nearest
from harnesskit.model.metrics import Metrics
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.stats.cells import cell_variances
from harnesskit.stats.intervals import clopper_pearson
from harnesskit.stats.noise import ASSUMED_SD, pool_noise, sd_floor
from harnesskit.trials.promotion_frozen import scale_of
from harnesskit.trials.promotion_simulation import World, play

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_WINS = 40
OWN = 3
"""Control runs from which a case is drawn by its own spread; below it by that of all cases of its kind."""
NOTHING = "no draw: none of {n} failing cases has two control runs; replay the unchanged agent again (role control)"


class _Bank(NamedTuple):
    """Control runs of the cases of one kind, (runs, metrics) each, the target first."""

    runs: list[Floats]
    low: Floats
    high: Floats

    def draws(self, chosen: list[int], rng: np.random.Generator) -> Any:
        """Return what draws runs of the chosen cases: their mean, with their own spread."""
        pooled = np.concatenate([_residuals(runs) for runs in self.runs if len(runs) > 1])

        def draw(place: int, n: int) -> Floats:
            runs = self.runs[chosen[place]]
            spread = _residuals(runs) if len(runs) >= OWN else pooled
            values = runs.mean(axis=0) + spread[rng.integers(len(spread), size=n)]
            return np.asarray(np.clip(values, self.low, self.high), dtype=float)

        return draw


def _residuals(runs: Floats) -> Floats:
    """Return deviations from the mean, as large as those of new runs."""
    return np.asarray((runs - runs.mean(axis=0)) * (len(runs) / (len(runs) - 1)) ** 0.5, dtype=float)


def promotion_aa(
    scores: pd.DataFrame,
    run: NDArray[np.int64],
    *,
    policy: str | PromotionPolicy,
    draws: int,
    seed: int,
    metrics: Metrics,
    target_metric: str | None,
) -> pd.DataFrame:
    """Return one row per verdict of a guard; see `harnesskit.aa_check`.

    Parameters
    ----------
    scores, run
        Rows of control runs, and the number of the run of each row.
    """
    rules = judging_policy(policy, by="aa_check()")
    wide, target = _wide(scores, run, metrics, target_metric)
    failures, wins = (_bank_of(wide, kind, target, metrics) for kind in ("failure", "win"))
    able = [place for place, runs in enumerate(failures.runs) if len(runs) > 1]
    if not able:
        draws = 0
    rng = np.random.default_rng(seed)
    prior_sd = _prior_sd(wins, rules)
    played = []
    for _ in range(draws):
        chosen = rng.permutation(able)[: rules.max_failures].tolist()
        guarded = rng.permutation(len(wins.runs))[:MOST_WINS].tolist() if any(len(r) > 1 for r in wins.runs) else []
        world = World(
            failures.draws(chosen, rng),
            wins.draws(guarded, rng) if guarded else lambda place, n: np.zeros((n, 1)),
            [len(failures.runs[place]) for place in chosen],
            [len(wins.runs[place]) for place in guarded],
            metrics=wins.low.shape[0],
        )
        played.append(play(world, rules, prior_sd))
    counts = [sum(one.verdict == verdict for one in played) for verdict in GUARD_VERDICTS]
    said = [f"drawn as a rule that changes {target} by nothing; its control runs are drawn anew each time"]
    if played:
        said.append(f"a trial took {np.mean([one.replays for one in played]):.1f} replays on average")
    facts = {
        "draws": draws, "n_cases": len(able) + len(wins.runs), "policy": rules.label, "blamed": None,
        "trials_baseline": float(np.mean([len(r) for r in (*failures.runs, *wins.runs)])) if played else np.nan,
        "trials_candidate": np.nan,
        "warning": "; ".join(said) if played else NOTHING.format(n=len(failures.runs)),
    }  # fmt: skip
    rows = [_row(verdict, n, draws) | facts for verdict, n in zip(GUARD_VERDICTS, counts, strict=True)]
    frame = pd.DataFrame(rows).astype({"n": "Int64", "draws": "Int64", "n_cases": "Int64", "blamed": object})
    return AA_CHECK.order(frame)


def _wide(
    scores: pd.DataFrame, run: NDArray[np.int64], metrics: Metrics, target: str | None
) -> tuple[pd.DataFrame, str]:
    """Return one row per control run on the common scale: ``case_id, kind``, and a column per metric."""
    kind = scores["kind"] if "kind" in scores else pd.Series("win", index=scores.index)
    require_kinds(kind, by="aa_check()")
    rows = scores.assign(run=run, kind=kind.where(kind.notna() & (kind != ""), "win"))
    rows = rows[pd.to_numeric(rows["value"], errors="coerce").notna() & rows["metric"].notna()]
    if "status" in rows:
        rows = rows[rows["status"].isna() | rows["status"].isin(("ok", "scored", ""))]
    wide = rows.pivot_table(index=["case_id", "kind", "run"], columns="metric", values="value", aggfunc="mean")
    columns = {}
    for name in map(str, wide.columns):
        scale = scale_of(name, wide[name].dropna().tolist(), metrics)
        if scale:
            columns[name] = scale[0].sign * wide[name] / scale[0].unit
    found = pd.DataFrame(columns, index=wide.index).reset_index()
    named = target or _usual_target(found)
    if named not in columns:
        raise FrameError(
            f"aa_check(): no control run is scored in {named!r}{nearest(named, list(columns))}; "
            f"there are {', '.join(sorted(columns)) or 'no metrics'}."
        )
    return found, named


def _usual_target(runs: pd.DataFrame) -> str:
    """Return the outcome where 80 % of the failures' runs have it, else the metric that most of them have."""
    names = [str(name) for name in runs.columns if name not in ("case_id", "kind", "run")]
    failing = runs[runs["kind"] == "failure"]
    if OUTCOME in names and len(failing) and failing[OUTCOME].notna().mean() >= 0.8:
        return OUTCOME
    return max(names, key=lambda name: (failing[name].count(), name), default="")


def _bank_of(wide: pd.DataFrame, kind: str, target: str, metrics: Metrics) -> _Bank:
    """Return the runs of each case of a kind, those that have every metric that most runs of the kind have."""
    rows = wide[wide["kind"] == kind]
    names = [str(name) for name in wide.columns if name not in ("case_id", "kind", "run")]
    kept = [name for name in names if name != target and len(rows) and rows[name].notna().mean() >= 0.5]
    if len(rows) == 0 or rows[target].notna().any() or kind == "failure":
        kept = [target, *kept]
    whole = rows.dropna(subset=kept)
    runs = [group[kept].to_numpy(dtype=float) for _, group in whole.groupby("case_id", sort=True)]
    scales = [(metrics[name], scale_of(name, [], metrics)) for name in kept]
    ends = [sorted((s[0].sign * s[0].low / s[0].unit, s[0].sign * s[0].high / s[0].unit)) for _, s in scales if s]
    low, high = (np.array([pair[at] for pair in ends], dtype=float) for at in (0, 1))
    return _Bank(runs, low, high)


def _prior_sd(wins: _Bank, policy: PromotionPolicy) -> float:
    """Return the standard deviation of one run as a trial would take it, from the wins."""
    if policy.prior_sd is not None or not wins.runs:
        return policy.prior_sd or ASSUMED_SD
    case = np.repeat(np.arange(len(wins.runs)), [len(runs) for runs in wins.runs])
    values = np.concatenate([runs[:, 0] for runs in wins.runs])
    found = cell_variances(values, case, case, len(wins.runs))
    return float(pool_noise(found.s2, found.df, floor=sd_floor(values)).prior.s2 ** 0.5)


def _row(verdict: str, n: int, draws: int) -> dict[str, Any]:
    if not draws:
        return {"verdict": verdict, "n": 0, "share": np.nan, "low": np.nan, "high": np.nan}
    low, high = clopper_pearson(n, draws)
    return {"verdict": verdict, "n": n, "share": n / draws, "low": low, "high": high}
