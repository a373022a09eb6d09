"""File names for ids that may be anything."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from harnesskit.workspace.safe_names import id_of, safe_name

HOSTILE = [
    *(
        "",
        ".",
        "..",
        " ",
        "../up",
        "..\\up",
        "/abs",
        "C:x",
        "con",
        "CON",
        "nul.json",
        "com1",
        "a\0b",
        "a\nb",
        "a.",
        "a ",
    ),
    *("a%2fb", "a/b", "%", "%2e", "-rf", "~root", "é", "\ud800"),
    *("x" * 128, "x" * 129, "x" * 5000, "X" * 200, "é" * 300),
]


def test_hostile_ids_get_names_of_their_own():
    names = [safe_name(one) for one in HOSTILE]
    assert len({name.casefold() for name in names}) == len(HOSTILE)
    for name in names:
        assert re.fullmatch(r"[A-Za-z0-9._%~-]{1,180}", name)
        assert name not in {".", ".."}
        assert not name.endswith(".")
        assert name.split(".")[0].casefold() not in {"con", "prn", "aux", "nul", "com1"}


def test_ordinary_ids_stay_readable():
    for one in ("run-1", "2026-06-01T12", "Baseline", "r_4.b", ".hidden"):
        assert safe_name(one) == one


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_two_ids_never_share_a_name(one, other):
    assert (safe_name(one) == safe_name(other)) == (one == other)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40, alphabet=st.characters(exclude_categories=["Cs"])))
def test_the_id_comes_back(one):
    assert id_of(safe_name(one)) == one or "%~" in safe_name(one)
