"""hk.grade: one row per sample, metric and grader; what one sample or grader does never costs another."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import harnesskit as hk
from harnesskit.model.grade import GRADES, STATUSES

ROOT = Path(__file__).resolve().parents[2]


def frame(**columns: list[Any]) -> pd.DataFrame:
    n = len(next(iter(columns.values())))
    return pd.DataFrame({"sample_id": [f"s-{i}" for i in range(n)], **columns})


def short(output: str) -> bool:
    return len(output) < 6


def odd_ones(output: str) -> Any:
    """What a grader can do wrong, by what it is asked."""
    if output == "raise":
        raise KeyError("total")
    if output == "exit":
        sys.exit(3)
    if output == "stop":
        raise GeneratorExit
    return {"none": None, "text": "good", "nan": float("nan"), "inf": float("inf"), "nine": 9, "big": 10**400,
            "list": [1], "numpy": np.float64(0.25), "grade": hk.Grade(0.5, "half"), "yes": np.True_,
            "na": hk.Grade.not_applicable("no tool"), "lost": hk.Grade.error("rate_limited", {"raw": "429"}),
            "odd": hk.Grade(1, status="great")}[output]  # type: ignore[arg-type]  # fmt: skip


ASKED = ["raise", "exit", "stop", "none", "text", "nan", "inf", "nine", "big", "list", "numpy", "grade", "yes", "na",
         "lost", "odd"]  # fmt: skip
SAID = ["error", "error", "error", "unscored", "error", "unscored", "out_of_range", "out_of_range", "out_of_range",
        "error", "ok", "ok", "ok", "not_applicable", "error", "error"]  # fmt: skip


async def odd_ones_later(output: str) -> Any:
    await asyncio.sleep(0)
    return odd_ones(output)


def odd_ones_in_a_thread(output: str) -> Any:
    return odd_ones(output)


@pytest.mark.parametrize(
    "grader",
    [odd_ones, odd_ones_later, hk.grader(blocking=True)(odd_ones_in_a_thread)],
    ids=["sync", "async", "thread"],
)
def test_every_way_to_end_has_its_status_and_a_reason(grader: Any) -> None:
    rows = hk.grade(frame(output=ASKED), grader)
    assert rows["status"].tolist() == SAID
    assert rows["value"].dropna().tolist() == [0.25, 0.5, 1.0]
    without = rows[rows["status"] != "ok"]
    assert without["reason"].map(bool).all()
    assert without["value"].isna().all()
    reasons = dict(zip(ASKED, rows["reason"], strict=True))
    assert reasons["raise"] == "KeyError: 'total'"
    assert reasons["nine"].startswith(
        "9 is outside 0 to 1 of the metric; declare its range: metric=hk.Metric('odd_ones"
    )
    assert rows["details"].tolist()[ASKED.index("lost")] == '{"raw": "429"}'


def test_rows_come_in_the_order_of_the_samples_with_what_identifies_them() -> None:
    samples = frame(case_id=["c-2", "c-1"], trial=[2, 1], arm=["a", "b"], extra=[1, 2], output=["yes", "no"])
    rows = hk.grade(samples, [short, lambda output: 0.5])
    assert rows["sample_id"].tolist() == ["s-0", "s-0", "s-1", "s-1"]
    assert rows["grader"].tolist() == ["short", "grader"] * 2
    assert rows["case_id"].tolist() == ["c-2", "c-2", "c-1", "c-1"]
    assert [name for name in GRADES.columns if name in rows] == list(rows.columns)
    assert "extra" not in rows
    assert samples.hk.grade([short]).equals(hk.grade(samples, short))


def test_no_samples_give_no_rows_with_all_columns() -> None:
    rows = hk.grade(frame(output=["a"]).head(0), short)
    assert len(rows) == 0
    assert {"sample_id", "metric", "grader", "value", "status", "reason", "details"} <= set(rows)


def test_what_is_missing_is_named_before_any_work() -> None:
    called: list[str] = []

    def first(output: str) -> bool:
        called.append(output)
        return True

    with pytest.raises(hk.FrameError, match=r"grade\(\) with grader 'second' needs .* missing 'expected'"):
        hk.grade(frame(output=["a"], expectd=["b"]), [first, hk.grader(name="second")(lambda expected: 1)])
    with pytest.raises(hk.FrameError, match="missing or repeated ids: 's-1'"):
        hk.grade(pd.DataFrame({"sample_id": ["s-1", "s-1"], "output": ["a", "b"]}), first)
    with pytest.raises(hk.GraderError, match="found two named 'first' with the metric 'first'"):
        hk.grade(frame(output=["a"]), [first, first])
    with pytest.raises(hk.GraderError, match="needs the settings limit"):
        hk.grade(frame(output=["a"]), hk.grader(lambda output, *, limit: True))
    ranges = [
        hk.grader(name="one", metric=hk.Metric("q"))(first),
        hk.grader(name="ten", metric=hk.Metric("q", high=10))(first),
    ]
    with pytest.raises(hk.PolicyError, match="declared twice, differently"):
        hk.grade(frame(output=["a"]), ranges)
    assert not called


@pytest.mark.parametrize("given", [[], "exact", None, 3])  # and a factory that nobody called, below
def test_what_is_no_grader_is_refused(given: Any) -> None:
    with pytest.raises(hk.GraderError, match="needs a grader"):
        hk.grade(frame(output=["a"]), given)
    with pytest.raises(hk.GraderError, match=r"if it makes one, call it: exact\(…\)"):
        hk.grade(frame(output=["a"]), hk.graders.exact)


def test_missing_cells_do_not_reach_a_grader_that_has_no_use_for_them() -> None:
    samples = frame(output=["a", None, float("nan"), pd.NA], note=[None, "x", None, "y"])

    def needs(output: str) -> bool:
        assert isinstance(output, str)
        return True

    def takes(output: str | None, note: str = "none", absent: int = 7) -> float:
        assert output is None or output == "a"
        assert (note, absent) != ("", 0)
        return 1.0

    rows = hk.grade(samples, [needs, takes])
    assert rows.loc[rows["grader"] == "needs", "reason"].tolist() == [None] + ["output is missing"] * 3
    assert (rows.loc[rows["grader"] == "takes", "status"] == "ok").all()


def test_samples_that_ended_badly_are_unscored_unless_that_is_what_is_asked() -> None:
    samples = frame(output=["a", "b", "c"], status=["scored", "timeout", "error"], reason=[None, "timed_out", None])
    rows = hk.grade(samples, [short, hk.graders.finished()])
    assert rows["status"].tolist() == ["ok", "ok", "unscored", "ok", "unscored", "ok"]
    assert rows.loc[rows["grader"] == "finished", "value"].tolist() == [1.0, 0.0, 0.0]
    assert rows["reason"].tolist()[2] == "the sample ended with timeout: timed_out"


def test_attempts_that_do_not_count_have_no_row() -> None:
    samples = frame(output=["a", "b"], counts=pd.array([False, True], dtype="boolean"))
    assert hk.grade(samples, short)["sample_id"].tolist() == ["s-1"]


def test_stored_json_and_plain_text_are_read_by_one_rule() -> None:
    seen: list[Any] = []
    cells = ['"Paris"', "Paris", '{"a": 1}', '["x"]', "42", '"open', "[" * 5000]

    def plain(output: str) -> bool:
        seen.append(output)
        return True

    def read(output) -> bool:  # type: ignore[no-untyped-def]
        seen.append(output)
        return True

    hk.grade(frame(output=cells), plain)
    assert seen == ["Paris", "Paris", *cells[2:]]
    seen.clear()
    hk.grade(frame(output=cells), read)
    assert seen == ["Paris", "Paris", {"a": 1}, ["x"], *cells[4:]]


def test_a_grader_of_several_metrics_has_a_row_for_each_of_them() -> None:
    def both(output: str) -> Any:
        return {"a": {"right": 1, "tone": 0.5}, "b": {"right": None}, "c": None, "d": {"": 1}}[output]

    rows = hk.grade(frame(output=["a", "b", "c", "d"]), both)
    assert len(rows) == 8
    assert rows["metric"].tolist() == ["right", "tone"] * 4
    assert rows["status"].tolist() == ["ok", "ok", *["unscored"] * 4, "error", "error"]
    assert rows["reason"].tolist()[3] == "the grader gave no 'tone' here"


def test_a_frame_of_grades_goes_into_a_comparison() -> None:
    cases = {"case_id": [f"c-{n}" for n in range(30)], "kind": ["win"] * 30}
    before = hk.grade(frame(output=["yes"] * 30, **cases), short)
    after = hk.grade(frame(output=["yes"] * 29 + [None], **cases), short)
    deltas = hk.case_deltas(before, after)
    assert set(deltas["status"]) <= {"unchanged", "inconclusive", "improved"}
    assert deltas.set_index("case_id").loc["c-29", "status"] == "inconclusive"


def test_it_works_on_a_running_loop_again_and_again() -> None:
    async def later(output: str) -> bool:
        await asyncio.sleep(0)
        return True

    async def notebook() -> list[list[float]]:
        samples = frame(output=["a", "b"])
        ways = [hk.grade(samples, later), hk.grade(samples, later), await hk.agrade(samples, [later, short])]
        return [rows["value"].tolist() for rows in ways]

    assert asyncio.run(notebook()) == [[1.0, 1.0], [1.0, 1.0], [1.0] * 4]
    assert hk.grade(frame(output=["a"]), lambda output: later(output))["value"].tolist() == [1.0]


def test_at_most_so_many_calls_at_once() -> None:
    now = most = 0
    lock = threading.Lock()

    def busy(output: str) -> bool:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.01)
        with lock:
            now -= 1
        return True

    rows = hk.grade(frame(output=[str(n) for n in range(20)]), hk.grader(blocking=True)(busy), concurrency=3)
    assert (rows["status"] == "ok").all()
    assert 2 <= most <= 3


def test_a_call_over_its_time_is_an_error_of_that_sample() -> None:
    async def waits(output: str) -> bool:
        await asyncio.sleep(60 if output == "long" else 0)
        return True

    blocks = hk.grader(blocking=True)(lambda output: threading.Event().wait(30 if output == "long" else 0) or True)
    rows = hk.grade(frame(output=["long", "a"]), [waits, blocks], timeout_s=0.2)
    assert rows["status"].tolist() == ["error", "error", "ok", "ok"]
    assert rows["reason"].tolist()[0] == "timed_out: after 0.2 s"


@pytest.mark.parametrize("how", ["sync", "async", "thread"])
def test_an_interrupt_stops_everything(how: str) -> None:
    seen: list[str] = []

    def stops(output: str) -> bool:
        seen.append(output)
        raise KeyboardInterrupt

    async def stops_later(output: str) -> bool:
        await asyncio.sleep(0)
        return stops(output)

    grader = {"sync": stops, "async": stops_later, "thread": hk.grader(blocking=True)(stops)}[how]
    with pytest.raises(KeyboardInterrupt):
        hk.grade(frame(output=[str(n) for n in range(50)]), grader, concurrency=2)
    assert len(seen) <= 2


def test_a_kept_verdict_is_not_asked_for_again_and_failures_are() -> None:
    kept: dict[str, str] = {}
    asked: list[str] = []

    def judge(output: str) -> Any:
        asked.append(output)
        if output == "bad":
            raise RuntimeError("rate limited")
        return hk.Grade(0.5, "half", details={"raw": output})

    samples = frame(output=["a", "bad", "a", "a"], trial=[1, 1, 1, 2])
    first = hk.grade(samples, judge, cache=kept)
    assert asked == ["a", "bad", "a"]  # the third is the first again; the fourth is another trial
    again = hk.grade(samples, judge, cache=kept)
    assert asked == ["a", "bad", "a", "bad"]
    pd.testing.assert_frame_equal(first, again)


def test_another_setting_or_code_is_another_key() -> None:
    kept: dict[str, str] = {}
    samples = frame(output=["four"])
    least = hk.grader(lambda output, *, least=3: len(output) > least)
    assert hk.grade(samples, least, cache=kept)["value"].tolist() == [1.0]
    assert hk.grade(samples, least.configured(least=9), cache=kept)["value"].tolist() == [0.0]
    assert hk.grade(samples, hk.grader(lambda output, *, least=3: len(output) < least), cache=kept)["value"][0] == 0.0
    assert len(kept) == 3


def test_values_are_the_same_in_another_process() -> None:
    code = "import harnesskit as hk; print(hk.graders.contains(['a'], mode='all').version, hk.graders.exact().version)"
    ways = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
        for _ in range(2)
    }
    made = (hk.graders.contains(["a"], mode="all"), hk.graders.exact())
    assert ways == {" ".join(one.version for one in made) + "\n"}


def test_statuses_are_the_closed_set() -> None:
    assert STATUSES == ("ok", "unscored", "error", "out_of_range", "not_applicable")
