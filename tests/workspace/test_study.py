"""Benchmark studies: paired trials of two arms, errors and retries counted as what they are."""

from __future__ import annotations

import json
from collections import defaultdict

import pandas as pd
import pytest

from harnesskit.workspace.study import read_study


@pytest.fixture
def read(tmp_path):
    def write_and_read(*records, manifest=None):
        run = tmp_path / "runs" / "r1"
        run.mkdir(parents=True, exist_ok=True)
        (run / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        if manifest is not None:
            (run / "manifest.json").write_text(json.dumps(manifest))
        return read_study(tmp_path / "runs")

    return write_and_read


MANIFEST = {"run_id": "r1", "benchmark": "b", "arm": "harness", "model": "x", "schema_version": 2}


def trial(**fields):
    plain = {"run_id": "r1", "benchmark": "b", "task_id": "t", "arm": "harness", "seed": 1, "trial": 0}
    return {**plain, "phase": "eval", "passed": True, "error": None, **fields}


def test_a_trial_is_a_sample_scored_by_passed(read):
    found = read(trial(), trial(trial=1, passed=False), manifest=MANIFEST)
    assert [(s.case_id, s.trial, s.attempt, s.counts) for s in found.samples] == [
        ("b/t", 1, 1, True),
        ("b/t", 2, 1, True),
    ]
    assert [(s.metric, s.value) for s in found.scores] == [("passed", 1.0), ("passed", 0.0)]
    assert [(run.run_id, run.role) for run in found.runs] == [("r1", "candidate")]
    assert found.problems == []


def test_a_retry_is_kept_and_only_the_last_counts(read):
    found = read(trial(passed=False), trial(), manifest=MANIFEST)
    assert [(s.attempt, s.counts) for s in found.samples] == [(1, False), (2, True)]


def test_learning_is_no_evidence(read):
    assert [s.counts for s in read(trial(phase="learning"), trial(), manifest=MANIFEST).samples] == [False, True]


@pytest.mark.parametrize(
    ("fields", "status", "score"),
    [
        ({"error": "boom", "passed": False}, "error", "error"),
        ({"passed": None}, "inconclusive", "unscored"),
        ({"passed": "yes"}, "inconclusive", "unscored"),
    ],
)
def test_what_did_not_finish_is_not_a_failure(read, fields, status, score):
    found = read(trial(**fields), manifest=MANIFEST)
    assert (found.samples[0].status, found.scores[0].status, found.scores[0].value) == (status, score, None)
    assert found.scores[0].reason


def test_a_run_without_manifest_is_read_and_noted(read):
    found = read(trial())
    assert [(run.run_id, run.role) for run in found.runs] == [("r1", "candidate")]
    assert [(p.file, p.kind) for p in found.problems] == [("runs/r1/manifest.json", "no_manifest")]


def test_the_dry_run_gives_the_headline_of_the_reference(shared):
    found = read_study(shared / "reference/workspaces/bench_dryrun/runs")
    assert found.problems == []
    assert len(found.runs) == 6
    passed = {score.sample_id: score.value for score in found.scores}
    by_arm = defaultdict(list)
    for sample in found.samples:
        if sample.counts:
            by_arm[sample.case_id.split("/")[0], sample.arm].append(passed[sample.sample_id])
    headline = pd.read_csv(shared / "reference/expected/bench_dryrun/headline.csv")
    expected = {(row.benchmark, row.arm): (row.n_tasks, row.pass_at_1) for row in headline.itertuples()}
    assert {key: (len(values), sum(values) / len(values)) for key, values in by_arm.items()} == expected
    records = pd.read_csv(shared / "reference/expected/bench_dryrun/all_records.csv")
    assert len(records) == len(found.samples)
    arms = defaultdict(set)
    for sample in found.samples:
        arms[sample.pair].add(sample.arm)
    assert set(map(frozenset, arms.values())) == {frozenset({"baseline", "harness"})}
