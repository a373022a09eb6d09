"""The evidence look by look, the wins one by one, and the pairs behind a guard."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import special

from harnesskit.measures.guard_wins import guard_wins
from harnesskit.measures.pairs import replay_pairs
from harnesskit.measures.promotion import promotion_evidence
from harnesskit.measures.promotion_path import evidence_path
from harnesskit.model.errors import FrameError
from harnesskit.model.metrics import Metric
from harnesskit.model.promotion_results import EVIDENCE_PATH, GUARD_WINS, PAIRS
from harnesskit.stats.replay_schedule import benefit_budget, schedule
from harnesskit.stats.sequential import boundaries
from tests.made_guards import crashed, frame, made_trial, scored


@pytest.mark.parametrize("policy", ["budgeted", "classic", "open_ended", "certified"])
def test_the_last_look_is_that_of_the_evidence(policy):
    sides = made_trial(0.1, sd=0.1)
    path = evidence_path(*sides, target_metric="q", policy=policy)
    rows = promotion_evidence(*sides, target_metric="q", policy=policy).set_index("check")
    assert path.columns.tolist() == list(EVIDENCE_PATH.columns)
    for check in ("benefit", "futility", "harm"):
        last = path[path["check"] == check].iloc[-1]
        assert last["evidence"] == pytest.approx(rows.loc[check, "evidence"])
        assert last["look"] == rows.loc[check, "looks"]
        assert last["estimate"] == pytest.approx(rows.loc[check, "estimate"])


def test_looks_count_the_replays_of_the_whole_trial_without_the_bank():
    path = evidence_path(*made_trial(0.3), target_metric="q")
    harm = path[path["check"] == "harm"]
    assert harm["replays"].iloc[0] == 13  # 12 replays of failing cases come before the first win
    assert path.groupby("check")["decided"].sum().to_dict() == {"benefit": 1, "futility": 0, "harm": 1}


def test_the_interval_after_stopping_is_the_repeated_one():
    sides = made_trial(0.1, sd=0.1, replays=6)
    row = promotion_evidence(*sides, target_metric="q").set_index("check").loc["benefit"]
    plan = schedule([5, 5, 5], benefit_budget(40))
    info = plan.information[plan.look][: int(row["looks"])]
    bound = boundaries(info, 0.025, planned=plan.planned)[-1]
    path = evidence_path(*sides, target_metric="q")
    assert row["interval_kind"] == "repeated, two-sided 95 %"
    # the half width is the bound's quantile of t in standard errors; z of the evidence gives these back
    runs = row["n_control"] + row["n_candidate"]
    df = runs - 6 + 3
    se = row["estimate"] / special.stdtrit(df, special.ndtr(row["evidence"]))
    assert row["high"] - row["estimate"] == pytest.approx(special.stdtrit(df, special.ndtr(bound)) * se, rel=1e-6)
    assert len(path[path["check"] == "benefit"]) == row["looks"]


def test_wins_come_with_the_most_harmed_first_and_those_not_replayed_last():
    control, candidate = made_trial(0.3, harmed=2, wins=6)
    seen = candidate[~candidate["case_id"].isin(["w05"])]
    wins = guard_wins(control, seen, target_metric="q")
    assert wins.columns.tolist() == list(GUARD_WINS.columns)
    assert wins["case_id"].iloc[0] in ("w00", "w01")
    last = wins.iloc[-1]
    assert (last["case_id"], last["replayed"], last["harm"]) == ("w05", False, 1.0)
    assert set(wins["baseline_source"]) == {"control"}


def test_a_captured_score_is_named_and_failed_replays_of_a_win_are_told():
    control, candidate = made_trial(0.3, wins=4)
    wins = control["kind"] == "win"
    first = control[wins].drop_duplicates(["case_id", "metric"]).assign(source="captured", sample_id=None)
    lost = frame([crashed("w00", "win", round=99, sample_id="c-99")])
    both = pd.concat([control[~wins], first], ignore_index=True)
    found = guard_wins(both, pd.concat([candidate, lost], ignore_index=True), target_metric="q").set_index("case_id")
    assert set(found["baseline_source"]) == {"captured"}
    assert "captured score" in found.loc["w01", "note"]


def test_pairs_show_every_run_once_or_more_worst_first():
    control = frame([r for i in range(3) for r in scored("f0", "failure", {"q": 0.2 + i / 10}, sample_id=f"b{i}")])
    values = [0.9, 0.1, 0.5, 0.7]
    candidate = frame(
        [r for i, v in enumerate(values) for r in scored("f0", "failure", {"q": v}, sample_id=f"c{i}", round=i + 1)]
    )
    captured = frame(scored("f0", "failure", {"q": 0.0}, sample_id="cap", source="captured"))
    samples = pd.DataFrame({"sample_id": ["c0", "b0"], "output": ['"new"', '"old"'], "input": ['{"task": 1}', None]})
    pairs = replay_pairs(pd.concat([control, captured]), candidate, target_metric="q", samples=samples)
    assert pairs.columns.tolist() == list(PAIRS.columns)
    assert pairs["delta"].is_monotonic_increasing
    assert set(pairs["candidate_sample"]) == {"c0", "c1", "c2", "c3"}
    assert "cap" not in set(pairs["control_sample"])
    first = pairs.set_index("candidate_sample").loc["c0"]
    assert (first["control_output"], first["candidate_output"], first["input"]) == ('"old"', '"new"', '{"task": 1}')


def test_pairs_are_in_the_metrics_own_unit_and_their_change_on_the_common_scale():
    kinds = {"case_id": ["f"], "kind": ["failure"], "metric": ["ms"]}
    slow, quick = pd.DataFrame({**kinds, "value": [800.0]}), pd.DataFrame({**kinds, "value": [200.0]})
    metrics = [Metric("ms", low=0, high=1000, higher_is_better=False)]
    row = replay_pairs(slow, quick, target_metric="ms", metrics=metrics).iloc[0]
    assert [row["control"], row["candidate"]] == pytest.approx([800, 200])
    assert row["delta"] == pytest.approx(0.6)
    with pytest.raises(FrameError, match="'ms'"):
        replay_pairs(slow, quick, target_metric="s")


def test_harm_on_wins_with_captures_alone_needs_control_runs_of_their_own():
    control, candidate = made_trial(0.3, wins=6, harmed=2, win_replays=3)
    wins = control["kind"] == "win"
    captured = control[wins].drop_duplicates(["case_id", "metric"]).assign(source="captured", sample_id=None)
    both = pd.concat([control[~wins], captured], ignore_index=True)
    rows = promotion_evidence(both, candidate, target_metric="q").set_index("check")
    assert rows.loc["harm", "state"] != "unmet"
    assert np.isfinite(rows.loc["harm", "evidence"])
