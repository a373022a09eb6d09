"""Values that graders return: what is a score, and what is unscored with which reason."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesskit.model.case import EvalCase
from harnesskit.replays.scoring import (
    NotScoresError,
    as_score,
    checked_scores,
    grader_name,
    outcome_score,
    verifier_call,
)


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.float64(0.5), np.int64(1)])
def test_numbers_are_scores(value: Any) -> None:
    assert as_score(value) == (float(value), None)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "there is no value"),
        (True, "true is not a number"),
        (float("nan"), "the value is not a finite number"),
        (np.float64("inf"), "the value is not a finite number"),
        ("0.9", "the text '0.9' is not a number"),
        ([0.9], "a list is not a number"),
        (Decimal("0.9"), "a value of type Decimal is not a number"),
        (np.bool_(True), "is not a number"),
        (10**400, "the number is too large for a score"),
    ],
)
def test_what_is_no_number_is_unscored_with_why(value: Any, reason: str) -> None:
    score, why = as_score(value)
    assert score is None
    assert reason in str(why)


@given(st.dictionaries(st.text(min_size=1), st.none() | st.booleans() | st.floats() | st.integers() | st.text()))
def test_every_metric_has_one_row_that_is_ok_or_says_why(values: dict[str, Any]) -> None:
    rows = checked_scores("s", values, "judge")
    assert len(rows) == len(values)
    for row in rows:
        if row.status == "ok":
            assert row.value is not None
            assert math.isfinite(row.value)
        else:
            assert (row.status, row.value) == ("unscored", None)
            assert row.reason


@pytest.mark.parametrize("values", [0.9, [("quality", 0.9)], {"": 1.0}, {3: 1.0}, None])
def test_anything_but_named_scores_is_refused(values: Any) -> None:
    with pytest.raises(NotScoresError, match="found"):
        checked_scores("s", values, "judge")


def test_what_a_verifier_may_say() -> None:
    assert outcome_score("s", None) == []
    assert [(row.metric, row.value) for row in outcome_score("s", True)] == [("outcome_correct", 1.0)]
    assert outcome_score("s", False)[0].value == 0.0
    assert outcome_score("s", "yes")[0].reason == "the text 'yes' is not a number"


def test_a_verifier_is_called_by_what_it_takes() -> None:
    case = EvalCase(id="c", replay_input={"task": 1})
    assert verifier_call(lambda case, session: (case.id, session), case, "s")() == ("c", "s")
    assert verifier_call(lambda session_id, end_state: (session_id, end_state), case, "s")() == ("s", {"task": 1})
    assert verifier_call(lambda replay_input: replay_input, case, "s")() == {"task": 1}
    text = EvalCase(id="c", replay_input="text")
    assert verifier_call(lambda replay_input: replay_input, text, "s")() == {}


def test_a_grader_is_named_after_its_function() -> None:
    class Judge:
        grader = "judge-7"

        def __call__(self, session: str) -> dict[str, float]:
            return {}

    assert grader_name(Judge()) == "judge-7"
    assert grader_name(lambda session: {}) == "<lambda>"
