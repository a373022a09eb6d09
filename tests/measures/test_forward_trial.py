"""What a forward trial says of live sessions, and what it refuses to conclude."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import harnesskit as hk
from harnesskit.decisions.forward_promotion import decide_forward
from harnesskit.decisions.promotion import decide_promotion
from harnesskit.measures.forward_trial import forward_path, forward_trial
from harnesskit.model.errors import FrameError, PolicyError
from harnesskit.model.metrics import Metric
from harnesskit.trials.trial_arm import trial_arm


def made(n: int = 60, *, effect: float = 0.2, seed: int = 1, metric: str = "q", drift: float = 0.0) -> pd.DataFrame:
    """Sessions of a trial with permuted blocks, in order of time."""
    rng = np.random.default_rng(seed)
    arms = [trial_arm("rule", f"u{i}", position=i) for i in range(n)]
    with_rule = np.array([arm == "candidate" for arm in arms])
    score = np.clip(rng.normal(0.6, 0.12, n) + effect * with_rule + drift * np.arange(n) / n, 0, 1)
    times = pd.date_range("2025-03-01", periods=n, freq="h", tz="UTC")
    return pd.DataFrame(
        {"session_id": [f"s{i}" for i in range(n)], "cluster": [f"u{i}" for i in range(n)], "arm": arms,
         "occurred_at": times, "metric": metric, "value": score}
    )  # fmt: skip


def row(evidence: pd.DataFrame, check: str) -> pd.Series:
    return evidence.set_index("check").loc[check]


def verdict(frame: pd.DataFrame, **how) -> str:
    return decide_forward(forward_trial(frame, metric="q", **how), policy=how.get("policy", "open_ended")).verdict


def test_a_rule_that_helps_is_promoted_and_one_that_hurts_retired():
    evidence = forward_trial(made(), metric="q", sd=0.12)
    assert row(evidence, "benefit")["state"] == "met"
    assert row(evidence, "benefit")["evidence"] >= 20
    assert verdict(made(effect=-0.15)) == "retire"
    assert verdict(made(6)) == "pending"


def test_the_verdict_is_the_same_through_decide_promotion():
    evidence = forward_trial(made(), metric="q")
    mine = decide_forward(evidence)
    theirs = decide_promotion(evidence, policy="open_ended")
    assert (mine.verdict, mine.evidence_hash) == (theirs.verdict, theirs.evidence_hash)
    assert mine.guard_kind == "rule"


def test_what_comes_after_the_decision_changes_neither_verdict_nor_estimate():
    whole = row(forward_trial(made(120), metric="q"), "benefit")
    path = forward_path(made(120), metric="q")
    ended = int(path.loc[path["decided"], "replays"].iloc[0])
    short = row(forward_trial(made(120).head(ended), metric="q"), "benefit")
    assert ended < 120
    for column in ("state", "evidence", "estimate", "looks", "low"):
        assert whole[column] == short[column]


def test_rows_in_another_order_say_the_same():
    frame = made()
    again = frame.sample(frac=1, random_state=2)
    pd.testing.assert_frame_equal(forward_trial(frame, metric="q"), forward_trial(again, metric="q"))


def test_wide_and_long_sessions_say_the_same():
    frame = made()
    wide = frame.drop(columns=["metric", "value"]).assign(q=frame["value"])
    pd.testing.assert_frame_equal(forward_trial(frame, metric="q"), forward_trial(wide, metric="q"))


def test_traces_are_averaged_and_never_counted_as_sessions():
    frame = made()
    traces = pd.concat([frame.assign(value=frame["value"] + shift) for shift in (-0.001, 0.001)])
    once, twice = forward_trial(frame, metric="q"), forward_trial(traces, metric="q")
    assert row(twice, "benefit")["looks"] == row(once, "benefit")["looks"]
    assert row(twice, "benefit")["estimate"] == pytest.approx(row(once, "benefit")["estimate"])


def test_sessions_of_a_cluster_count_as_one_unit():
    frame = made(40)
    again = frame.assign(
        session_id=frame["session_id"] + "-again", occurred_at=frame["occurred_at"] + pd.Timedelta("9D")
    )
    both = forward_trial(pd.concat([frame, again]), metric="q")
    assert row(both, "randomised")["n_cases"] == 40
    assert row(both, "benefit")["n"] <= 40
    assert "40 units have several sessions" in row(both, "assignment")["note"]


def test_a_session_without_a_score_is_counted_and_not_healthy():
    frame = made(60, effect=0.3)
    lost = frame.assign(value=frame["value"].where(frame.index % 3 != 0))
    evidence = forward_trial(lost, metric="q", metrics=[Metric("q", threshold=0.5)])
    missing, breach = row(evidence, "missing_data"), row(evidence, "breach_rate control")
    assert missing["estimate"] == pytest.approx(1 / 3)
    assert "neither healthy nor breached" in missing["note"]
    scored = lost[(lost["arm"] == "control") & lost["value"].notna()]
    assert breach["n"] == len(scored)
    assert breach["estimate"] == pytest.approx((scored["value"] < 0.5).mean())


def test_a_promotion_must_hold_with_missing_scores_at_their_worst():
    frame = made(80, effect=0.1, seed=4)
    healthy = frame["value"] > 0.64
    hidden = frame.assign(value=frame["value"].where((frame["arm"] == "control") | healthy))
    evidence = forward_trial(hidden, metric="q", sd=0.12)
    assert row(evidence, "benefit")["state"] == "met"
    found = decide_forward(evidence)
    assert (found.verdict, found.reason) == ("pending", "missing_data")


def test_a_status_other_than_ok_is_no_score():
    frame = made().assign(status="ok")
    frame.loc[:9, "status"] = "error"
    assert row(forward_trial(frame, metric="q"), "missing_data")["estimate"] == pytest.approx(10 / 60)


def test_before_and_after_may_retire_and_never_promotes():
    frame = made(80).assign(arm=["before"] * 40 + ["after"] * 40)
    better = frame.assign(value=np.r_[np.full(40, 0.4), np.full(40, 0.8)])
    found = decide_forward(forward_trial(better, metric="q", observational=True))
    assert found.verdict == "pending"
    assert found.reasons[0].startswith("Observational")
    worse = frame.assign(value=np.r_[np.full(40, 0.8), np.full(40, 0.4)])
    assert decide_forward(forward_trial(worse, metric="q", observational=True)).verdict == "retire"


def test_arms_that_follow_each_other_are_no_fair_draw():
    frame = made(40).assign(arm=["control"] * 20 + ["candidate"] * 20)
    frame["value"] = np.r_[np.full(20, 0.4), np.full(20, 0.8)]
    evidence = forward_trial(frame, metric="q")
    assert row(evidence, "benefit")["state"] == "met"
    assert row(evidence, "randomised")["state"] == "unknown"
    assert decide_forward(evidence).verdict == "pending"
    uneven = made(60).assign(arm=["candidate"] * 50 + ["control"] * 10).sample(frac=1, random_state=0)
    assert row(forward_trial(uneven.drop(columns="occurred_at"), metric="q"), "randomised")["state"] == "unknown"


def test_a_guardrail_that_gets_worse_stops_the_trial():
    frame = made(80)
    other = frame.assign(metric="tone", value=np.where(frame["arm"] == "candidate", 0.4, 0.8))
    evidence = forward_trial(pd.concat([frame, other]), metric="q")
    assert row(evidence, "guardrail tone")["state"] == "unmet"
    found = decide_forward(evidence)
    assert (found.verdict, found.reason, found.detail) == ("retire", "guardrail tone", "harm")
    better = frame.assign(metric="tone", value=np.where(frame["arm"] == "candidate", 0.8, 0.4))
    assert verdict(pd.concat([frame, better])) == "promote"
    assert "guardrail tone" not in forward_trial(pd.concat([frame, other]), metric="q", guardrails=[])["check"].tolist()


def test_lower_is_better_turns_the_effect_round():
    slow = made(60, effect=-0.2)
    latency = Metric("q", low=0, high=1, higher_is_better=False)
    evidence = forward_trial(slow, metric="q", metrics=[latency])
    assert row(evidence, "benefit")["state"] == "met"
    assert row(evidence, "benefit")["estimate"] > 0


def test_a_metric_without_a_range_decides_nothing():
    evidence = forward_trial(made().assign(value=lambda f: f["value"] * 900), metric="q")
    assert row(evidence, "benefit")["reason"] == "missing_data"
    assert "not declared" in row(evidence, "benefit")["note"]


def test_what_is_known_before_makes_the_trial_shorter():
    rng = np.random.default_rng(5)
    task = rng.normal(0, 0.2, 8)
    kind = rng.integers(0, 8, 80)
    frame = made(80, effect=0.0).assign(task=kind)
    frame["value"] = 0.5 + task[kind] + 0.1 * (frame["arm"] == "candidate") + rng.normal(0, 0.05, 80)
    before = rng.integers(0, 8, 200)
    history = pd.DataFrame({"session_id": [f"h{i}" for i in range(200)], "metric": "q", "task": before,
                            "value": 0.5 + task[before] + rng.normal(0, 0.05, 200)})  # fmt: skip

    def looks(**how) -> int:
        return int(row(forward_trial(frame, metric="q", **how), "benefit")["looks"])

    assert looks(history=history, stratum="task") < 20
    assert looks(history=history, stratum="task") < looks(history=history)
    assert "8 strata" in row(forward_trial(frame, metric="q", history=history, stratum="task"), "assignment")["note"]


def test_the_earlier_sessions_of_a_cluster_are_subtracted_by_their_reliability():
    rng = np.random.default_rng(6)
    users = rng.uniform(-0.3, 0.3, 40)
    frame = made(40, effect=0.0)
    frame["value"] = 0.5 + users + 0.1 * (frame["arm"] == "candidate") + rng.normal(0, 0.05, 40)
    who = np.repeat(np.arange(40), 5)
    history = pd.DataFrame({"session_id": [f"h{i}" for i in range(200)], "cluster": [f"u{i}" for i in who],
                            "metric": "q", "value": 0.5 + users[who] + rng.normal(0, 0.05, 200)})  # fmt: skip
    known = row(forward_trial(frame, metric="q", history=history), "benefit")
    plain = row(forward_trial(frame, metric="q", sd=0.2), "benefit")
    assert known["state"] == "met"
    assert known["looks"] < plain["looks"]


def test_a_promised_horizon_is_judged_by_bounds():
    evidence = forward_trial(made(80), metric="q", policy="budgeted:80")
    assert row(evidence, "benefit")["scale"] == "z"
    assert row(evidence, "benefit")["interval_kind"] == "repeated confidence interval"
    assert verdict(made(80), policy="budgeted:80") == "promote"
    assert "fewer than 40 units" in row(forward_trial(made(20), metric="q", policy="budgeted:20"), "assignment")["note"]


def test_no_session_yet_is_a_trial_in_progress():
    found = decide_forward(forward_trial(made(2), metric="q"))
    assert (found.verdict, found.reason) == ("pending", "trial_in_progress")
    assert found.runs_needed


def test_the_path_ends_where_the_evidence_stands():
    for policy in ("open_ended", "budgeted:60"):
        evidence = row(forward_trial(made(40, effect=0.02), metric="q", policy=policy), "benefit")
        path = forward_path(made(40, effect=0.02), metric="q", policy=policy)
        last = path[path["check"] == "benefit"].iloc[-1]
        assert last["evidence"] == pytest.approx(evidence["evidence"])
        assert last["look"] == evidence["looks"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arm": "blue"}, "must be one of candidate, treatment, control; found 'blue'"),
        ({"value": "high"}, "needs numbers as scores of 'q'; found 'high'"),
        ({"metric": "p"}, "no session has the metric 'q'"),
    ],
)
def test_what_cannot_be_read_is_named(change: dict[str, str], message: str):
    with pytest.raises(FrameError, match=message):
        forward_trial(made().assign(**change), metric="q")


def test_a_session_has_one_arm_and_is_not_its_own_history():
    frame = made()
    twice = pd.concat([frame, frame.head(1).assign(arm="control"), frame.head(1).assign(arm="candidate")])
    with pytest.raises(FrameError, match="a session has one arm"):
        forward_trial(twice, metric="q")
    with pytest.raises(FrameError, match="found in both: 's0'"):
        forward_trial(frame, metric="q", history=frame.drop(columns="arm").head(1))
    with pytest.raises(PolicyError, match="has no policy 'reference'"):
        forward_trial(frame, metric="q", policy="reference")


def test_arms_come_in_blocks_of_four_and_are_the_same_on_any_machine():
    arms = [trial_arm("r-1", f"user-{i}", position=i) for i in range(400)]
    assert all(arms[i : i + 4].count("candidate") == 2 for i in range(0, 400, 4))
    assert arms[:4] == ["candidate", "control", "control", "candidate"]
    assert len({tuple(arms[i : i + 4]) for i in range(0, 400, 4)}) == 6
    coins = [trial_arm("r-1", f"user-{i}") for i in range(2000)]
    assert 930 < coins.count("candidate") < 1070
    assert coins != [trial_arm("r-2", f"user-{i}") for i in range(2000)]
    with pytest.raises(PolicyError, match="from 0"):
        hk.trial_arm("r-1", "u", position=-1)


def test_without_a_history_pairs_are_formed_inside_a_stratum():
    rng = np.random.default_rng(8)
    kind = rng.integers(0, 2, 80)
    frame = made(80, effect=0.0).assign(task=kind)
    frame["value"] = 0.3 + 0.4 * kind + 0.1 * (frame["arm"] == "candidate") + rng.normal(0, 0.05, 80)
    inside = forward_trial(frame, metric="q", stratum="task", sd=0.05)
    assert row(inside, "benefit")["state"] == "met"
    assert "pairs inside strata" in row(inside, "assignment")["note"]
    assert row(inside, "benefit")["looks"] < row(forward_trial(frame, metric="q"), "benefit")["looks"]
