"""Rules are written so that the reference reads them, nothing is lost, and nothing is said twice."""

from __future__ import annotations

import json
import multiprocessing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harnesskit.model.config import HarnessConfig
from harnesskit.model.errors import WorkspaceError
from harnesskit.workspace import rule_writes
from harnesskit.workspace.journal import read_journal
from harnesskit.workspace.rule_book import DuplicateRuleError, RuleBook, RuleChangedError
from harnesskit.workspace.rules import read_rules
from harnesskit.workspace.trial_baseline import trial_baseline

TEXT = "Look the order up before you refund it."


def noon() -> datetime:
    return datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def book(tmp_path: Path) -> RuleBook:
    return RuleBook(tmp_path, HarnessConfig(), noon)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_candidate_is_written_as_the_reference_writes_it(book: RuleBook) -> None:
    rule_id = book.add(TEXT, metric="q", signatures=["breach:Q", "stall:q"], tags=["API", "api "], scope="My App!")
    assert book.root.joinpath("rules.jsonl").read_text() == (
        '{"applicability": "topical", "created_at": "2026-06-01T12:00:00+00:00", '
        f'"failure_signatures": ["breach:Q", "stall:q"], "id": "{rule_id}", "metric": "q", "rationale": "", '
        f'"rule": "{TEXT}", "scope": "my-app", "source_notice_id": null, "status": "candidate", '
        '"tags": ["breach:q", "stall:q", "api"], "trial": {"baseline_breached_sessions": 0, "baseline_sessions": 0, '
        '"baseline_window": 0, "breached_sessions": [], "observed_breaches": 0, "observed_sessions": [], '
        '"replay_attempts": 0, "trial_started_at": "2026-06-01T12:00:00+00:00", "verdict": ""}}\n'
    )
    [event] = lines(book.root / "journal.jsonl")
    [record] = lines(book.root / "rules.jsonl")
    assert event == {**record, "ts": "2026-06-01T12:00:00+00:00", "type": "rule_add"}
    assert read_rules(book.root / "rules.jsonl").problems == []
    assert read_journal(book.root / "journal.jsonl").problems == []


def test_the_fields_are_those_of_the_reference(shared: Path, book: RuleBook) -> None:
    theirs = lines(shared / "reference" / "workspaces" / "mid" / "rules.jsonl")[0]
    book.add(TEXT)
    [ours] = lines(book.root / "rules.jsonl")
    assert set(ours) == set(theirs)
    assert set(ours["trial"]) == set(theirs["trial"])


def test_healthy_sessions_are_in_the_baseline(shared: Path) -> None:
    """The reference counts 43 of 76 sessions as breached, because it does not see the healthy ones."""
    baseline = trial_baseline(shared / "reference" / "workspaces" / "mid", "tool_correctness")
    assert (baseline.window, baseline.breached) == (79, 43)
    assert baseline.sessions == 310


