"""The A/A check: how often this policy, on this data, would have failed, or let through, what changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from harnesskit.decisions.regression import regression_verdict
from harnesskit.measures.deltas import judge_pairs
from harnesskit.measures.evidence import scales
from harnesskit.measures.pairing import BASELINE, CANDIDATE, Pairs, pair_cases
from harnesskit.measures.trials import SCORED
from harnesskit.model.analyses import AA_CHECK
from harnesskit.model.decision import REGRESSION_VERDICTS
from harnesskit.model.errors import listed
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.names import row_numbers
from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.views import CASE_SCORES
from harnesskit.stats.cells import cell_order
from harnesskit.stats.intervals import clopper_pearson
from harnesskit.trials.promotion_aa import promotion_aa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_RUN_KEYS = ("sample_id", "run_id", "arm", "round", "trial")
NOTHING = "no draw: none of {all} wins has two control runs; replay the unchanged agent again (role control)"
_ONE_CASE = "{n} of {all} wins have a single control run and take no part"
_FEW = "{n} of {all} wins have too few control runs for {trials} candidate trials and one for the baseline"
_FEWER = "each side has fewer trials than a comparison with all control runs has: read it as the gate at that size"
_ADAPTIVE = "judged as stored trials, as an adaptive run is not"


class _Control(NamedTuple):
    """Control runs, matched once; every draw deals them out anew."""

    pairs: Pairs
    """Its runs have a column ``run`` instead of a side."""
    case: Ints
    """Case of each run."""
    condition: Ints
    """Fingerprint of each run."""
    runs: Ints
    """Runs of each case."""


def aa_check(
    scores: pd.DataFrame,
    *,
    policy: str | RegressionPolicy | PromotionPolicy = "default",
    draws: int = 200,
    seed: int = 0,
    metrics: Iterable[Metric] | None = None,
    target_metric: str | None = None,
) -> pd.DataFrame:
    """Say how often a change that changes nothing would fail, or pass, a policy: one row per verdict.

    Every draw splits the control runs of each win at random into a baseline and a candidate (all metrics of a run stay
    together) and judges them as stored trials: `case_deltas` and `decide_regression`. Both sides are the same agent, so
    every ``fail`` is a false alarm, whatever the noise of the data looks like; ``blamed`` names the cases that raise
    them, most often flaky ones. ``inconclusive`` says that so few trials cannot pass. The candidate gets the trials of
    a fixed plan, one under the policy ``reference``, else half of them.

    Parameters
    ----------
    scores
        Control runs of one agent: rows of case_scores (of other roles only those of arm ``control`` are used), or any
        frame with ``case_id, metric, value``; used when there: ``kind`` (default win), ``trial``, ``run_id``,
        ``sample_id``. Without these, the n-th rows of a case in its metrics are one run.
    policy
        As for `harnesskit.case_deltas`. A `harnesskit.PromotionPolicy`, or the name of one that is no regression
        policy (``budgeted``, ``open_ended``, ``certified``, ``budgeted:20``): whole trials of a rule that does nothing
        are played on the banks of failures and wins, each run drawn by the spread of its case, and every ``promote``
        is a useless rule that would have passed.
    draws
        Number of splits, or of trials, at least 1.
    seed
        Seed of the splits.
    metrics
        Declarations of metrics.
    target_metric
        Promotion: the metric that the rule is to improve; the outcome where it is known, else the one that most
        failures have.

    Returns
    -------
    DataFrame
        By the contract ``A/A check``: pass, fail, inconclusive (promotion: promote, retire, pending). The interval is
        that of the draws (Clopper-Pearson); they share the same control runs, which it does not cover. Without two
        control runs of a win (promotion: of a failure) there is no draw, and ``warning`` says so.

    Raises
    ------
    FrameError
        A column is missing, a score is text, or one metric has two graders.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(0.8, 0.03, 120)
    >>> rows = pd.DataFrame({"case_id": [f"c{i}" for i in range(20)] * 6, "metric": "q", "value": values})
    >>> found = aa_check(rows, draws=20)
    >>> found[["verdict", "n", "draws"]].values.tolist()
    [['pass', 20, 20], ['fail', 0, 20], ['inconclusive', 0, 20]]
    """
    if draws < 1:
        raise ValueError(f"aa_check() needs draws of at least 1, found {draws}")
    known = Metrics.of(metrics)
    guard = policy if isinstance(policy, PromotionPolicy) else _promotion_named(policy)
    if guard is not None:
        CASE_SCORES.require(scores, "case_id", "metric", "value", by="aa_check()")
        rows = _control_rows(scores).reset_index(drop=True)
        return promotion_aa(
            rows, _run_numbers(rows), policy=guard, draws=draws, seed=seed, metrics=known, target_metric=target_metric
        )
    rules = RegressionPolicy.parse(policy if isinstance(policy, str | RegressionPolicy) else "default")
    control = _control(scores, known)
    size = _candidate_runs(control.runs, rules)
    if not (size > 0).any():
        draws = 0
    rng = np.random.default_rng(seed)
    scale = scales(control.pairs, known)
    verdicts: list[str] = []
    blamed: Counter[str] = Counter()
    for _ in range(draws):
        deltas = judge_pairs(_dealt(control, size, rng), scale, rules, as_text=False)
        verdicts.append(regression_verdict(deltas, policy=rules))
        blamed.update(set(deltas.loc[deltas["status"] == "regressed", "case_id"]))
    used = size > 0
    facts: dict[str, object] = {
        "draws": draws, "n_cases": int(used.sum()), "policy": rules.label,
        "trials_baseline": float((control.runs - size)[used].mean()) if draws else np.nan,
        "trials_candidate": float(size[used].mean()) if draws else np.nan,
        "warning": _warning(control.runs, size, rules),
    }  # fmt: skip
    frame = pd.DataFrame([_row(verdict, verdicts.count(verdict), draws) | facts for verdict in REGRESSION_VERDICTS])
    frame["blamed"] = [_blamed(blamed) if verdict == "fail" else None for verdict in frame["verdict"]]
    return AA_CHECK.order(frame.astype({"n": "Int64", "draws": "Int64", "n_cases": "Int64"}))


def _promotion_named(policy: str | RegressionPolicy) -> PromotionPolicy | None:
    """Return the policy of a name that judges guards and no regression run, None for any other."""
    named = isinstance(policy, str) and policy.partition(":")[0] in ("budgeted", "open_ended", "certified")
    return PromotionPolicy.parse(str(policy)) if named else None


def _control(scores: pd.DataFrame, known: Metrics) -> _Control:
    """Return the control runs of wins, each with a number of its own."""
    CASE_SCORES.require(scores, "case_id", "metric", "value", by="aa_check()")
    rows = _control_rows(scores).reset_index(drop=True)
    run = _run_numbers(rows)
    named = rows.assign(fingerprint=run.astype(str))  # a run is told from the others of its case by this text
    pairs = pair_cases(named, pd.DataFrame(), known, by="aa_check()")
    wins = (pairs.cells["kind"] == "win").to_numpy(dtype=bool)
    cells = pairs.cells[wins].reset_index(drop=True).assign(n_unscored=0, n_skipped=0, captured=False)
    scored = pairs.trials[(pairs.trials["state"] == SCORED) & wins[pairs.trials["cell"]]]
    cell = (np.cumsum(wins) - 1)[scored["cell"].to_numpy(dtype=np.int64)]
    seen, number = np.unique(
        scored["fingerprint"].astype(object).astype(int).to_numpy(dtype=np.int64), return_inverse=True
    )
    case = np.zeros(len(seen), dtype=np.int64)
    case_of_cell, cases = pd.factorize(cells["case_id"])
    case[number] = case_of_cell[cell]
    condition = np.zeros(len(rows), dtype=np.int64)
    if "fingerprint" in rows:
        condition[run] = pd.factorize(rows["fingerprint"])[0]
    runs = pd.DataFrame({"cell": cell, "arm": BASELINE, "value": scored["value"].to_numpy(dtype=float), "run": number})
    found = replace(pairs, cells=cells, runs=runs, trials=pairs.trials.iloc[:0])
    return _Control(found, case, condition[seen], np.bincount(case, minlength=len(cases)))


def _control_rows(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of control runs; all of them in a frame that names no role."""
    if "role" not in scores:
        return scores
    control = scores["role"].eq("control")
    if "arm" in scores:
        control |= scores["arm"].eq("control")
    return scores[control.fillna(False).to_numpy(dtype=bool)]


