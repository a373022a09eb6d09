"""How far graders can be trusted: oracles of published packages, and the doubts that must be said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harnesskit.measures.agreement import ALONE, FEW, LOPSIDED, agreement, label_confusion
from harnesskit.measures.grader_retest import EQUAL, NEVER, grader_retest
from harnesskit.measures.label_table import REVISED
from harnesskit.measures.ppi_mean import ppi_mean
from harnesskit.model.errors import FrameError
from harnesskit.model.metrics import Metric
from harnesskit.stats.raters import gwet_ac1, observed_agreement
from harnesskit.stats.reliability import krippendorff

NAN = float("nan")
RAW_4 = [
    [1, 1, NAN, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [NAN, 5, 5, 5], [NAN, NAN, 1, 1], [NAN, NAN, 3, NAN],
]  # fmt: skip


def labels_of(ratings: list[list[float]], raters: str = "abcd") -> pd.DataFrame:
    rows = [(f"s-{i:03}", raters[j], v) for i, row in enumerate(ratings) for j, v in enumerate(row) if v == v]
    return pd.DataFrame(rows, columns=["session_id", "rater", "value"])


def test_several_raters_with_gaps_match_irrcac():
    """cac.raw4raters of the R package irrCAC (Gwet 2014): agreement .81818, AC1 .77544, alpha .74342."""
    labels = range(1, 6)
    assert observed_agreement(RAW_4, labels) == pytest.approx(0.8181818)
    assert gwet_ac1(RAW_4, labels) == pytest.approx(0.77544, abs=1e-5)
    assert krippendorff(np.transpose(RAW_4)) == pytest.approx(0.74342, abs=1e-5)


def by_statistic(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_index("statistic")


def test_nearly_equal_labels_collapse_kappa_and_not_ac1():
    """The example of the statistical specification (kap-02): 118 of 125 alike, kappa below 0."""
    ratings = [[0, 0]] * 118 + [[0, 1]] * 5 + [[1, 0]] * 2
    found = by_statistic(agreement(labels_of(ratings), draws=200))
    assert found.loc["kappa", "value"] == pytest.approx(-0.023, abs=5e-4)
    assert found.loc["ac1", "value"] == pytest.approx(0.941, abs=5e-4)
    assert found.loc["kappa", "warning"] == found.loc["alpha", "warning"] == LOPSIDED
    assert pd.isna(found.loc["ac1", "warning"])
    assert (found["low"] <= found["value"]).all()
    assert (found["value"] <= found["high"]).all()


def test_sessions_of_a_user_are_drawn_together():
    rng = np.random.default_rng(3)
    user_agrees = np.repeat(rng.random(30) < 0.7, 6)
    first = rng.integers(0, 2, 180)
    ratings = np.column_stack([first, np.where(user_agrees, first, 1 - first)]).tolist()
    labels = labels_of(ratings)
    labels["user"] = labels["session_id"].str[2:].astype(int) // 6
    alone, together = (
        by_statistic(agreement(labels, cluster=cluster, draws=300)).loc["agreement"] for cluster in (None, "user")
    )
    assert alone["value"] == together["value"]
    assert together["high"] - together["low"] > 1.5 * (alone["high"] - alone["low"])


def test_the_last_label_of_a_rater_counts_and_order_of_rows_does_not():
    rows = labels_of([[1, 1]] * 12 + [[0, 1]])
    rows["at"] = pd.Timestamp("2026-01-01", tz="UTC")
    later = pd.DataFrame(
        {"session_id": ["s-012"], "rater": "a", "value": 1.0, "at": pd.Timestamp("2026-01-02", tz="UTC")}
    )
    both = pd.concat([later, rows])
    found = agreement(both, draws=10)
    assert found["value"].iloc[0] == 1.0
    assert found["warning"].str.contains(REVISED).all()
    assert found["warning"].str.contains(FEW).all()
    pd.testing.assert_frame_equal(found, agreement(both.sample(frac=1, random_state=1), draws=10))


def test_labels_of_metrics_are_kept_apart_and_one_rater_agrees_with_nobody():
    rows = labels_of([[1, 1], [0, 0]]).assign(metric=[None, None, "tone", "tone"])
    rows.loc[3, "rater"] = "a"
    found = agreement(rows, draws=10)
    assert found["metric"].isna().sum() == 4
    tone = found[found["metric"] == "tone"]
    assert tone["value"].isna().all()
    assert tone["warning"].str.startswith(ALONE).all()


def test_labels_of_different_kinds_are_refused():
    rows = pd.DataFrame({"session_id": ["s", "s"], "rater": ["a", "b"], "value": [True, "yes"]})
    with pytest.raises(FrameError, match="one kind"):
        agreement(rows)
    with pytest.raises(FrameError, match="level"):
        agreement(rows.assign(value=["no", "yes"]), level="interval")


def test_confusion_counts_every_pair_of_labels():
    found = label_confusion(labels_of([[0, 0]] * 118 + [[0, 1]] * 5 + [[1, 0]] * 2))
    assert found["n"].tolist() == [118, 5, 2, 0]
    assert found["share"].sum() == pytest.approx(1)


def test_retest_finds_the_planted_noise_and_the_votes_it_needs():
    rng = np.random.default_rng(0)
    truth = np.repeat(rng.uniform(0.3, 0.9, 300), 4)
    rows = pd.DataFrame({"sample_id": np.repeat(np.arange(300), 4).astype(str), "metric": "q", "grader": "judge"})
    row = grader_retest(rows.assign(value=truth + rng.normal(0, 0.1, 1200)), pass_at=0.5, metrics=[Metric("q", -9, 9)])
    row = row.iloc[0]
    assert row["low"] < 0.1 < row["high"]
    apart = truth[::4]
    expected = np.mean([np.mean((apart[:, None] + rng.normal(0, 0.1, (300, 400)) >= 0.5).var(axis=1) * 2)])
    assert row["flip_rate"] == pytest.approx(expected, abs=0.02)
    assert row["votes_needed"] == 2
    assert "take 2 gradings" in row["warning"]


def test_retest_tells_versions_apart_and_says_when_there_is_nothing_to_tell():
    rows = pd.DataFrame(
        {"sample_id": ["a", "a", "a", "a"], "metric": "q", "grader": "judge", "grader_version": ["1", "1", "2", "3"],
         "value": [0.5, 0.5, 0.9, 0.1]}
    )  # fmt: skip
    found = grader_retest(rows).set_index("grader_version")["warning"]
    assert found.to_dict() == {"1": EQUAL, "2": NEVER, "3": NEVER}


def test_a_biased_judge_is_corrected_by_a_few_labels():
    """Coverage over 200 worlds: the judge misses 40 % of the failures, its own rate is far off."""
    held = held_judge = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        failed = rng.random(800) < 0.3
        seen = failed & (rng.random(800) < 0.6)
        ids = [f"s-{i}" for i in range(800)]
        scores = pd.DataFrame({"session_id": ids, "metric": "q", "value": np.where(seen, 0.2, 0.8)})
        labels = pd.DataFrame({"session_id": ids[:80], "failed": failed[:80]})
        row = ppi_mean(scores, labels, pass_at=0.5).iloc[0]
        held += row["low"] <= 0.3 <= row["high"]
        held_judge += abs(row["judge_only"] - 0.3) < 0.05
        assert row["high"] - row["low"] < row["labels_high"] - row["labels_low"]
    assert held >= 184  # .95 less two standard errors
    assert held_judge == 0


def test_labels_that_were_picked_are_pointed_out():
    ids = [f"s-{i}" for i in range(300)]
    scores = pd.DataFrame({"session_id": ids, "metric": "q", "value": [0.2] * 40 + [0.9] * 260})
    labels = pd.DataFrame({"session_id": ids[:60], "failed": [True] * 40 + [False] * 20})
    assert "hardly a random part" in ppi_mean(scores, labels, pass_at=0.5).iloc[0]["warning"]
    assert "give pass_at" in ppi_mean(scores, labels).iloc[0]["warning"]
