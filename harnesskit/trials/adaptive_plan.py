"""What an adaptive run would cost and could see, before anything is spent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from harnesskit.model.contract import Contract
from harnesskit.stats.run_path import run_path, step_bounds
from harnesskit.stats.sequential import crossing
from harnesskit.trials.frozen import Frozen
from harnesskit.trials.win_tests import WinTests

DROPS = (0.05, 0.10, 0.20)

PLAN = Contract(
    name="regression plan",
    grain="drop and where it falls",
    key=("drop", "where"),
    columns={
        "drop": "fall of the mean of one win, on the 0-to-1 scale",
        "where": "all metrics of the win together, or one metric alone",
        "chance_first_look": "chance that a win fallen by this much is called regressed after 2 candidate runs",
        "chance_budget": "chance when the win gets the replays the budget leaves for a few fallen wins",
        "chance_end": "chance when the win is replayed to the end of its path",
        "runs_to_see": "candidate runs of the win after which the chance is .80; missing when the path is too short",
        "replays_to_see": "the same with its control top-ups: what seeing it costs",
        "sd": "standard deviation of one run assumed for it",
        "wins": "protected wins of the run",
        "budget": "replays of the run, control top-ups included",
        "controls": "control runs per win there are (median)",
        "basis": "where the noise comes from",
    },
)
FALLEN = 0.05
"""Share of the wins that the chance under the budget takes to have fallen."""


class _Chances(NamedTuple):
    first: float
    budget: float
    end: float
    runs: float
    replays: float


def plan_frame(frozen: Frozen) -> pd.DataFrame:
    """Return one row per drop and place (all metrics, one metric): chances to see it, and what that costs (`PLAN`).

    Normal approximation with the noise of the control bank, for a win with the usual number of control runs; the
    budget is taken to be shared evenly among a twentieth of the wins, half of it lost on others.
    """
    tests, rows = WinTests(frozen), []
    depths = sorted(len(runs) for runs in frozen.bank if runs)
    m = depths[len(depths) // 2] if depths else 0
    family = max(frozen.families, key=len, default=())
    source = str(frozen.baseline.get("source", "none"))
    for where in ("all metrics", "one metric"):
        for drop in DROPS:
            chances, sd = _Chances(*([float("nan")] * 5)), float("nan")
            if family and m:
                chances, sd = _chances(frozen, tests, family, m, drop, where)
            rows.append(
                {
                    "drop": drop, "where": where, "chance_first_look": chances.first, "chance_budget": chances.budget,
                    "chance_end": chances.end, "runs_to_see": chances.runs, "replays_to_see": chances.replays, "sd": sd,
                    "wins": len(frozen.wins), "budget": frozen.budget, "controls": m,
                    "basis": f"control bank ({source})",
                }
            )  # fmt: skip
    return PLAN.order(pd.DataFrame(rows, columns=list(PLAN.columns)))


def _chances(
    frozen: Frozen, tests: WinTests, family: tuple[int, ...], m: int, drop: float, where: str
) -> tuple[_Chances, float]:
    policy, directions = frozen.policy, tests.directions(family)
    alone = np.flatnonzero(directions.subsets.sum(axis=1) == 1)
    signal = directions.gain / np.sqrt(directions.s2)
    place = 0 if where == "all metrics" else int(alone[np.argmin(signal[alone])])
    drift = drop * float(signal[place])
    share = float(tests.shares(family, family)[place])
    level = tests.level / max(len(frozen.wins), 1) * share
    kept = {"n_max": policy.n_max, "top_up": frozen.top_up}
    path = run_path(m, **kept)
    bounds = step_bounds(m, level, gamma=policy.gamma, **kept)
    looks = np.isfinite(bounds)
    by_look = np.zeros(len(bounds))
    by_look[looks] = crossing(path.info[looks], bounds[looks], drift=drift).by_look if looks.any() else 0.0
    by_look = by_look * _margin_kept(drop, policy.min_drop)
    spare = (frozen.budget - len(frozen.wins)) / 2 / max(1.0, FALLEN * len(frozen.wins))
    enough = np.flatnonzero(by_look >= 0.8)
    seen = int(enough[0]) if len(enough) else None
    return _Chances(
        float(by_look[int(np.argmax(path.n >= 2))]),
        float(by_look[min(int(spare), len(by_look) - 1)]),
        float(by_look[-1]),
        float("nan") if seen is None else float(path.n[seen]),
        float("nan") if seen is None else float(seen + 1),
    ), float(np.sqrt(directions.raw_s2[alone].mean()))


def _margin_kept(drop: float, margin: float) -> float:
    """Return a rough chance that a drop that is real also shows at least the margin: half of it at the margin."""
    return float(special.ndtr((drop - margin) / 0.02))


def plan_text(frame: pd.DataFrame) -> str:
    """Return the plan in lines, for people."""
    if not len(frame):
        return "Nothing to plan."
    first = frame.iloc[0]
    basis = f"{first['basis']}, {int(first['controls'])} control runs per win, sd of one run {first['sd']:.2f}"
    lines = [f"{int(first['wins'])} wins, {int(first['budget'])} replays at most ({basis})."]
    for _, row in frame.iterrows():
        cost = (
            "not within the path of one win" if pd.isna(row["runs_to_see"])
            else f"{int(row['runs_to_see'])} runs ({int(row['replays_to_see'])} replays) of that win for .80"
        )  # fmt: skip
        chance = f"chance {row['chance_budget']:.2f} within the budget"
        lines.append(f"  a drop of {row['drop']:.2f} in {row['where']}: {chance}; {cost}")
    return "\n".join(lines)
