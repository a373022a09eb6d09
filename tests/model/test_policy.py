"""Policies: refused when they are made, with the field, what was found and what fits."""

from __future__ import annotations

from typing import Any

import pytest

from harnesskit.model.errors import PolicyError
from harnesskit.model.policy import RegressionPolicy

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"alpha": 2}, r"RegressionPolicy alpha \(family-wise error .*less than 1; found 2"),
    ({"alfa": 0.1}, r"no field 'alfa' \(did you mean 'alpha'\?\)"),
    ({"trials": "three"}, r"trials .*valid integer.*found 'three'"),
    ({"alpha": 0.01, "alpha_global": 0.01}, r"alpha_global \(0.01\) must be below alpha \(0.01\)"),
    ({"alpha": 0.01, "alpha_global": 0.02}, r"alpha_global \(0.02\) must be below alpha \(0.01\)"),
]


@pytest.mark.parametrize(("fields", "words"), REFUSED)
def test_a_policy_that_cannot_be_is_refused_at_once(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        RegressionPolicy(**fields)


def test_the_part_for_the_mean_follows_a_small_alpha() -> None:
    assert RegressionPolicy(alpha=0.005).alpha_global == pytest.approx(0.001)
    assert RegressionPolicy(alpha=0.1).alpha_global == RegressionPolicy().alpha_global == 0.01


def test_a_plan_of_no_trials_is_refused() -> None:
    with pytest.raises(PolicyError, match="greater than or equal to 1; found 0"):
        RegressionPolicy.fixed(0)


def test_a_policy_read_back_from_a_record_is_the_same() -> None:
    policy = RegressionPolicy(alpha=0.1, min_trials=3)
    assert RegressionPolicy.model_validate(policy.plain()) == policy
