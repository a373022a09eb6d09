"""Field reports about grading: 01 (unscored), 03 (verdicts), 11 (same metric), 14 (scales), 35 (kept verdicts)."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cases_adapter
import pandas as pd
import pytest

import harnesskit as hk

Load = Callable[..., cases_adapter.Loaded]
Folder = Callable[[str], Path]


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def samples_of(path: Path) -> pd.DataFrame:
    """The samples of a file, each with what its scorer said beside it; sessions told apart by run."""
    rows = lines_of(path)
    said = {row["sample_id"]: row["scores"] for row in rows}
    frame = pd.DataFrame({name: [row[name] for row in rows] for name in ("sample_id", "case_id", "run_id")})
    return frame.assign(kind="win", said=[said[one] for one in frame["sample_id"]])


def given(said: dict) -> Any:  # type: ignore[type-arg]
    return said


def test_01_a_failed_judgment_is_unscored_however_it_is_spelt(report_folder: Folder) -> None:
    expected = json.loads((report_folder("01") / "expected.json").read_text(encoding="utf-8"))
    frames = {}
    for run in ("run_a", "run_b"):
        rows = hk.grade(samples_of(report_folder("01") / f"{run}.jsonl"), given)
        rows = rows[rows["metric"] == "faithfulness"]
        scored = rows["status"] == "ok"
        assert (len(rows), scored.sum()) == (expected[run]["rows"], expected[run]["scored"])
        assert rows.loc[scored, "value"].mean() == expected[run]["mean_scored"]
        assert set(rows.loc[~scored, "status"]) <= {"unscored"}  # NaN, null and a missing key are one thing
        assert rows.loc[~scored, "reason"].map(bool).all()
        frames[run] = rows
    deltas = hk.case_deltas(frames["run_a"], frames["run_b"], policy="reference")
    assert deltas["delta"].dropna().mean() == expected["compare"]["mean_delta_paired"]
    assert deltas["delta"].notna().sum() == expected["compare"]["paired_cases"]
    assert (deltas["status"] == "inconclusive").sum() == expected["compare"]["inconclusive_cases"]
    assert "improved" not in set(deltas["status"])


def test_03_the_text_of_a_reply_is_never_a_score_by_itself(report_folder: Folder) -> None:
    replies = lines_of(report_folder("03") / "judge_replies.jsonl")
    samples = pd.DataFrame(
        {"sample_id": [one["id"] for one in replies], "reply": [one["judge_reply"] for one in replies]}
    )

    def careless(reply: str) -> str:
        return reply

    def careful(reply: str) -> hk.Grade:
        return hk.Grade.unscored("unreadable reply", {"raw": reply})

    rows = hk.grade(samples, [careless, careful])
    assert set(rows.loc[rows["grader"] == "careless", "status"]) == {"error"}
    kept = rows.loc[rows["grader"] == "careful"]
    assert set(kept["status"]) == {"unscored"}
    assert [json.loads(one)["raw"] for one in kept["details"]] == samples["reply"].tolist()


def test_11_two_graders_of_one_metric_are_told_apart(evalset: Load) -> None:
    def rule(row: Any) -> dict[str, float]:
        return {"quality": 0.2}

    def judge(row: Any) -> dict[str, float]:
        return {"quality": 0.9}

    out = cases_adapter.grade(evalset("11").cases, [rule, judge])
    assert sorted(row["score"] for row in out) == [0.2, 0.2, 0.2, 0.9, 0.9, 0.9]
    assert {(row["grader"], row["metric"]) for row in out} == {("rule", "quality"), ("judge", "quality")}
    with pytest.raises(hk.GraderError, match="found two named 'rule'"):
        cases_adapter.grade(evalset("11").cases, [rule, rule])


def test_14_a_value_off_the_scale_is_no_value_until_the_scale_is_declared(report_folder: Folder) -> None:
    samples = samples_of(report_folder("14") / "samples.jsonl")
    rows = hk.grade(samples, given)
    assert set(rows["status"]) == {"out_of_range"}
    assert rows["reason"].tolist()[0] == "91 is outside 0 to 1 of the metric"
    declared = hk.grade(samples, given, metrics=[hk.Metric("task_completion", high=100)])
    assert declared["value"].tolist() == [91, 87, 96]


def test_35_kept_verdicts_know_function_and_input_and_no_failure(evalset: Load) -> None:
    seen: list[str] = []

    def v1(row: Any) -> dict[str, float]:
        seen.append("v1")
        return {"q": 0.1}

    def v2(row: Any) -> dict[str, float]:
        seen.append("v2")
        return {"q": 0.9}

    def boom(row: Any) -> dict[str, float]:
        seen.append("boom")
        raise RuntimeError("rate limited")

    cases = evalset("35").cases
    kept: dict[str, str] = {}
    cases_adapter.grade(cases, v1, cache=kept)
    first = cases_adapter.grade(cases, v2, cache=kept)
    assert [(row["status"], row["score"]) for row in first] == [("ok", 0.9)], "other function, old answer"
    asked = len(seen)
    assert cases_adapter.grade(cases, v2, cache=kept) == first
    assert len(seen) == asked
    edited = copy.deepcopy(cases)
    edited[0]["replay_input"] = {"task": "something else"}
    cases_adapter.grade(edited, v2, cache=kept)
    assert len(seen) == asked + 1, "other input, old answer"
    for _ in range(2):
        (row,) = cases_adapter.grade(cases, boom, cache=kept)
        assert (row["status"], row["reason"]) == ("error", "RuntimeError: rate limited")
    assert seen[-2:] == ["boom", "boom"], "a failure was kept as the answer"
    assert not any(math.isnan(row["value"] or 0) for row in first)


def test_03_a_reply_is_read_by_one_declared_form(report_folder: Folder) -> None:
    replies = {one["id"]: one["judge_reply"] for one in lines_of(report_folder("03") / "judge_replies.jsonl")}
    samples = pd.DataFrame({"sample_id": list(replies), "reply": list(replies.values())})

    def verdict(reply: str) -> hk.Grade:
        read = hk.graders.read_reply(reply, hk.graders.Scale.numbers())
        return hk.Grade(read.value, read.reason, details={"raw": reply})

    rows = hk.grade(samples, verdict).set_index("sample_id")
    scored = rows.loc[rows["status"] == "ok", "value"].to_dict()
    assert scored == {"r00": 0.0, "r08": 0.5, "r09": 0.4}
    refused = rows[rows["status"] != "ok"]
    assert set(refused["status"]) == {"unscored"}
    assert {one: json.loads(raw)["raw"] for one, raw in refused["details"].items()} == {
        one: replies[one] for one in refused.index
    }
