"""A value becomes the same cell everywhere; nothing is shown as nan."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesskit.reports.cells import cell


@pytest.mark.parametrize("value", [None, float("nan"), np.nan, pd.NA, pd.NaT, np.float32("nan"), Decimal("NaN")])
def test_missing_text_is_blank_and_a_missing_number_a_dash(value):
    assert cell(value, "text").text == ""
    assert cell(value, "number").text == "–"
    assert cell(value, "interval", high=value).text == "–"


@pytest.mark.parametrize("word", ["nan", "None", "<NA>", "null", "", "NaT"])
def test_words_that_look_missing_stay(word):
    assert cell(word, "text").text == word


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (9007199254740993, "auto", "9007199254740993"),
        (123456789012345678901234567890, "auto", "123456789012345678901234567890"),
        (np.int64(-3), "auto", "-3"),
        (3.0, "count", "3"),
        (0.5, "number", "0.500"),
        (-0.31, "change", "-0.310"),
        (0.31, "change", "+0.310"),
        (1e-17, "change", "0"),
        (12.345, "number", "12.35"),
        (1234.5, "number", "1,234"),
        (float("inf"), "number", "∞"),
        (-100.0, "percent", "-100.0 %"),
        (True, "auto", "yes"),
        (np.bool_(False), "auto", "no"),
        (False, "mark", ""),
        ([1, "a", None, float("nan")], "auto", '[1, "a", null, null]'),
        ({"b": {"c": "ü"}}, "auto", '{"b": {"c": "ü"}}'),
        (np.array(["x", "y"]), "auto", '["x", "y"]'),
        (datetime(2025, 3, 1, 10, tzinfo=UTC), "auto", "2025-03-01T10:00:00Z"),
        (pd.Timestamp("2025-03-01 12:00", tz="Europe/Berlin"), "auto", "2025-03-01T11:00:00Z"),
        (date(2025, 3, 1), "auto", "2025-03-01"),
        ("regressed", "status", "▼ regressed"),
        ("strange", "status", "strange"),
    ],
)
def test_values_in_words_and_digits(value, kind, text):
    assert cell(value, kind).text == text


def test_an_interval_with_one_end_says_which():
    assert cell(-0.2, "interval", high=0.1).text == "-0.200 to +0.100"
    assert cell(None, "interval", high=0.1).text == "below +0.100"
    assert cell(-0.2, "interval", high=float("inf")).text == "above -0.200"


def test_a_long_text_is_cut_visibly():
    text = cell("x" * 5000).text
    assert len(text) <= 400
    assert "…" in text


def test_a_value_nested_too_deep_is_said_to_be():
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    assert "nested too deep" in cell(deep).text


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_no_number_is_ever_shown_as_nan(value):
    for kind in ("auto", "number", "change", "count", "percent"):
        assert "nan" not in cell(value, kind).text.lower()
