"""Random histories of an eval set against a plain list of records."""

from __future__ import annotations

import json
import shutil
import tempfile
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from harnesskit.model.config import HarnessConfig
from harnesskit.model.errors import EvalSetFullWarning
from harnesskit.workspace import case_view
from harnesskit.workspace.evalset_store import EvalSet

CAP = 5
LABELS = ("a", "b", "c")
SESSIONS = st.sampled_from(["s", "t", "u", "v", "w"])
KINDS = st.sampled_from(["failure", "failure", "failure", "win"])
SIGNATURES = st.lists(st.sampled_from(LABELS), max_size=3)
PAYLOADS = st.none() | st.integers() | st.text(max_size=5) | st.dictionaries(st.text(max_size=3), st.booleans())


class History(RuleBasedStateMachine):
    """Two open sets on one folder; `records` is what the folder should hold, by id."""

    ids = Bundle("ids")

    def __init__(self):
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="harnesskit-test-"))
        self.now = datetime(2026, 6, 1, tzinfo=UTC)
        config = HarnessConfig(eval_case_max=CAP)
        self.sets = [EvalSet(self.root, config, clock=lambda: self.now) for _ in range(2)]
        self.records = {}
        self.gone = set()

    def teardown(self):
        shutil.rmtree(self.root)

    def listed(self, kind=None):
        records = sorted(self.records.values(), key=lambda r: (datetime.fromisoformat(r["created_at"]), r["id"]))
        return [record for record in records if kind in (None, record["kind"])]

    @rule(target=ids, which=st.integers(0, 1), session=SESSIONS, kind=KINDS, labels=SIGNATURES, payload=PAYLOADS,
          minutes=st.integers(-3, 5))  # fmt: skip
    def capture(self, which, session, kind, labels, payload, minutes):
        self.now += timedelta(minutes=minutes, microseconds=minutes % 2)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            case = self.sets[which].capture(session_id=session, kind=kind, signature=labels, replay_input=payload)
        key = (session, sorted(labels), kind)
        same = [r for r in self.listed() if (r["session_id"], sorted(r["signature"]), r["kind"]) == key]
        if same:
            assert case.record() == same[0]
            return case.id
        failures = self.listed("failure")
        if len(self.records) >= CAP and not failures:
            assert case is None
            assert [warning.category for warning in told] == [EvalSetFullWarning]
            return "none"
        if len(self.records) >= CAP:
            self.gone.add(failures[0]["id"])
            del self.records[failures[0]["id"]]
        assert (case.session_id, case.kind, list(case.signature), case.replay_input) == (session, kind, labels, payload)
        assert case.created_at == self.now.isoformat()
        self.records[case.id] = case.record()
        return case.id

    @rule(which=st.integers(0, 1), case_id=ids, payload=PAYLOADS)
    def attach(self, which, case_id, payload):
        if case_id not in self.records:
            with pytest.raises(KeyError):
                self.sets[which].attach_input(case_id, payload)
            return
        self.records[case_id] = {**self.records[case_id], "replay_input": payload}
        assert self.sets[which].attach_input(case_id, payload).record() == self.records[case_id]

    @rule(which=st.integers(0, 1), case_id=consumes(ids))
    def remove(self, which, case_id):
        assert self.sets[which].remove(case_id) is (case_id in self.records)
        if self.records.pop(case_id, None):
            self.gone.add(case_id)

    @rule(which=st.integers(0, 1), labels=SIGNATURES, kind=st.sampled_from(["failure", "win", None]))
    def match(self, which, labels, kind):
        expected = [r for r in reversed(self.listed(kind)) if set(labels) & set(r["signature"])]
        assert [case.record() for case in self.sets[which].matching(labels, kind)] == expected

    @invariant()
    def both_list_what_there_is(self):
        for cases in self.sets:
            assert [case.record() for case in cases.cases()] == self.listed()
        assert {path.stem for path in self.root.glob("evalset/*")} == set(self.records)

    @invariant()
    def the_journal_accounts_for_every_case(self):
        path = self.root / "journal.jsonl"
        events = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
        came = [e["case_id"] for e in events if e["type"] == "evalset_capture" and "skipped" not in e]
        went = [e["case_id"] for e in events if e["type"] in ("evalset_evict", "evalset_remove")]
        assert sorted(came) == sorted([*self.records, *self.gone])
        assert sorted(went) == sorted(self.gone)


class GlancingHistory(History):
    """The same without the invariant's looks: the sets follow each other by the log alone."""

    def __init__(self):
        super().__init__()
        self.small, case_view.SMALL = case_view.SMALL, 0

    def teardown(self):
        case_view.SMALL = self.small
        super().teardown()

    @invariant()
    def both_list_what_there_is(self):
        everything = [r for r in reversed(self.listed()) if r["signature"]]
        for cases in self.sets:
            assert [case.record() for case in cases.matching(LABELS, None)] == everything


class ForeignHistory(History):
    """Somebody else adds, edits and deletes files by hand."""

    @rule(target=History.ids, session=SESSIONS, kind=KINDS, labels=SIGNATURES, minutes=st.integers(-9, 9))
    def drop_in(self, session, kind, labels, minutes):
        key = (session, sorted(labels), kind)
        if key in [(r["session_id"], sorted(r["signature"]), r["kind"]) for r in self.records.values()]:
            return "none"
        record = {
            "id": f"x-{len(self.records)}-{len(self.gone)}", "session_id": session, "kind": kind, "signature": labels,
            "created_at": (self.now + timedelta(minutes=minutes)).isoformat(), "baseline_scores": {}, "notes": "",
            "replay_input": None,
        }  # fmt: skip
        if record["id"] in self.records or record["id"] in self.gone:
            return "none"
        self.write(record)
        return record["id"]

    @rule(case_id=History.ids, notes=st.text(st.characters(codec="ascii"), max_size=9))
    def edit(self, case_id, notes):
        if case_id in self.records:
            self.write({**self.records[case_id], "notes": notes})

    @rule(case_id=consumes(History.ids))
    def delete(self, case_id):
        if self.records.pop(case_id, None):
            (self.root / "evalset" / f"{case_id}.json").unlink()

    def write(self, record):
        self.records[record["id"]] = record
        (self.root / "evalset").mkdir(exist_ok=True)
        (self.root / "evalset" / f"{record['id']}.json").write_text(json.dumps(record))

    @invariant()
    def the_journal_accounts_for_every_case(self):
        """It does not know what others did."""


for machine, examples in ((History, 12), (GlancingHistory, 12), (ForeignHistory, 12)):
    machine.TestCase.settings = settings(max_examples=examples, stateful_step_count=25, deadline=None)
TestHistory = History.TestCase
TestGlancingHistory = GlancingHistory.TestCase
TestForeignHistory = ForeignHistory.TestCase
