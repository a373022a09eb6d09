"""A refresh brings the tables to what the files say, reads only what changed, and loses nothing when interrupted."""

from __future__ import annotations

import os
import shutil

import pytest
from made_workspace import append, case, event, notice, put, put_case, run, workspace

import harnesskit as hk
from harnesskit.store import case_part, notice_part, parts, run_part
from harnesskit.store.load import refresh
from harnesskit.workspace import cases as cases_module
from harnesskit.workspace import evalset, reading


@pytest.fixture
def root(tmp_path):
    return workspace(tmp_path / "w")


def ids(harness):
    return harness.table("cases")["case_id"].tolist()


def kinds(harness):
    return harness.problems()["kind"].tolist()


def touched(report):
    return [frame["file"].tolist() for frame in (report.added, report.changed, report.gone)]


def everything(harness):
    return {name: harness.table(name).to_csv() for name in ("cases", "runs", "samples", "scores", "metrics", "rules",
            "notices", "events", "labels", "decisions", "problems")}  # fmt: skip


def test_loading_again_adds_nothing(root):
    harness = hk.open(root)
    before = everything(harness)
    assert touched(harness.refresh()) == [[], [], []]
    assert everything(harness) == before


def test_a_new_a_changed_and_a_deleted_file(root):
    harness = hk.open(root)
    put_case(root, "c-9")
    put_case(root, "c-1", notes="changed")
    (root / "evalset" / "c-0.json").unlink()
    report = harness.refresh()
    assert touched(report) == [["evalset/c-9.json"], ["evalset/c-1.json"], ["evalset/c-0.json"]]
    assert set(report.added["source"]) == {"evalset"}
    assert sorted(ids(harness)) == ["c-1", "c-2", "c-9"]
    assert harness.sql("SELECT notes FROM cases WHERE case_id = 'c-1'")["notes"].tolist() == ["changed"]
    assert report.counts["cases"] == 3


def test_a_renamed_file(root):
    harness = hk.open(root)
    (root / "evalset" / "c-0.json").rename(root / "evalset" / "other.json")
    assert touched(harness.refresh()) == [["evalset/other.json"], [], ["evalset/c-0.json"]]
    assert harness.sql("SELECT file FROM cases WHERE case_id = 'c-0'")["file"].tolist() == ["evalset/other.json"]
    assert len(harness.problems()) == 0


def test_two_files_that_change_places(root):
    harness = hk.open(root)
    one, two, spare = (root / "evalset" / f"{name}.json" for name in ("c-0", "c-1", "spare"))
    one.rename(spare)
    two.rename(one)
    spare.rename(two)
    harness.refresh()
    found = harness.sql("SELECT case_id, file FROM cases ORDER BY 1 LIMIT 2")
    assert found["file"].tolist() == ["evalset/c-1.json", "evalset/c-0.json"]


def test_a_change_that_keeps_size_and_time_is_seen(root):
    path = root / "evalset" / "c-0.json"
    harness = hk.open(root)
    before = path.stat()
    text = path.read_text()
    path.write_text(text.replace('"win"', '"WIN"'))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_ino == before.st_ino
    assert touched(harness.refresh())[1] == ["evalset/c-0.json"]
    assert kinds(harness) == ["bad_kind"]


def test_a_case_that_was_mended_loses_its_problem(root):
    put(root / "evalset" / "c-0.json", '{"id": "c-0", ')
    harness = hk.open(root)
    assert kinds(harness) == ["not_json"]
    assert ids(harness) == ["c-1", "c-2"]
    put_case(root, "c-0")
    harness.refresh()
    assert kinds(harness) == []
    assert ids(harness) == ["c-0", "c-1", "c-2"]
    put_case(root, "c-0", kind="?")
    harness.refresh()
    assert kinds(harness) == ["bad_kind"]
    (root / "evalset" / "c-0.json").unlink()
    harness.refresh()
    assert kinds(harness) == []


def test_one_id_in_two_files_is_in_neither_until_one_is_gone(root):
    put_case(root, "c-0", name="copy")
    harness = hk.open(root)
    assert ids(harness) == ["c-1", "c-2"]
    problems = harness.problems()
    assert problems["kind"].tolist() == ["duplicate_id"] * 2
    assert problems["file"].tolist() == ["evalset/c-0.json", "evalset/copy.json"]
    assert all("evalset/c-0.json" in text and "evalset/copy.json" in text for text in problems["message"])
    (root / "evalset" / "copy.json").unlink()
    harness.refresh()
    assert ids(harness) == ["c-0", "c-1", "c-2"]
    assert kinds(harness) == []


