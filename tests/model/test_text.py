"""Text from data is visible and never breaks an encoder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesskit.model.text import shorten, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 付款 🔥", "plain é 付款 🔥"),
        ("\x1b[31mred", "[U+001B][31mred"),
        ("a\u200bb", "a[U+200B]b"),
        ("ad\u200dmin", "ad[U+200D]min"),
        ("👩\u200d👧", "👩\u200d👧"),
        ("\ud83d", "[U+D83D]"),
        ("\ufeffx", "[U+FEFF]x"),
        ("a\u2028b", "a[U+2028]b"),
    ],
)
def test_what_cannot_be_seen_is_named(text, shown):
    assert visible(text) == shown


@given(st.text(st.characters(codec=None)))
def test_the_result_can_always_be_written(text):
    visible(text).encode("utf-8")


@given(st.text(max_size=80), st.integers(5, 40))
def test_a_short_text_has_at_most_the_limit_and_keeps_both_ends(text, limit):
    short = shorten(text, limit)
    assert len(short) <= max(limit, 0) or len(text) <= limit
    assert text.startswith(short.split("…")[0])
