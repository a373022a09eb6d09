"""Graders of graders, graders in SQL, and scorers as graders."""

from __future__ import annotations

import asyncio
from typing import Any

import pandas as pd
import pytest

import harnesskit as hk
from harnesskit import graders


def frame(**columns: list[Any]) -> pd.DataFrame:
    n = len(next(iter(columns.values())))
    return pd.DataFrame({"sample_id": [f"s-{i}" for i in range(n)], **columns})


def said(name: str, what: Any) -> Any:
    """A grader that says the same of every sample."""

    def constant(output: str) -> Any:
        if isinstance(what, Exception):
            raise what
        return what

    return hk.grader(name=name)(constant)


YES, NO, HALF, OPEN = said("yes", True), said("no", False), said("half", 0.5), said("open", None)
BROKEN, NOT_HERE = said("broken", RuntimeError("down")), said("nothere", hk.Grade.not_applicable("no tool"))


@pytest.mark.parametrize(
    ("made", "value", "status"),
    [
        (graders.weighted({YES: 3, NO: 1}), 0.75, "ok"),
        (graders.weighted({YES: 1, OPEN: 1}), None, "unscored"),
        (graders.weighted({YES: 1, BROKEN: 1}), None, "unscored"),
        (graders.weighted({HALF: 1, BROKEN: 1}, missing="leave_out"), 0.5, "ok"),
        (graders.weighted({HALF: 1, NOT_HERE: 9}), 0.5, "ok"),
        (graders.weighted({NOT_HERE: 9}), None, "not_applicable"),
        (graders.all_of(YES, YES), 1, "ok"),
        (graders.all_of(OPEN, NO), 0, "ok"),
        (graders.all_of(YES, OPEN), None, "unscored"),
        (graders.all_of(YES, BROKEN), None, "unscored"),
        (graders.all_of(YES, NOT_HERE), 1, "ok"),
        (graders.all_of(NOT_HERE), None, "not_applicable"),
        (graders.all_of(HALF, pass_at=0.5), 1, "ok"),
        (graders.any_of(BROKEN, YES), 1, "ok"),
        (graders.any_of(NO, OPEN), None, "unscored"),
        (graders.any_of(NO, NOT_HERE), 0, "ok"),
        (graders.first_that_can_say(OPEN, BROKEN, HALF, YES), 0.5, "ok"),
        (graders.first_that_can_say(OPEN, BROKEN), None, "unscored"),
    ],
)
def test_what_parts_make_of_a_sample(made: Any, value: float | None, status: str) -> None:
    (row,) = hk.grade(frame(output=["a"]), made).to_dict("records")
    assert row["status"] == status
    assert (None if pd.isna(row["value"]) else row["value"]) == value
    if status != "ok":
        assert row["reason"]


def test_a_part_that_decided_ends_the_asking() -> None:
    asked: list[str] = []

    async def dear(output: str) -> bool:
        asked.append(output)
        return True

    rule = hk.grader(name="rule")(lambda output: True if output == "42" else None)
    rows = hk.grade(frame(output=["42", "about 42"]), graders.first_that_can_say(rule, dear))
    assert asked == ["about 42"]
    assert rows["reason"].tolist() == ["rule", "dear"]


def test_a_mean_is_on_the_common_scale_in_the_direction_of_each_metric() -> None:
    slow = hk.grader(metric=hk.Metric("seconds", low=0, high=10, higher_is_better=False))(lambda output: 2.0)
    assert hk.grade(frame(output=["a"]), graders.weighted([(slow, 1), (HALF, 1)]))["value"].tolist() == [0.65]
    unbounded = hk.grader(metric=hk.Metric("seconds", high=None))(lambda output: 2.0)
    with pytest.raises(hk.GraderError, match="needs parts with a range"):
        graders.weighted({unbounded: 1})


def test_parts_see_missing_cells_and_failed_samples_as_they_would_alone() -> None:
    samples = frame(output=["Paris", None, "Paris"], expected=["Paris"] * 3, status=["scored", "scored", "timeout"])
    rows = hk.grade(samples, graders.all_of(graders.exact(), graders.finished()))
    assert rows["status"].tolist() == ["ok", "unscored", "ok"]
    assert rows["value"].tolist()[2] == 0
    assert rows["reason"].tolist()[1] == "exact: output is missing"
    with pytest.raises(hk.FrameError, match="missing 'expected'"):
        hk.grade(samples.drop(columns="expected"), graders.all_of(graders.exact()))


def test_one_grader_of_several_metrics() -> None:
    both = graders.by_metric({"right": YES, "tone": HALF, "lost": BROKEN})
    rows = hk.grade(frame(output=["a"]), both)
    assert rows[["metric", "grader", "status"]].to_numpy().tolist() == [
        ["right", "by_metric", "ok"], ["tone", "by_metric", "ok"], ["lost", "by_metric", "error"],
    ]  # fmt: skip