def test_an_id_in_very_many_files_names_five_of_them(root):
    text = (root / "evalset" / "c-0.json").read_text()
    for n in range(1_000):
        (root / "evalset" / f"copy-{n:05}.json").write_text(text)
    messages = hk.open(root).problems()["message"]
    assert len(messages) == 1_001
    assert messages.str.len().max() < 400
    assert "and 996 more" in messages[0]


def test_a_folder_named_like_a_case_is_one_problem_and_no_change(root):
    (root / "evalset" / "x.json").mkdir()
    (root / "evalset" / "nowhere.json").symlink_to(root / "nothing")
    harness = hk.open(root)
    assert kinds(harness) == ["unreadable", "not_a_file"]
    assert touched(harness.refresh()) == [[], [], []]
    assert len(harness.problems()) == 2
    put(root / "nothing", case("c-9"))
    assert touched(harness.refresh())[1] == ["evalset/nowhere.json"]
    assert "c-9" in ids(harness)


def test_the_whole_folder_comes_and_goes(root):
    harness = hk.open(root)
    (root / "evalset").rename(root / "away")
    assert len(harness.refresh().gone) == 3
    assert ids(harness) == []
    (root / "away").rename(root / "evalset")
    harness.refresh()
    assert len(ids(harness)) == 3


def test_an_appended_record_is_read_alone(root, monkeypatch):
    journal = root / "journal.jsonl"
    append(journal, "".join(event("recovery", session_id=f"s-{n}") for n in range(5_000)))
    harness = hk.open(root)
    seen = []
    monkeypatch.setattr(os, "read", lambda fd, n, read=os.read: seen.append(data := read(fd, n)) or data)
    append(journal, event("skip", reason="budget", session_id="new"))
    harness.refresh()
    events = harness.table("events")
    assert len(events) == 5_003
    assert events["session_id"].iloc[-1] == "new"
    assert events["line"].tolist() == list(range(1, 5_004))
    assert events["offset"].iloc[-1] == journal.stat().st_size - len(event("skip", reason="budget", session_id="new"))
    assert sum(len(data) for data in seen) < 10_000


def test_a_torn_last_line_is_read_when_it_is_whole(root):
    journal = root / "journal.jsonl"
    line = event("skip", reason="budget", session_id="new")
    append(journal, line[:20])
    harness = hk.open(root)
    assert len(harness.table("events")) == 2
    assert kinds(harness) == ["torn"]
    append(journal, line[20:-1])
    harness.refresh()
    assert harness.table("events")["session_id"].tolist()[-1] == "new"
    assert kinds(harness) == ["no_line_end"]
    append(journal, "\n" + event("recovery", session_id="s-2"))
    harness.refresh()
    assert harness.table("events")["line"].tolist() == [1, 2, 3, 4]
    assert kinds(harness) == []


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("length", [1, 3, 50])
def test_a_journal_that_was_replaced_is_read_again(root, in_place, length):
    journal = root / "journal.jsonl"
    append(journal, event("skip", session_id="s-1"))
    harness = hk.open(root)
    other = "".join(event("skip", session_id=f"s-{n}", reason="x") for n in range(length))
    if in_place:
        journal.write_text(other)
    else:
        put(journal, other)
    harness.refresh()
    assert harness.table("events").equals(hk.open(root).table("events"))


def test_another_journal_with_lines_of_the_same_length_is_seen(root):
    journal = root / "journal.jsonl"
    journal.write_text("".join(event("skip", session_id=f"a-{n}") for n in range(5)))
    harness = hk.open(root)
    journal.write_text("".join(event("skip", session_id=f"b-{n}") for n in range(8)))  # same inode, only longer
    harness.refresh()
    assert harness.table("events")["session_id"].tolist() == [f"b-{n}" for n in range(8)]


