"""The noise table finds the noise that was put in, says where its numbers come from, and splits off the judge."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from harnesskit.measures.noise_table import noise_table
from harnesskit.model.metrics import Metric
from tests.made_scores import made_scores


def repeats(sd: float, *, cases: int = 40, trials: int = 5, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return made_scores(rng.uniform(0.3, 0.7, (cases, 1, 1)) + rng.normal(0, sd, (cases, 1, trials)))


def test_the_interval_covers_the_noise_that_was_put_in_nine_times_of_ten() -> None:
    found = pd.concat([noise_table(repeats(0.06, cases=8, trials=3, seed=seed)) for seed in range(200)])
    covered = int(((found["low"] <= 0.06) & (found["high"] >= 0.06)).sum())
    assert stats.binomtest(covered, 200, 0.9).pvalue > 0.01
    assert (found["source"] == "measured").all()
    assert (found["df"] == 16).all()


def test_noise_without_repeats_is_assumed_and_has_no_interval() -> None:
    row = noise_table(repeats(0.06, trials=1)).iloc[0]
    assert (row["source"], row["sd"], row["df"]) == ("assumed", pytest.approx(0.1), 0)
    assert np.isnan(row["low"])
    assert "assumed" in row["warning"]
    few = noise_table(repeats(0.06, cases=3, trials=2)).iloc[0]
    assert few["source"] == "partly assumed"
    assert np.isnan(few["high"])


def test_runs_of_other_conditions_are_no_repeats() -> None:
    one = repeats(0.05, trials=1).assign(run_id="r1", role="control")
    two = one.assign(run_id="r2", value=one["value"] - 0.2)
    assert noise_table(pd.concat([one, two])).iloc[0]["source"] == "assumed"
    same = pd.concat([one, two]).assign(fingerprint='{"agent": "v1"}')
    assert noise_table(same).iloc[0]["source"] == "measured"


def test_collapses_and_grids_are_seen() -> None:
    rows = repeats(0.03, cases=60)
    rows.loc[rows.index % 12 == 0, "value"] = 0.0
    row = noise_table(rows).iloc[0]
    assert row["clipped"] > 0.05
    assert "collapse" in row["warning"]
    steps = noise_table(rows.assign(value=(rows["value"] * 4).round() / 4)).iloc[0]
    assert (steps["grid"], steps["floor"]) == (0.25, pytest.approx(0.25 / 12**0.5))


def test_units_are_those_of_the_metric_and_what_cannot_be_judged_says_why() -> None:
    rows = repeats(0.05)
    tens = noise_table(rows.assign(value=10 * rows["value"]), metrics=[Metric("m0", high=10)]).iloc[0]
    assert tens["sd"] == pytest.approx(10 * noise_table(rows).iloc[0]["sd"])
    blind = noise_table(rows, metrics=[Metric("m0", higher_is_better=None)]).iloc[0]
    assert np.isnan(blind["sd"])
    assert "direction not declared" in blind["warning"]


@pytest.mark.parametrize(("agent", "judge"), [(0.05, 0.1), (0.1, 0.03)])
def test_judging_again_splits_the_noise(agent: float, judge: float) -> None:
    rng = np.random.default_rng(1)
    runs = 0.5 + rng.normal(0, agent, (80, 5, 1))
    values = runs + rng.normal(0, judge, (80, 5, 3))
    index = pd.MultiIndex.from_product([range(80), range(5), range(3)], names=["case_id", "trial", "judging"])
    rows = index.to_frame(index=False).assign(metric="q", value=values.ravel())
    row = noise_table(rows, replay_cost=1.0).iloc[0]
    assert row["judge_sd"] == pytest.approx(judge, rel=0.1)
    assert row["agent_sd"] == pytest.approx(agent, rel=0.15)
    assert row["sd"] ** 2 == pytest.approx(row["agent_sd"] ** 2 + row["judge_sd"] ** 2 / 3, rel=1e-6)
    assert row["judge_calls"] == (2 if judge > agent else 1)


def test_row_order_changes_nothing() -> None:
    rows = repeats(0.05).assign(role="control", run_id="r")
    pd.testing.assert_frame_equal(noise_table(rows.sample(frac=1, random_state=3)), noise_table(rows))


def test_a_cost_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="replay_cost above 0"):
        noise_table(repeats(0.05), replay_cost=0)