def test_a_composition_changes_its_version_with_its_parts() -> None:
    versions = {graders.weighted({graders.contains(word): weight}).version for word in ("a", "b") for weight in (1, 2)}
    assert len(versions) == 4


def test_verdicts_of_parts_are_kept_as_their_own() -> None:
    asked: list[str] = []

    def dear(output: str) -> float:
        asked.append(output)
        return 0.5

    kept: dict[str, str] = {}
    for weight in (1, 2):
        hk.grade(frame(output=["a"]), graders.weighted({dear: weight, YES: 1}), cache=kept)
    assert asked == ["a"]


def test_sql_over_the_whole_table() -> None:
    samples = frame(output=['{"total": 9}', '"plain"', None, '{"total": "x"}'], duration_s=[1.0, 2.0, 3.0, None])
    rows = hk.grade(samples, [
        graders.sql("output = 'plain'", metric="is_plain"),
        graders.sql("CAST(output ->> '$.total' AS DOUBLE)", metric=hk.Metric("total", high=None), name="totals"),
        graders.sql("duration_s <= avg(duration_s) OVER ()", metric="fast"),
    ])  # fmt: skip
    table = rows.set_index(["metric", "sample_id"])["status"]
    assert table["is_plain"].tolist() == ["ok", "ok", "unscored", "ok"]
    assert table["fast"].tolist() == ["ok", "ok", "ok", "unscored"]
    assert table["total"].tolist()[0] == "ok"
    assert table["total"].tolist()[3] == "error"
    values = rows.set_index(["metric", "sample_id"])["value"]
    assert values["is_plain"].tolist()[:2] == [0, 1]
    assert values["fast"].tolist()[:3] == [1, 1, 0]
    reason = rows.loc[(rows["metric"] == "total") & (rows["sample_id"] == "s-3"), "reason"].item()
    assert reason.startswith("the expression fails on this sample, or is NULL: ")


def test_sql_that_cannot_run_is_refused_before_any_work(tmp_path: Any) -> None:
    samples = frame(output=["a"], duration_s=[1.0])
    with pytest.raises(hk.FrameError, match=r"missing 'duration'.*did you mean 'duration_s'"):
        hk.grade(samples, graders.sql("duration < 5", metric="fast"))
    with pytest.raises(hk.GraderError, match="this one gives VARCHAR"):
        hk.grade(samples, graders.sql("upper(output)", metric="loud"))
    with pytest.raises(hk.GraderError, match=r"this one gives (STRUCT|TUPLE)"):
        hk.grade(samples, graders.sql("1, 2", metric="two"))
    with pytest.raises(hk.GraderError, match="cannot use its expression"):
        hk.grade(samples, graders.sql("no_such_function(output)", metric="x"))
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with pytest.raises(hk.GraderError, match="cannot use its expression"):
        hk.grade(samples, graders.sql(f"(SELECT count(*) FROM '{tmp_path}/secret.csv')", metric="x"))
    with pytest.raises(hk.GraderError, match="cannot use its expression"):
        hk.grade(frame(output=["a", "b"]), graders.sql("avg(length(output))", metric="x"))


def test_sql_out_of_range_and_failed_samples() -> None:
    samples = frame(output=["a", "bb", "c"], status=["scored", "scored", "error"])
    rows = hk.grade(samples, graders.sql("length(output)", metric="n"))
    assert rows["status"].tolist() == ["ok", "out_of_range", "unscored"]
    assert rows["reason"].tolist()[2].startswith("the sample ended with error")
    assert hk.grade(samples, graders.sql("status <> 'error'", metric="ended"))["value"].tolist() == [1, 1, 0]


def test_a_scorer_is_a_grader() -> None:
    def scorer(session_id: str) -> Any:
        if session_id == "gone":
            raise ConnectionError("503")
        return {"quality": 0.5, "tone": None, "passed": True}

    async def later(session_id: str) -> Any:
        await asyncio.sleep(0)
        return {"quality": 1}

    samples = frame(session_id=["s", "gone"])
    rows = hk.grade(samples, [graders.from_scorer(scorer), graders.from_scorer(later, name="nightly")])
    mine = rows[rows["grader"] == "scorer"]
    assert mine[["metric", "status"]].to_numpy().tolist() == [
        ["quality", "ok"], ["tone", "unscored"], ["passed", "unscored"],
        ["quality", "error"], ["tone", "error"], ["passed", "error"],
    ]  # fmt: skip
    assert rows.loc[rows["grader"] == "nightly", "value"].tolist() == [1, 1]
    fixed = graders.from_scorer(scorer, metrics=["quality", "tone"])
    assert hk.grade(samples.tail(1), fixed)["metric"].tolist() == ["quality", "tone"]
