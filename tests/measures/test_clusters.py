"""Over cases and over clusters: both are shown; a file of 120 cases in 20 families gives the known numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from harnesskit.decisions.regression import decide_regression
from harnesskit.measures.clusters import compare_clusters
from harnesskit.measures.comparison import compare_runs
from harnesskit.measures.deltas import case_deltas


@pytest.fixture(scope="module")
def sides(shared: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = pd.read_csv(shared / "files" / "csv" / "long.csv")
    rows = rows.rename(columns={"family": "cluster", "passed": "value"}).drop(columns="score").assign(metric="passed")
    return tuple(rows[rows["arm"] == arm] for arm in ("baseline", "candidate"))  # type: ignore[return-value]


def test_all_trials_of_a_run_that_is_truly_worse_fail_it(sides) -> None:
    """No win alone can be called among 120 of a pass flag with 3 trials; the test of the mean of all wins can.

    METHODS 3.3 on stored data: the per-case means of all trials, one-sided at half of alpha_global.
    """
    deltas = case_deltas(*sides, policy="fixed:3")
    row = compare_runs(deltas).iloc[0]
    assert row["delta"] == pytest.approx(-0.1139, abs=1e-4)
    assert [row["cases_low"], row["cases_high"]] == pytest.approx([-0.182, -0.046], abs=1e-3)
    assert [row["clusters_low"], row["clusters_high"]] == pytest.approx([-0.170, -0.058], abs=1e-3)
    assert (row["interval_kind"], row["n_clusters"]) == ("t over clusters", 20)
    decision = decide_regression(deltas, compare_runs(deltas), policy="fixed:3")
    assert (decision.verdict, decision.reason) == ("fail", "drop of the mean of all wins")
    assert decision.reasons[0].startswith("The wins fell by 0.11 on average")


@pytest.mark.parametrize("policy", ["fixed:1", "fixed:3", "default"])
def test_one_trial_leaves_it_open_and_says_how_many_would_settle_it(sides, policy: str) -> None:
    before, after = (side[side["trial"] == 0] for side in sides)
    decision = decide_regression(case_deltas(before, after, policy=policy), policy=policy)
    assert decision.verdict == "inconclusive"
    assert decision.runs_needed == 240  # two more of each of 120 wins: then there are three, and three did settle it
    assert any("240" in reason for reason in decision.reasons)


def test_both_units_stand_side_by_side(sides) -> None:
    found = compare_clusters(case_deltas(*sides, policy="fixed:3")).set_index("over")
    assert found["n"].tolist() == [120, 20]
    assert found["used"].tolist() == [False, True]
    assert found.loc["cases", "design_effect"] == 1.0
    assert found.loc["clusters", "design_effect"] == pytest.approx(
        (found.loc["clusters", "se"] / found.loc["cases", "se"]) ** 2
    )


def test_over_clusters_is_the_clustered_regression_on_a_constant() -> None:
    rng = np.random.default_rng(3)
    family = rng.integers(0, 12, 90)
    delta = rng.normal(0, 0.1, 90) + rng.normal(0, 0.2, 12)[family]
    rows = pd.DataFrame({"case_id": [f"c{i:02d}" for i in range(90)], "metric": "q", "delta": delta, "cluster": family})
    found = compare_clusters(rows).set_index("over").loc["clusters"]
    fit = sm.OLS(delta, np.ones(90)).fit(cov_type="cluster", cov_kwds={"groups": family, "df_correction": True})
    assert found["se"] ** 2 == pytest.approx(float(fit.cov_params()[0, 0]) * (90 - 1) / 90 * 90 / 89, rel=1e-6)
    assert found["design_effect"] > 1
    assert compare_clusters(rows.sample(frac=1, random_state=1)).equals(compare_clusters(rows))


def test_without_clusters_and_with_few_of_them_the_table_says_so() -> None:
    rows = pd.DataFrame({"case_id": list("abcd"), "metric": "q", "delta": [-0.1, -0.1, 0.0, 0.02]})
    alone = compare_clusters(rows).set_index("over")
    assert alone["used"].tolist() == [True, False]
    assert "every case stands alone" in alone.loc["clusters", "warning"]
    assert np.isnan(alone.loc["clusters", "low"])
    few = compare_clusters(rows.assign(cluster=["f", "f", "g", "g"])).set_index("over")
    assert "fewer than 10 clusters (2)" in few.loc["clusters", "warning"]
    assert compare_clusters(rows.head(0)).empty
