"""Field reports about what a case is: 08 (one id in two files), 13 (signatures), 43 (text that looks like a date),
51 (rows without a case), 53 (missing notes), 78 (ids that look like paths)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cases_adapter
import pandas as pd
import pytest

import harnesskit as hk
from harnesskit import cli

Load = Callable[..., cases_adapter.Loaded]
Folder = Callable[[str], Path]


def files_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


def test_08_an_id_in_two_files_is_named_with_both_and_neither_is_used(evalset: Load) -> None:
    loaded = evalset("08")
    assert {case["id"] for case in loaded.cases} == {"only", "named-differently"}
    named = [row for row in loaded.problems if row["kind"] == "duplicate_id"]
    assert {row["file"] for row in named} == {"evalset/a.json", "evalset/b.json"}
    assert all("dup" in row["reason"] and "a.json" in row["reason"] and "b.json" in row["reason"] for row in named)
    for table in ("samples", "case_scores", "baselines"):
        assert "dup" not in set(loaded.harness.table(table)["case_id"])


def test_13_signatures_are_counted_and_told_apart_by_their_key(evalset: Load) -> None:
    frame = evalset("13").harness.table("cases")
    assert frame["signature_key"].value_counts().to_dict() == {
        '["breach:a","breach:b"]': 3,  # whatever the order of the labels
        "[]": 3,  # no label, a text in place of a list, and null
        '["breach:a","breach:a"]': 1,  # repeats are kept
        '["Breach:A"]': 1,  # and so is the case of letters
    }
    once = frame.drop_duplicates(["session_id", "signature_key", "kind"])
    assert once["case_id"].tolist() == ["g0", "g3", "g5", "g7"]
    assert frame.groupby("signature_key").size().sum() == 8


def test_13_the_labels_themselves_stay_as_they_stand_in_the_file(evalset: Load) -> None:
    labels = evalset("13").harness.table("cases").set_index("case_id")["signature"]
    assert list(labels["g1"]) == ["breach:b", "breach:a"]
    assert list(labels["g4"]) == list(labels["g6"]) == []
    wrong = {row["file"]: row["reason"] for row in evalset("13").problems if row["field"] == "signature"}
    assert set(wrong) == {"evalset/case-005.json", "evalset/case-007.json"}
    assert "breach:a" in wrong["evalset/case-005.json"]


def test_43_text_that_looks_like_something_else_stays_text(
    evalset: Load, report_folder: Folder, tmp_path: Path
) -> None:
    written = {case["id"]: case for case in files_of(report_folder("43") / "evalset")}
    loaded = evalset("43")
    stored = cases_adapter.stored_cases(loaded.harness.export(tmp_path / "w.duckdb"))
    for cases in (loaded.cases, stored):
        assert {case["id"] for case in cases} == set(written)
        for case in cases:
            for field in ("session_id", "notes", "signature", "replay_input"):
                assert case[field] == written[case["id"]][field]
    found = loaded.harness.sql("SELECT notes FROM cases WHERE case_id = $id", id="BBD05AE7-1111-4222-8333-ABCDEFABCDEF")
    assert found["notes"].tolist() == ["2024-05-19"]


def test_51_rows_without_a_case_match_nothing_and_are_counted(report_folder: Folder) -> None:
    folder = report_folder("51")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    samples = cases_adapter.load_samples(folder / "samples.jsonl")
    baselines = cases_adapter.load_samples(folder / "baselines.jsonl")
    per_case, summary = cases_adapter.compare(baselines.rows, samples.rows)
    matched = [row for row in per_case if row["delta"] is not None]
    assert [(row["case_id"], row["base"], row["new"]) for row in matched] == [("c0", 0.9, 0.5)]
    assert len(matched) == expected["matched"]
    assert summary["unmatched_new"] == expected["unmatched_samples"]
    assert summary["unmatched_base"] == expected["unmatched_baselines"]


def test_51_samples_without_a_case_still_count_among_the_scores(report_folder: Folder) -> None:
    loaded = cases_adapter.load_samples(report_folder("51") / "samples.jsonl")
    frame = loaded.harness.scores(metric="q")
    assert (len(frame), int(frame["case_id"].isna().sum())) == (4, 3)
    joined = loaded.harness.sql("SELECT * FROM case_scores AS a JOIN case_scores AS b USING (case_id)")
    assert joined["case_id"].tolist() == ["c0"]


def test_53_a_missing_note_is_missing_and_words_that_look_missing_stay(evalset: Load, tmp_path: Path) -> None:
    loaded = evalset("53")
    notes = {case["id"]: case["notes"] for case in loaded.cases}
    assert notes == {"n0": None, "n1": "", "n2": "nan", "n3": "None", "n4": "<NA>", "n5": "plain"}
    stored = cases_adapter.stored_cases(loaded.harness.export(tmp_path / "w.duckdb"))
    assert {case["id"]: case["notes"] for case in stored} == notes
    with_notes = loaded.harness.sql("SELECT case_id FROM cases WHERE notes <> '' ORDER BY case_id")
    assert with_notes["case_id"].tolist() == ["n2", "n3", "n4", "n5"]
    frame = loaded.harness.table("cases")
    assert frame.loc[frame["notes"].fillna("") != "", "case_id"].tolist() == ["n2", "n3", "n4", "n5"]


def test_53_the_command_line_leaves_a_missing_note_blank(evalset: Load, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "--root", str(evalset("53").harness.root)]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["n0"].endswith('["healthy"]')
    assert lines["n1"].endswith('["healthy"]')
    assert [lines[f"n{i}"].split()[-1] for i in (2, 3, 4, 5)] == ["nan", "None", "<NA>", "plain"]


def test_78_ids_are_data_and_the_empty_one_is_refused(evalset: Load, report_folder: Folder) -> None:
    written = [case["id"] for case in files_of(report_folder("78") / "evalset")]
    loaded = evalset("78")
    assert sorted(case["id"] for case in loaded.cases) == sorted(set(written) - {""})
    assert [(row["kind"], row["field"]) for row in loaded.problems] == [("no_id", "id")]
    for case_id in set(written) - {""}:
        found = loaded.harness.sql("SELECT case_id FROM cases WHERE case_id = $id", id=case_id)
        assert found["case_id"].tolist() == [case_id]


def test_78_runs_and_exports_stay_inside_their_folder(
    report_folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "outer" / "w"
    root.mkdir(parents=True)
    monkeypatch.setattr(cases_adapter, "new_workspace", lambda: root)
    loaded = cases_adapter.load_samples(report_folder("78") / "samples.jsonl", db=root / "out.duckdb")
    assert not Path("/tmp/abs_escape").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["outer"]
    assert [path.name for path in root.parent.iterdir()] == ["w"]
    assert {path.name for path in root.iterdir()} == {"evalset", "harnesskit", "out.duckdb"}
    runs = [path for path in (root / "harnesskit" / "runs").iterdir() if path.is_dir()]
    ids = {row["run_id"] for row in loaded.rows}
    assert len(ids) == 19
    assert len(runs) == 20
    assert len({path.name.casefold() for path in runs}) == 20
    assert [row["kind"] for row in loaded.problems] == ["no_id"]


def test_78_no_id_is_taken_for_an_option_of_the_command_line(evalset: Load, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [case["id"] for case in evalset("78").cases if "\0" not in case["id"]]  # no argument can hold a NUL
    root = str(evalset("78").harness.root)
    assert cli.main(["list", "--json", "--root", root, *(f"--case={case_id}" for case_id in ids)]) == 0
    assert {case["id"] for case in json.loads(capsys.readouterr().out)["cases"]} == set(ids)


def test_opening_a_workspace_of_any_ids_writes_nothing(evalset: Load) -> None:
    root = evalset("78").harness.root
    hk.open(root).table("case_scores")
    assert [path.name for path in root.iterdir()] == ["evalset"]


def test_13_dropping_duplicates_over_all_columns(evalset: Load) -> None:
    frame = evalset("13").harness.table("cases")
    assert isinstance(frame, pd.DataFrame)
    frame.drop_duplicates()
