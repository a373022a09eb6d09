"""The mailbox: one notice per id, by stated rules, and the notices only the journal knows."""

from __future__ import annotations

import json

import pytest

from harnesskit.workspace.journal import read_journal
from harnesskit.workspace.mailbox import merge_journal_notices, read_mailbox


def notice(**fields):
    plain = {
        "id": "n-1",
        "created_at": "2026-06-01T00:00:00+00:00",
        "session_id": "s-1",
        "turn_index": 1,
        "severity": "breach",
        "signatures": ["breach:m"],
        "status": "pending",
        "metrics": [],
        "resolution": None,
    }
    return {**plain, **fields}


@pytest.fixture
def put(tmp_path):
    def write(folder, record, name=None):
        path = tmp_path / "mailbox" / folder / f"{name or record['id']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
        return tmp_path

    return write


def kinds(found):
    return [(problem.field, problem.kind, problem.severity) for problem in found.problems]


def test_a_plain_notice(put):
    found = read_mailbox(put("pending", notice()))
    assert found.problems == []
    assert found.notices[0].file == "mailbox/pending/n-1.json"
    assert (found.notices[0].severity, found.notices[0].status, found.notices[0].turn_index) == ("breach", "pending", 1)


@pytest.mark.parametrize(
    ("fields", "name", "value", "problem"),
    [
        ({"turn_index": "third"}, "turn_index", None, ("turn_index", "not_a_count", "problem")),
        ({"turn_index": None}, "turn_index", None, ("turn_index", "not_a_count", "problem")),
        ({"severity": "catastrophic"}, "severity", "unknown", ("severity", "bad_severity", "problem")),
        ({"severity": "relative"}, "severity", "trend", ("severity", "old_severity", "note")),
        ({"status": "weird"}, "status", "unknown", ("status", "bad_status", "problem")),
        ({"status": "acknowledged"}, "status", "acknowledged", ("status", "status_and_folder", "problem")),
        ({"session_id": None}, "session_id", None, ("session_id", "no_text", "problem")),
        ({"flagged_traces": "t"}, "flagged_traces", (), ("flagged_traces", "not_a_list", "problem")),
        ({"metrics": "x"}, "metrics", "[]", ("metrics", "not_a_list", "problem")),
        ({"resolution": 5}, "resolution", None, ("resolution", "wrong_type", "problem")),
        ({"recommended_scope": "  "}, "recommended_scope", None, ("recommended_scope", "blank", "note")),
    ],
)
def test_an_odd_field_has_a_stated_stand_in_and_a_row_of_problems(put, fields, name, value, problem):
    found = read_mailbox(put("pending", notice(**fields)))
    assert getattr(found.notices[0], name) == value
    assert kinds(found) == [problem]


def test_alerting_scores_are_cleaned_one_by_one(put):
    metrics = [{"name": "a", "value": 0.3}, 7, {"name": "b", "value": True, "threshold": "x", "conditions": "breach"}]
    found = read_mailbox(put("pending", notice(metrics=metrics)))
    assert json.loads(found.notices[0].metrics) == [
        {"name": "a", "value": 0.3, "conditions": []},
        {"name": "b", "value": None, "threshold": None, "conditions": []},
    ]
    assert [problem.field for problem in found.problems] == [
        "metrics[1]",
        "metrics[2].value",
        "metrics[2].threshold",
        "metrics[2].conditions",
    ]


def test_a_resolution_is_taken_apart(put):
    resolution = {"acked_at": "2026-06-01T00:00:00+00:00", "kind": "candidate", "rule_id": "r-1", "note": ""}
    found = read_mailbox(put("processed", notice(status="acknowledged", resolution=resolution)))
    assert found.problems == []
    assert (found.notices[0].resolution_kind, found.notices[0].resolution_rule_id) == ("candidate", "r-1")
    assert json.loads(found.notices[0].resolution) == resolution


def test_a_resolution_before_0_9_has_no_kind_and_is_not_called_no_proposal(put):
    resolution = {"acked_at": "2026-06-01T00:00:00+00:00", "rule_id": "r-1", "note": ""}
    found = read_mailbox(put("processed", notice(status="acknowledged", resolution=resolution)))
    assert (found.notices[0].resolution_kind, found.problems) == (None, [])


def test_in_both_folders_the_processed_copy_holds(put):
    put("pending", notice())
    found = read_mailbox(put("processed", notice(status="acknowledged", severity="trend")))
    assert [(n.severity, n.file) for n in found.notices] == [("trend", "mailbox/processed/n-1.json")]
    assert ("id", "duplicate_id", "problem") in kinds(found)


def test_the_name_of_the_file_stands_in_for_a_missing_id(put):
    found = read_mailbox(put("pending", {k: v for k, v in notice().items() if k != "id"}, "n-7"))
    assert found.notices[0].notice_id == "n-7"
    assert kinds(found) == [("id", "no_id", "problem")]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"pending_count": 1}, []),
        ({"pending_count": 4}, [("pending_count", "stale_count", "note")]),
        ({"pending_count": "many"}, [("pending_count", "not_a_count", "problem")]),
        ({"pending_count": True}, [("pending_count", "not_a_count", "problem")]),
        ({}, [("pending_count", "not_a_count", "problem")]),
        ([], [("", "not_an_object", "problem")]),
    ],
)
def test_the_cached_summary_is_checked_and_never_trusted(put, tmp_path, status, expected):
    put("pending", notice())
    (tmp_path / "mailbox/status.json").write_text(json.dumps(status))
    assert kinds(read_mailbox(tmp_path)) == expected


def test_notices_of_the_journal_only(put, tmp_path):
    root = put("pending", notice())
    records = [
        notice(),
        notice(id="n-2", observe_only=True),
        notice(id="n-3", observe_only=False),
        notice(id="n-3", severity="trend"),
        notice(id=None),
    ]
    lines = [json.dumps({"type": "notice", "ts": "2026-06-01T00:00:00+00:00", **record}) for record in records]
    (root / "journal.jsonl").write_text("\n".join(lines) + "\n")
    found = merge_journal_notices(read_mailbox(root).notices, read_journal(root / "journal.jsonl").events)
    assert [(n.notice_id, n.status, n.observe_only, n.file) for n in found.notices] == [
        ("n-1", "pending", False, "mailbox/pending/n-1.json"),
        ("n-2", "pending", True, None),
        ("n-3", "unknown", False, None),
    ]
    assert [(p.line, p.kind) for p in found.problems] == [(3, "journal_only"), (4, "duplicate_id"), (5, "no_id")]
