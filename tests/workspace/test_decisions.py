"""Signed reviews: every one comes back, and one that was changed is named."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harnesskit.model.frames import DECISIONS
from harnesskit.workspace.decision_log import DecisionLog
from harnesskit.workspace.decisions import DecisionRow, read_decisions


def noon() -> datetime:
    return datetime(2026, 6, 1, 12, tzinfo=UTC)


def read(tmp_path, *lines):
    (tmp_path / "harnesskit").mkdir(exist_ok=True)
    (tmp_path / "harnesskit" / "decisions.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return read_decisions(tmp_path)


def signed(root: Path, n: int = 3) -> list[str]:
    """Some reviews on record; their lines as they stand in the file."""
    log = DecisionLog(root, noon)
    for i in range(n):
        with log.writing("sign") as reviews:
            reviews.append({"action": "sign", "subject": f"r-{i}", "verdict": "promote", "note": "ü \u2028 \ud800"})
    return (root / "harnesskit" / "decisions.jsonl").read_text().splitlines()


def kinds(problems) -> list[tuple[int | None, str, str]]:
    return sorted((p.line, p.severity, p.kind) for p in problems)


def test_rows_have_the_columns_of_the_contract():
    assert DecisionRow._fields == tuple(DECISIONS.columns)


def test_no_file_is_no_decision(tmp_path):
    assert read_decisions(tmp_path) == ([], [])


def test_every_column_comes_back(tmp_path):
    apart = {"at", "review_by", "policy", "fingerprint", "action", "previous_hash"}
    texts = {name: f"{name} \u2028 ü" for name in DECISIONS.columns if name not in apart}
    record = {
        **texts,
        "at": "2026-06-30T10:00:00Z",
        "review_by": "2026-09-30T00:00:00Z",
        "policy": {"b": [1, 2.0], "a": None},
        "fingerprint": {"model": "m-2"},
        "action": "retire",
    }
    rows, problems = read(tmp_path, json.dumps(record))
    assert problems == []
    expected = {**texts, "at": datetime(2026, 6, 30, 10, tzinfo=UTC), "review_by": datetime(2026, 9, 30, tzinfo=UTC)}
    data = {"policy": '{"b":[1,2.0],"a":null}', "fingerprint": '{"model":"m-2"}'}
    assert rows == [DecisionRow(**expected, **data, action="retire", previous_hash=None)]


def test_the_first_record_of_an_id_holds(tmp_path):
    first = {"decision_id": "d1", "at": "2026-06-30T10:00:00Z", "verdict": "promote"}
    rows, problems = read(tmp_path, json.dumps(first), json.dumps(first | {"verdict": "retire"}), "{}", '{"decision_id')
    assert [(row.decision_id, row.verdict, row.policy, row.review_by) for row in rows] == [
        ("d1", "promote", None, None)
    ]
    found = sorted((p.line, p.kind) for p in problems if p.kind != "broken_chain")
    assert found == [(2, "duplicate_decision"), (3, "no_id"), (4, "not_json")]


def test_what_was_written_here_has_no_problem_and_is_all_there(tmp_path):
    signed(tmp_path)
    rows, problems = read_decisions(tmp_path)
    assert problems == []
    assert [(row.subject, row.at, row.note) for row in rows] == [
        (f"r-{i}", noon(), "ü \u2028 \\ud800") for i in range(3)
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda it: [it[0], it[1].replace("promote", "gone"), it[2]], [(2, "altered_decision"), (3, "broken_chain")]),
        (lambda it: [it[0], it[1], it[2].replace("promote", "retired")], [(3, "altered_decision")]),
        (lambda it: [it[0], it[2]], [(2, "broken_chain")]),
        (lambda it: [it[1], it[2]], [(1, "broken_chain")]),
        (lambda it: [it[1], it[0], it[2]], [(1, "broken_chain"), (2, "broken_chain"), (3, "broken_chain")]),
        (lambda it: [it[0], "garbage", it[1], it[2]], [(2, "not_json"), (3, "broken_chain")]),
        (lambda it: [it[0], it[1][:40], it[2]], [(2, "not_json"), (3, "broken_chain")]),
        (lambda it: [it[0], "", it[1], it[2]], []),
        (lambda it: [f"{line}\r" for line in it], []),
    ],
    ids=["edited", "last edited", "taken out", "first gone", "moved", "put in", "cut short", "blank", "line ends"],
)  # fmt: skip
def test_tampering_is_named_with_its_line(tmp_path, change, expected):
    lines = change(signed(tmp_path))
    _, problems = read(tmp_path, *lines)
    assert kinds(problems) == [(line, "problem", kind) for line, kind in expected]


def test_an_edit_that_mends_its_own_id_breaks_the_chain_after_it(tmp_path):
    from harnesskit.workspace.decision_chain import seal

    lines = signed(tmp_path)
    lines[1] = json.dumps(seal({**json.loads(lines[1]), "verdict": "retire"}), sort_keys=True)
    assert kinds(read(tmp_path, *lines)[1]) == [(3, "problem", "broken_chain")]
