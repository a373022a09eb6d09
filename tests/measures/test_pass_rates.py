"""pass@k, pass^k and their differences: against enumeration, published values, statsmodels, and on their own null."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_scores import read_samples

import harnesskit as hk

RATES = ["k", "pass_at_k", "pass_hat_k", "n_cases", "n_trials", "n_short"]


def outcomes(*cases: list[float | None], **more: object) -> pd.DataFrame:
    rows = [
        {"case_id": f"c{i}", "metric": "ok", "value": value, "trial": trial}
        for i, values in enumerate(cases)
        for trial, value in enumerate(values, start=1)
    ]
    return pd.DataFrame(rows, columns=["case_id", "metric", "value", "trial"]).assign(**more)


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=6), min_size=1, max_size=5))
def test_rates_are_those_of_drawing_trials_by_hand(cases: list[list[float]]) -> None:
    """Every way to draw k of the trials of a case, and the share in which one, or all, pass; too few: not solved."""
    found = hk.pass_rates(outcomes(*cases), k=(1, 2, 4)).set_index("k")
    for k in (1, 2, 4):
        drawn = [list(combinations(values, k)) for values in cases]
        any_ = [np.mean([max(d) for d in draws]) if draws else 0.0 for draws in drawn]
        every = [np.mean([min(d) for d in draws]) if draws else 0.0 for draws in drawn]
        assert found.loc[k, "pass_at_k"] == pytest.approx(np.mean(any_))
        assert found.loc[k, "pass_hat_k"] == pytest.approx(np.mean(every))
        assert found.loc[k, "n_short"] == sum(len(values) < k for values in cases)


def test_published_values_hold_through_the_public_function(shared: Path) -> None:
    points = json.loads((shared / "checkpoints.json").read_text())["checkpoints"]
    point = next(p for p in points if p["id"] == "pass-01")
    n = point["input"]["n"]
    for i, c in enumerate(point["input"]["c"]):
        found = hk.pass_rates(outcomes([1.0] * c + [0.0] * (n - c)), k=point["input"]["k"])
        assert found["pass_at_k"].tolist() == pytest.approx(point["expected"]["pass_at"][i], abs=point["tol"])
        assert found["pass_hat_k"].tolist() == pytest.approx(point["expected"]["pass_hat"][i], abs=point["tol"])


def test_a_case_with_too_few_trials_is_not_solved_and_said() -> None:
    found = hk.pass_rates(outcomes([1.0, 1.0], [1.0]), k=2).iloc[0]
    assert found[RATES].tolist() == [2, 0.5, 0.5, 2, 3, 1]
    assert (found["pass_at_k_enough"], found["pass_hat_k_enough"]) == (1.0, 1.0)
    assert "1 of 2 cases have fewer than 2 scored trials: not solved" in found["note"]


def test_a_trial_without_a_score_is_neither_pass_nor_fail_unless_asked() -> None:
    scores = outcomes([1.0, None], [1.0, np.nan], [None, None])
    found = hk.pass_rates(scores, k=1).iloc[0]
    assert found[["pass_at_k", "n_cases", "n_trials", "n_unscored", "n_short"]].tolist() == [
        pytest.approx(2 / 3), 3, 2, 4, 1,
    ]  # fmt: skip
    failed = hk.pass_rates(scores, k=1, unscored="fail").iloc[0]
    assert failed["pass_at_k"] == pytest.approx((0.5 + 0.5 + 0) / 3)
    assert (failed["n_trials"], failed["n_unscored"], failed["n_short"]) == (6, 4, 0)


def test_an_attempt_without_any_metric_is_unscored_under_each() -> None:
    rows = pd.concat([outcomes([1.0]), outcomes([None]).assign(case_id="lost", metric=None)])
    assert hk.pass_rates(rows, k=1)[["metric", "n_cases", "n_unscored"]].to_numpy().tolist() == [["ok", 2, 1]]


def test_06_a_retry_and_a_double_row_are_no_further_trials(shared: Path) -> None:
    here = shared / "cases" / "06-retry-attempts"
    expected = json.loads((here / "expected.json").read_text())
    records = [json.loads(line) for line in (here / "samples.jsonl").read_text().splitlines()]
    rows = pd.DataFrame(
        [{**{n: r[n] for n in ("case_id", "sample_id", "run_id", "attempt")}, "metric": "ok", "trial": 1,
          "value": r["scores"].get("ok")} for r in records]
    )  # fmt: skip
    found = hk.pass_rates(rows, k=1).iloc[0]
    assert found["pass_at_k"] == expected["rate"]
    assert (found["n_cases"], found["n_trials"]) == (expected["cases"], expected["trials"])
    assert found["n_extra"] == expected["retried"] + expected["duplicate_rows"]
    assert found["n_unscored"] == 0


def test_01_a_mean_over_what_was_scored_says_so(shared: Path) -> None:
    records = [json.loads(x) for x in (shared / "cases/01-judge-nan-mean/run_b.jsonl").read_text().splitlines()]
    rows = pd.DataFrame([{"case_id": r["case_id"], "metric": "faithfulness",
                          "value": r["scores"].get("faithfulness")} for r in records])  # fmt: skip
    found = hk.pass_rates(rows, k=1, pass_at=0.5).iloc[0]
    assert (found["n_cases"], found["n_trials"], found["n_unscored"]) == (10, 5, 5)
    assert found["pass_at_k"] == 0.5
    assert found["pass_at_k_enough"] == 1.0


def test_09_repeats_are_not_more_cases(shared: Path) -> None:
    here = shared / "cases" / "09-pooled-repeats"
    sides = [read_samples(here / f"{name}.jsonl").assign(arm=name) for name in ("base", "new")]
    found = hk.pass_differences(pd.concat(sides), k=1, pass_at=0.7).iloc[0]
    expected = json.loads((here / "expected.json").read_text())
    assert (found["n_paired"], found["improved"], found["worse"]) == (4, expected["wins"], 0)
    assert found["p_value"] / 2 == expected["one_sided_sign_test_p_by_case"]


def test_20_a_score_at_the_bar_passes_and_one_below_does_not(shared: Path) -> None:
    rows = read_samples(shared / "cases/20-threshold-rounding/samples.jsonl")
    assert hk.pass_rates(rows, k=1, pass_at=0.8).loc[0, "pass_at_k"] == pytest.approx(4 / 6)


def test_17_direction_is_the_declared_one() -> None:
    rows = outcomes([2.0], [9.0]).assign(metric="latency_s")
    known = [hk.Metric("latency_s", high=None, higher_is_better=False, threshold=5.0)]
    assert hk.pass_rates(rows, k=1, pass_at=None, metrics=known).loc[0, "pass_at_k"] == 0.5


def test_27_nothing_and_one(recwarn: pytest.WarningsRecorder) -> None:
    assert hk.pass_rates(outcomes()).empty
    assert hk.pass_differences(outcomes().assign(arm="a")).empty
    one = hk.pass_rates(outcomes([1.0]), k=1).iloc[0]
    assert one["pass_at_k"] == 1.0
    assert np.isnan(one["at_low"])
    assert not recwarn.list


def test_graders_and_metrics_are_never_pooled() -> None:
    rows = pd.concat([outcomes([1.0]).assign(grader="a"), outcomes([0.0]).assign(grader="b")])
    assert hk.pass_rates(rows, k=1)[["grader", "pass_at_k"]].to_numpy().tolist() == [["a", 1.0], ["b", 0.0]]


def test_arms_that_are_pooled_are_named() -> None:
    rows = pd.concat([outcomes([1.0], arm="a"), outcomes([0.0], arm="b")])
    assert "trials of 2 arms are pooled" in hk.pass_rates(rows, k=1).loc[0, "note"]
    assert hk.pass_rates(rows, k=1, by="arm")["pass_at_k"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("k", [0, (), (1, 2.5), True])
def test_k_must_be_whole_numbers(k: object) -> None:
    with pytest.raises(hk.PolicyError, match="whole numbers from 1"):
        hk.pass_rates(outcomes([1.0]), k=k)


def test_the_interval_covers_with_few_cases_and_dependent_trials() -> None:
    """100 studies of 12 cases x 4 trials, every case with its own chance: the mean of the chances is .7."""
    rng, hit = np.random.default_rng(11), 0
    for _ in range(100):
        chance = rng.beta(1.4, 0.6, 12)
        cases = (rng.random((12, 4)) < chance[:, None]).astype(float)
        row = hk.pass_rates(outcomes(*cases.tolist()), k=1).iloc[0]
        hit += row["at_low"] <= 0.7 <= row["at_high"]
    assert hit / 100 >= 0.9


def test_cases_of_one_cluster_make_the_interval_wider() -> None:
    rows = outcomes(*([[1.0, 1.0]] * 10 + [[0.0, 0.0]] * 10))
    family = rows.assign(cluster=np.where(rows["case_id"].str[1:].astype(int) < 10, "f", "g"))
    alone, together = (hk.pass_rates(r, k=1).iloc[0] for r in (rows, family))
    assert together["n_units"] == 2
    assert together["at_high"] - together["at_low"] > alone["at_high"] - alone["at_low"]


def test_with_one_trial_the_test_is_mcnemars() -> None:
    contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
    rng = np.random.default_rng(5)
    before, after = rng.integers(0, 2, 40).astype(float), rng.integers(0, 2, 40).astype(float)
    sides = [outcomes(*[[v] for v in side], arm=arm) for side, arm in ((before, "control"), (after, "new"))]
    found = hk.pass_differences(pd.concat(sides), k=1).iloc[0]
    table = [[int(((before == i) & (after == j)).sum()) for j in (0, 1)] for i in (0, 1)]
    assert found["p_value"] == pytest.approx(contingency.mcnemar(table, exact=True).pvalue)
    assert found["at_delta"] == pytest.approx((after - before).mean())


def test_an_arm_with_more_trials_has_no_advantage() -> None:
    """Nothing changed; one trial against five: the test over common trials rejects in at most 5 % of 150 studies."""
    rng, rejected = np.random.default_rng(8), 0
    for _ in range(150):
        chance = rng.choice([0.9, 0.95], 30)[:, None]
        sides = [
            outcomes(*(rng.random((30, n)) < chance).astype(float).tolist(), arm=arm)
            for n, arm in ((1, "control"), (5, "new"))
        ]
        rejected += hk.pass_differences(pd.concat(sides), k=1).loc[0, "p_value"] <= 0.05
    assert rejected / 150 <= 0.05


def test_a_case_in_one_arm_only_is_left_out_and_counted() -> None:
    rows = pd.concat([outcomes([0.0], [1.0], [1.0], arm="control"), outcomes([1.0], [1.0], arm="new")])
    found = hk.pass_differences(rows, k=1).iloc[0]
    assert (found["n_paired"], found["n_one_sided"], found["at_delta"]) == (2, 1, 0.5)


def test_an_unknown_baseline_names_the_nearest() -> None:
    with pytest.raises(hk.PolicyError, match="there is no arm 'contrl'"):
        hk.pass_differences(outcomes([1.0], arm="control"), baseline="contrl")


def test_costs_count_retries_as_spent_and_missing_as_missing() -> None:
    rows = pd.DataFrame(
        {"case_id": ["a", "a", "b", "a", "b"], "arm": ["control"] * 3 + ["new"] * 2,
         "cost_usd": [1.0, 5.0, 3.0, 2.0, None], "counts": [True, False, True, True, True]}
    )  # fmt: skip
    found = hk.trial_costs(rows).set_index("arm")
    assert found.loc["control", ["mean", "total", "n_trials"]].tolist() == [2.0, 9.0, 2]
    assert found.loc["new", ["mean", "n_missing", "delta", "n_paired"]].tolist() == [2.0, 1, 1.0, 1]
    assert np.isnan(found.loc["new", "delta_low"])


def test_twenty_thousand_cases_of_ten_runs_take_about_a_second() -> None:
    from time import perf_counter

    rng = np.random.default_rng(2)
    cases = np.repeat([f"c{i}" for i in range(20_000)], 10)
    rows = pd.DataFrame({"case_id": cases, "metric": "ok", "value": rng.integers(0, 2, 200_000).astype(float),
                         "trial": np.tile(np.arange(1, 11), 20_000)})  # fmt: skip
    start = perf_counter()
    hk.pass_rates(rows)
    assert perf_counter() - start < 5  # 0.6 s on two idle cores