def _run_numbers(rows: pd.DataFrame) -> Ints:
    """Return the number of the run that each row belongs to: the same for all metrics of a run."""
    keys = [c for c in _RUN_KEYS if c in rows and rows[c].notna().any()]
    if not {"sample_id", "trial"} & set(keys):
        nth = rows.groupby(
            [c for c in ("case_id", "metric", *keys) if c in rows], dropna=False, observed=True
        ).cumcount()
        rows, keys = rows.assign(nth=nth), [*keys, "nth"]
    if "sample_id" in keys and rows["sample_id"].notna().all():
        keys = ["sample_id"]
    return np.asarray(rows.groupby(["case_id", *keys], dropna=False, observed=True).ngroup(), dtype=np.int64)


def _candidate_runs(runs: Ints, rules: RegressionPolicy) -> Ints:
    """Return how many runs of each win stand for the candidate; 0 for a win that cannot take part."""
    wanted = rules.trials if rules.trials is not None else 1 if rules.margin is not None else None
    size = (
        np.maximum(runs // 2, np.minimum(rules.min_trials, runs - 1)) if wanted is None else np.full(len(runs), wanted)
    )
    return np.asarray(np.where(runs >= 2, np.clip(size, 1, np.maximum(runs - 1, 1)), 0), dtype=np.int64)


def _dealt(control: _Control, size: Ints, rng: np.random.Generator) -> Pairs:
    """Return the control runs as two sides: `size` runs of each win, drawn at random, are the candidate."""
    n = len(control.case)
    order = np.lexsort((rng.random(n), control.case))
    start = np.cumsum(control.runs) - control.runs
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n) - np.repeat(start, control.runs)
    arm = np.where(rank < size[control.case], CANDIDATE, BASELINE)
    cells, runs = control.pairs.cells, control.pairs.runs
    use = (size > 0)[control.case][runs["run"].to_numpy()]
    run = runs["run"].to_numpy(dtype=np.int64)[use]
    cell, value = runs["cell"].to_numpy(dtype=np.int64)[use], runs["value"].to_numpy(dtype=float)[use]
    side, group = arm[run], control.condition[run]
    by = cell_order(value, row_numbers(cell, side, group))
    dealt = pd.DataFrame({"cell": cell[by], "arm": side[by], "value": value[by], "group": group[by]})
    count = {
        f"n_{name}": np.bincount(cell[side == code], minlength=len(cells))
        for code, name in ((BASELINE, "baseline"), (CANDIDATE, "candidate"))
    }
    return replace(control.pairs, cells=cells.assign(**count), runs=dealt)


def _row(verdict: str, n: int, draws: int) -> dict[str, object]:
    if not draws:
        return {"verdict": verdict, "n": 0, "share": np.nan, "low": np.nan, "high": np.nan}
    low, high = clopper_pearson(n, draws)
    return {"verdict": verdict, "n": n, "share": n / draws, "low": low, "high": high}


def _blamed(cases: Counter[str]) -> str | None:
    ranked = sorted(cases.items(), key=lambda item: (-item[1], item[0]))
    return listed([f"{case} ({n})" for case, n in ranked]) if ranked else None


def _warning(runs: Ints, size: Ints, rules: RegressionPolicy) -> str:
    if not (size > 0).any():
        return NOTHING.format(all=len(runs))
    doubts = []
    single, short = int((runs < 2).sum()), int(((size > 0) & (size < (rules.trials or 0))).sum())
    if single:
        doubts.append(_ONE_CASE.format(n=single, all=len(runs)))
    if short:
        doubts.append(_FEW.format(n=short, all=len(runs), trials=rules.trials))
    doubts.append(_FEWER)
    return "; ".join([*doubts, *([_ADAPTIVE] if rules.adaptive else [])])
