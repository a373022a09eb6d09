"""What a user relies on in case deltas: honest statuses, no invented pairs, nothing that depends on row order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_scores import made_scores, null_world
from scipy import stats

from harnesskit.measures.comparison import compare_runs
from harnesskit.measures.deltas import case_deltas, case_statuses
from harnesskit.model.errors import FrameError, PolicyError
from harnesskit.model.metrics import Metric
from harnesskit.model.results import CASE_DELTAS, CASE_STATUSES

NUMBERS = ["delta", "low", "high", "z", "bound", "sd", "n_baseline", "n_candidate"]


def scores(**cases: list[float | None]) -> pd.DataFrame:
    rows = [(case, "q", value) for case, values in cases.items() for value in values]
    return pd.DataFrame(rows, columns=["case_id", "metric", "value"])


def status_of(deltas: pd.DataFrame) -> dict[str, str]:
    return dict(zip(deltas["case_id"], deltas["status"], strict=True))


@pytest.fixture
def twenty() -> tuple[pd.DataFrame, pd.DataFrame]:
    return null_world(np.random.default_rng(5), cases=20, metrics=3, trials=5)


@pytest.mark.parametrize("policy", ["default", "fixed:5", "reference", "floor:0.5"])
def test_columns_order_and_key_follow_the_contract(twenty, policy: str) -> None:
    deltas = case_deltas(*twenty, policy=policy)
    assert list(deltas.columns) == list(CASE_DELTAS.columns)
    assert deltas[["case_id", "metric"]].apply(tuple, axis=1).tolist() == sorted(
        (c, m) for c in set(twenty[0]["case_id"]) for m in ("m0", "m1", "m2")
    )
    assert list(deltas.index) == list(range(60))


@pytest.mark.parametrize("policy", ["default", "fixed:5", "reference"])
def test_a_run_compared_with_itself_neither_regressed_nor_improved(twenty, policy: str) -> None:
    deltas = case_deltas(twenty[0], twenty[0], policy=policy)
    assert set(deltas["status"]) <= {"unchanged", "inconclusive"}
    assert (deltas["delta"] == 0).all()
    assert not deltas["suspect"].any()


def test_a_large_drop_in_one_win_is_found_and_only_there(twenty) -> None:
    before, after = twenty
    after = after.assign(value=np.where(after["case_id"] == "c007", after["value"] - 0.5, after["value"]).clip(0, 1))
    found = case_statuses(case_deltas(before, after))
    assert list(found.columns) == list(CASE_STATUSES.columns)
    assert found.loc[found["status"] == "regressed", "case_id"].tolist() == ["c007"]


def test_the_same_drop_upwards_is_an_improvement(twenty) -> None:
    before, after = twenty
    before = before.assign(
        value=np.where(before["case_id"] == "c007", before["value"] - 0.5, before["value"]).clip(0, 1)
    )
    assert case_statuses(case_deltas(before, after)).set_index("case_id").loc["c007", "status"] == "improved"


def test_interval_is_the_t_interval_when_the_prior_says_nothing_else() -> None:
    """With equal variances everywhere the moderated interval has the pooled variance: checked by hand."""
    before = scores(a=[0.5, 0.7], b=[0.5, 0.7], c=[0.5, 0.7], d=[0.5, 0.7])
    after = scores(a=[0.4, 0.6], b=[0.5, 0.7], c=[0.5, 0.7], d=[0.55, 0.75])
    row = case_deltas(before, after).set_index("case_id").loc["a"]
    half = stats.t.isf(0.025, 8) * np.sqrt(0.02 * (1 / 2 + 1 / 2))  # df + d0 is above all the df there are, 8
    assert row["delta"] == pytest.approx(-0.1)
    assert (row["low"], row["high"]) == (pytest.approx(-0.1 - half), pytest.approx(-0.1 + half))


def test_one_trial_never_regresses_but_can_be_suspect() -> None:
    rng = np.random.default_rng(1)
    before = made_scores(0.9 + 0.02 * rng.normal(size=(10, 1, 5)))
    after = made_scores(np.full((10, 1, 1), 0.9))
    after.loc[0, "value"] = 0.2
    deltas = case_deltas(before, after)
    assert deltas.loc[0, ["status", "suspect"]].tolist() == ["inconclusive", True]
    assert deltas["bound"].isna().all()
    assert deltas.loc[0, "runs_needed"] >= 1


def test_repeats_are_not_more_cases() -> None:
    """Copying every trial five times must not turn noise into a finding."""
    rng = np.random.default_rng(2)
    before, after = (made_scores(np.repeat(0.7 + 0.1 * rng.normal(size=(20, 1, 2)), 5, axis=2)) for _ in "ab")
    deltas = case_deltas(before, after)
    assert not deltas["status"].isin(["regressed", "improved"]).any()
    assert deltas["interval_kind"].str.contains("repeats alike").all()


def test_assumed_noise_is_labelled() -> None:
    deltas = case_deltas(scores(a=[0.9]).assign(source="captured"), scores(a=[0.7]))
    assert deltas.loc[0, "interval_kind"] == "assumed noise"
    assert deltas.loc[0, "status"] == "inconclusive"


def test_captured_failures_never_decide() -> None:
    before = scores(a=[0.1], b=[0.1]).assign(source="captured", kind="failure")
    after = scores(a=[0.9, 0.92, 0.91, 0.9], b=[0.1, 0.12, 0.1, 0.1])
    deltas = case_deltas(before, after)
    assert deltas["status"].tolist() == ["inconclusive", "inconclusive"]
    assert deltas["delta"].tolist() == pytest.approx([0.8075, 0.005])
    assert deltas["reason"].str.contains("selected for being bad").all()
    assert deltas["bound"].isna().all()


def test_control_outranks_captured_except_under_the_reference_rule() -> None:
    before = scores(a=[0.2, 0.8, 0.8]).assign(source=["captured", "control", "control"])
    after = scores(a=[0.8, 0.8])
    assert case_deltas(before, after).loc[0, ["baseline", "n_baseline"]].tolist() == [pytest.approx(0.8), 2]
    assert case_deltas(before, after, policy="reference").loc[0, "baseline"] == pytest.approx(0.2)


def test_lower_is_better_turns_the_verdict_not_the_delta() -> None:
    rng = np.random.default_rng(3)
    before = made_scores(0.3 + 0.02 * rng.normal(size=(5, 1, 5)))
    after = before.assign(value=before["value"] + 0.3)
    deltas = case_deltas(before, after, metrics=[Metric("m0", higher_is_better=False)])
    assert (deltas["delta"] > 0).all()
    assert set(deltas["status"]) == {"regressed"}
    assert (deltas["z"] > 0).all()


def test_a_declared_range_scales_margins_and_intervals() -> None:
    rng = np.random.default_rng(4)
    before, after = null_world(rng, cases=8, metrics=1, trials=4)
    plain = case_deltas(before, after)
    scaled = case_deltas(
        before.assign(value=before["value"] * 100),
        after.assign(value=after["value"] * 100),
        metrics=[Metric("m0", high=100)],
    )
    assert scaled["status"].tolist() == plain["status"].tolist()
    np.testing.assert_allclose(scaled["z"], plain["z"])
    np.testing.assert_allclose(scaled["low"], 100 * plain["low"])


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (None, "scale not declared"),
        (Metric("q", low=0, high=None), "no tolerance declared"),
        (Metric("q", high=10, higher_is_better=None), "direction not declared"),
    ],
)
def test_what_cannot_be_judged_shows_its_change_without_a_verdict(metric: Metric | None, said: str) -> None:
    deltas = case_deltas(scores(a=[3.0], b=[0.5]), scores(a=[5.0], b=[0.4]), metrics=[metric] if metric else None)
    assert deltas["delta"].tolist() == pytest.approx([2.0, -0.1])
    assert set(deltas["status"]) == {"inconclusive"}
    assert deltas["reason"].str.contains(said).all()
    assert deltas["unit"].isna().all()


def test_a_value_outside_a_declared_range_is_left_out_and_counted() -> None:
    deltas = case_deltas(scores(a=[0.5, 0.6]), scores(a=[0.5, 7.0]), metrics=[Metric("q")])
    assert deltas.loc[0, ["candidate", "n_candidate", "n_unscored"]].tolist() == [0.5, 1, 1]


def test_rows_without_a_case_are_never_matched() -> None:
    before = pd.DataFrame({"case_id": ["a", None, None], "metric": "q", "value": [0.9, 0.2, 0.3]})
    after = pd.DataFrame({"case_id": ["a", None, None, None], "metric": "q", "value": [0.5, 0.1, 0.1, 0.1]})
    deltas = case_deltas(before, after)
    assert deltas["case_id"].tolist() == ["a"]
    assert deltas["n_candidate"].tolist() == [1]


def test_cases_on_one_side_are_listed() -> None:
    deltas = case_deltas(scores(a=[0.9], b=[0.9]), scores(b=[0.9], c=[0.9])).set_index("case_id")
    assert deltas["status"].tolist() == ["inconclusive"] * 3
    assert "only in the baseline" in deltas.loc["a", "reason"]
    assert "only in the candidate" in deltas.loc["c", "reason"]
    assert pd.isna(deltas.loc["c", "baseline_source"])


def test_skipped_and_failed_replays_keep_their_reason() -> None:
    before = scores(a=[0.9], b=[0.9], c=[0.9])
    after = pd.DataFrame(
        {
            "case_id": ["a", "b", "c"],
            "metric": [None, None, "q"],
            "value": [None, None, 0.9],
            "status": ["skipped", "timeout", "ok"],
            "reason": ["no replay input", "replay took longer than 60 s", None],
        }
    )
    deltas = case_deltas(before, after).set_index("case_id")
    assert deltas["status"].tolist() == ["skipped", "inconclusive", "inconclusive"]
    assert deltas.loc["a", "reason"] == "no replay input"
    assert deltas.loc["b", "reason"] == "no candidate score: replay took longer than 60 s"
    assert deltas["n_unscored"].tolist() == [0, 1, 0]


def test_a_score_with_a_bad_status_is_not_used() -> None:
    after = scores(a=[0.9, 0.0]).assign(status=["ok", "error"])
    assert case_deltas(scores(a=[0.9]), after).loc[0, "candidate"] == 0.9


def test_turns_of_one_trial_are_one_run() -> None:
    after = scores(a=[0.8, 0.6, 0.7]).assign(trial=[1, 1, 2])
    assert case_deltas(scores(a=[0.9]), after).loc[0, ["n_candidate", "candidate"]].tolist() == [2, pytest.approx(0.7)]


def test_the_same_trial_of_two_runs_is_two_trials() -> None:
    bank = scores(a=[0.8, 0.6]).assign(trial=1, run_id=["r1", "r2"])
    assert case_deltas(bank, scores(a=[0.9])).loc[0, "n_baseline"] == 2


def test_a_repeated_sample_counts_once_and_a_contradicting_one_is_refused() -> None:
    after = scores(a=[0.8, 0.8]).assign(sample_id="s1")
    assert case_deltas(scores(a=[0.9]), after).loc[0, "n_candidate"] == 1
    with pytest.raises(FrameError, match="two scores for one metric: s1"):
        case_deltas(scores(a=[0.9]), after.assign(value=[0.8, 0.9]))


def test_two_graders_of_one_metric_are_refused() -> None:
    after = scores(a=[0.8, 0.9]).assign(grader=["judge-a", "judge-b"])
    with pytest.raises(FrameError, match=r"metric 'q' scored by 2 graders \(judge-a, judge-b\)"):
        case_deltas(scores(a=[0.9]), after)


def test_text_scores_and_missing_columns_are_named() -> None:
    with pytest.raises(FrameError, match=r"numbers in column 'value'; found 'n/a'"):
        case_deltas(scores(a=[0.9]), pd.DataFrame({"case_id": ["a"], "metric": ["q"], "value": ["n/a"]}))
    with pytest.raises(FrameError, match=r"missing 'case_id' \(did you mean 'case'\?\)"):
        case_deltas(scores(a=[0.9]), pd.DataFrame({"case": ["a"], "metric": ["q"], "value": [1.0]}))
    with pytest.raises(PolicyError, match="no regression policy"):
        case_deltas(scores(a=[0.9]), scores(a=[0.9]), policy="strict")


def test_empty_frames_give_an_empty_table() -> None:
    deltas = case_deltas(pd.DataFrame(), pd.DataFrame())
    assert len(deltas) == 0
    assert list(deltas.columns) == list(CASE_DELTAS.columns)


def test_names_are_text_whatever_they_look_like() -> None:
    deltas = case_deltas(scores(**{"12": [0.5], "None": [0.5]}), scores(**{"12": [0.5], "None": [0.5]}))
    assert deltas["case_id"].tolist() == ["12", "None"]
    numbered = pd.DataFrame({"case_id": [12], "metric": "q", "value": [0.5]})
    assert case_deltas(numbered, scores(**{"12": [0.4]})).loc[0, "n_baseline"] == 1


def test_a_case_is_protected_if_either_side_calls_it_a_win() -> None:
    deltas = case_deltas(scores(a=[0.5]).assign(kind="win"), scores(a=[0.5]).assign(kind="failure"))
    assert deltas["kind"].tolist() == ["win"]


@pytest.mark.parametrize(
    ("score", "status"), [(0.7966, "regressed"), (0.7999999999999999, "unchanged"), (0.8, "unchanged")]
)
def test_floor_holds_the_unrounded_score_with_room_for_float_noise(score: float, status: str) -> None:
    deltas = case_deltas(pd.DataFrame(), scores(a=[score]), policy="floor:0.8")
    assert deltas["status"].tolist() == [status]


def test_floor_knows_direction_and_range() -> None:
    known = [Metric("q", high=100, higher_is_better=False)]
    deltas = case_deltas(pd.DataFrame(), scores(a=[10.0], b=[30.0]), policy="floor:0.8", metrics=known)
    assert deltas["status"].tolist() == ["unchanged", "regressed"]


def test_the_reference_margin_counts_a_nominal_change() -> None:
    """0.90 to 0.85 is -0.04999999999999999 in floats; it counts as a change of .05."""
    deltas = case_deltas(scores(a=[0.9], b=[0.85], c=[0.9]), scores(a=[0.85], b=[0.9], c=[0.86]), policy="reference")
    assert deltas["status"].tolist() == ["regressed", "improved", "unchanged"]


def test_runs_needed_settle_the_case_if_the_change_stays_as_seen() -> None:
    rng = np.random.default_rng(8)
    before = made_scores(0.7 + 0.1 * rng.normal(size=(30, 1, 20)).clip(-2.5, 2.5))
    after = made_scores(np.full((30, 1, 1), 0.68))
    deltas = case_deltas(before, after)
    row = deltas[deltas["runs_needed"].notna() & (deltas["delta"] > -0.05)].iloc[0]
    more = made_scores(np.full((30, 1, 1 + int(row["runs_needed"])), float(row["candidate"])))
    again = case_deltas(before, more).set_index("case_id")
    assert again.loc[row["case_id"], "status"] == "unchanged"


worlds = st.builds(
    lambda seed, cases, metrics, trials: null_world(
        np.random.default_rng(seed), cases=cases, metrics=metrics, trials=trials
    ),
    st.integers(0, 10_000),
    st.integers(1, 6),
    st.integers(1, 3),
    st.integers(1, 4),
)


@settings(max_examples=15, deadline=None)
@given(worlds)
def test_swapping_the_runs_flips_every_sign(world) -> None:
    there, back = case_deltas(*world), case_deltas(world[1], world[0])
    np.testing.assert_allclose(there["delta"], -back["delta"], atol=1e-12)
    np.testing.assert_allclose(there["low"], -back["high"], atol=1e-12)
    means = compare_runs(there)["delta"], compare_runs(back)["delta"]
    np.testing.assert_allclose(means[0], -means[1], atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(worlds, st.integers(0, 100))
def test_row_order_changes_nothing(world, seed: int) -> None:
    shuffled = [frame.sample(frac=1, random_state=seed) for frame in world]
    pd.testing.assert_frame_equal(case_deltas(*world), case_deltas(*shuffled))


@settings(max_examples=15, deadline=None)
@given(worlds)
def test_an_unscored_row_changes_only_the_count_of_unscored(world) -> None:
    before, after = world
    extra = pd.DataFrame({"case_id": ["c000"], "metric": ["m0"], "trial": [99], "kind": ["win"], "value": [np.nan]})
    plain = case_deltas(before, after)
    more = case_deltas(before, pd.concat([after, extra]))
    assert more["n_unscored"].sum() == plain["n_unscored"].sum() + 1
    told = ["n_unscored", "note"]
    pd.testing.assert_frame_equal(more.drop(columns=told), plain.drop(columns=told))


@pytest.mark.parametrize("trials", [2, 3, 5])
def test_nothing_changed_is_rarely_called_a_regression(trials: int) -> None:
    """Family-wise error over 20 wins and 3 metrics: nominal .04; 60 corpora, 3 standard errors of room."""
    rng = np.random.default_rng(100 + trials)
    alarms = sum(
        (case_deltas(*null_world(rng, cases=20, metrics=3, trials=trials))["status"] == "regressed").any()
        for _ in range(60)
    )
    assert alarms / 60 <= 0.04 + 3 * (0.04 * 0.96 / 60) ** 0.5


def test_a_drop_of_a_fifth_is_mostly_found_with_five_trials() -> None:
    rng = np.random.default_rng(11)
    found = 0
    for _ in range(20):
        before, after = null_world(rng, cases=20, metrics=3, trials=5, sd=0.05)
        hit = after["case_id"] == "c003"
        deltas = case_deltas(before, after.assign(value=np.where(hit, after["value"] - 0.2, after["value"])))
        found += "regressed" in set(deltas.loc[deltas["case_id"] == "c003", "status"])
    assert found >= 18
