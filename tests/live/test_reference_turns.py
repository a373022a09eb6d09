"""Turns of the reference's workspaces, run again from their scores: the same notices, dumps and cases."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest
from made_live import Live, SteppingClock

import harnesskit as hk
from harnesskit.model.config import HarnessConfig
from harnesskit.workspace.evalset_store import EvalSet

CLOSED_LOOP = "reference/workspaces/small/closed_loop_self_heal/workspace"


def traces_of(dump):
    """The scores in a dump as an event brings them, traces in the order they were scored."""
    traces = defaultdict(dict)
    for score in dump["scores"]:
        traces[score["trace_id"]][score["metric"]] = {name: score[name] for name in ("value", "threshold", "reason")}
    return [{"trace_id": trace, "scores": scores} for trace, scores in traces.items()]


def test_the_closed_loop_scenario_is_reproduced_byte_for_byte(shared, tmp_path):
    source = shared / CLOSED_LOOP
    (dump_file,) = (source / "traces").glob("n-*.json")
    clock = SteppingClock()
    live = Live(
        tmp_path,
        clock=clock,
        evalset=EvalSet(tmp_path, HarnessConfig(harness_root=tmp_path), clock=clock),
        new_hex=lambda: dump_file.stem[-8:],
    )
    (case_file,) = (source / "evalset").glob("*.json")
    end_state = json.loads(case_file.read_text())["replay_input"]
    dump = json.loads(dump_file.read_text())
    event = {"session_id": dump["session_id"], "turn_index": 1, "end_state": end_state, "traces": traces_of(dump)}
    outcome = live.hook.on_turn_end_now(event)

    def there(text):
        return text.replace("/srv/harness/small/closed_loop_self_heal/workspace", str(tmp_path))

    theirs = [json.loads(there(line)) for line in (source / "journal.jsonl").read_text().splitlines()]
    ours = live.events("notice", "evalset_capture")
    expected = [event for event in theirs if event["type"] in ("notice", "evalset_capture")]
    expected[1]["case_id"] = outcome.case_id
    assert ours == expected
    for name in (dump_file.name, "latest_eval.json"):
        assert (tmp_path / "traces" / name).read_bytes() == (source / "traces" / name).read_bytes()
    resolved = json.loads(there((source / f"mailbox/processed/{dump_file.name}").read_text()))
    pending = json.dumps({**resolved, "status": "pending", "resolution": None}, indent=2, sort_keys=True)
    assert (tmp_path / f"mailbox/pending/{dump_file.name}").read_text() == pending
    case = json.loads(case_file.read_text()) | {"id": outcome.case_id}
    assert json.loads((tmp_path / f"evalset/{outcome.case_id}.json").read_text()) == case

    live.hook.on_turn_end_now({"session_id": dump["session_id"], "scores": {"task_completion": 0.9, "coherence": 0.9}})
    assert [event["session_id"] for event in live.events("recovery")] == [dump["session_id"]]
    stored = json.loads((source / "state/score_history.json").read_text())
    written = json.loads((tmp_path / "state/score_history.json").read_text())
    for key in stored:
        assert written[key]["gate"] == stored[key]["gate"]
        assert written[key]["series"][:2] == stored[key]["series"][:2]
        assert [item["value"] for item in written[key]["series"]] == [i["value"] for i in stored[key]["series"]]


def turns_before(series, dump, start):
    """The traces of a session that were scored before those of its dump, as one earlier turn."""
    first = [score["value"] for score in dump["scores"] if score["metric"] == "coherence"]
    values = series["coherence"]
    at = next(i for i in range(start, len(values)) if values[i : i + len(first)] == first)
    earlier = [
        {"trace_id": f"earlier-{i}", "scores": {metric: series[metric][i] for metric in series}}
        for i in range(start, at)
    ]
    return earlier, at + len(first)


def test_every_dumped_turn_of_a_month_alerts_the_same(shared, tmp_path):
    source = shared / "reference/workspaces/mid"
    history = json.loads((source / "state/score_history.json").read_text())
    events = [json.loads(line) for line in (source / "journal.jsonl").read_text().splitlines()]
    live = Live(tmp_path, gate_window=3, circuit_breaker_max_notices=0)
    read, checked = defaultdict(int), 0
    for notice in (event for event in events if event["type"] == "notice" and event["dump_path"]):
        dump = json.loads((source / f"traces/{notice['id']}.json").read_text())
        session = notice["session_id"]
        series = {
            metric: [item["value"] for item in history[f"{session}::{metric}"]["series"]]
            for metric in ("task_completion", "coherence")
        }
        earlier, read[session] = turns_before(series, dump, read[session])
        if earlier:
            assert live.hook.on_turn_end_now({"session_id": session, "traces": earlier}).signatures == ()
        outcome = live.hook.on_turn_end_now(
            {
                "session_id": session,
                "turn_index": notice["turn_index"],
                "traces": traces_of(dump),
                "scope_hints": notice["scope_hints"],
            }
        )
        written = live.events("notice")[-1]
        changed = {name: written[name] for name in ("id", "created_at", "dump_path", "ts")}
        assert written == {**notice, **changed}
        assert json.loads((tmp_path / f"traces/{outcome.notice_id}.json").read_text()) == dump
        assert (outcome.case_id is not None) == (notice["severity"] == "breach")
        checked += 1
    assert checked == 77


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_workspace_written_live_loads_without_a_problem(shared, tmp_path):
    config = HarnessConfig(harness_root=tmp_path)
    live = Live(tmp_path, evalset=EvalSet(tmp_path, config))
    breach = {"task_completion": 0.2, "coherence": 0.2, "tool_correctness": 0.1}
    for _ in range(3):
        live.end("s-1", {"task": "refund"}, **breach)
    live.end("s-1", task_completion=0.9, coherence=0.9)
    live.end("s-2", task_completion=None)
    live.end("s-3", {"bad": {1, 2}}, **breach)
    live.end("s-3", {"bad": {1, 2}}, **breach)
    harness = hk.open(tmp_path)
    assert harness.problems()["message"].tolist() == []
    assert set(harness.events(last=100)["type"]) == {
        "notice", "evalset_capture", "recovery", "turn_unscored", "capture_failed",
    }  # fmt: skip
    assert len(harness.table("notices")) == 2
    assert harness.table("cases")["session_id"].tolist() == ["s-1"]