def test_the_baseline_is_of_the_time_that_the_window_covers(tmp_path: Path) -> None:
    def hour(n: int) -> str:
        return datetime(2026, 6, 1 + n // 24, n % 24, tzinfo=UTC).isoformat()

    events = [
        {"type": "notice", "session_id": f"bad-{n}", "signatures": ["breach:q"], "ts": hour(n)} for n in range(300)
    ]
    tmp_path.joinpath("journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    series = {f"ok-{n}::q": {"series": [{"value": 0.9, "ts": hour(n), "run_id": None}]} for n in range(300)}
    unscored = {"down::q": {"series": [{"value": None, "ts": hour(299), "run_id": None}]}}
    tmp_path.joinpath("state").mkdir()
    tmp_path.joinpath("state/score_history.json").write_text(json.dumps({**series, **unscored}))
    assert trial_baseline(tmp_path, "q") == (200, 400, 200)
    assert trial_baseline(tmp_path, "r") == (200, 400, 0)
    assert trial_baseline(tmp_path, None) == (200, 400, 200)


@pytest.mark.parametrize("again", [TEXT, TEXT.upper(), "look the order up -- before you refund it", TEXT + " Please!"])
def test_what_is_said_already_is_refused_with_the_rule_that_says_it(book: RuleBook, again: str) -> None:
    first = book.add(TEXT)
    with pytest.raises(DuplicateRuleError, match=first) as refused:
        book.add(again)
    assert refused.value.rule_id == first
    assert len(book.rules()) == 1
    assert book.add(again, force=True) != first


@pytest.mark.parametrize(
    "other", ["Never look the order up before you refund it.", "Refund at most 50 dollars.", "Ask for the time zone."]
)
def test_what_says_something_else_is_taken(book: RuleBook, other: str) -> None:
    book.add(TEXT)
    book.add("Refund at most 500 dollars.")
    assert book.add(other)


def test_a_retired_rule_or_another_scope_stands_in_no_ones_way(book: RuleBook) -> None:
    first = book.add(TEXT)
    book.add(TEXT, scope="payments")
    book.record(first, status="retired", reason="operator: superseded")
    assert book.add(TEXT)


def test_a_verdict_is_one_record_and_one_event(book: RuleBook) -> None:
    rule_id = book.add(TEXT)
    rule = book.record(
        rule_id, status="active", trial=lambda t: {**t, "verdict": "promoted:x"}, reason="x", validator="replay"
    )
    assert (rule.status, rule.trial_verdict, rule.records) == ("active", "promoted:x", 2)
    event = lines(book.root / "journal.jsonl")[-1]
    record = lines(book.root / "rules.jsonl")[-1]
    about = {"reason": "x", "validator": "replay", "ts": event["ts"], "type": "rule_promote"}
    assert event == {**record, **about}
    assert [r.rule_id for r in book.active()] == [rule_id]
    assert book.candidates() == []


def test_unknown_fields_of_a_rule_survive(book: RuleBook) -> None:
    book.root.joinpath("rules.jsonl").write_text('{"id": "r-1", "rule": "x", "status": "candidate", "new": [1]}\n')
    book.record("r-1", status="retired")
    assert lines(book.root / "rules.jsonl")[-1]["new"] == [1]


def test_a_trial_update_leaves_no_event(book: RuleBook) -> None:
    rule_id = book.add(TEXT)
    book.record(rule_id, trial=lambda trial: {**trial, "observed_sessions": ["s-1"]})
    assert book.get(rule_id).observed_sessions == ("s-1",)
    assert len(lines(book.root / "journal.jsonl")) == 1


def test_a_verdict_on_a_rule_that_changed_is_refused(book: RuleBook) -> None:
    rule_id = book.add(TEXT)
    book.record(rule_id, status="retired")
    with pytest.raises(RuleChangedError, match="was candidate, it is"):
        book.record(rule_id, status="active", expect="candidate")
    with pytest.raises(KeyError):
        book.record("r-none", status="active")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"rule": " \n"}, "instruction in words"),
        ({"rule": "x" * 2001}, "2,000 characters"),
        ({"scope": "!!"}, "scope with letters"),
        ({"applicability": "globl"}, "did you mean 'global'"),
        ({"signatures": "breach:q"}, "must be a list"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_written(book: RuleBook, fields: Any, said: str) -> None:
    with pytest.raises(WorkspaceError, match=said):
        book.add(**{"rule": TEXT, **fields})
    assert not book.root.joinpath("rules.jsonl").exists()


def test_the_cap_on_live_rules_is_kept(tmp_path: Path) -> None:
    book = RuleBook(tmp_path, HarnessConfig(max_active_rules=1))
    book.add(TEXT)
    with pytest.raises(WorkspaceError, match="max_active_rules allows 1"):
        book.add("Ask for the time zone.")


# Crashes and neighbours.


class CrashError(Exception):
    pass


@pytest.mark.parametrize("step", ["write_atomic", "rules", "journal", "_forget"])
def test_a_crash_between_the_files_is_seen_and_mended(
    book: RuleBook, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Whatever write it dies before, rules and events agree after the next write."""
    append = rule_writes.append_line

    def die(*args: Any) -> None:
        raise CrashError

    def die_at(path: Path, line: bytes) -> None:
        if step in path.name:
            raise CrashError
        append(path, line)

    a_file = step in ("rules", "journal")
    with monkeypatch.context() as patched:
        patched.setattr(rule_writes, "append_line" if a_file else step, die_at if a_file else die)
        with pytest.raises(CrashError):
            book.add(TEXT)
    assert book.unfinished == (step != "write_atomic")
    other = book.add("Ask for the time zone.")
    assert not book.unfinished
    told = [event["id"] for event in lines(book.root / "journal.jsonl")]
    assert told == [rule["id"] for rule in lines(book.root / "rules.jsonl")]
    assert told[-1] == other
    assert len(told) == (1 if step in ("write_atomic", "rules") else 2)


def test_a_torn_record_costs_only_itself(book: RuleBook) -> None:
    first = book.add(TEXT)
    with book.root.joinpath("rules.jsonl").open("ab") as file:
        file.write(b'{"id": "r-torn", "ru')
    second = book.add("Ask for the time zone.")
    assert [rule.rule_id for rule in book.rules()] == sorted([first, second])


def _add_some(root: Path, who: int) -> None:
    book = RuleBook(root)
    for n in range(10):
        book.add(f"Rule number {who * 100 + n} of many.")


def test_processes_lose_nothing_to_one_another(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_add_some, args=(tmp_path, who)) for who in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    told = [event["id"] for event in lines(tmp_path / "journal.jsonl")]
    assert told == [rule["id"] for rule in lines(tmp_path / "rules.jsonl")]
    assert len(told) == 30
