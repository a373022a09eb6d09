"""Thresholds against labels: counts by brute force, intervals by scipy, choices by what a user relies on."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import harnesskit as hk
from harnesskit.stats.thresholds import certify_precision


def world(n: int, seed: int, *, turns: int = 1) -> tuple[pd.DataFrame, dict[str, bool]]:
    rng = np.random.default_rng(seed)
    failed = rng.random(n) < 0.3
    level = np.where(failed, rng.normal(0.45, 0.12, n), rng.normal(0.72, 0.12, n))
    value = np.clip(np.repeat(level, turns) + rng.normal(0, 0.05, n * turns), 0, 1)
    ids = [f"s-{i}" for i in range(n)]
    scores = pd.DataFrame({"session_id": np.repeat(ids, turns), "metric": "coherence", "value": value})
    return scores, {one: bool(bad) for one, bad in zip(ids, failed, strict=True)}


def test_counts_and_intervals_are_those_of_a_loop_and_of_scipy():
    scores, labels = world(150, 1, turns=3)
    row = hk.calibrate(scores, labels).iloc[0]
    means = scores.groupby("session_id")["value"].mean()
    tp = sum(means[s] < 0.5 and bad for s, bad in labels.items())
    fp = sum(means[s] < 0.5 and not bad for s, bad in labels.items())
    fn = sum(means[s] >= 0.5 and bad for s, bad in labels.items())
    assert (row["tp"], row["fp"], row["fn"], row["tn"]) == (tp, fp, fn, 150 - tp - fp - fn)
    low, high = stats.binomtest(tp, tp + fn).proportion_ci()
    assert (row["recall"], row["recall_low"], row["recall_high"]) == pytest.approx((tp / (tp + fn), low, high))
    jaccard = stats.binomtest(tp, tp + fp + fn).proportion_ci()
    assert row["f1_low"] == pytest.approx(2 * jaccard.low / (1 + jaccard.low))
    assert row["f1"] == pytest.approx(2 * tp / (2 * tp + fp + fn))


def test_the_bands_hold_at_all_thresholds_at_once():
    """True recall at every threshold of the grid, in 200 worlds: all inside in at least 95 %."""
    grid = np.round(np.arange(1, 20) / 20, 2)
    recall = stats.norm.cdf((grid - 0.45) / math.hypot(0.12, 0.05))
    inside = 0
    for seed in range(200):
        scores, labels = world(60, 1000 + seed)
        found = hk.sweep_thresholds(scores, labels)
        inside += bool(((found["recall_low"] <= recall) & (recall <= found["recall_high"])).all())
    assert inside >= 186  # 95 % of 200 less two standard errors; Bonferroni holds more


def test_lower_is_better_is_the_mirror_image():
    scores, labels = world(120, 3)
    up = hk.calibrate(scores, labels, metrics=[hk.Metric("coherence", threshold=0.5)], target_precision=0.8).iloc[0]
    mirrored = scores.assign(value=1 - scores["value"])
    metric = hk.Metric("coherence", higher_is_better=False, threshold=0.5)
    down = hk.calibrate(mirrored, labels, metrics=[metric], target_precision=0.8).iloc[0]
    same = ["tp", "fp", "fn", "tn", "precision", "recall", "f1", "certified_recall", "best_f1"]
    pd.testing.assert_series_equal(up[same], down[same], check_names=False)
    for name in ("certified_threshold", "best_threshold", "lowest_threshold"):
        assert up[name] == pytest.approx(1 - down[name])
    sweep = hk.sweep_thresholds(mirrored, labels, metrics=[metric])
    assert sweep["threshold"].is_monotonic_increasing
    assert sweep["breaches"].is_monotonic_decreasing


def test_unscored_sessions_are_counted_and_in_no_rate():
    """Field report 01: lost judge calls raise no rate and are no zeros."""
    scores, labels = world(80, 3)
    lost = scores.assign(value=[None if i % 4 == 0 else v for i, v in enumerate(scores["value"])])
    lost["status"] = ["error" if i % 4 == 0 else "ok" for i in range(80)]
    kept = scores[[i % 4 != 0 for i in range(80)]]
    row, plain = hk.calibrate(lost, labels).iloc[0], hk.calibrate(kept, labels).iloc[0]
    assert (row["n_sessions"], row["n_scored"], row["n_unscored"], row["n_label_only"]) == (80, 60, 20, 20)
    assert row[["tp", "fp", "fn", "tn", "mean"]].tolist() == plain[["tp", "fp", "fn", "tn", "mean"]].tolist()
    assert "20 labelled sessions without a score" in row["warning"]


def test_repeats_of_a_session_are_no_more_evidence():
    """Field reports 06 and 09: every row three times changes no count and no interval."""
    scores, labels = world(60, 4)
    thrice = pd.concat([scores] * 3)
    pd.testing.assert_frame_equal(hk.calibrate(scores, labels), hk.calibrate(thrice, labels), rtol=1e-12)


def test_a_score_at_the_threshold_is_no_breach_whatever_float_noise_says():
    """Field report 20: one unrounded number decides."""
    values = [0.1 + 0.2 + 0.2, 0.5, 0.4999, 0.5 - 1e-12]
    scores = pd.DataFrame({"session_id": list("abcd"), "metric": "coherence", "value": values})
    assert hk.calibrate(scores).iloc[0]["breaches"] == 1


def test_values_of_another_scale_are_not_judged():
    """Field report 14: 87 on a scale of 0 to 1 is refused for the metric declared so, and named for an unknown one."""
    scores = pd.DataFrame({"session_id": list("abc") * 2, "metric": ["coherence"] * 3 + ["mystery"] * 3})
    scores["value"] = [0.4, 0.9, 87.0] * 2
    known, unknown = (row for _, row in hk.calibrate(scores, {"a": True, "b": False}).iterrows())
    assert (known["n_scored"], known["n_unscored"], known["tp"]) == (2, 1, 1)
    assert "outside the declared range" in known["warning"]
    assert unknown["state"] == "no scale"
    assert "declare its range" in unknown["warning"]


def test_an_undeclared_direction_gets_no_verdict():
    """Field report 17."""
    scores, labels = world(40, 5)
    row = hk.calibrate(scores, labels, metrics=[hk.Metric("coherence", higher_is_better=None)]).iloc[0]
    assert row["state"] == "no scale"
    assert pd.isna(row["precision"])


@pytest.mark.parametrize("n", [0, 1])
def test_no_session_and_one_session(n: int):
    """Field report 27: an interval that cannot be had is missing, never a traceback or a NaN verdict."""
    scores, labels = world(n, 6)
    found = hk.calibrate(scores, labels)
    assert len(found) == n
    assert len(hk.sweep_thresholds(scores, labels)) == 19 * n
    if n:
        assert found.iloc[0]["state"] == "not calibrated"
        assert pd.isna(found.iloc[0]["best_threshold"])
    report = hk.calibration_report(found, hk.sweep_thresholds(scores, labels))
    json.loads(report.render(".json"))  # field report 19: strict JSON, whatever is missing


def test_no_failure_below_the_threshold_gives_no_precision_but_a_recall():
    scores = pd.DataFrame({"session_id": range(40), "metric": "coherence", "value": 0.9})
    row = hk.calibrate(scores, {i: i < 12 for i in range(40)}).iloc[0]
    assert pd.isna(row["precision"])
    assert (row["recall"], row["fn"], row["state"]) == (0.0, 12, "calibrated")


def test_raters_the_newest_label_then_the_majority_and_a_split_is_no_label():
    scores = pd.DataFrame({"session_id": list("abc"), "metric": "coherence", "value": [0.1, 0.2, 0.3]})
    rows = [
        ("a", "jo", "2026-01-01", False), ("a", "jo", "2026-01-02", True),
        ("b", "jo", "2026-01-01", True), ("b", "aiko", "2026-01-01", False),
        ("c", "jo", "2026-01-01", True), ("c", "aiko", "2026-01-01", True), ("c", "max", "2026-01-01", False),
        ("ghost", "jo", "2026-01-01", True),
    ]  # fmt: skip
    labels = pd.DataFrame(rows, columns=["session_id", "rater", "at", "failed"])
    row = hk.calibrate(scores, labels).iloc[0]
    assert (row["tp"], row["n_labelled"], row["n_disputed"], row["n_label_only"]) == (2, 2, 1, 1)


def test_clusters_widen_intervals_and_never_narrow_them():
    scores, labels = world(120, 7)
    ids = scores["session_id"]
    by_user = scores.assign(cluster=[f"u-{sorted(labels, key=lambda s: labels[s]).index(s) // 10}" for s in ids])
    plain, wide = hk.calibrate(scores, labels).iloc[0], hk.calibrate(by_user, labels).iloc[0]
    assert plain["recall"] == wide["recall"]
    assert wide["recall_high"] - wide["recall_low"] > plain["recall_high"] - plain["recall_low"]
    assert not wide["certified_recall"] > plain["certified_recall"]


def test_tier_two_is_said_to_be_conditional_on_the_gate():
    scores, labels = world(60, 8)
    row = hk.calibrate(scores.assign(metric="tool_correctness"), labels).iloc[0]
    assert "only where the gate" in row["warning"]
    assert "only where the gate" not in hk.calibrate(scores, labels).iloc[0]["warning"]


def test_costs_choose_and_no_alarm_can_be_cheapest():
    scores, labels = world(200, 9)
    dear = hk.calibrate(scores, labels, cost_missed=20, cost_false_alarm=1).iloc[0]
    cheap = hk.calibrate(scores, labels, cost_missed=1, cost_false_alarm=20).iloc[0]
    assert dear["cheapest_threshold"] > cheap["cheapest_threshold"]
    assert dear["cheapest_cost"] <= dear["cost"]
    never = hk.calibrate(scores, labels, cost_missed=0, cost_false_alarm=1).iloc[0]
    assert pd.isna(never["cheapest_threshold"])


def test_the_certified_threshold_is_that_of_the_published_procedure():
    scores, labels = world(300, 11)
    row = hk.calibrate(scores, labels, target_precision=0.8).iloc[0]
    x = scores["value"].to_numpy()
    by_hand = certify_precision(x, list(labels.values()), np.arange(1, 20) / 20, target=0.8)
    assert row["certified_threshold"] == pytest.approx(by_hand.threshold)
    assert row["certified_recall"] == pytest.approx(by_hand.recall)
    assert row["certified_recall"] > row["lowest_recall"]


@pytest.mark.parametrize("wrong", [{"target_precision": 1.0}, {"cost_missed": 1.0}, {"policy": "x"}, {"reduce": "sum"}])
def test_what_cannot_be_asked_is_named(wrong: dict):
    scores, labels = world(20, 11)
    with pytest.raises(hk.PolicyError, match=next(iter(wrong)).split("_")[0]):
        hk.calibrate(scores, labels, **wrong)


def test_several_graders_are_not_mixed():
    scores, labels = world(20, 12)
    both = pd.concat([scores.assign(grader="a"), scores.assign(grader="b")])
    with pytest.raises(hk.FrameError, match="several graders"):
        hk.calibrate(both, labels)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40),
    st.lists(st.floats(0.01, 0.99).map(lambda v: round(v, 3)), min_size=1, max_size=6, unique=True),
)
def test_the_sweep_is_a_loop_over_sessions(rows: list[tuple[float, bool]], grid: list[float]):
    scores = pd.DataFrame({"session_id": range(len(rows)), "metric": "coherence", "value": [v for v, _ in rows]})
    found = hk.sweep_thresholds(scores, {i: bad for i, (_, bad) in enumerate(rows)}, thresholds=grid)
    for row in found.itertuples():
        under = [bad for value, bad in rows if value < row.threshold - 1e-9]
        assert (row.breaches, row.tp, row.fp) == (len(under), sum(under), len(under) - sum(under))
        assert row.tp + row.fp + row.fn + row.tn == len(rows)


def test_checkpoints_of_calibration(shared: Path):
    points = {one["id"]: one for one in json.loads((shared / "checkpoints.json").read_text("utf-8"))["checkpoints"]}
    for target, n in zip(points["cal-02"]["input"]["T"], points["cal-02"]["expected"]["n"], strict=True):
        for flagged, sure in ((n, True), (n - 1, False)):
            scores = pd.DataFrame({"session_id": range(200), "metric": "coherence", "value": 0.9})
            scores.loc[: flagged - 1, "value"] = 0.1
            row = hk.calibrate(scores, {i: i < flagged for i in range(200)}, target_precision=target).iloc[0]
            assert pd.notna(row["certified_threshold"]) == sure
    given_, wanted = points["cal-01"]["input"], points["cal-01"]["expected"]
    scores = pd.DataFrame({"session_id": range(100), "metric": "coherence", "value": 0.9})
    scores.loc[: given_["flagged"] - 1, "value"] = 0.1
    labels = {i: i < given_["tp"] for i in range(100)}
    for delta, sure in ((0.10, wanted["accept_at_0_10"]), (wanted["p"] + 1e-9, True), (wanted["p"] - 1e-9, False)):
        row = hk.calibrate(scores, labels, target_precision=given_["T"], delta=delta).iloc[0]
        assert pd.notna(row["certified_threshold"]) == sure


def test_agreement_of_metrics_is_that_of_their_verdicts():
    rng = np.random.default_rng(13)
    wide = pd.DataFrame(rng.random((50, 3)), columns=["coherence", "task_completion", "tool_correctness"])
    scores = wide.rename_axis("session_id").reset_index().melt("session_id", var_name="metric")
    found = hk.metric_agreement(scores)
    breach = wide < 0.5
    first = found.iloc[0]
    assert first["agree"] == (breach[first["metric_a"]] == breach[first["metric_b"]]).mean()
    assert found.iloc[-1]["agree"] == breach.sum(axis=1).isin([0, 3]).mean()
