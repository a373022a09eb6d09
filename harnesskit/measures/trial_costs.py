"""What the trials of each arm cost and how long they took, with paired differences; the case as the unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from harnesskit.measures.pass_differences import baseline_arm
from harnesskit.model.frames import SAMPLES
from harnesskit.model.study_results import TRIAL_COSTS
from harnesskit.stats.intervals import mean_interval

QUANTITIES = ("cost_usd", "duration_s", "input_tokens", "output_tokens")
_BY = "trial_costs()"


def trial_costs(samples: pd.DataFrame, *, arm: str = "arm", baseline: str | None = None) -> pd.DataFrame:
    """Give cost, latency and tokens of each arm: one row per arm and quantity.

    Means are over cases, of the trials that count; `total` is what was spent, retries included. A trial without the
    figure is counted in `n_missing` and in no mean: it is not free.

    Parameters
    ----------
    samples
        Rows of the table samples: ``case_id``, the column `arm`, and of ``cost_usd, duration_s, input_tokens,
        output_tokens, counts`` those that are there.
    arm
        Column that names the arm.
    baseline
        As for `harnesskit.pass_differences`.

    Returns
    -------
    DataFrame
        By the contract ``trial costs``, the baseline first; quantities that no trial has are left out.

    Raises
    ------
    FrameError
        A column is missing.
    PolicyError
        There is no arm `baseline`.

    Examples
    --------
    >>> rows = pd.DataFrame({"case_id": list("aabb"), "arm": ["control", "new"] * 2, "cost_usd": [1.0, 2.0, 3.0, 5.0]})
    >>> trial_costs(rows)[["arm", "mean", "delta"]].fillna(0).values.tolist()
    [['control', 2.0, 0.0], ['new', 3.5, 1.5]]
    """
    SAMPLES.require(samples, "case_id", arm, by=_BY)
    rows = samples[samples["case_id"].notna() & samples[arm].notna()]
    counts = (
        rows["counts"].ne(False).fillna(True).to_numpy(dtype=bool) if "counts" in rows else np.ones(len(rows), bool)
    )
    names = rows[arm].astype(str)
    base = baseline_arm(sorted(names.unique()), baseline, _BY)
    found = []
    for quantity in QUANTITIES:
        if quantity not in rows:
            continue
        value = pd.to_numeric(rows[quantity], errors="coerce").astype(float)
        if value.isna().all():
            continue
        frame = pd.DataFrame({"arm": names, "case_id": rows["case_id"], "value": value, "counts": counts})
        found += _of_quantity(frame, quantity, base)
    out = pd.DataFrame(found, columns=list(TRIAL_COSTS.columns))
    return out.astype(dict.fromkeys(("n_cases", "n_trials", "n_missing", "n_paired"), "Int64"))


def _of_quantity(frame: pd.DataFrame, quantity: str, base: str | None) -> list[dict[str, Any]]:
    """Return one row per arm, the baseline first."""
    evidence = frame[frame["counts"]]
    per_case = evidence.groupby(["arm", "case_id"])["value"].mean().dropna()
    known = set(per_case.index.get_level_values("arm"))
    rows = []
    for name in sorted(frame["arm"].unique(), key=lambda one: (one != base, one)):
        own = evidence.loc[evidence["arm"] == name, "value"]
        cases = per_case.loc[name] if name in known else pd.Series(dtype=float)
        found = mean_interval(cases.to_numpy(dtype=float))
        row: dict[str, Any] = {
            "arm": name, "quantity": quantity, "n_cases": len(cases), "n_trials": int(own.notna().sum()),
            "n_missing": int(own.isna().sum()), "mean": found.mean, "low": found.low, "high": found.high,
            "median": own.median(), "p90": own.quantile(0.9), "n_paired": None,
            "total": frame.loc[frame["arm"] == name, "value"].sum(min_count=1),
        }  # fmt: skip
        if base is not None and name != base and base in known:
            change = (cases - per_case.loc[base]).dropna().to_numpy(dtype=float)
            delta = mean_interval(change)
            row |= {"baseline": base, "delta": delta.mean, "delta_low": delta.low, "delta_high": delta.high,
                    "n_paired": len(change)}  # fmt: skip
        rows.append(row)
    return rows
