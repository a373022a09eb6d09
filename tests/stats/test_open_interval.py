"""Intervals by the t process, and the replays that would about settle a benefit."""

from __future__ import annotations

import math

import pytest

from harnesskit.stats.benefit import further_replays
from harnesskit.stats.open_interval import replays_to_settle, t_half_width
from harnesskit.stats.t_eprocess import t_evidence


@pytest.mark.parametrize(("se", "df", "info"), [(0.03, 12, 11.0), (0.05, 40, 4.0)])
def test_the_end_of_the_interval_is_where_the_process_reaches_its_level(se, df, info):
    half = t_half_width(se, df, info, sd=0.1)
    assert float(t_evidence(half, se, df, info, sd=0.1).log_promote) == pytest.approx(math.log(40), abs=1e-4)


def test_no_interval_where_no_shift_can_be_ruled_out():
    assert t_half_width(0.5, 4, 0.05, sd=0.1) == math.inf


@pytest.mark.parametrize("sd", [0.05, 0.1, 0.15])
def test_fresh_controls_need_about_what_the_closed_formula_says(sd):
    assert replays_to_settle([0] * 3, [0] * 3, s2=sd**2, delta=0.0, worthwhile=0.1) == pytest.approx(
        max(further_replays(sd**2), 6), abs=3
    )


def test_a_bank_saves_replays_and_no_case_needs_none():
    banked = replays_to_settle([5] * 3, [0] * 3, s2=0.01, delta=0.0, worthwhile=0.1)
    fresh = replays_to_settle([0] * 3, [0] * 3, s2=0.01, delta=0.0, worthwhile=0.1)
    assert banked < fresh
    assert replays_to_settle([], [], s2=0.01, delta=0.0, worthwhile=0.1) is None


def test_an_effect_on_the_edge_is_no_plan():
    assert replays_to_settle([900] * 3, [900] * 3, s2=0.05, delta=1e-4, worthwhile=2e-4) is None
