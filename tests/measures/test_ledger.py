"""Everything asked for is somewhere in the ledger, once."""

from __future__ import annotations

import pandas as pd
import pytest

from harnesskit.measures.deltas import case_deltas
from harnesskit.measures.ledger import evidence_ledger, one_sided
from harnesskit.model.results import LEDGER, ONE_SIDED


@pytest.fixture
def sides() -> tuple[pd.DataFrame, pd.DataFrame]:
    before = pd.DataFrame({"case_id": ["a", "b", "c", "d", None], "metric": "q", "value": [0.9] * 5})
    rows = [
        ("a", "q", 0.9, "ok", None),
        ("a", "q", None, "unscored", "judge said nothing"),
        ("b", None, None, "skipped", "no replay input"),
        ("c", None, None, "timeout", "timed out"),
        ("e", "q", 0.5, "ok", None),
        (None, "q", 0.5, "ok", None),
    ]
    return before, pd.DataFrame(rows, columns=["case_id", "metric", "value", "status", "reason"])


def test_cases_add_up_per_side(sides) -> None:
    ledger = evidence_ledger(*sides)
    assert list(ledger.columns) == list(LEDGER.columns)
    cases = ledger.groupby("side")["n_cases"].sum()
    assert cases.to_dict() == {"baseline": 5, "candidate": 5}  # a, b, c, d, e on either side
    trials = ledger.groupby("side")["n_trials"].sum()
    assert trials.to_dict() == {"baseline": 5, "candidate": 6}


def test_states_and_reasons(sides) -> None:
    candidate = evidence_ledger(*sides).query("side == 'candidate'").set_index("state")
    assert candidate.loc["scored", ["n_cases", "n_trials"]].tolist() == [2, 2]
    assert candidate.loc["skipped", "reason"] == "no replay input"
    assert candidate.loc["absent", "n_cases"] == 1
    assert candidate.loc["unmatched", "n_trials"] == 1
    unscored = candidate.loc["unscored"].set_index("reason")
    assert unscored.loc["judge said nothing", ["n_cases", "n_trials"]].tolist() == [0, 1]
    assert unscored.loc["timed out", ["n_cases", "n_trials"]].tolist() == [1, 1]


def test_one_sided_names_the_side(sides) -> None:
    found = one_sided(case_deltas(*sides))
    assert list(found.columns) == list(ONE_SIDED.columns)
    assert dict(zip(found["case_id"], found["side"], strict=True)) == {
        "b": "baseline",
        "c": "baseline",
        "d": "baseline",
        "e": "candidate",
    }


def test_nothing_gives_an_empty_ledger() -> None:
    assert len(evidence_ledger(pd.DataFrame(), pd.DataFrame())) == 0
