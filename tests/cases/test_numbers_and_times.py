"""Field reports about values: 44 (names of metrics), 46 (times), 49 (big integers), 56 (odd scores), 57 (NaN)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cases_adapter
import pytest

from harnesskit import cli

Load = Callable[..., cases_adapter.Loaded]
Folder = Callable[[str], Path]


def strict(text: str) -> Any:
    """Read JSON as a strict reader does: no NaN, no infinities."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    return json.loads(text, parse_constant=refuse)


def test_44_names_of_metrics_are_data(evalset: Load, report_folder: Folder) -> None:
    (path,) = (report_folder("44") / "evalset").iterdir()
    written = json.loads(path.read_text(encoding="utf-8"))["baseline_scores"]
    loaded = evalset("44")
    frame = loaded.harness.table("baselines")
    assert dict(zip(frame["metric"], frame["value"], strict=True)) == {m: v for m, v in written.items() if m}
    assert [row["kind"] for row in loaded.problems] == ["empty_metric"]
    for metric in frame["metric"]:
        assert loaded.harness.scores(metric=metric)["value"].tolist() == [written[metric]]
    assert frame["case_id"].unique().tolist() == ["c0"]


def test_44_names_that_differ_in_case_only_stay_apart_in_a_comparison(evalset: Load, report_folder: Folder) -> None:
    samples = cases_adapter.load_samples(report_folder("44") / "samples.jsonl")
    per_case, _ = cases_adapter.compare(evalset("44").cases, samples.rows)
    found = {row["metric"]: (row["base"], row["new"]) for row in per_case}
    assert (found["F1"], found["f1"]) == ((0.9, 0.8), (0.2, 0.3))
    assert found['q"uote'] == (0.5, 0.5)
    assert found["drop table cases;--"] == (0.45, None)
    wide = samples.harness.scores().pivot(index="case_id", columns="metric", values="value")
    assert (wide.loc["c0", "F1"], wide.loc["c0", "f1"]) == (0.8, 0.3)


def test_44_two_keys_only_come_back_from_the_exported_file(evalset: Load, tmp_path: Path) -> None:
    db = evalset("44", "evalset_two_keys").harness.export(tmp_path / "w.duckdb")
    rows = cases_adapter.query(db, "SELECT metric, value FROM baselines ORDER BY metric")
    assert rows == [("F1", 0.9), ("f1", 0.2)]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_46_times_are_instants_in_every_zone(
    loaded_under: Callable[..., dict[str, Any]], report_folder: Folder, zone: str
) -> None:
    expected = json.loads((report_folder("46") / "expected.json").read_text(encoding="utf-8"))
    seen = loaded_under("46", {"TZ": zone})
    assert [case_id for case_id in seen["order"] if case_id != "i"] == expected["order_by_instant"]
    assert seen["newest"] == "g2"
    days = {day: [c for c in cases if c != "i"] for day, cases in seen["days"].items()}
    assert days == expected["day_buckets_utc"]
    assert seen["days_of_the_frame"] == seen["days"]
    said = {Path(file).stem: kind for file, _, kind in seen["problems"]}
    assert [name for name, kind in sorted(said.items()) if kind == "bad_time"] == expected["problems"]
    assert [name for name, kind in sorted(said.items()) if kind == "time_without_zone"] == ["c", "h"]
    assert said["i"] == "time_as_number"  # the stated rule: seconds since 1970
    assert dict(zip(seen["order"], seen["times"], strict=True))["i"] == "2025-03-01T23:33:20+00:00"


def test_49_integers_inside_a_payload_come_back_digit_by_digit(
    evalset: Load, report_folder: Folder, tmp_path: Path
) -> None:
    written = {}
    for path in (report_folder("49") / "evalset").iterdir():
        case = json.loads(path.read_text(encoding="utf-8"))
        written[case["id"]] = case["replay_input"]
    loaded = evalset("49")
    stored = cases_adapter.stored_cases(loaded.harness.export(tmp_path / "w.duckdb"))
    for cases in (loaded.cases, stored):
        for case in cases:
            assert json.dumps(case["replay_input"]) == json.dumps(written[case["id"]])  # 1 and 1.0 apart


def test_49_a_number_as_session_is_its_exact_text_and_named(evalset: Load) -> None:
    sessions = {case["id"]: case["session_id"] for case in evalset("49").cases}
    assert sessions["d"] == sessions["e"] == "9007199254740993"
    assert [(row["file"], row["field"]) for row in evalset("49").problems] == [
        ("evalset/numeric_session.json", "session_id")
    ]


