"""The mailbox, written: the form of the reference, resolving a notice, and the summary."""

from __future__ import annotations

import json

import pytest
from made_live import SteppingClock

from harnesskit.live.notices import Mailbox
from harnesskit.live.report import LiveScore, TurnReport
from harnesskit.model.errors import WorkspaceError
from harnesskit.workspace.mailbox import read_mailbox

LOW = LiveScore("tool_correctness", 0.1, 0.5, tier=2, trace_id="t-1", below=True, breached=True)
STALL = LiveScore("coherence", 0.2, 0.5, tier=1, trace_id="t-1", below=True, stalled=True, regressed=True)
NOTHING = {"latest_id": None, "max_severity": None, "pending_count": 0}


def mailbox(root, *hexes):
    digits = iter(hexes or ("aaaaaaaa", "bbbbbbbb", "cccccccc"))
    return Mailbox(root, clock=SteppingClock(), new_hex=lambda: next(digits))


def status(root):
    found = json.loads((root / "mailbox/status.json").read_text())
    del found["updated_at"]
    return found


def test_a_resolved_notice_has_the_bytes_of_the_reference(shared, tmp_path):
    source = shared / "reference/workspaces/small/offline_self_heal/workspace"
    (theirs,) = (source / "mailbox/processed").glob("*.json")
    record = json.loads(theirs.read_text())
    (tmp_path / "mailbox/pending").mkdir(parents=True)
    pending = {**record, "status": "pending", "resolution": None, "added_later": "kept"}
    (tmp_path / "mailbox/pending" / theirs.name).write_text(json.dumps(pending))
    box = mailbox(tmp_path)
    done = box.acknowledge(theirs.stem, kind="candidate", rule_id="r-0fd630f1f2", note="candidate added")
    done["resolution"]["acked_at"] = record["resolution"]["acked_at"]
    assert done.pop("added_later") == "kept"
    assert json.dumps(done, indent=2, sort_keys=True) == theirs.read_text()
    written = (tmp_path / "mailbox/processed" / theirs.name).read_text()
    assert written == json.dumps(json.loads(written), indent=2, sort_keys=True)
    assert list((tmp_path / "mailbox/pending").iterdir()) == []
    assert status(tmp_path) == NOTHING


def test_the_summary_counts_what_is_pending_and_names_the_most_pressing(tmp_path):
    box = mailbox(tmp_path)
    box.post(TurnReport("s-1", 1, (STALL,)), "trend")
    assert status(tmp_path)["max_severity"] == "trend"
    box.post(TurnReport("s-2", 1, (LOW,)), "call", "needs_human")
    last = box.post(TurnReport("s-3", 1, (LOW, STALL)), "breach")
    expected = {"latest_id": last["id"], "max_severity": "needs_human", "pending_count": 3}
    assert status(tmp_path) == expected
    read = read_mailbox(tmp_path)
    assert read.problems == []
    assert [notice.severity for notice in read.notices] == ["trend", "needs_human", "breach"]
    assert last["metrics"][1]["conditions"] == ["stall", "regression"]


def test_a_damaged_notice_is_not_counted_and_not_in_the_way(tmp_path):
    box = mailbox(tmp_path)
    (tmp_path / "mailbox/pending").mkdir(parents=True)
    (tmp_path / "mailbox/pending/n-0.json").write_text("{")
    box.post(TurnReport("s-1", 1, (LOW,)), "breach")
    assert status(tmp_path)["pending_count"] == 1


def test_resolving_again_after_a_crash_between_the_two_steps_finishes_the_job(tmp_path):
    box = mailbox(tmp_path)
    notice = box.post(TurnReport("s-1", 1, (LOW,)), "breach")
    pending = tmp_path / f"mailbox/pending/{notice['id']}.json"
    before = pending.read_bytes()
    first = box.acknowledge(notice["id"], kind="duplicate")
    pending.write_bytes(before)
    assert box.acknowledge(notice["id"], kind="candidate") == first
    assert not pending.exists()
    assert read_mailbox(tmp_path).problems == []


@pytest.mark.parametrize("notice_id", ["n-unknown", "../../rules", "", "a/b", "n\x00"])
def test_an_id_that_is_no_pending_notice_is_refused(tmp_path, notice_id):
    (tmp_path / "rules.json").write_text("{}")
    with pytest.raises(WorkspaceError):
        mailbox(tmp_path).acknowledge(notice_id)
    assert (tmp_path / "rules.json").read_text() == "{}"


def test_a_summary_is_cut_and_shows_what_cannot_be_seen():
    odd = LiveScore("tool\x1b[31m", 0.1, 0.5, tier=2, trace_id="t", breached=True)
    report = TurnReport("s", 1, (odd,) * 40)
    line = report.summary(80)
    assert len(line) == 80
    assert "[U+001B]" in line
    assert report.summary(0).count("tool") == 40


def test_a_summary_names_five_traces_and_the_notice_all():
    scores = tuple(LiveScore("coherence", 0.1, 0.5, tier=1, trace_id=f"t{i}", stalled=True) for i in range(7))
    report = TurnReport("s", 1, scores)
    assert report.summary(9999).endswith("flagged traces: t0, t1, t2, t3, t4")
    assert len(report.flagged_traces) == 7
