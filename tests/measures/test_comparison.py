"""The mean change over common cases, held against scipy and statsmodels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from made_scores import null_world
from scipy import stats

from harnesskit.measures.comparison import compare_runs
from harnesskit.measures.deltas import case_deltas
from harnesskit.model.metrics import Metric
from harnesskit.model.results import COMPARISON


def deltas_of(*changes: float, **columns: object) -> pd.DataFrame:
    return pd.DataFrame({"case_id": [f"c{i}" for i in range(len(changes))], "metric": "q", "delta": changes, **columns})


def test_interval_and_bound_are_scipys() -> None:
    changes = [0.1, 0.05, -0.02, -0.2, 0.12, 0.07]
    row = compare_runs(deltas_of(*changes)).iloc[0]
    expected = stats.ttest_1samp(changes, 0)
    assert (row["low"], row["high"]) == pytest.approx(tuple(expected.confidence_interval()))
    one_sided = stats.ttest_1samp([-c for c in changes], 0, alternative="less").confidence_interval().high
    assert row["drop_bound"] == pytest.approx(one_sided)
    assert row["drop_p"] == pytest.approx(stats.ttest_1samp(changes, 0, alternative="less").pvalue)


def test_clusters_are_statsmodels_cr1_with_g_minus_1_df() -> None:
    changes = np.array([0.1, 0.12, 0.08, -0.1, -0.12, 0.02, 0.3])
    cluster = ["a", "a", "a", "b", "b", "c", None]  # the last case stands alone
    row = compare_runs(deltas_of(*changes, cluster=cluster)).iloc[0]
    fit = sm.OLS(changes, np.ones(7)).fit(cov_type="cluster", cov_kwds={"groups": [0, 0, 0, 1, 1, 2, 3]})
    se = float(fit.bse[0]) * ((7 - 1) / 7) ** 0.5 * (7 / (7 - 1)) ** 0.5
    assert row["high"] - row["delta"] == pytest.approx(stats.t.isf(0.025, 3) * se)
    assert row["interval_kind"] == "t over clusters"


def test_columns_follow_the_contract_and_counts_add_up() -> None:
    deltas = case_deltas(*null_world(np.random.default_rng(1), cases=12, metrics=2, trials=3))
    found = compare_runs(deltas)
    assert list(found.columns) == list(COMPARISON.columns)
    assert found[["kind", "metric"]].to_numpy().tolist() == [["win", "m0"], ["win", "m1"]]
    states = ["n_regressed", "n_improved", "n_unchanged", "n_inconclusive", "n_skipped"]
    assert (found[states].sum(axis=1) == found["n_cases"]).all()
    assert found["n_paired"].tolist() == [12, 12]


@pytest.mark.parametrize(
    ("before", "after", "percent"), [(0.0, 0.4, None), (0.4, 0.0, -100.0), (0.0, 0.0, None), (0.4, 0.4, 0.0)]
)
def test_percent_is_not_available_from_zero(before: float, after: float, percent: float | None) -> None:
    frame = deltas_of(after - before, baseline=before, candidate=after)
    found = compare_runs(frame).loc[0, "percent"]
    assert pd.isna(found) if percent is None else found == pytest.approx(percent)


def test_one_case_has_a_value_and_no_interval() -> None:
    row = compare_runs(deltas_of(-0.2)).iloc[0]
    assert row["delta"] == -0.2
    assert pd.isna(row[["low", "high", "interval_kind", "drop_bound", "drop_p"]]).all()
    assert "fewer than 2 cases" in row["warning"]


def test_equal_changes_are_no_proof_of_no_noise() -> None:
    row = compare_runs(deltas_of(-0.05, -0.05, -0.05)).iloc[0]
    assert row["low"] < -0.05 < row["high"]
    assert "smallest noise assumed" in row["interval_kind"]


def test_captured_baselines_are_called_biased() -> None:
    row = compare_runs(deltas_of(-0.1, -0.2, baseline_source=["captured", "control"])).iloc[0]
    assert row["baseline_source"] == "mixed"
    assert "selection" in row["warning"]


def test_lower_is_better_turns_the_drop_only() -> None:
    before = pd.DataFrame({"case_id": ["a", "b"], "metric": "h", "value": [0.1, 0.2]})
    deltas = case_deltas(before, before.assign(value=[0.3, 0.5]), metrics=[Metric("h", higher_is_better=False)])
    row = compare_runs(deltas).iloc[0]
    assert (row["delta"], row["drop"]) == (pytest.approx(0.25), pytest.approx(0.25))
    assert row["higher_is_better"] is False or row["higher_is_better"] == np.False_


def test_an_empty_table_stays_one() -> None:
    found = compare_runs(case_deltas(pd.DataFrame(), pd.DataFrame()))
    assert len(found) == 0
    assert list(found.columns) == list(COMPARISON.columns)