def test_runs_and_notices_of_the_journal_follow_it(root):
    journal = root / "journal.jsonl"
    result = {"case_id": "c-0", "kind": "win", "status": "unchanged", "replay_scores": {"task_completion": 0.8}}
    append(journal, event("regression", total=1, results=[result]))
    append(journal, event("notice", **notice("n-1"), observe_only=True))
    harness = hk.open(root)
    for _ in range(2):
        assert harness.table("runs")["run_id"].str.startswith("journal:").sum() == 1
        assert harness.sql("SELECT status FROM notices")["status"].tolist() == ["pending"]
        assert harness.sql("SELECT value FROM case_scores WHERE role = 'replay'")["value"].tolist() == [0.8]
        append(journal, event("recovery", session_id="later"))
        harness.refresh()
    journal.write_text(event("recovery", session_id="x"))
    harness.refresh()
    assert harness.table("runs")["run_id"].tolist() == ["captured"]
    assert len(harness.table("notices")) == 0


def test_a_notice_that_is_resolved_moves(root):
    pending = put(root / "mailbox" / "pending" / "n-1.json", notice("n-1"))
    harness = hk.open(root)
    assert harness.table("notices")["status"].tolist() == ["pending"]
    put(root / "mailbox" / "processed" / "n-1.json", notice("n-1", "acknowledged"))
    harness.refresh()
    assert harness.table("notices")["status"].tolist() == ["acknowledged"]
    assert "duplicate_id" in kinds(harness)
    pending.unlink()
    harness.refresh()
    found = harness.table("notices")
    assert found["file"].tolist() == ["mailbox/processed/n-1.json"]
    assert found["resolution_rule_id"].tolist() == ["r-1"]
    assert kinds(harness) == []


def test_a_notice_that_comes_while_the_mailbox_is_looked_at_is_there_once(root, monkeypatch):
    put(root / "mailbox" / "pending" / "n-1.json", notice("n-1"))
    harness = hk.open(root)
    put(root / "mailbox" / "pending" / "n-2.json", notice("n-2"))
    look = notice_part.stamps_of

    def late(*arguments):
        found = look(*arguments)
        put(root / "mailbox" / "pending" / "n-3.json", notice("n-3"))
        return found

    monkeypatch.setattr(notice_part, "stamps_of", late)
    harness.refresh()
    monkeypatch.undo()
    harness.refresh()
    assert harness.sql("SELECT notice_id FROM raw.notices ORDER BY 1")["notice_id"].tolist() == ["n-1", "n-2", "n-3"]
    assert kinds(harness) == []


def test_run_folders_come_change_and_go(root):
    harness = hk.open(root)
    run(root, "run-1", samples=2)
    assert len(harness.refresh().added) == 2
    assert harness.scores(run="run-1")["value"].tolist() == [0.5, 0.5]
    run(root, "run-1", samples=3, label="again")
    run(root, "run-2", samples=1)
    harness.refresh()
    assert len(harness.scores(run="run-1")) == 3
    assert harness.table("runs").query("run_id == 'run-1'")["label"].tolist() == ["again"]
    shutil.rmtree(root / "harnesskit" / "runs" / "run-1")
    assert len(harness.refresh().gone) == 2
    assert harness.sql("SELECT DISTINCT run_id FROM raw.scores")["run_id"].tolist() == ["run-2"]
    (root / "harnesskit" / "runs" / "run-2" / "samples.jsonl").unlink()
    harness.refresh()
    assert len(harness.scores(run="run-2")) == 0
    assert len(harness.table("runs").query("run_id == 'run-2'")) == 1


def test_one_run_id_in_two_folders_counts_for_neither(root):
    folder = run(root, "run-1")
    harness = hk.open(root)
    copy = shutil.copytree(folder, folder.with_name("copy"))
    harness.refresh()
    assert "run-1" not in set(harness.scores()["run_id"])
    said = harness.problems().query("kind == 'duplicate_id'")
    assert said["file"].tolist() == ["harnesskit/runs/copy/run.json", "harnesskit/runs/run-1/run.json"]
    assert said["message"].str.contains("harnesskit/runs/copy, harnesskit/runs/run-1").all()
    put(copy / "run.json", {"format": 1, "run_id": "copy", "role": "replay"})
    harness.refresh()
    assert len(harness.scores(run="run-1")) == len(harness.scores(run="copy")) == 2
    assert kinds(harness) == []
    shutil.rmtree(copy)
    harness.refresh()
    assert harness.table("runs")["run_id"].tolist() == ["captured", "run-1"]


