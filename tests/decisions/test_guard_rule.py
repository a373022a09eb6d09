"""The rule by which evidence about a guard becomes a verdict, and the sentences of trials, cases and checks."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesskit.decisions.check_promotion import decide_check
from harnesskit.decisions.forward_promotion import decide_forward
from harnesskit.decisions.guard_rule import settle
from harnesskit.decisions.win_promotion import decide_win
from harnesskit.model.decision import GUARD_VERDICTS, PENDING_REASONS
from harnesskit.model.errors import FrameError, PolicyError

DECIDE = {
    "pass_rate": decide_win,
    "benefit": decide_forward,
    "precision": decide_check,
}
OTHER = {"pass_rate": [], "benefit": [("randomised", "met", None)], "precision": [("recall", "met", None)]}


def frame(rows: list[tuple[str, str, str | None]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["check", "state", "reason"])


@pytest.mark.parametrize("main", DECIDE)
@pytest.mark.parametrize(
    ("state", "reason", "verdict"),
    [
        ("met", None, "promote"),
        ("unknown", "insufficient_evidence", "pending"),
        ("unknown", None, "pending"),
        ("unmet", "harm", "retire"),
    ],
)
def test_the_main_check_decides(main: str, state: str, reason: str | None, verdict: str):
    found = DECIDE[main](frame([(main, state, reason), *OTHER[main]]))
    assert found.verdict == verdict
    assert found.verdict in GUARD_VERDICTS
    assert found.verdict != "pending" or found.reason in PENDING_REASONS


@given(st.lists(st.sampled_from(["met", "unknown"]), max_size=6))
def test_rows_without_a_reason_inform_and_never_decide(states: list[str]):
    rows = frame([("benefit", "met", None), *((f"note {i}", s, None) for i, s in enumerate(states))])
    assert settle(rows, ["benefit"]).verdict == "promote"


@pytest.mark.parametrize("word", PENDING_REASONS)
def test_an_open_row_with_a_reason_holds_a_promotion_back(word: str):
    found = settle(frame([("benefit", "met", None), ("any", "unknown", word)]), ["benefit"])
    assert (found.verdict, found.reason) == ("pending", word)


def test_harm_beats_a_benefit():
    found = decide_forward(
        frame([("randomised", "met", None), ("benefit", "met", None), ("guardrail x", "unmet", "harm")])
    )
    assert (found.verdict, found.reason, found.detail) == ("retire", "guardrail x", "harm")


def test_the_number_of_runs_is_that_of_the_slowest_open_check():
    rows = frame([("precision", "unknown", "labels_missing"), ("recall", "unknown", "labels_missing")])
    assert decide_check(rows.assign(runs_needed=[12, 40])).runs_needed == 40


def test_the_same_evidence_has_the_same_hash_and_other_evidence_another():
    one = frame([("pass_rate", "met", None)]).assign(evidence=0.914)
    assert decide_win(one).evidence_hash == decide_win(one.copy()).evidence_hash
    assert decide_win(one).evidence_hash != decide_win(one.assign(evidence=0.913)).evidence_hash


def test_what_is_no_evidence_is_refused():
    with pytest.raises(FrameError, match="the evidence lacks precision"):
        decide_check(frame([("recall", "met", None)]))
    with pytest.raises(FrameError, match="a state is one of met, unmet, unknown; found 'yes'"):
        decide_win(frame([("pass_rate", "yes", None)]))
    with pytest.raises(FrameError, match="found twice: pass_rate"):
        decide_win(frame([("pass_rate", "met", None)] * 2))
    with pytest.raises(PolicyError, match="the decision asks for"):
        decide_win(frame([("pass_rate", "met", None)]).assign(policy="classic"))


def test_the_sentences_say_the_numbers():
    rows = frame([("benefit", "met", None), ("randomised", "met", None)]).assign(
        estimate=[0.123, None], low=[0.02, None], high=[0.21, None], evidence=[31.2, None], bound=[20.0, None],
        looks=[14, None], scale=["e", None],
    )  # fmt: skip
    text = " ".join(decide_forward(rows).reasons)
    assert "0.12 better on average (95 % on both sides, at every look: 0.02 to 0.21)" in text
    assert "E-value for a benefit: 31.2, bound 20, after 14 looks." in text