def test_49_a_column_of_integers_with_a_gap_keeps_every_digit(report_folder: Folder, tmp_path: Path) -> None:
    loaded = cases_adapter.load_samples(report_folder("49") / "samples.jsonl", db=tmp_path / "w.duckdb")
    tokens = loaded.harness.table("samples").set_index("sample_id")["input_tokens"]
    assert str(tokens.dtype) == "Int64"
    assert (int(tokens["s0"]), int(tokens["s2"])) == (9007199254740993, 9007199254740992)
    assert tokens.isna()["s1"]
    rows = cases_adapter.query(tmp_path / "w.duckdb", "SELECT input_tokens FROM samples ORDER BY sample_id")
    assert rows == [(9007199254740993,), (None,), (9007199254740992,)]


def test_56_what_is_no_number_is_no_score_and_is_named(evalset: Load, report_folder: Folder) -> None:
    loaded = evalset("56")
    scores = {case["id"]: case["baseline_scores"] for case in loaded.cases}
    assert (scores["v10"], scores["v11"]) == ({"q": 0.9}, {"q": 1})
    odd = [case_id for case_id in scores if case_id.startswith("v") and case_id not in ("v10", "v11")]
    assert all(scores[case_id] == {"q": None} for case_id in odd)
    frame = loaded.harness.table("baselines")
    assert dict(zip(frame["case_id"], frame["value"], strict=True)).keys() >= {"v10", "v11"}
    assert not set(odd) & set(frame["case_id"])
    unscored = loaded.harness.scores(metric="q", case=odd)
    assert set(unscored["status"]) == {"unscored"}
    said = {row["file"]: row["reason"] for row in loaded.problems if row["field"] == "baseline_scores.q"}
    for path in (report_folder("56") / "evalset").glob("case-*.json"):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case["id"] not in ("v06", "v10", "v11"):  # null says unscored and is no problem
            assert repr(case["baseline_scores"]["q"]) in said.pop(f"evalset/{path.name}")
    assert said == {}


def test_56_misspelt_fields_and_kinds_are_pointed_out(evalset: Load) -> None:
    said = {(row["file"], row["kind"]): row["reason"] for row in evalset("56").problems}
    assert "did you mean 'baseline_scores'?" in said["evalset/typo.json", "misspelt_field"]
    assert ("evalset/typo.json", "no_baseline") in said
    assert "'Win'" in said["evalset/kind_odd.json", "bad_kind"]
    assert ("evalset/no_scores.json", "no_baseline") in said


def test_57_nan_is_unscored_and_infinities_are_refused_by_name(evalset: Load) -> None:
    loaded = evalset("57")
    scores = {case["id"]: case["baseline_scores"]["q"] for case in loaded.cases if case["id"] != "inside"}
    assert scores == {"nan": None, "inf": None, "ninf": None, "huge": None, "minus0": -0.0, "tiny": 5e-324}
    said = {Path(row["file"]).stem: (row["field"], row["kind"]) for row in loaded.problems}
    assert said == {
        "nan": ("baseline_scores.q", "not_a_number"),
        "inf": ("baseline_scores.q", "infinite"),
        "ninf": ("baseline_scores.q", "infinite"),
        "huge": ("baseline_scores.q", "infinite"),
        "inside": ("replay_input.z", "not_a_number"),
    }
    status = loaded.harness.scores(metric="q").set_index("case_id")["status"].to_dict()
    assert {case_id for case_id, found in status.items() if found == "ok"} >= {"minus0", "tiny"}
    assert {status[case_id] for case_id in ("nan", "inf", "ninf", "huge")} == {"unscored"}


def test_57_every_json_that_is_written_is_strict(
    evalset: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = evalset("57")
    assert cli.main(["list", "--json", "--root", str(loaded.harness.root)]) == 0
    assert {case["id"] for case in strict(capsys.readouterr().out)["cases"]} >= {"nan", "inf", "tiny"}
    db = loaded.harness.export(tmp_path / "w.duckdb")
    for row in cases_adapter.query(db, "SELECT baseline_scores, replay_input FROM cases"):
        assert all(isinstance(strict(text), dict) for text in row)
    assert cases_adapter.query(db, "SELECT count(*) FROM scores WHERE isnan(value) OR isinf(value)") == [(0,)]


def test_57_a_case_that_lost_its_score_gets_no_verdict(evalset: Load) -> None:
    cases = evalset("57").cases
    new = [{"case_id": case["id"], "scores": {"q": 0.5}, "status": "ok"} for case in cases]
    per_case, _ = cases_adapter.compare(cases, new)
    verdicts = {row["case_id"]: row["verdict"] for row in per_case}
    assert {verdicts[case_id] for case_id in ("nan", "inf", "ninf", "huge")} <= {"inconclusive", "skipped"}