@pytest.mark.parametrize("run_id", ["captured", "journal:0", "journal:x", "online:history"])
def test_no_folder_may_claim_a_run_id_that_the_package_gives(root, run_id):
    put(root / "harnesskit/runs/odd/run.json", {"format": 1, "run_id": run_id, "role": "replay"})
    harness = hk.open(root)
    append(root / "journal.jsonl", event("recovery"))
    harness.refresh()
    assert "reserved_id" in kinds(harness)
    assert harness.table("runs")["run_id"].tolist() == ["captured"]


def test_a_run_that_takes_another_id_leaves_nothing_behind(root):
    run(root, "run-1")
    harness = hk.open(root)
    put(root / "harnesskit/runs/run-1/run.json", {"format": 1, "run_id": "other", "role": "control"})
    harness.refresh()
    assert harness.sql("SELECT run_id FROM raw.runs")["run_id"].tolist() == ["other"]
    assert harness.sql("SELECT DISTINCT run_id FROM raw.samples")["run_id"].tolist() == ["other"]


def test_declarations_come_change_break_and_go(root):
    put_case(root, "c-9", baseline_scores={"latency_s": 40.0})
    harness = hk.open(root)
    assert kinds(harness) == ["undeclared_range"]
    path = root / "harnesskit" / "metrics.toml"
    put(path, '[metrics.latency_s]\nhigh = "unbounded"\nhigher_is_better = false\n[policies.strict]\nalpha = 0.01\n')
    assert touched(harness.refresh())[0] == ["harnesskit/metrics.toml"]
    assert kinds(harness) == []
    assert harness.metrics["latency_s"].higher_is_better is False
    assert harness.policies["strict"].alpha == 0.01
    put(path, "[metrics.latency_s]\nhigh = 30\n")
    harness.refresh()
    assert kinds(harness) == ["out_of_range"]
    assert harness.scores(metric="latency_s")["status"].tolist() == ["out_of_range"]
    assert harness.policies == {}
    put(path, "[metrics.latency_s\nhigh = 30\n")
    harness.refresh()
    assert sorted(kinds(harness)) == ["not_toml", "undeclared_range"]
    path.unlink()
    assert touched(harness.refresh())[2] == ["harnesskit/metrics.toml"]
    assert kinds(harness) == ["undeclared_range"]


def test_a_broken_declaration_costs_only_itself(root):
    text = (
        "[metrics.a]\nlow = 2\nhigh = 1\n[metrics.b]\nhigh = 5\n[extra]\n[policies.p]\nalpha = 7\n"
        "[metrics.c]\nhihg = 1\n[metrics.d]\nlow = true\n[metrics.e]\ntier = 1.5\n"
    )
    put(root / "harnesskit" / "metrics.toml", text)
    harness = hk.open(root)
    assert [metric.name for metric in harness.metrics] == ["b"]
    assert harness.policies == {}
    assert sorted(harness.problems()["field"]) == [
        "extra", "metrics.a", "metrics.c.hihg", "metrics.d.low", "metrics.e.tier", "policies.p.alpha",
    ]  # fmt: skip


BAD_DECLARATIONS = [
    "[metrics.a]\nlow = inf\n", "[metrics.a]\nhigh = nan\n", "metrics = 3\n", "[metrics]\na = 3\n", "policies = []\n",
    '[metrics.""]\n', "[policies.p]\nx = 1\n", "[metrics.a]\nhigh = [1]\n", f"[metrics.a]\nhigh = 1{'0' * 400}\n",
    "[metrics.a]\ntier = 9999999999999999999999\n", "[metrics.a]\nlow = 1979-05-27\n", "\ufeffx",
]  # fmt: skip


@pytest.mark.parametrize("text", BAD_DECLARATIONS, ids=range(len(BAD_DECLARATIONS)))
def test_no_declaration_stops_the_door(root, text):
    put(root / "harnesskit" / "metrics.toml", text)
    harness = hk.open(root)
    assert len(harness.table("cases")) == 3
    assert set(harness.problems()["severity"]) <= {"problem"}


class StopError(Exception):
    """Raised in the middle of a refresh."""


PLACES = [
    (case_part, "read_cases"), (case_part, "insert"), (case_part, "look"), (notice_part, "check_status"),
    (notice_part, "insert"), (run_part, "insert"), (run_part, "read_run"), (parts, "insert"),
]  # fmt: skip


