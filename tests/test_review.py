"""Signing and promoting, as a reviewer meets it: what is bound, refused and written, and what a crash leaves."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import harnesskit as hk
from harnesskit import Harness, HarnessConfig
from harnesskit.model.decision import Decision
from harnesskit.model.errors import PolicyError, PromotionRefusedError, WorkspaceError
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.reports.model import Report
from harnesskit.trials.bank import find_bank
from harnesskit.trials.promotion_frozen import text_hash
from harnesskit.workspace import rule_writes
from harnesskit.workspace.rules import read_rules

TEXT = "Look the order up before you refund it."
LOG = "harnesskit/decisions.jsonl"


@dataclass(frozen=True)
class Judged:
    """A result: the verdict on a guard, what was judged, what produced the evidence."""

    decision: Decision
    guard_hash: str | None = field(default_factory=lambda: text_hash(TEXT))
    fingerprint: Any = field(default_factory=lambda: {"model": "m-1", "rules_hash": "aa"})
    baseline_scores: dict[str, float] | None = None

    def report(self) -> Report:
        return Report(f"Promotion of {self.decision.subject}", self.decision)


def judged(subject: str, verdict: str = "promote", *, kind: str = "rule", two: bool = False, **fields: Any) -> Judged:
    policy = PromotionPolicy(two_people=two).plain()
    checks = pd.DataFrame({"check": ["benefit"], "state": ["met"]})
    reason = "benefit" if verdict == "promote" else "harm"
    told = [f"It is to {verdict}."]
    return Judged(Decision(subject, kind, verdict, reason, "", told, checks, None, policy, "3f" * 32), **fields)


def today() -> datetime:
    return datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    config = HarnessConfig.from_env({}, harness_root=tmp_path / "work")
    made = Harness.create(config, scorer=lambda session: {}, fingerprint={"model": "m-1"})
    made.rules.clock = today
    return made


@pytest.fixture
def rule_id(harness: Harness) -> str:
    return harness.rules.add(TEXT, metric="tool_correctness", signatures=["breach:tool_correctness"])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def problems(root: Path) -> list[str]:
    frame = hk.open(root).problems()
    return frame.loc[frame["severity"] == "problem", "kind"].tolist()


def test_a_signature_binds_what_was_judged(harness: Harness, rule_id: str):
    result = judged(rule_id)
    decision_id = harness.sign(
        result, author="Ann Lee", approver="Bo Chen", note="looked at 4 pairs", review_by="2026-12-31"
    )
    [row] = harness.decisions().to_dict("records")
    assert row["decision_id"] == decision_id
    expected = {
        "subject": rule_id, "guard_kind": "rule", "verdict": "promote", "reason": "benefit", "author": "Ann Lee",
        "approver": "Bo Chen", "note": "looked at 4 pairs", "evidence_hash": "3f" * 32, "guard_hash": text_hash(TEXT),
        "package_version": hk.__version__, "action": "sign", "status": "signed",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert (row["at"], row["review_by"]) == (pd.Timestamp(today()), pd.Timestamp("2026-12-31", tz="UTC"))
    assert json.loads(row["policy"])["name"] == "budgeted"
    saved = result.report().save(harness.root.parent / "r.json").read_bytes()
    assert row["report_hash"] == hashlib.sha256(saved).hexdigest()
    assert problems(harness.root) == []


def test_promoted_it_stands_as_the_reference_would_have_written_it(harness: Harness, rule_id: str, shared: Path):
    decision_id = harness.sign(judged(rule_id), author="Ann", approver="Bo")
    change = harness.promote(rule_id)
    assert (change.status, change.override, change.promoted_since) == ("active", None, (rule_id,))
    before, after = lines(harness.root / "rules.jsonl")
    why = after["trial"]["verdict"].removeprefix("promoted:")
    assert after == {**before, "status": "active", "trial": {**before["trial"], "verdict": f"promoted:{why}"}}
    assert "signed by Ann and Bo" in why
    assert change.decision_id in why
    event = lines(harness.root / "journal.jsonl")[-1]
    about = {"reason": why, "validator": "replay", "ts": "2026-06-01T12:00:00+00:00", "type": "rule_promote"}
    assert event == {**after, **about}
    theirs = shared / "reference" / "workspaces" / "mid"
    assert list(after) == list(lines(theirs / "rules.jsonl")[0])
    assert list(event) == list(next(e for e in lines(theirs / "journal.jsonl") if e["type"] == "rule_promote"))
    [rule] = read_rules(harness.root / "rules.jsonl").rules
    assert (rule.status, rule.trial_verdict) == ("active", f"promoted:{why}")
    assert problems(harness.root) == []
    assert change.signature_id == decision_id
    with pytest.raises(WorkspaceError, match="active already"):
        harness.promote(rule_id)


def test_a_rule_of_the_reference_is_promoted_and_taken_back_in_its_own_file(workspace_copy: Callable[[str], Path]):
    root = workspace_copy("mid")
    earlier = (root / "rules.jsonl").read_bytes()
    harness = hk.open(root)
    candidates = harness.rules.candidates()
    rule = candidates[0] if candidates else harness.rules.rules()[-1]
    if not candidates:
        harness.rules.record(rule.rule_id, status="candidate")
    earlier = (root / "rules.jsonl").read_bytes()
    harness.sign(judged(rule.rule_id, guard_hash=text_hash(rule.rule)), author="Ann")
    change = harness.promote(rule.rule_id)
    assert harness.rules.get(rule.rule_id).status == "active"
    assert rule.rule_id in change.promoted_since
    assert "a run of the new active set is due" in str(change)
    back = harness.retire(rule.rule_id, "it slowed the desk down", author="Bo")
    assert back.status == harness.rules.get(rule.rule_id).status == "retired"
    assert (root / "rules.jsonl").read_bytes().startswith(earlier)
    event = lines(root / "journal.jsonl")[-1]
    assert sorted(event) == ["evidence", "id", "reason", "ts", "type", "validator"]
    assert (event["type"], event["id"], event["evidence"]["decision_id"]) == (
        "rule_retire",
        rule.rule_id,
        back.decision_id,
    )
    assert "it slowed the desk down" in event["reason"]
    assert harness.decisions()["status"].tolist() == ["superseded", "done", "done"]
    table = harness.table("rules").set_index("rule_id")
    assert table.loc[rule.rule_id, "status"] == "retired"


def test_without_a_signature_nothing_is_promoted(harness: Harness, rule_id: str):
    with pytest.raises(PromotionRefusedError, match=r"Nobody has signed .* harness\.sign"):
        harness.promote(rule_id)
    with pytest.raises(WorkspaceError, match="there is no guard 'r-nothing'"):
        harness.promote("r-nothing")
    assert harness.rules.get(rule_id).status == "candidate"
    assert not (harness.root / LOG).exists()


def edit_rule(harness: Harness, rule_id: str) -> None:
    path = harness.root / "rules.jsonl"
    record = json.loads(path.read_text().splitlines()[-1])
    with path.open("a") as file:
        file.write(json.dumps({**record, "rule": "Always refund."}, sort_keys=True) + "\n")


def tamper(harness: Harness) -> None:
    path = harness.root / LOG
    path.write_text(path.read_text().replace('"verdict": "retire"', '"verdict": "promote"'))


def in_time(harness: Harness, rule_id: str) -> None:
    harness.rules.clock = lambda: datetime(2026, 6, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("result", "signing", "then", "said"),
    [
        ({"verdict": "retire"}, {}, None, "says retire, not promote"),
        ({"verdict": "pending"}, {}, None, "says pending, not promote"),
        ({}, {}, edit_rule, "is older than the text of the rule"),
        ({"fingerprint": {"model": "m-2"}}, {}, None, "another fingerprint: model='m-2'; here it is model='m-1'"),
        ({"fingerprint": None}, {}, None, "does not say which agent produced the evidence"),
        ({"guard_hash": None}, {}, None, "does not say which text was judged"),
        ({}, {}, lambda h, r: h.revoke(h.decisions()["decision_id"][0], author="Bo"), "revoked on 2026-06-01 by Bo"),
        ({}, {}, lambda h, r: h.sign(judged(r, "retire"), author="Bo"), "says retire"),
        ({"verdict": "retire"}, {}, lambda h, r: tamper(h), "is not as it was written"),
        ({}, {"review_by": "2026-06-02"}, in_time, "was to be looked at again by 2026-06-02"),
    ],
    ids=["retire", "pending", "older", "agent", "no agent", "no text", "revoked", "newer", "tampered", "overdue"],
)  # fmt: skip
def test_what_is_refused_and_what_an_override_records(harness: Harness, rule_id: str, result, signing, then, said: str):
    harness.sign(judged(rule_id, **result), author="Ann", **signing)
    if then is not None:
        then(harness, rule_id)
    before = (harness.root / LOG).read_bytes()
    with pytest.raises(PromotionRefusedError, match=said) as refused:
        harness.promote(rule_id)
    assert 'override="why"' in str(refused.value)
    assert (harness.root / LOG).read_bytes() == before
    assert harness.rules.get(rule_id).status == "candidate"
    change = harness.promote(rule_id, override="the outage must end tonight", author="Cho")
    assert change.override == "the outage must end tonight"
    assert any(said[:12] in note or "Overruled" in note for note in change.notes)
    row = harness.decisions().iloc[-1]
    assert (row["action"], row["override"], row["author"]) == ("promote", "the outage must end tonight", "Cho")
    assert lines(harness.root / LOG)[-1]["overruled"] == list(refused.value.reasons)
    assert harness.rules.get(rule_id).status == "active"
    assert lines(harness.root / "journal.jsonl")[-1]["validator"] == "operator"


def test_an_override_that_was_not_needed_is_none(harness: Harness, rule_id: str):
    harness.sign(judged(rule_id), author="Ann")
    with pytest.raises(WorkspaceError, match="override must say why"):
        harness.promote(rule_id, override="  ")
    change = harness.promote(rule_id, override="to be sure")
    assert change.override is None
    assert harness.decisions()["override"].isna().all()


def test_another_set_of_active_rules_is_the_same_agent_and_an_unknown_one_is_said(harness: Harness, rule_id: str):
    harness.sign(judged(rule_id, fingerprint={"model": "m-1", "rules_hash": "other"}), author="Ann")
    opened = hk.open(harness.root)
    opened.rules.clock = today
    change = opened.promote(rule_id)
    assert any("was not said here" in note for note in change.notes)


def test_two_people_are_two(harness: Harness, rule_id: str):
    for approver in (None, "Ann", " ann ", "ＡＮＮ", "A\u200bnn"):
        with pytest.raises(PolicyError, match="two people"):
            harness.sign(judged(rule_id, two=True), author="Ann", approver=approver)
    assert harness.sign(judged(rule_id, two=True), author="Ann", approver="Bo")


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201, None, 7, "a\x1b[31m", "\ud800"])
def test_a_name_is_a_name(harness: Harness, rule_id: str, name: Any):
    with pytest.raises(WorkspaceError, match="author must be a name"):
        harness.sign(judged(rule_id), author=name)
    assert not (harness.root / LOG).exists()


@pytest.mark.parametrize("day", ["soon", "2026-05-31", 7, float("nan")])
def test_a_review_day_is_a_day_to_come(harness: Harness, rule_id: str, day: Any):
    with pytest.raises(WorkspaceError, match="review_by"):
        harness.sign(judged(rule_id), author="Ann", review_by=day)


def test_hostile_texts_come_back_as_they_were_and_break_nothing(harness: Harness, rule_id: str):
    note = 'a\nb\u2028c"},{"decision_id": "d-1"\x00 <script> \u202e 付款 🔥 \ud800'
    harness.sign(judged(rule_id), author="Zoë O'Neil; DROP TABLE", note=note)
    harness.promote(rule_id)
    row = harness.decisions().iloc[0]
    assert (row["author"], row["note"]) == ("Zoë O'Neil; DROP TABLE", note.replace("\ud800", "\\ud800"))
    assert problems(harness.root) == []
    assert (harness.root / LOG).read_bytes().isascii()
    assert (harness.root / LOG).read_bytes().count(b"\n") == 2


def test_what_is_not_of_this_workspace_or_holds_no_verdict_is_not_signed(harness: Harness, rule_id: str):
    for thing, said in [
        (judged("r-elsewhere"), "no rule 'r-elsewhere'"), (judged("c-1", kind="case"), "no case 'c-1'"),
        (judged("run-9", "pass", kind=None), "no run 'run-9'"), (Report("empty"), "has none"),
        (judged(rule_id).decision, "takes a result"), (None, "takes a result"),
    ]:  # fmt: skip
        with pytest.raises(WorkspaceError, match=said):
            harness.sign(thing, author="Ann")
    with pytest.raises(WorkspaceError, match="as of"):
        hk.open(harness.root, as_of="2026-07-01").sign(judged(rule_id), author="Ann")


def test_a_report_is_signed_with_what_its_evidence_says(harness: Harness, rule_id: str):
    report = judged(rule_id).report()
    bound = {"kind": "promotion", "guard_hash": text_hash(TEXT), "fingerprint": {"model": "m-1"}}
    harness.sign(Report(report.title, report.verdict, evidence=bound), author="Ann")
    assert harness.promote(rule_id).status == "active"


def test_only_a_signature_that_holds_can_be_revoked(harness: Harness, rule_id: str):
    first = harness.sign(judged(rule_id), author="Ann")
    gone = harness.revoke(first, note="the grader was broken", author="Bo")
    for one, said in [(first, "it is revoked"), (gone, "is no signature"), ("d-none", "is not among the decisions")]:
        with pytest.raises(WorkspaceError, match=said):
            harness.revoke(one)
    second = harness.sign(judged(rule_id), author="Ann")
    assert harness.decisions().set_index("decision_id")["status"].to_dict() == {
        first: "revoked", gone: "done", second: "signed",
    }  # fmt: skip


def test_a_signed_pass_makes_the_runs_samples_the_accepted_bank(demo_root: Path, tmp_path: Path):
    root = tmp_path / "work"
    shutil.copytree(demo_root, root)
    harness = hk.open(root)
    run_id = harness.runs().query("role == 'replay' and not run_id.str.startswith('journal')")["run_id"].iloc[0]
    result = harness.regression(run_id)
    passed = replace(result, decision=replace(result.decision, verdict="pass"))
    assert run_id not in find_bank(root).run_ids
    decision_id = harness.sign(passed, author="Ann")
    assert run_id in find_bank(root).run_ids
    harness.revoke(decision_id)
    assert run_id not in find_bank(root).run_ids


def test_a_case_becomes_a_win_held_against_its_runs_and_a_failure_again(harness: Harness):
    case = harness.evalset.capture(
        session_id="s-1", kind="failure", signature=("breach:q",), baseline_scores={"q": 0.2}, replay_input={"n": 1}
    )
    path = harness.root / "evalset" / f"{case.id}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "mine": [1]}))
    harness.sign(judged(case.id, kind="case", guard_hash=None, baseline_scores={"q": 0.95}), author="Ann")
    change = harness.promote(case.id)
    assert change.status == "win"
    assert change.promoted_since == (case.id,)
    now = harness.evalset.get(case.id)
    assert (now.kind, now.baseline_scores, now.signature) == ("win", {"q": 0.95}, ("breach:q",))
    assert json.loads(path.read_text())["mine"] == [1]
    with pytest.raises(WorkspaceError, match="win already"):
        harness.promote(case.id)
    assert harness.retire(case.id, "flaky").status == "failure"
    back = harness.evalset.get(case.id)
    assert (back.kind, back.baseline_scores) == ("failure", {"q": 0.2})
    assert problems(harness.root) == []


def test_a_check_enforces_as_the_log_says(harness: Harness):
    with pytest.raises(WorkspaceError, match="no guard 'grounded'"):
        harness.promote("grounded")
    harness.sign(judged("grounded", kind="check", guard_hash=None), author="Ann")
    assert harness.promote("grounded").status == "enforcing"
    with pytest.raises(WorkspaceError, match="enforcing already"):
        harness.promote("grounded")
    assert harness.retire("grounded").status == "shadow"
    with pytest.raises(PromotionRefusedError, match="It was retired"):
        harness.promote("grounded")


def test_what_was_promoted_since_the_last_regression_run_is_named(harness: Harness, rule_id: str):
    other = harness.rules.add("Ask for the time zone.", metric="coherence")
    for one, text in ((other, "Ask for the time zone."), (rule_id, TEXT)):
        harness.sign(judged(one, guard_hash=text_hash(text)), author="Ann")
        change = harness.promote(one)
    assert set(change.promoted_since) == {other, rule_id}
    assert f"besides this one: {other}" in str(change)
    assert "there was none yet" in str(change)
    run = harness.root / "harnesskit" / "runs" / "later"
    run.mkdir(parents=True)
    times = {"started_at": "2026-06-01T13:00:00Z", "finished_at": "2026-06-01T14:00:00Z"}
    (run / "run.json").write_text(json.dumps({"run_id": "later", "role": "replay", **times}))
    third = harness.rules.add("Never quote a price from memory.", metric="coherence")
    harness.rules.clock = lambda: datetime(2026, 6, 2, tzinfo=UTC)
    harness.sign(judged(third, guard_hash=text_hash("Never quote a price from memory.")), author="Ann")
    change = harness.promote(third)
    assert change.promoted_since == (third,)
    assert "this one alone" in str(change)


class Killed(BaseException):
    """The process ended here."""


@pytest.mark.parametrize("written", [0, 1, 2, 3])
def test_a_crash_between_the_writes_is_reported_and_repaired(
    harness: Harness, rule_id: str, written: int, monkeypatch: pytest.MonkeyPatch
):
    """Review, rule, journal: in this order; once the review stands, the next write brings the rest."""
    harness.sign(judged(rule_id), author="Ann")
    calls: list[str] = []
    append = rule_writes.append_line

    def killed(path: Path, line: bytes) -> None:
        if len(calls) == written:
            raise Killed
        calls.append(path.name)
        append(path, line)

    monkeypatch.setattr(rule_writes, "append_line", killed)
    monkeypatch.setattr(rule_writes, "_forget", killed_at_the_end if written == 3 else rule_writes._forget)
    with pytest.raises(Killed):
        harness.promote(rule_id)
    monkeypatch.undo()
    assert calls == ["decisions.jsonl", "rules.jsonl", "journal.jsonl"][:written]
    assert problems(harness.root) == (["half_written_rule"] if written in (1, 2) else [])
    again = hk.open(harness.root)
    again.rules.clock = today
    again.rules.add("Another rule altogether.")  # the next write to the rules
    assert problems(harness.root) == []
    assert again.rules.get(rule_id).status == ("active" if written else "candidate")
    events = [event["type"] for event in lines(harness.root / "journal.jsonl") if event.get("id") == rule_id]
    assert events == ["rule_add", *(["rule_promote"] if written else [])]
    assert len(again.decisions()) == (2 if written else 1)
    if not written:
        assert again.promote(rule_id).status == "active"


def killed_at_the_end(path: Path) -> None:
    raise Killed


def test_promoted_by_two_at_once_it_is_promoted_once(harness: Harness, rule_id: str):
    harness.sign(judged(rule_id), author="Ann")
    others = [hk.open(harness.root) for _ in range(3)]
    found: list[str] = []

    def go(one: Harness) -> None:
        try:
            found.append(one.promote(rule_id).status)
        except WorkspaceError as error:
            found.append(str(error))

    threads = [threading.Thread(target=go, args=(one,)) for one in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.count("active") == 1
    assert sum("active already" in one for one in found) == 2
    assert len(lines(harness.root / "rules.jsonl")) == 2
    assert len(lines(harness.root / LOG)) == 2


def cli(*arguments: object, code: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harnesskit.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_the_command_line_promotes_and_takes_back(harness: Harness, rule_id: str):
    at = ("--root", harness.root)
    assert "Nobody has signed a review" in cli("promote", rule_id, *at, code=2).stderr
    harness.sign(judged(rule_id), author="Ann")
    other = cli("promote", rule_id, *at, "--fingerprint", '{"model": "m-2"}', code=2)
    assert "another fingerprint" in other.stderr
    assert "JSON object" in cli("promote", rule_id, *at, "--fingerprint", "{", code=2).stderr
    done = cli("promote", rule_id, *at, "--fingerprint", '{"model": "m-1"}', "--json", code=0)
    body = json.loads(done.stdout)
    assert (body["status"], body["override"], body["promoted_since"]) == ("active", None, [rule_id])
    assert "a run of the new active set is due" in done.stderr
    back = cli("promote", rule_id, *at, "--retire", "too slow", "--author", "Bo", code=0)
    assert f"rule {rule_id} is retired now" in back.stdout
    assert harness.rules.get(rule_id).status == "retired"
    again = cli("promote", rule_id, *at, "--override", "needed after all", code=0)
    assert "Overruled: It is retired, not a candidate" in again.stdout
    assert "Give one of the two" in cli("promote", rule_id, *at, "--retire", "x", "--override", "y", code=2).stderr
