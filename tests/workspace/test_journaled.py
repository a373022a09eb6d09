"""Regression runs in the journal: every result kept is a sample with an honest status."""

from __future__ import annotations

import json

import pytest

from harnesskit.workspace.journal import read_journal
from harnesskit.workspace.journaled import journaled_runs


def result(**fields):
    plain = {
        "case_id": "c-1",
        "kind": "win",
        "status": "unchanged",
        "replay_session_id": "s-r",
        "baseline_scores": {"m": 0.5},
        "replay_scores": {"m": 0.6},
        "deltas": {"m": 0.1},
        "reason": "",
    }
    return {**plain, **fields}


@pytest.fixture
def runs(tmp_path):
    def read(*results, **fields):
        record = {"type": "regression", "ts": "2026-06-01T00:00:00+00:00", "total": len(results), **fields}
        path = tmp_path / "journal.jsonl"
        path.write_text(json.dumps({**record, "results": list(results)}) + "\n")
        return journaled_runs(read_journal(path).events)

    return read


def failed(reason, status="skipped"):
    return result(status=status, reason=reason, replay_scores={}, deltas={}, replay_session_id=None)


@pytest.mark.parametrize(
    ("case", "status", "reason"),
    [
        (result(), "scored", None),
        (failed("no replay_input attached (harness_evalset_attach)"), "skipped", "no replay_input attached"),
        (failed("replay failed: boom"), "error", "replay failed: boom"),
        (failed("replay failed: "), "error", "gives no text"),
        (failed("scoring failed: 500"), "error", "scoring failed: 500"),
        (failed("replayed session produced no resolved scores"), "inconclusive", "no resolved scores"),
        (failed("", status="unchanged"), "inconclusive", "no score was journaled"),
        (result(status="unchanged", replay_scores={"m": None}), "inconclusive", "no score was journaled"),
    ],
)
def test_the_status_is_what_the_journal_lets_one_say(runs, case, status, reason):
    (sample,) = runs(case).samples
    assert sample.status == status
    assert (sample.reason is None) if reason is None else (reason in sample.reason)


def test_a_sample_carries_what_was_journaled(runs):
    found = runs(result(), total=1, replayed=1, clean=True)
    (run,), (sample,), (score,) = found[:3]
    assert (run.run_id, run.role, sample.sample_id) == ("journal:0", "replay", "journal:0:0")
    assert (sample.case_id, sample.session_id, sample.trial, sample.counts) == ("c-1", "s-r", 1, True)
    assert json.loads(sample.attributes) == {
        "kind": "win",
        "journaled_status": "unchanged",
        "baseline_scores": {"m": 0.5},
        "deltas": {"m": 0.1},
    }
    assert (score.metric, score.value, score.status) == ("m", 0.6, "ok")
    assert json.loads(run.parameters)["results_missing"] == 0
    assert run.finished_at == sample.occurred_at
    assert found.problems == []


def test_a_metric_without_a_journaled_score_is_unscored_not_gone(runs):
    found = runs(result(baseline_scores={"m": 0.5, "lost": 0.9}))
    assert {(score.metric, score.status, score.value) for score in found.scores} == {
        ("m", "ok", 0.6),
        ("lost", "unscored", None),
    }


@pytest.mark.parametrize("value", ["0.7", True, [1], 10**400])
def test_a_score_that_is_no_number_is_unscored_with_a_problem(runs, value):
    found = runs(result(replay_scores={"m": 0.6, "odd": value}))
    odd = next(score for score in found.scores if score.metric == "odd")
    assert (odd.value, odd.status) == (None, "unscored")
    assert odd.reason
    assert [problem.field for problem in found.problems] == ["results[0].replay_scores.odd"]


def test_results_that_the_journal_did_not_keep_are_counted_and_noted(runs):
    found = runs(result(), total=73)
    parameters = json.loads(found.runs[0].parameters)
    assert (parameters["results_kept"], parameters["results_missing"]) == (1, 72)
    assert [(p.kind, p.severity) for p in found.problems] == [("results_missing", "note")]


def test_odd_results_cost_themselves(runs):
    found = runs(7, result(), result(), total=2)
    assert [(sample.sample_id, sample.trial) for sample in found.samples] == [("journal:0:1", 1), ("journal:0:2", 2)]
    assert [problem.kind for problem in found.problems] == ["contradiction", "not_an_object", "repeated_case"]
