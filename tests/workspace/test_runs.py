"""Run folders: what is written comes back, and one bad line costs only itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from harnesskit.model.errors import WorkspaceError
from harnesskit.model.frames import RUNS, SAMPLES, SCORES
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import RunRow, SampleRow, ScoreRow
from harnesskit.workspace.runs import create_run, read_run, resume_run, run_folder, run_folders

AT = datetime(2026, 6, 30, 12, 0, 0, 250000, tzinfo=UTC)
HOSTILE = 'a\u2028b\x85c\td"e\\u003a: é\U0001f43c </script>=1+1\r\n,'


def row(run_id="run-1", **more):
    return RunRow(run_id, "replay", started_at=AT, **more)


def sample(sample_id="s1", run_id="run-1", **more):
    return SampleRow(sample_id, run_id, **{"case_id": "c1", "trial": 1, **more})


def written(tmp_path, *lines, run='{"format": 1, "run_id": "run-1", "role": "replay"}'):
    folder = run_folder(tmp_path, "run-1")
    folder.mkdir(parents=True)
    if run is not None:
        (folder / "run.json").write_text(run)
    (folder / "samples.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return read_run(folder)


def kinds(problems):
    return [problem.kind for problem in problems]


def test_rows_have_the_columns_of_the_contracts():
    for made, contract in ((RunRow, RUNS), (SampleRow, SAMPLES), (ScoreRow, SCORES)):
        assert made._fields == tuple(contract.columns)


@pytest.mark.parametrize("text", [HOSTILE, "", "null", "2026-06-01", "NaN", "x" * 10_000])
def test_every_column_comes_back(tmp_path, text):
    payload = to_json({text: [text, 1, 1.0, 2**70, None, True], "~": {"a": -0.0}})
    run = row(text or "empty", label=text, rule_id=text, agent=text, version=text, parameters=payload, policy=payload,
              fingerprint=payload)  # fmt: skip
    one = SampleRow(
        text or "s", run.run_id, text, text, text, 0, text, 1, 2, True, text, 3, text, AT, "scored", text, payload,
        to_json(text), payload, text, 1.5, 0.0, 10, 2**60, 0.1 + 0.2, False, payload,
    )  # fmt: skip
    scores = [
        ScoreRow(one.sample_id, text, text, text, 0.1 + 0.2, "ok", text),
        ScoreRow(one.sample_id, "m", "g", None, None, "unscored", "no reply"),
    ]
    writer = create_run(tmp_path, run)
    writer.append(one, scores)
    writer.finish(AT)
    assert read_run(writer.folder) == (run._replace(finished_at=AT), [one], scores, [])
    assert writer.folder.parent == tmp_path / "harnesskit" / "runs"
    assert run_folders(tmp_path) == [writer.folder]


def test_the_last_finished_attempt_of_a_trial_counts(tmp_path):
    writer = create_run(tmp_path, row())
    for sample_id, more in {
        "a1": {"attempt": 1, "status": "timeout"},
        "a2": {"attempt": 2},
        "b1": {"trial": 2, "attempt": 1},
        "b2": {"trial": 2, "attempt": 2, "status": "error"},
        "c1": {"trial": 3, "attempt": 1, "status": "error"},
        "c2": {"trial": 3, "attempt": 2, "status": "timeout"},
        "d1": {"trial": 1, "arm": "control"},
        "e1": {"trial": None},
        "e2": {"trial": None},
        "f1": {"case_id": None},
    }.items():
        writer.append(sample(sample_id, **more))
    _, samples, _, problems = read_run(writer.folder)
    assert [s.sample_id for s in samples if s.counts] == ["a2", "b1", "c2", "d1", "e1", "e2", "f1"]
    assert problems == []


def test_a_line_that_says_it_does_not_count_is_believed(tmp_path):
    writer = create_run(tmp_path, row())
    writer.append(sample("a1", counts=False))
    assert [s.counts for s in read_run(writer.folder)[1]] == [False]


@pytest.mark.parametrize(
    ("value", "kind", "reason"),
    [
        ("NaN", "not_a_number", "the value was NaN"),
        ("Infinity", "infinite", "the value was infinite"),
        ("-Infinity", "infinite", "the value was infinite"),
        ('"0.9"', "not_a_number", "the text '0.9' is not a number"),
        ("true", "not_a_number", "true is not a number"),
        ("[0.9]", "not_a_number", "a list is not a number"),
        ("1" + "0" * 400, "not_a_number", "the number is too large for a score"),
    ],
)
def test_a_score_that_is_no_number_is_unscored_and_named(tmp_path, value, kind, reason):
    line = '{"sample_id": "s1", "scores": [{"metric": "m", "grader": "g", "value": VALUE}]}'.replace("VALUE", value)
    _, samples, scores, problems = written(tmp_path, line)
    assert scores == [ScoreRow("s1", "m", "g", None, None, "unscored", reason)]
    assert [(p.kind, p.line, p.field) for p in problems] == [(kind, 1, "scores[0].value")]
    assert samples[0].status == "inconclusive"


def test_missing_keys_are_missing_and_scores_say_the_status(tmp_path):
    line = '{"sample_id": "s1", "scores": [{"metric": "m", "value": 1}]}'
    run, samples, scores, problems = written(tmp_path, line)
    assert run == RunRow("run-1", "replay")
    assert samples == [SampleRow("s1", "run-1", status="scored")]
    assert scores == [ScoreRow("s1", "m", "unknown", None, 1.0, "ok", None)]
    assert kinds(problems) == ["no_grader"]


def test_bad_lines_and_fields_cost_only_themselves(tmp_path):
    _, samples, scores, problems = written(
        tmp_path,
        '{"sample_id": "s1", "case_id": "c1", "trial": "two", "status": "fine", "duration_s": "3", "counts": 1}',
        '{"sample_id": "s2", "sco',
        "[]",
        "",
        '{"case_id": "nameless"}',
        '{"sample_id": "s1", "case_id": "other"}',
        '{"sample_id": "s3", "run_id": "elsewhere", "scores": {"m": 1}, "mood": "good", "attributes": {"k": 1}}',
        '{"sample_id": "s4", "scores": [{"metric": "m", "grader": "g", "value": 1, "status": "out_of_range"}, 7, '
        '{"metric": "m", "grader": "g", "value": 0.5}, {"metric": "n", "grader": "g", "status": "ok"}]}',
    )
    assert [(s.sample_id, s.run_id, s.case_id) for s in samples] == [
        ("s1", "run-1", "c1"),
        ("s3", "run-1", None),
        ("s4", "run-1", None),
    ]
    assert json.loads(samples[1].attributes) == {"mood": "good", "k": 1}
    assert [score[1:] for score in scores] == [
        ("m", "g", None, None, "out_of_range", "the value was 1.0"),
        ("n", "g", None, None, "unscored", "there is no value"),
    ]
    assert sorted((p.line, p.kind) for p in problems) == [
        (1, "bad_status"),
        (1, "not_a_count"),
        (1, "not_a_flag"),
        (1, "not_a_number"),
        (2, "not_json"),
        (3, "not_an_object"),
        (5, "no_id"),
        (6, "duplicate_sample"),
        (7, "not_a_list"),
        (7, "run_id_mismatch"),
        (8, "bad_score"),
        (8, "duplicate_score"),
        (8, "no_value"),
    ]
    assert all(p.source == "run" and p.file == "harnesskit/runs/run-1/samples.jsonl" for p in problems)


def test_without_run_json_the_samples_are_read(tmp_path):
    run, samples, _, problems = written(tmp_path, '{"sample_id": "s1", "status": "scored"}', run=None)
    assert run == RunRow("run-1", "unknown")
    assert samples[0].run_id == "run-1"
    assert kinds(problems) == ["no_run_file"]


@pytest.mark.parametrize(("run", "kind"), [("{", "not_json"), ("[1]", "not_an_object")])
def test_an_unusable_run_json_is_a_problem(tmp_path, run, kind):
    found, samples, _, problems = written(tmp_path, '{"sample_id": "s1", "status": "scored"}', run=run)
    assert (found.run_id, len(samples), kinds(problems)) == ("run-1", 1, [kind])


def test_a_folder_that_is_not_named_after_its_run_is_a_problem(tmp_path):
    run, _, _, problems = written(tmp_path, run='{"run_id": "run-2", "role": "control"}')
    assert (run.run_id, kinds(problems)) == ("run-2", ["name_mismatch"])


@pytest.mark.parametrize("run_id", ["..", ".", "../../up", "/abs", "a\0b", "con", "x" * 4000, "\u202e", ""])
def test_a_run_id_never_leads_out_of_the_folder(tmp_path, run_id):
    root = tmp_path / "root"
    writer = create_run(root, row(run_id))
    writer.append(sample(run_id=run_id))
    assert os.listdir(tmp_path) == ["root"]
    assert os.listdir(root / "harnesskit" / "runs") == [writer.folder.name]
    run, samples, _, problems = read_run(writer.folder)
    assert (run.run_id, samples[0].run_id) == ((run_id, run_id) if run_id else ("", ""))
    assert problems == []


def test_an_existing_run_is_never_written_over(tmp_path):
    create_run(tmp_path, row())
    with pytest.raises(WorkspaceError, match="another id, or resume"):
        create_run(tmp_path, row())
    with pytest.raises(WorkspaceError, match="cannot resume run 'nothing'"):
        resume_run(tmp_path, "nothing")


def test_a_value_that_json_does_not_have_is_refused_before_it_is_written(tmp_path):
    writer = create_run(tmp_path, row())
    with pytest.raises(ValueError, match="JSON"):
        writer.append(sample(), [ScoreRow("s1", "m", "g", None, float("nan"), "ok", None)])
    with pytest.raises(ValueError, match="a score of 'other'"):
        writer.append(sample(), [ScoreRow("other", "m", "g", None, 1.0, "ok", None)])
    assert read_run(writer.folder)[1] == []


def test_a_crash_in_the_middle_loses_nothing_that_had_finished(tmp_path):
    child = (
        "import os, sys; from pathlib import Path;"
        "from harnesskit.workspace.runs import *; from harnesskit.workspace.rows import *;"
        "w = create_run(Path(sys.argv[1]), RunRow('run-1', 'replay'));"
        "[w.append(SampleRow(f's{n}', 'run-1', status='scored')) for n in range(3)];"
        "f = open(w.folder / 'samples.jsonl', 'ab'); f.write(b'{\"sample_id\": \"s3'); f.flush(); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", child, str(tmp_path)], check=False).returncode == 9
    writer = resume_run(tmp_path, "run-1")
    writer.append(sample("s4"))
    writer.finish(AT)
    run, samples, _, problems = read_run(writer.folder)
    assert [s.sample_id for s in samples] == ["s0", "s1", "s2", "s4"]
    assert run.finished_at == AT
    assert [(p.line, p.kind) for p in problems] == [(4, "not_json")]
