"""Evidence about a guard: what may change it, what may not, and what never makes a promotion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harnesskit.decisions.promotion import decide_promotion
from harnesskit.measures.promotion import promotion_evidence
from harnesskit.model.decision import GUARD_VERDICTS, PENDING_REASONS
from harnesskit.model.errors import FrameError, PolicyError
from harnesskit.model.metrics import Metric
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.promotion_results import PROMOTION_EVIDENCE
from harnesskit.stats.random_effects import random_effects
from tests.made_guards import crashed, frame, made_trial, scored

POLICIES = ("budgeted", "budgeted:20", "classic", "open_ended", "certified")


def weigh(control: pd.DataFrame, candidate: pd.DataFrame, **keywords: Any) -> pd.DataFrame:
    return promotion_evidence(control, candidate, target_metric="q", **keywords).set_index("check", drop=False)


def verdict(control: pd.DataFrame, candidate: pd.DataFrame, **keywords: Any) -> Any:
    policy = keywords.get("policy", "budgeted")
    return decide_promotion(promotion_evidence(control, candidate, target_metric="q", **keywords), policy=policy)


def test_a_guard_that_helps_and_harms_nothing_is_promoted_with_its_blind_spot():
    found = verdict(*made_trial())
    assert (found.verdict, found.reason) == ("promote", "benefit")
    assert any("blind spot" in text.lower() for text in found.reasons)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_frame_is_that_of_its_contract(policy):
    rows = promotion_evidence(*made_trial(), target_metric="q", policy=policy)
    assert rows.columns.tolist() == list(PROMOTION_EVIDENCE.columns)
    assert rows["check"].is_unique
    assert set(rows["policy"]) == {PromotionPolicy.parse(policy).label}


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(POLICIES), st.booleans())
def test_the_order_of_rows_changes_nothing(seed, policy, named):
    control, candidate = made_trial(0.15, sd=0.1, seed=seed)
    if not named:
        control, candidate = (side.drop(columns="sample_id") for side in (control, candidate))
    mixed = [side.sample(frac=1, random_state=seed) for side in (control, candidate)]
    one, other = (
        promotion_evidence(*sides, target_metric="q", policy=policy) for sides in ((control, candidate), mixed)
    )
    pd.testing.assert_frame_equal(one, other)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.floats(-0.3, 0.3))
def test_swapping_the_sides_flips_the_effect_and_promotes_no_guard_that_was_retired(seed, effect):
    rng = np.random.default_rng(seed)
    cases = {"case_id": ["f0", "f1", "w0", "w1"] * 4, "kind": ["failure", "failure", "win", "win"] * 4, "metric": "q"}
    level = np.tile([0.4, 0.5, 0.6, 0.6], 4)
    before, after = (pd.DataFrame({**cases, "value": level + rng.normal(0, 0.05, 16)}) for _ in "ab")
    after["value"] += np.where(after["kind"] == "failure", effect, 0.0)
    there, back = weigh(before, after), weigh(after, before)
    assert there.loc["benefit", "estimate"] == pytest.approx(-back.loc["benefit", "estimate"], abs=1e-12)
    assert there.loc["benefit", "low"] == pytest.approx(-back.loc["benefit", "high"], abs=1e-12)
    assert {verdict(before, after).verdict, verdict(after, before).verdict} != {"promote"}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(4))
def test_a_run_against_itself_is_never_promoted(policy, seed):
    _, candidate = made_trial(0.0, seed=seed, wins=4)
    control = candidate.assign(sample_id="x" + candidate["sample_id"])
    assert verdict(control, candidate, policy=policy).verdict != "promote"
    plain = candidate[["case_id", "kind", "metric", "value"]]
    assert verdict(plain, plain, policy=policy).verdict != "promote"


def test_unscored_bank_rows_and_skipped_replays_change_nothing():
    control, candidate = made_trial()
    more = frame([crashed("f0", "failure", "unscored", "no control run"), crashed("w00", "win", "unscored", "none")])
    skipped = frame([crashed("f1", "failure", "skipped", "no replay input", round=3, sample_id="s")])
    one = promotion_evidence(control, candidate, target_metric="q")
    two = promotion_evidence(
        pd.concat([control, more]), pd.concat([candidate, skipped], ignore_index=True), target_metric="q"
    )
    pd.testing.assert_frame_equal(one, two)


def test_replays_without_a_score_change_only_what_is_said_of_missing_data():
    kinds = {"case_id": ["f", "g", "w", "v"] * 4, "kind": ["failure", "failure", "win", "win"] * 4, "metric": "q"}
    before = pd.DataFrame({**kinds, "value": [0.3, 0.4, 0.9, 0.8, 0.32, 0.38, 0.88, 0.82] * 2})
    after = before.assign(value=before["value"] + np.where(before["kind"] == "failure", 0.4, 0.0))
    lost = pd.DataFrame([crashed("f", "failure"), crashed("w", "win")])
    one, two = weigh(before, after), weigh(before, pd.concat([after, lost], ignore_index=True))
    changed = [check for check in one.index if not one.loc[check].equals(two.loc[check])]
    assert set(changed) <= {"missing_data", "missing_data_wins"}
    assert two.loc["missing_data", "note"].startswith("1 of 9 candidate")


def test_unrelated_cases_and_metrics_change_nothing():
    control, candidate = made_trial()
    other = scored("other", "failure", {"q": 0.9}, sample_id="o1") + scored("f0", "failure", {"r": 1.0}, sample_id="o2")
    one = promotion_evidence(control, candidate, target_metric="q")
    two = promotion_evidence(pd.concat([control, frame(other)], ignore_index=True), candidate, target_metric="q")
    pd.testing.assert_frame_equal(one, two)
    names = sorted(set(candidate.loc[candidate["kind"] == "win", "case_id"]))
    wins = frame(scored("w-new", "win", {"q": 0.1, "p": 0.2}, sample_id="o3"))
    kept = {"wins": names, "prior_sd": 0.05, "guard_metrics": ["p", "q"]}
    one = promotion_evidence(control, candidate, target_metric="q", **kept)
    two = promotion_evidence(pd.concat([control, wins], ignore_index=True), candidate, target_metric="q", **kept)
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.parametrize(
    "types",
    [
        {"value": "Float64"},
        {"case_id": "string", "metric": "string", "kind": "string"},
        {"case_id": object, "metric": object},
    ],
)
def test_column_types_of_either_pandas_give_the_same(types):
    control, candidate = made_trial()
    one = promotion_evidence(control, candidate, target_metric="q")
    two = promotion_evidence(control.astype(types), candidate.astype(types), target_metric="q")
    pd.testing.assert_frame_equal(one, two)


def test_four_columns_are_enough_and_the_one_look_is_said():
    control, candidate = (side[["case_id", "kind", "metric", "value"]] for side in made_trial(replays=6))
    rows = weigh(control, candidate)
    assert rows.loc["benefit", "looks"] == 1
    assert "one look" in rows.loc["benefit", "note"]
    assert rows.loc["benefit", "bound"] == pytest.approx(stats.norm.isf(0.05))
    assert rows.loc["benefit", "interval_kind"].startswith("moderated t")
    assert decide_promotion(rows).verdict == "promote"


def test_missing_columns_are_named_with_the_frame_and_the_nearest():
    control, candidate = made_trial()
    with pytest.raises(FrameError, match=r"promotion_evidence\(\) needs, as the candidate.*'metric'.*metrics"):
        promotion_evidence(control, candidate.rename(columns={"metric": "metrics"}), target_metric="q")
    with pytest.raises(FrameError, match=r"as the control.*'kind'"):
        promotion_evidence(control.drop(columns="kind"), candidate, target_metric="q")
    with pytest.raises(FrameError, match="failure"):
        promotion_evidence(control, candidate.assign(kind="failed"), target_metric="q")


def test_the_rule_of_the_reference_weighs_no_evidence():
    with pytest.raises(PolicyError, match="validate_candidates"):
        promotion_evidence(*made_trial(), target_metric="q", policy="reference")


def test_every_candidate_run_counts_whether_it_read_the_rule_or_not():
    control, candidate = made_trial(0.2, replays=4, read=True)
    ours = candidate["kind"] == "failure"
    half = candidate.assign(
        candidate_surfaced=np.where(ours, candidate["round"] % 2 == 0, candidate["candidate_surfaced"])
    )
    one, two = weigh(control, candidate), weigh(control, half)
    assert one.loc["benefit", "estimate"] == two.loc["benefit", "estimate"]
    assert two.loc["compliance", "estimate"] == 0.5
    assert two.loc["effect_when_read", "estimate"] == pytest.approx(2 * two.loc["benefit", "estimate"])


def test_a_guard_that_was_not_read_is_neither_promoted_nor_retired_for_its_effect():
    for effect in (0.3, 0.0, -0.3):
        control, candidate = made_trial(effect, read=False, replays=6)
        found = verdict(control, candidate)
        assert (found.verdict, found.reason) == ("pending", "candidate_not_exercised")
    recorded = made_trial(0.3, read=None)
    assert verdict(*recorded).verdict == "promote"
    assert "not recorded" in weigh(*recorded).loc["compliance", "note"]


def test_an_outage_is_pending_whatever_the_metric():
    control, _ = made_trial()
    gone = [crashed("f0", "failure", round=i + 1, sample_id=f"c{i}", candidate_surfaced=False) for i in range(12)]
    assert verdict(control, frame(gone)).reason == "replay_inconclusive"
    binary = control.assign(metric=control["metric"].replace("q", "outcome_correct"), value=0.0)
    assert verdict(binary, frame(gone)).verdict == "pending"
    waited = [one | {"reason": "env_wait_timeout: 60 s"} for one in gone]
    assert verdict(control, frame(waited)).reason == "env_wait_timeout"


def test_crashes_fail_a_yes_or_no_outcome_and_never_make_a_promotion():
    control = frame(
        [r for i in range(10) for r in scored("f0", "failure", {"outcome_correct": float(i < 3)}, sample_id=f"b{i}")]
    )
    good = [scored("f0", "failure", {"outcome_correct": 1.0}, round=i + 1, sample_id=f"c{i}") for i in range(9)]
    lost = [crashed("f0", "failure", round=10, sample_id="c9")]
    rows = weigh(control, frame([r for one in good for r in one] + lost))
    assert rows.loc["benefit", "metric"] == "outcome_correct"
    assert rows.loc["missing_data", "n_candidate"] == 10
    all_lost = frame(
        [r for one in good[:4] for r in one]
        + [crashed("f0", "failure", round=i, sample_id=f"x{i}") for i in range(5, 11)]
    )
    found = verdict(control, all_lost)
    assert (found.verdict, found.reason) == ("pending", "missing_data")


def test_too_many_missing_scores_leave_the_verdict_open_unless_it_holds_at_their_worst():
    kinds = {"case_id": ["f", "g"] * 10, "kind": "failure", "metric": "q"}
    before = pd.DataFrame({**kinds, "value": np.tile([0.1, 0.12], 10)})
    after = before.assign(value=0.95)
    half = after.assign(value=after["value"].mask(after.index >= 10))
    few = after.assign(value=after["value"].mask(after.index >= 4))
    assert "holds" in weigh(before, half).loc["missing_data", "note"]
    assert weigh(before, half).loc["missing_data", "state"] == "met"
    assert weigh(before, few).loc["missing_data", "reason"] == "missing_data"


def test_a_captured_score_of_a_failure_is_no_control():
    control, candidate = made_trial()
    captured = control.assign(source="captured")
    found = verdict(captured, candidate)
    assert found.verdict == "pending"
    assert "captured" in found.reasons[0]
    mixed = pd.concat([control, frame(scored("f0", "failure", {"q": 0.0}, sample_id="cap", source="captured"))])
    assert weigh(mixed, candidate).loc["benefit", "estimate"] == weigh(control, candidate).loc["benefit", "estimate"]


def test_the_outcome_decides_where_four_runs_in_five_have_it():
    control, candidate = made_trial()

    def with_outcome(side: pd.DataFrame, share: float) -> pd.DataFrame:
        rows = side[(side["metric"] == "q") & (side["kind"] == "failure")]
        ids = rows["sample_id"].iloc[: round(share * len(rows))]
        return pd.concat([side, rows[rows["sample_id"].isin(ids)].assign(metric="outcome_correct", value=1.0)])

    for share, metric in ((0.75, "q"), (0.85, "outcome_correct")):
        rows = weigh(with_outcome(control, 1.0), with_outcome(candidate, share))
        assert rows.loc["benefit", "metric"] == metric


def test_direction_and_range_come_from_the_declaration():
    control, candidate = made_trial(0.3)
    swapped = [side.assign(value=100 * (1 - side["value"])) for side in (control, candidate)]
    metrics = [Metric(name, low=0, high=100, higher_is_better=False) for name in ("q", "p")]
    one, two = weigh(control, candidate), weigh(*swapped, metrics=metrics)
    assert two.loc["benefit", "estimate"] == pytest.approx(one.loc["benefit", "estimate"])
    assert two["state"].tolist() == one["state"].tolist()
    assert "declare" in verdict(*swapped).reasons[0]


def test_two_graders_of_the_target_are_not_compared():
    control, candidate = made_trial()
    found = verdict(control.assign(grader="judge-1"), candidate.assign(grader="judge-2"))
    assert (found.verdict, found.reason) == ("pending", "fingerprint_mismatch")


def test_a_bank_of_another_fingerprint_is_no_control():
    control, candidate = made_trial()
    found = verdict(control.assign(fingerprint="old"), candidate.assign(fingerprint="new"))
    assert (found.verdict, found.reason) == ("pending", "fingerprint_mismatch")


def test_five_cases_say_what_to_expect_of_a_new_one_and_one_case_that_it_may_not_generalise():
    rows = weigh(*made_trial(failures=6, replays=1))
    assert rows.loc["generality", "n_cases"] == 6
    assert pd.isna(rows.loc["generality", "reason"])
    alone = weigh(*made_trial(failures=1, replays=8)).loc["one_case"]
    assert "may not generalise" in alone["note"]
    assert pd.isna(alone["reason"])
    effects = np.array([0.1, 0.25, -0.05, 0.18, 0.02])
    kinds = {"case_id": [f"f{i}" for i in range(5)] * 2, "kind": "failure", "metric": "q"}
    before = pd.DataFrame({**kinds, "value": 0.4})
    found = weigh(before, before.assign(value=0.4 + np.tile(effects, 2)), policy=PromotionPolicy(prior_df=1e6))
    expected = random_effects(effects, np.full(5, 0.01))
    assert found.loc["generality", "low"] == pytest.approx(expected.low, abs=1e-4)


def test_several_replays_of_one_round_are_one_look():
    control, candidate = made_trial(0.05, sd=0.2, wins=0)
    rounds = candidate.assign(round=np.ceil(candidate["round"] / 3))
    assert weigh(control, rounds).loc["benefit", "looks"] == 4
    assert weigh(control, candidate).loc["benefit", "looks"] == 10


@pytest.mark.parametrize(("policy", "scale"), [("open_ended", "e"), ("certified", "e"), ("budgeted", "z")])
def test_the_scale_is_that_of_the_mode(policy, scale):
    rows = weigh(*made_trial(0.02, sd=0.1), policy=policy)
    assert rows.loc["benefit", "scale"] == scale
    if scale == "e":
        assert rows.loc["benefit", "bound"] == pytest.approx(20)
        assert rows.loc["futility", "bound"] == pytest.approx(10)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000), st.sampled_from(POLICIES), st.booleans())
def test_any_frame_gets_a_verdict_of_the_closed_sets(seed, policy, ordered):
    rng = np.random.default_rng(seed)

    def side(name: str) -> pd.DataFrame:
        rows: list[dict[str, Any]] = []
        for i in range(int(rng.integers(0, 14))):
            kind = str(rng.choice(["failure", "win"]))
            case, number = f"{kind[0]}{rng.integers(0, 3)}", int(rng.integers(1, 9)) if ordered else None
            facts = {"round": number, "sample_id": f"{name}{i}", "candidate_surfaced": bool(rng.random() < 0.7)}
            if rng.random() < 0.2:
                rows.append(crashed(case, kind, str(rng.choice(["error", "timeout", "unscored", "skipped"])), **facts))
            else:
                names = rng.choice(["q", "p", "outcome_correct"], size=int(rng.integers(1, 4)), replace=False)
                source = "captured" if name == "a" and rng.random() < 0.2 else "control"
                rows += scored(case, kind, {str(m): float(rng.integers(0, 2)) for m in names}, **facts, source=source)
        return frame(rows)

    found = verdict(side("a"), side("b"), policy=policy)
    assert found.verdict in GUARD_VERDICTS
    assert found.verdict != "pending" or found.reason in PENDING_REASONS
    assert found.reasons
    assert all(text[0].isupper() or not text[0].isalpha() for text in found.reasons)
    assert all(text.endswith(".") for text in found.reasons)


def test_one_look_agrees_with_the_pooled_moderated_t_of_another_package():
    """Residual sum of squares by statsmodels' OLS, t by scipy."""
    control = [[0.4, 0.52, 0.45], [0.31, 0.28, 0.4], [0.55, 0.49, 0.6]]
    rule = [[0.55, 0.61], [0.47, 0.39], [0.58, 0.72]]
    sides = [
        pd.DataFrame([(f"f{i}", "failure", "q", v) for i, runs in enumerate(side) for v in runs],
                     columns=["case_id", "kind", "metric", "value"])
        for side in (control, rule)
    ]  # fmt: skip
    row = weigh(*sides, prior_sd=0.1).loc["benefit"]
    assert row["estimate"] == pytest.approx(0.10888888888888883, abs=1e-9)
    assert row["evidence"] == pytest.approx(2.399250273784535, abs=1e-9)
    half = stats.t.isf(0.025, 12) * 0.0015262345679012345**0.5
    assert row["high"] - row["estimate"] == pytest.approx(half, abs=1e-9)


def test_the_classic_guard_says_how_much_of_its_bound_is_reached_and_no_ratio():
    evidence = weigh(*made_trial(harmed=2), policy="classic").set_index("check")
    assert evidence.loc["harm", ["scale", "bound"]].tolist() == ["share", 1.0]
    assert evidence.loc["harm", "reason"] == "harm"
    assert evidence.loc["harm", "evidence"] >= 1
    assert "ratio" not in str(evidence.loc["harm", "note"])
