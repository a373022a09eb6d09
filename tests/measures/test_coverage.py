"""Traffic against cases: which signatures and slices have one, with intervals that know of users."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import harnesskit as hk
from harnesskit.stats.intervals import clopper_pearson

HEALTHY, BREACH = '["healthy"]', '["breach:q"]'


def traffic(healthy: int, breach: int, lost: int = 0) -> pd.DataFrame:
    keys = [HEALTHY] * healthy + [BREACH] * breach + [None] * lost
    return pd.DataFrame({"session_id": [f"s{i}" for i in range(len(keys))], "signature_key": keys})


def test_the_signature_of_a_session_is_what_any_of_its_turns_breaches() -> None:
    rows = pd.DataFrame({"session_id": ["a", "a", "b", "c", "d"], "metric": ["q", "p", "q", "q", "q"],
                         "value": [0.1, 0.2, 0.9, None, 0.5]})  # fmt: skip
    found = hk.session_signatures(rows, pass_at=0.5).set_index("session_id")["signature_key"]
    assert found.where(found.notna(), None).to_dict() == {
        "a": '["breach:p","breach:q"]', "b": HEALTHY, "c": None, "d": HEALTHY,
    }  # fmt: skip


def test_slices_are_columns_or_keys_of_the_attributes() -> None:
    rows = pd.DataFrame({"session_id": ["a", "b"], "metric": "q", "value": 0.9, "arm": ["x", "y"],
                         "attributes": ['{"topic": "refunds"}', None]})  # fmt: skip
    found = hk.session_signatures(rows, pass_at=0.5, slices=("arm", "topic"))
    assert found["arm"].tolist() == ["x", "y"]
    assert found["topic"].iloc[0] == "refunds"
    assert pd.isna(found["topic"].iloc[1])


def test_shares_have_exact_intervals_and_unscored_sessions_are_apart() -> None:
    cases = pd.DataFrame({"case_id": ["w"], "signature_key": ['["healthy","topic:refunds"]'], "kind": "win"})
    found = hk.coverage(cases, traffic(40, 10, lost=5))
    without = found[found["value"] == "without a replayable case"].iloc[0]
    assert (without["n_sessions"], without["share"]) == (10, 0.2)
    assert (without["low"], without["high"]) == pytest.approx(clopper_pearson(10, 50))
    assert found.loc[found["value"] == "not scored", "n_sessions"].tolist() == [5]
    rows = found[found["by"] == "signature"].set_index("value")
    assert rows["action"].to_dict() == {BREACH: "add", HEALTHY: "keep"}
    assert "10 sessions of 50" in rows.loc[BREACH, "reason"]


def test_a_case_that_cannot_be_replayed_does_not_cover() -> None:
    cases = pd.DataFrame({"case_id": ["f"], "signature": [["breach:q"]], "kind": "failure", "replayable": False})
    found = hk.coverage(cases, traffic(0, 3)).set_index("value")
    assert found.loc[BREACH, ["action", "n_cases", "n_replayable"]].tolist() == ["attach_input", 1, 0]
    assert found.loc["without a replayable case", "share"] == 1.0


def test_sessions_of_one_user_are_not_so_many_users() -> None:
    alone = traffic(90, 10)
    users = alone.assign(cluster=["u"] * 10 + [f"v{i // 10}" for i in range(80)] + ["w"] * 10)
    cases = pd.DataFrame({"case_id": [], "signature_key": []}, dtype=object)
    width = [
        hk.coverage(cases, t).set_index("value").loc[BREACH, ["low", "high"]].diff().iloc[-1] for t in (alone, users)
    ]
    assert width[1] > 1.5 * width[0]


def test_a_slice_has_a_case_by_label_or_by_the_session_it_was_captured_from() -> None:
    sessions = traffic(4, 0).assign(topic=["refunds", "refunds", "cards", "payouts"])
    cases = pd.DataFrame({"case_id": ["a", "b"], "signature": [["healthy", "topic:refunds"], ["healthy"]],
                          "session_id": ["elsewhere", "s2"]})  # fmt: skip
    found = hk.coverage(cases, sessions, slices=("topic",))
    rows = found[found["by"] == "topic"].set_index("value")["action"]
    assert rows.to_dict() == {"payouts": "add", "refunds": "keep", "cards": "keep"}


def test_without_traffic_nothing_is_known() -> None:
    found = hk.coverage(pd.DataFrame({"case_id": ["a"], "signature": [["healthy"]]}), traffic(0, 0))
    assert found["by"].unique().tolist() == ["traffic"]
    assert found["share"].isna().all()


def test_a_missing_column_is_named() -> None:
    with pytest.raises(hk.FrameError, match="signature_key"):
        hk.coverage(pd.DataFrame({"case_id": ["a"]}), pd.DataFrame({"session_id": ["s"]}))


def test_the_share_without_a_case_covers_the_truth() -> None:
    """300 draws of 40 users x 5 sessions; users differ: the interval holds the true share in at least 93 %."""
    rng, hits = np.random.default_rng(6), 0
    cases = pd.DataFrame({"case_id": ["w"], "signature_key": [HEALTHY]})
    for _ in range(300):
        chance = np.repeat(rng.beta(1, 4, 40), 5)
        keys = np.where(rng.random(200) < chance, BREACH, HEALTHY)
        sessions = pd.DataFrame({"session_id": range(200), "signature_key": keys, "cluster": np.repeat(range(40), 5)})
        row = hk.coverage(cases, sessions).iloc[1]
        hits += row["low"] <= 0.2 <= row["high"]
    assert hits / 300 >= 0.93


def test_labels_are_text_whatever_they_hold() -> None:
    key = json.dumps(['breach:"x"|<b>'])
    sessions = pd.DataFrame({"session_id": ["s"], "signature_key": [key]})
    cases = pd.DataFrame({"case_id": ["a"], "signature": [['breach:"x"|<b>']]})
    assert hk.coverage(cases, sessions).iloc[-1]["action"] == "keep"
