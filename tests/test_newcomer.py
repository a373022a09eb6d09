"""What a newcomer asks of a workspace: names that are wrong, a run against itself, what the baseline is, raw errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import harnesskit as hk


@pytest.fixture(scope="module")
def demo(demo_root: Path) -> hk.Harness:
    return hk.open(demo_root)


@pytest.fixture(scope="module")
def mid(shared: Path) -> hk.Harness:
    return hk.open(shared / "reference" / "workspaces" / "mid")


def page(result: Any) -> str:
    return str(result.report().render(".md").decode())


def test_a_run_is_never_judged_against_itself(demo: hk.Harness) -> None:
    with pytest.raises(hk.WorkspaceError, match=r"'candidate' cannot be judged against itself.*captured, baseline"):
        demo.regression("candidate", baseline="candidate")


def test_a_baseline_that_is_newer_is_said(demo: hk.Harness) -> None:
    result = demo.regression("baseline", baseline="candidate")
    words = "The baseline candidate is newer than the run (2026-06-28 18:39 against 2026-06-26 08:06 UTC)"
    assert any(reason.startswith(words) for reason in result.decision.reasons)
    assert words in page(result)
    assert "is newer" not in page(demo.regression("candidate"))


@pytest.mark.parametrize(
    ("run", "baseline", "words"),
    [
        ("candidate", "baseline", "The baseline was measured again without the change: control run baseline."),
        ("baseline", "candidate", "The baseline is replay run candidate: not a control run"),
        ("candidate", "captured", "The baseline is the captured scores"),
    ],
)
def test_the_baseline_is_called_what_it_is(demo: hk.Harness, run: str, baseline: str, words: str) -> None:
    assert words in page(demo.regression(run, baseline=baseline))


def test_an_interval_says_its_level(demo: hk.Harness) -> None:
    text = page(demo.regression("candidate"))
    assert text.count("95 % interval") >= 4
    assert "is ruled out with 80 % confidence (one-sided)" in text


def test_captured_scores_say_who_recorded_them(demo: hk.Harness) -> None:
    result = demo.regression("candidate", baseline="captured")
    words = "aptured by 'harness', replayed by 'judge'"
    assert any(words in reason for reason in result.decision.reasons)
    assert words in page(result)


def test_results_that_the_journal_did_not_keep_count_as_asked(mid: hk.Harness) -> None:
    decision = mid.regression().decision
    assert decision.reasons[0] == (
        "8 of 16 protected wins were scored; 17 of 67 results were not kept; at least 90 % are needed."
    )
    row = decision.checks.set_index("check").loc["wins scored"]
    assert (row["n"], round(row["estimate"], 3)) == (33, round(8 / 33, 3))


def test_a_plan_that_was_not_met_is_not_claimed(demo: hk.Harness) -> None:
    result = demo.regression("candidate", policy="fixed:999")
    assert result.decision.verdict == "inconclusive"
    text = page(result)
    assert "The plan was fixed in advance" not in text
    assert "with the planned 999 trials (have 3..3)" in text


UNKNOWN: list[tuple[dict[str, Any], str]] = [
    ({"run": "candidat"}, r"no run 'candidat' \(did you mean 'candidate'\?\)"),
    ({"kind": "wins"}, r"kind must be one of win, failure; found 'wins' \(did you mean 'win'\?\)"),
    ({"role": "controls"}, r"role must be one of .*found 'controls' \(did you mean 'control'\?\)"),
    ({"metric": ["coherence", "coherenc"]}, r"no metric 'coherenc' \(did you mean 'coherence'\?\)"),
    ({"case": "c-nope"}, "no case 'c-nope'"),
    ({"arm": "contrl"}, "no arm 'contrl'"),
    ({"run": 5}, "needs a name or a list of names; found 5"),
]


@pytest.mark.parametrize(("filters", "words"), UNKNOWN)
def test_a_name_that_nothing_has_is_no_empty_answer(demo: hk.Harness, filters: dict[str, Any], words: str) -> None:
    with pytest.raises(hk.QueryError, match=words):
        demo.scores(**filters)


@pytest.mark.parametrize(
    "filters", [{"role": "candidate"}, {"kind": "win"}, {"metric": "coherence", "run": "baseline"}]
)
def test_a_known_name_is_answered_even_when_nothing_fits(demo: hk.Harness, filters: dict[str, Any]) -> None:
    assert "value" in demo.scores(**filters)


RAW: dict[str, tuple[Callable[[hk.Harness], object], type[Exception], str]] = {
    "run": (lambda h: h.regression(5), hk.WorkspaceError, "named by its id, a text; found 5"),  # type: ignore[arg-type]
    "baseline": (lambda h: h.regression("candidate", baseline=5), hk.WorkspaceError, "text; found 5"),  # type: ignore[arg-type]
    "last": (lambda h: h.events(last="x"), hk.QueryError, "whole number of records; found 'x'"),  # type: ignore[arg-type]
    "overview": (lambda h: h.regressions(last="x"), hk.QueryError, "whole number of runs"),  # type: ignore[arg-type]
    "open": (lambda h: hk.open(None), hk.WorkspaceError, "a path; found None"),  # type: ignore[arg-type]
    "metric": (lambda h: hk.Metric("q", high="unbounded"), hk.PolicyError, "high must be .*'unbounded'; None means"),  # type: ignore[arg-type]
    "metrics": (lambda h: hk.open(h.root, metrics="q"), hk.PolicyError, "Metric declarations"),  # type: ignore[arg-type]
    "json": (
        lambda h: hk.from_json(pd.Series(['{"a": 1}', "{oops"], name="payload")),
        hk.FrameError,
        "'{oops' in row 1 of column 'payload'",
    ),
}


@pytest.mark.parametrize("name", RAW)
def test_a_wrong_argument_says_who_needs_what(demo: hk.Harness, name: str) -> None:
    call, error, words = RAW[name]
    with pytest.raises(error, match=words):
        call(demo)


def test_whole_numbers_of_any_size_come_back_exact(demo: hk.Harness) -> None:
    large = 10**37
    assert demo.sql(f"SELECT {large}::HUGEINT AS n")["n"].tolist() == [large]
    assert str(demo.sql("SELECT sum(x) AS n FROM (SELECT 1 AS x UNION ALL SELECT 2)")["n"].dtype) == "Int64"


def test_a_kind_that_the_journal_misspelt_stays_protected(tmp_path: Path) -> None:
    (tmp_path / "evalset").mkdir()
    result = {"case_id": "c-1", "kind": "Win", "status": "regressed", "replay_scores": {"q": 0.2},
              "baseline_scores": {"q": 0.9}}  # fmt: skip
    record = {"type": "regression", "ts": "2026-06-01T10:00:00+00:00", "total": 1, "results": [result]}
    (tmp_path / "journal.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    deltas = hk.open(tmp_path).regression().deltas
    assert deltas[["case_id", "kind", "n_candidate"]].to_numpy().tolist() == [["c-1", "win", 1]]
