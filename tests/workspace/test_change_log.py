"""The log by which writers tell one another what they changed."""

from __future__ import annotations

import pytest

from harnesskit.workspace import change_log
from harnesskit.workspace.change_log import Change, ChangeLog, Place, follow

A, B, C = (1, 1, 7), (2, 2, 7), (3, 3, 7)


@pytest.fixture
def log(tmp_path):
    return ChangeLog(tmp_path / "cache" / "evalset.log")


def test_a_reader_gets_what_was_written_since(log):
    start = log.end()
    middle = log.add(Change(A, B, ["x.json"]))
    end = log.add(Change(B, C, ["y.json"]))
    assert log.since(start) == ([Change(A, B, ["x.json"]), Change(B, C, ["y.json"])], end)
    assert log.since(middle) == ([Change(B, C, ["y.json"])], end)
    assert log.since(end) == ([], end)


def test_a_file_name_that_is_no_text_sends_readers_to_the_folder(log):
    place = log.add(Change(A, B, []))
    log.add(Change(B, C, ["caf\udce9.json"]))
    assert log.since(place) is None


def test_a_chain_that_does_not_link_leads_nowhere():
    assert follow(A, [Change(A, B, []), Change(B, C, [])]) == C
    assert follow(A, [Change(B, C, [])]) == A


def test_a_line_that_is_being_written_waits(log):
    place = log.add(Change(A, B, []))
    with log.path.open("ab") as file:
        file.write(b'{"after": [1')
    assert log.since(place) == ([], place)


@pytest.mark.parametrize("damage", ["delete", "cut", "garbage"])
def test_a_damaged_log_is_not_followed(log, damage):
    place = log.add(Change(A, B, []))
    if damage == "delete":
        log.path.unlink()
    else:
        log.path.write_bytes(b"" if damage == "cut" else log.path.read_bytes() + b"no json\n")
    assert log.since(place) is None


def test_it_begins_anew_when_it_is_long(log, monkeypatch):
    change = Change(A, B, ["c-0123456789.json"])
    length = log.add(change).offset
    monkeypatch.setattr(change_log, "MAX_BYTES", 3 * length)
    assert [log.add(change).offset // length for _ in range(4)] == [2, 3, 1, 2]
    assert log.since(Place(log.end().inode, 3 * length)) is None


def test_a_log_that_cannot_be_written_disappears(log, monkeypatch):
    log.add(Change(A, B, []))
    monkeypatch.setattr(change_log, "json_line_bytes", lambda _: (_ for _ in ()).throw(OSError(28, "full")))
    assert log.add(Change(B, C, [])) == Place(0, 0)
    assert not log.path.exists()