@pytest.mark.parametrize("kind", [StopError, KeyboardInterrupt])
def test_an_interrupted_refresh_loses_nothing(root, monkeypatch, kind):
    run(root, "run-1")
    put(root / "mailbox/pending/n-1.json", notice("n-1"))
    harnesses = [hk.open(root) for _ in PLACES]
    changed(root)
    right = everything(hk.open(root))

    def stop(*_arguments, **_named):
        raise kind

    for harness, (module, name) in zip(harnesses, PLACES, strict=True):
        monkeypatch.setattr(module, name, stop)
        with pytest.raises(kind):
            harness.refresh()
        monkeypatch.undo()
        harness.refresh()
        assert everything(harness) == right, name


def changed(root):
    put_case(root, "c-1", notes="changed")
    put_case(root, "c-9")
    (root / "evalset" / "c-0.json").unlink()
    append(root / "journal.jsonl", event("skip", session_id="new"))
    put(root / "mailbox/pending/n-1.json", notice("n-1", summary="changed"))
    put(root / "mailbox/pending/n-2.json", notice("n-2"))
    run(root, "run-1", samples=3)
    run(root, "run-2", samples=1)
    put(root / "harnesskit/metrics.toml", "[metrics.x]\nhigh = 5\n")
    put(root / "rules.jsonl", '{"id": "r-1", "status": "active", "rule": "x", "created_at": "2026-06-01T00:00:00Z"}\n')


def test_a_stop_after_the_commit_reads_nothing_twice(root, monkeypatch):
    run(root, "run-1")
    put(root / "mailbox/pending/n-1.json", notice("n-1"))
    sources = ("metrics", "evalset", "journal", "mailbox", "run", "rules")
    harnesses = [hk.open(root) for _ in sources]
    changed(root)
    right = everything(hk.open(root))

    def stop():
        raise KeyboardInterrupt

    for harness, source in zip(harnesses, sources, strict=True):
        part = next(part for part in harness._parts if part.source == source)
        monkeypatch.setattr(part, "keep", stop)
        with pytest.raises(KeyboardInterrupt):
            harness.refresh()
        monkeypatch.undo()
        harness.refresh()
        assert everything(harness) == right, source


class Trapped:
    """A connection that is interrupted at the n-th statement, before or after it ran."""

    def __init__(self, connection, at, after):
        self.connection, self.left, self.after = connection, at, after

    def execute(self, *arguments):
        self.left -= 1
        if self.left == 0 and not self.after:
            raise KeyboardInterrupt
        done = self.connection.execute(*arguments)
        if self.left == 0:
            raise KeyboardInterrupt
        return done

    def __getattr__(self, name):
        return getattr(self.connection, name)


@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_at_any_statement_loses_nothing(root, after):
    run(root, "run-1")
    put(root / "mailbox/pending/n-1.json", notice("n-1"))
    harnesses = [(at, hk.open(root)) for at in (1, 2, 3, 6, 12, 24, 36, 48)]
    changed(root)
    right = everything(hk.open(root))
    for at, harness in harnesses:
        try:
            refresh(harness.root, Trapped(harness._connection, at, after), harness._parts)
        except KeyboardInterrupt:
            harness.refresh()
        assert everything(harness) == right, at


def test_a_file_that_vanishes_between_look_and_read_costs_nothing_else(root, monkeypatch):
    read = evalset.read_file

    def late(name, **named):
        if name == "c-1.json":
            (root / "evalset" / name).unlink()
        return read(name, **named)

    monkeypatch.setattr(evalset, "read_file", late)
    harness = hk.open(root)
    monkeypatch.undo()
    assert ids(harness) == ["c-0", "c-2"]
    harness.refresh()
    assert kinds(harness) == []


def test_only_changed_files_are_opened(root, monkeypatch):
    harness = hk.open(root)
    put_case(root, "c-1", notes="changed")
    opened = []
    monkeypatch.setattr(os, "open", lambda path, *a, real=os.open, **k: opened.append(str(path)) or real(path, *a, **k))
    harness.refresh()
    assert opened == [str(root / "evalset"), "c-1.json"]


def test_signature_keys_do_not_grow_for_ever():
    assert len(cases_module._keys) <= 10_000
    assert reading.MAX_DEPTH < 128
