"""Flips: thresholds, directions, pass rates; nothing hangs on the order of rows or of runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesskit.measures.flips import FLIPS, case_flips
from harnesskit.model.errors import PolicyError
from harnesskit.model.metrics import Metric


def scores(**cases: list[float | None]) -> pd.DataFrame:
    rows = [(case, "q", value) for case, values in cases.items() for value in values]
    return pd.DataFrame(rows, columns=["case_id", "metric", "value"])


BEFORE = scores(fixed=[0.1, 0.2], broken=[0.9, 0.9, 0.9], held=[0.9], failing=[0.1], shaky=[1, 1, 1], gone=[0.9])
AFTER = scores(fixed=[0.9, 0.5], broken=[0.4], held=[0.8, 0.7], failing=[0.49], shaky=[1, 1, 0], lost=[0.2])


def flip_of(frame: pd.DataFrame) -> dict[str, str]:
    return dict(zip(frame["case_id"], frame["flip"], strict=True))


def test_every_word_means_what_it_says() -> None:
    flips = case_flips(BEFORE, AFTER, pass_at=0.5)
    assert flip_of(flips) == {
        "broken": "broken", "failing": "both fail", "fixed": "fixed", "gone": "not compared",
        "held": "both pass", "lost": "not compared", "shaky": "flaky",
    }  # fmt: skip
    shaky = flips.set_index("case_id").loc["shaky"]
    assert (shaky["rate_baseline"], round(shaky["rate_candidate"], 3)) == (1.0, 0.667)  # 3/3 to 2/3 must show
    reasons = flips.set_index("case_id")["reason"]
    assert (reasons["gone"], reasons["lost"]) == ("no candidate score", "no baseline score")


def test_the_threshold_is_given_or_declared_or_plain_from_the_values() -> None:
    declared = case_flips(BEFORE, AFTER, metrics=[Metric("q", threshold=0.5)])
    assert flip_of(declared) == flip_of(case_flips(BEFORE, AFTER, pass_at={"q": 0.5}))
    assert flip_of(case_flips(BEFORE, AFTER, metrics=[Metric("q", threshold=0.99)], pass_at=0.5))["held"] == "both pass"
    none = case_flips(BEFORE, AFTER)
    assert set(none["flip"]) == {"not compared"}
    assert none["reason"].str.startswith("no threshold").all()
    binary = case_flips(scores(a=[1, 1], b=[0]), scores(a=[0], b=[1]))
    assert flip_of(binary) == {"a": "broken", "b": "fixed"}
    assert binary["pass_at"].tolist() == [1.0, 1.0]


def test_lower_is_better_passes_at_or_below() -> None:
    metric = Metric("q", high=10, higher_is_better=False, threshold=2.0)
    flips = case_flips(scores(a=[2.0], b=[1.0]), scores(a=[2.1], b=[2.0]), metrics=[metric])
    assert flip_of(flips) == {"a": "broken", "b": "both pass"}


def test_an_unscored_trial_is_neither_pass_nor_fail() -> None:
    flips = case_flips(scores(a=[1, 1]), scores(a=[1, None]), pass_at=0.5).iloc[0]
    assert (flips["flip"], flips["n_candidate"], flips["n_unscored"], flips["passed_candidate"]) == (
        "both pass",
        1,
        1,
        1,
    )


@pytest.mark.parametrize("bad", [float("nan"), True, {"nosuch": 0.5}, {"q": "high"}])
def test_a_bar_that_is_none_is_refused(bad: object) -> None:
    with pytest.raises(PolicyError, match=r"case_flips\(\): pass_at"):
        case_flips(BEFORE, AFTER, pass_at=bad)  # type: ignore[arg-type]


SIDE = st.dictionaries(st.sampled_from("abcd"), st.lists(st.sampled_from([0.0, 0.4, 0.6, 1.0, None]), max_size=4))


@settings(max_examples=30, deadline=None)
@given(SIDE, SIDE, st.randoms(use_true_random=False))
def test_swapping_sides_turns_fixed_into_broken_and_row_order_changes_nothing(before, after, random) -> None:
    one, two = scores(**before), scores(**after)
    flips = case_flips(one, two, pass_at=0.5)
    assert set(flips["flip"]) <= set(FLIPS)
    back = flip_of(case_flips(two, one, pass_at=0.5))
    turned = {"fixed": "broken", "broken": "fixed"}
    assert back == {case: turned.get(word, word) for case, word in flip_of(flips).items()}
    order = list(range(len(two)))
    random.shuffle(order)
    pd.testing.assert_frame_equal(case_flips(one, two.iloc[order], pass_at=0.5), flips)
    same = flip_of(case_flips(one, one, pass_at=0.5))
    assert not {"fixed", "broken"} & set(same.values())


def test_the_rates_are_those_of_the_trials() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"case_id": rng.integers(0, 20, 300).astype(str), "metric": "q", "value": rng.random(300)})
    flips = case_flips(rows, rows.assign(value=rng.random(300)), pass_at=0.6).set_index("case_id")
    rates = rows.assign(ok=rows["value"] >= 0.6).groupby("case_id")["ok"].mean()
    pd.testing.assert_series_equal(flips["rate_baseline"], rates.reindex(flips.index), check_names=False)
