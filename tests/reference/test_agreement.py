"""The reference's own workspaces, read by both: the same answer, case by case, but for the rows of `departures`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import reference_forms as forms
from departures import ALL, ORDERED_BY_INSTANT, departures
from reference_forms import PLACES, answers

import harnesskit as hk

MATCHING = """
SELECT case_id FROM cases
WHERE list_has_any(signature, $signature) AND ($kind IS NULL OR kind = $kind)
ORDER BY created_at DESC NULLS LAST, case_id DESC
"""


@pytest.fixture(scope="session")
def opened(shared: Path) -> Callable[[str], Any]:
    """A function that gives the workspace of that name, opened once for all tests."""
    kept: dict[str, Any] = {}

    def get(name: str) -> Any:
        if name not in kept:
            kept[name] = hk.open(shared / "reference" / "workspaces" / PLACES[name])
        return kept[name]

    return get


def assert_agrees(name: str, table: str, ours: forms.Form, theirs: forms.Form) -> None:
    """Hold that the two forms differ exactly where, and as, the table of departures says."""
    found = {(one.key, one.field): (one.ours, one.theirs) for one in forms.differences(ours, theirs)}
    stated = {(row.key, row.field): (row.ours, row.theirs) for row in departures(name, table)}
    assert found == stated


@pytest.mark.parametrize("name", PLACES)
def test_cases_agree(opened: Callable[[str], Any], shared: Path, name: str) -> None:
    theirs = forms.their_cases(answers(shared, name, "cases"))
    assert_agrees(name, "cases", forms.our_cases(opened(name)), theirs)


@pytest.mark.parametrize("name", PLACES)
def test_rules_agree(opened: Callable[[str], Any], shared: Path, name: str) -> None:
    assert_agrees(name, "rules", forms.our_rules(opened(name)), forms.their_rules(answers(shared, name, "rules")))


@pytest.mark.parametrize("name", PLACES)
def test_notices_agree(opened: Callable[[str], Any], shared: Path, name: str) -> None:
    found = answers(shared, name, "mailbox")
    # the reference cannot read the processed folder of messy; but for the files of the manifest it is that of mid
    source = found if "ok" in found["processed"] else answers(shared, "mid", "mailbox")
    theirs = forms.their_notices(found, source["processed"]["ok"])
    assert_agrees(name, "notices", forms.our_notices(opened(name)), theirs)


@pytest.mark.parametrize("name", PLACES)
def test_history_agrees(opened: Callable[[str], Any], shared: Path, name: str) -> None:
    theirs = forms.their_history(answers(shared, name, "history"))
    assert_agrees(name, "history", forms.our_history(opened(name)), theirs)


def elsewhere(name: str, table: str = "cases") -> set[str]:
    """Return the keys whose place in an order is not the reference's: they, or their time, are read otherwise."""
    keys = {row.key for row in departures(name, table) if row.field in ("record", "created_at")}
    return keys | set(ORDERED_BY_INSTANT) if name == "messy" else keys


@pytest.mark.parametrize("name", PLACES)
def test_cases_and_rules_come_in_the_order_of_the_reference(
    opened: Callable[[str], Any], shared: Path, name: str
) -> None:
    for table, column, found in (
        ("cases", "case_id", answers(shared, name, "cases")["order"]["ok"]),
        ("rules", "rule_id", [rule["id"] for rule in answers(shared, name, "rules")["all"]["ok"]]),
    ):
        skip = elsewhere(name, table)
        ours = opened(name).table(table)[column].tolist()
        assert [key for key in ours if key not in skip] == [key for key in found if key not in skip]


def test_cases_of_one_instant_stand_together_however_it_is_spelled(opened: Callable[[str], Any]) -> None:
    cases = opened("messy").table("cases")
    same = ["c-m26a", "c-m26b", "c-m26c", "c-m26h"]
    first = cases["case_id"].tolist().index("c-m26a")
    assert cases["case_id"].tolist()[first : first + 5] == [*same, "c-m26j"]
    assert set(cases.set_index("case_id").loc[same, "created_at"]) == {pd.Timestamp("2026-06-20T07:00Z")}
    times = cases["created_at"]
    assert not times[times.notna().idxmax() :].isna().any()
    assert times.dropna().is_monotonic_increasing


@pytest.mark.parametrize("name", PLACES)
def test_matching_agrees_newest_first(opened: Callable[[str], Any], shared: Path, name: str) -> None:
    skip = elsewhere(name)
    unread = {row.key for row in departures(name, "cases") if row.field == "record"}
    for asked in answers(shared, name, "matching"):
        found = opened(name).sql(MATCHING, signature=asked["signature"], kind=asked["kind"])["case_id"].tolist()
        assert set(found) - unread == set(asked["ok"]) - unread
        assert [key for key in found if key not in skip] == [key for key in asked["ok"] if key not in skip]


def nans(found: Any, path: str = "") -> list[str]:
    """Return the paths of the NaN values in an answer."""
    if isinstance(found, dict):
        return [place for key, item in found.items() for place in nans(item, f"{path}.{key}" if path else key)]
    if isinstance(found, list):
        return [place for i, item in enumerate(found) for place in nans(item, f"{path}[{i}]")]
    return [path] if isinstance(found, float) and found != found else []


def test_every_nan_of_the_answers_is_null_and_a_problem(opened: Callable[[str], Any], shared: Path) -> None:
    expected = shared / "reference" / "expected" / "messy"
    problems = opened("messy").problems()
    said = set(zip(problems["file"], problems["field"], strict=True))
    cases = json.loads((expected / "cases.json").read_text(encoding="utf-8"))["cases"]["ok"]
    places = {(f"evalset/{case['id']}.json", place) for case in cases for place in nans(case)}
    history = json.loads((expected / "history.json").read_text(encoding="utf-8"))
    for key, answer in history.items():
        places |= {
            ("state/score_history.json", place.replace("ok", f"{key}.series") + ".value") for place in nans(answer)
        }
    assert len(places) == 3
    assert places <= said


def test_the_manifest_of_defects_is_what_the_problems_say(opened: Callable[[str], Any], shared: Path) -> None:
    manifest = json.loads((shared / "reference" / "expected" / "messy" / "manifest.json").read_text(encoding="utf-8"))
    problems = opened("messy").problems()
    wrong = set(problems.loc[problems["severity"] == "problem", "file"])
    named = {
        severity: {row["file"] for row in manifest if row["severity"] == severity} for severity in ("problem", "fine")
    }
    assert named["problem"] - wrong == set()
    assert named["fine"] & wrong == set()
    loaded = set(opened("messy").table("cases")["file"])
    assert {file for file in named["fine"] if file.endswith(".json")} <= loaded


def test_nothing_wrong_is_found_where_the_manifest_names_no_defect(opened: Callable[[str], Any], shared: Path) -> None:
    manifest = json.loads((shared / "reference" / "expected" / "messy" / "manifest.json").read_text(encoding="utf-8"))
    problems = opened("messy").problems()
    wrong = problems.loc[problems["severity"] == "problem", "file"]
    assert set(wrong) <= {row["file"] for row in manifest if row["severity"] != "fine"}
    for name in PLACES:
        if name != "messy":
            assert "problem" not in set(opened(name).problems()["severity"])


def test_every_departure_says_why_and_is_there_once() -> None:
    assert all(row.why for row in ALL)
    assert len({row[:4] for row in ALL}) == len(ALL)
