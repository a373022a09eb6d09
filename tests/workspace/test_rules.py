"""The rules: the last record of each, never more active than the file says."""

from __future__ import annotations

import json

import pytest

from harnesskit.workspace.rules import read_rules


@pytest.fixture
def read(tmp_path):
    def write_and_read(*records):
        path = tmp_path / "rules.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return read_rules(path)

    return write_and_read


def rule(**fields):
    return {"id": "r-1", "status": "candidate", "rule": "x", "created_at": "2026-06-01T00:00:00+00:00", **fields}


def kinds(found):
    return [(problem.field, problem.kind, problem.severity) for problem in found.problems]


def test_the_last_record_holds_and_the_first_says_when(read):
    found = read(rule(), rule(status="active", created_at="2026-07-01T00:00:00+00:00"))
    assert [(r.status, r.records, r.created_at.month) for r in found.rules] == [("active", 2, 6)]
    assert found.problems == []


@pytest.mark.parametrize("status", ["paused", None, "ACTIVE", 1, ["active"]])
def test_an_unknown_status_is_never_active(read, status):
    found = read(rule(status=status))
    assert found.rules[0].status == "unknown"
    assert kinds(found) == [("status", "bad_status", "problem")]


def test_rules_are_ordered_by_time_not_by_text(read):
    found = read(
        rule(id="r-c", created_at=None),
        rule(id="r-b", created_at="2026-06-01T12:30:00+05:30"),
        rule(id="r-a", created_at="2026-06-01T10:00:00+00:00"),
        rule(id="r-z", created_at="2026-06-01T07:00:00Z"),
    )
    assert [r.rule_id for r in found.rules] == ["r-b", "r-z", "r-a", "r-c"]


def test_a_rule_of_0_6_has_no_scope_and_is_global(read):
    found = read(rule(tags=["breach:m"]))
    assert (found.rules[0].scope, found.rules[0].applicability) == ("global", "global")
    assert found.problems == []
    assert read(rule(scope="payments")).rules[0].applicability == "topical"


@pytest.mark.parametrize(
    ("fields", "name", "value", "problem"),
    [
        ({"scope": "../../etc/passwd"}, "scope", "etc-passwd", ("scope", "scope_rewritten", "note")),
        ({"scope": ""}, "scope", "global", ("scope", "bad_scope", "problem")),
        ({"tags": "breach:x"}, "tags", (), ("tags", "not_a_list", "problem")),
        ({"tags": ["a", 3]}, "tags", ("a", "3"), ("tags", "label_not_text", "problem")),
        ({"metric": 3}, "metric", "3", ("metric", "not_text", "problem")),
        ({"rule": None}, "rule", None, ("rule", "no_text", "problem")),
        ({"applicability": "all"}, "applicability", "global", ("applicability", "bad_applicability", "problem")),
        ({"trial": "none"}, "trial", None, ("trial", "wrong_type", "problem")),
        ({"created_at": "yesterday"}, "created_at", None, ("created_at", "bad_time", "problem")),
    ],
)
def test_an_odd_field_has_a_stated_stand_in_and_a_row_of_problems(read, fields, name, value, problem):
    found = read(rule(**fields))
    assert getattr(found.rules[0], name) == value
    assert kinds(found) == [problem]


TRIAL = {
    "baseline_breached_sessions": 1,
    "baseline_sessions": 4,
    "baseline_window": 9,
    "breached_sessions": ["a"],
    "observed_sessions": ["a", "b"],
    "replay_attempts": 2,
    "trial_started_at": "2026-06-02T00:00:00+00:00",
    "verdict": "promoted:x",
}


def test_a_trial_is_taken_apart_and_kept(read):
    found = read(rule(trial=TRIAL))
    r = found.rules[0]
    assert (r.baseline_sessions, r.baseline_breached_sessions, r.baseline_window, r.replay_attempts) == (4, 1, 9, 2)
    assert (r.observed_sessions, r.breached_sessions, r.trial_verdict) == (("a", "b"), ("a",), "promoted:x")
    assert r.trial_started_at.day == 2
    assert r.trial == TRIAL
    assert found.problems == []


@pytest.mark.parametrize("count", ["7", True, -1, 1.0, None, 2**70])
def test_a_count_that_is_none_is_missing_not_zero(read, count):
    found = read(rule(trial={**TRIAL, "baseline_sessions": count}))
    assert found.rules[0].baseline_sessions is None
    assert kinds(found) == [("trial.baseline_sessions", "not_a_count", "problem")]


def test_what_cannot_be_true_of_a_trial_is_said(read):
    found = read(rule(trial={**TRIAL, "baseline_breached_sessions": 5, "breached_sessions": ["a", "a", "z"]}))
    assert kinds(found) == [
        ("trial.baseline_breached_sessions", "contradiction", "problem"),
        ("trial.breached_sessions", "contradiction", "problem"),
        ("trial.breached_sessions", "repeats", "note"),
    ]
    assert found.rules[0].breached_sessions == ("a", "a", "z")


def test_a_retired_rule_that_comes_back_is_noted(read):
    found = read(rule(), rule(status="retired"), rule())
    assert found.rules[0].status == "candidate"
    assert kinds(found) == [("status", "retired_then_reopened", "note")]


@pytest.mark.parametrize("record", [{"rule": "x"}, {"id": ""}, {"id": None}, {"id": True}, {"id": ["r"]}])
def test_a_record_without_id_is_refused(read, record):
    found = read(record, rule())
    assert [r.rule_id for r in found.rules] == ["r-1"]
    assert kinds(found) == [("id", "no_id", "problem")]
