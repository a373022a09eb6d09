"""Capture after the fact: the cases that a mailbox and a journal would have given."""

from __future__ import annotations

import json

import pytest
from made_live import BREACH, LOW, Cases, Live

from harnesskit.live.capture import capture_from_notices
from harnesskit.model.config import HarnessConfig
from harnesskit.workspace.evalset_store import EvalSet

COUNTS = {"captured": 57, "skipped": 22}


def test_a_month_of_notices_gives_the_cases_that_the_reference_captured(shared):
    root = shared / "reference/workspaces/mid"
    stored = {}
    for path in (root / "evalset").glob("*.json"):
        case = json.loads(path.read_text())
        if case["kind"] == "failure":
            stored[case["session_id"], tuple(case["signature"])] = case
    cases = Cases()
    report = capture_from_notices(root, cases)
    assert report.counts == COUNTS
    found = {(case.session_id, case.signature): case for case in cases.kept}
    assert found.keys() == stored.keys()
    for key, case in found.items():
        assert (case.baseline_scores, case.notes) == (stored[key]["baseline_scores"], stored[key]["notes"])


def test_without_dumps_the_notices_give_the_same_baselines(workspace_copy):
    root = workspace_copy("mid")
    with_dumps, without = Cases(), Cases()
    capture_from_notices(root, with_dumps)
    for path in (root / "traces").iterdir():
        path.unlink()
    capture_from_notices(root, without)
    assert without.kept == with_dumps.kept


def test_without_a_mailbox_the_journal_is_enough(workspace_copy):
    root = workspace_copy("mid")
    for path in (root / "mailbox").rglob("*.json"):
        path.unlink()
    assert capture_from_notices(root, Cases()).counts == COUNTS


def test_doing_it_again_changes_nothing(workspace_copy):
    root = workspace_copy("small/offline_self_heal/workspace")
    evalset = EvalSet(root, HarnessConfig(harness_root=root))
    assert capture_from_notices(root, evalset).counts == {"captured": 1}
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert capture_from_notices(root, evalset).counts == {"existing": 1}
    after = {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and path.suffix != ".lock"}
    assert after == {path: data for path, data in before.items() if path.suffix != ".lock"}


def test_a_replay_input_is_given_or_attached_later(tmp_path):
    live = Live(tmp_path, capture_eval_cases=False)
    for session in ("s-1", "s-2"):
        live.end(session, **LOW)
        live.end(session, **BREACH)
    first = capture_from_notices(tmp_path, live.cases, replay_input_of={"s-1": {"task": 1}}.get)
    assert first.counts == {"captured": 2}
    second = capture_from_notices(tmp_path, live.cases, replay_input_of=lambda session: {"of": session})
    assert {row.session_id: row.status for row in second.rows} == {"s-1": "existing", "s-2": "attached"}
    assert {case.session_id: case.replay_input for case in live.cases.kept} == {
        "s-1": {"task": 1},
        "s-2": {"of": "s-2"},
    }


def test_live_and_after_the_fact_agree(tmp_path):
    live = Live(tmp_path)
    live.end("s-1", **LOW)
    live.end("s-1", **{**BREACH, "outcome_correct": 0.0})
    later = Cases()
    capture_from_notices(tmp_path, later)
    assert later.kept == live.cases.kept
    assert capture_from_notices(tmp_path, live.cases).counts == {"existing": 1}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"observe_only": True}, "only observed"), ({"thresholds": {"tool_correctness": 0}}, "trend, not breach")],
)
def test_what_was_never_captured_live_is_not_captured_later(tmp_path, settings, reason):
    live = Live(tmp_path, **settings)
    live.end(**LOW)
    live.end(**{**LOW, "tool_correctness": 0.1})
    (row,) = capture_from_notices(tmp_path, Cases()).rows
    assert row.status == "skipped"
    assert reason in row.reason


def test_one_payload_that_cannot_be_stored_costs_no_other_notice(tmp_path):
    live = Live(tmp_path, capture_eval_cases=False)
    for session in ("s-1", "s-2"):
        live.end(session, **LOW)
        live.end(session, **BREACH)
    report = capture_from_notices(tmp_path, live.cases, replay_input_of={"s-1": object(), "s-2": 1}.get)
    assert [row.status for row in report.rows] == ["failed", "captured"]
    assert "JSON" in report.rows[0].reason


def test_a_set_full_of_wins_takes_none_and_says_so(tmp_path):
    live = Live(tmp_path, capture_eval_cases=False)
    live.end(**LOW)
    live.end(**BREACH)
    evalset = EvalSet(tmp_path, HarnessConfig(harness_root=tmp_path, eval_case_max=1))
    evalset.capture(session_id="w", kind="win")
    with pytest.warns(UserWarning, match="full"):
        report = capture_from_notices(tmp_path, evalset)
    assert [row.reason for row in report.rows] == ["the eval set is full"]


def test_an_empty_folder_has_no_notices(tmp_path):
    assert capture_from_notices(tmp_path, Cases()) == ([], [])
