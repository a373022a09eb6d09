"""What `matching` hands out is decoded when it is read, and nobody can tell, whichever way of reading comes first."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import sys
import threading
import weakref
from typing import Any

import msgspec
import pydantic_core
import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from harnesskit.model.case import EvalCase
from harnesskit.model.config import HarnessConfig
from harnesskit.workspace import stored_case as storing
from harnesskit.workspace.case_writing import case_bytes
from harnesskit.workspace.evalset_store import EvalSet
from harnesskit.workspace.stored_case import stored_case
from harnesskit.workspace.unread_case import unread_cases

RECORD: dict[str, Any] = {
    "id": "c-1", "created_at": "2026-06-01T12:00:00+00:00", "session_id": "s", "kind": "failure",
    "signature": ["a", "a", "b"], "baseline_scores": {"m": 0.5}, "replay_input": {"x": [1, {"y": "é"}]}, "notes": "n",
}  # fmt: skip
PLAIN = EvalCase(**RECORD)


class Holder(BaseModel):
    """A user's model with cases in it."""

    model_config = ConfigDict(revalidate_instances="always")

    one: EvalCase
    many: list[EvalCase]
    any: Any


def stored(**fields):
    return stored_case(case_bytes({**RECORD, **fields}), "c-1.json")


def unread(**fields):
    """A case as `matching` hands it out, not touched yet."""
    return unread_cases([stored(**fields)])[0]


@pytest.fixture
def decoded(monkeypatch):
    """The payloads that were decoded so far."""
    texts = []
    decode = storing._payload

    def noted(text):
        texts.append(text)
        return decode(text)

    monkeypatch.setattr(storing, "_payload", noted)
    return texts


@pytest.fixture
def often():
    """Threads take turns after a microsecond instead of milliseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


WAYS = {
    "each field": lambda case: [getattr(case, field) for field in EvalCase.model_fields],
    "the payload": lambda case: case.replay_input,
    "the scores": lambda case: case.baseline_scores,
    "replayable": lambda case: case.replayable,
    "record": lambda case: case.record(),
    "summary": lambda case: case.summary(),
    "a method of the class": lambda case: EvalCase.record(case),
    "its class": lambda case: case.__class__,
    "isinstance": lambda case: (isinstance(case, EvalCase), isinstance(case, BaseModel), isinstance(case, Holder)),
    "vars": lambda case: dict(vars(case)),
    "dict": dict,
    "iter": lambda case: list(case),
    "dir": dir,
    "repr": repr,
    "str": str,
    "format": lambda case: f"{case}",
    "equal": lambda case: case == PLAIN,
    "equal, on the right": lambda case: PLAIN == case,  # noqa: SIM300 - the side is the point
    "equal to its like": lambda case: case == unread(),
    "unequal": lambda case: case == PLAIN.model_copy(update={"notes": "m"}),
    "equal to something else": lambda case: (case == 1, case is not None),
    "in a list": lambda case: (case in [PLAIN], [PLAIN].index(case)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "deepcopy of a list": lambda case: copy.deepcopy([case, case]),
    "copy of the class": lambda case: EvalCase.__copy__(case),
    "deepcopy of the class": lambda case: EvalCase.__deepcopy__(case),
    "model_copy": lambda case: case.model_copy(update={"notes": "m"}, deep=True),
    **{
        f"pickle {protocol}": lambda case, protocol=protocol: pickle.loads(pickle.dumps([case, case], protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "state": lambda case: case.__getstate__(),
    "state of the class": lambda case: EvalCase.__getstate__(case),
    "dump": lambda case: case.model_dump(),
    "dump as JSON": lambda case: case.model_dump_json(exclude={"notes"}),
    "dump of an adapter": lambda case: TypeAdapter(list[EvalCase]).dump_python([case]),
    "dump of the serializer": lambda case: EvalCase.__pydantic_serializer__.to_json(case),
    "dump of anything": lambda case: pydantic_core.to_json({"case": case}),
    "in a model": lambda case: Holder(one=case, many=[case], any=case).model_dump(),
    "in a made model": lambda case: Holder.model_construct(one=case, many=[case], any=case).model_dump_json(),
    "validated": lambda case: EvalCase.model_validate(case),
    "validated again": lambda case: Holder(one=case, many=[case], any=case),
    "made by its type": lambda case: type(case)(**RECORD),
    "validated by its type": lambda case: type(case).model_validate(RECORD),
    "constructed by its type": lambda case: type(case).model_construct(**RECORD),
    "fields that were set": lambda case: sorted(case.model_fields_set),
    "extra": lambda case: (case.model_extra, case.__pydantic_private__),
    "what is not there": lambda case: (hasattr(case, "nothing"), getattr(case, "file", None)),
    "weak reference": lambda case: weakref.ref(case)() is case,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_whatever_comes_first_sees_an_ordinary_case(way):
    case, ordinary = unread(), stored().case()
    seen = way(case)
    assert seen == way(ordinary)
    assert repr(seen) == repr(way(ordinary))
    assert (case, repr(case), case.record()) == (ordinary, repr(ordinary), ordinary.record())
    assert type(case) is EvalCase


@pytest.mark.parametrize(
    "refused",
    [
        lambda case: setattr(case, "notes", "m"),
        lambda case: setattr(case, "nothing", 1),
        lambda case: delattr(case, "notes"),
        lambda case: case.nothing,
        hash,
        lambda case: case < case,
        lambda case: case["id"],
        len,
        msgspec.json.encode,
        json.dumps,
    ],
    ids=["set", "set another", "delete", "read another", "hash", "order", "item", "len", "msgspec", "json"],
)
def test_what_a_case_refuses_is_refused_alike(refused):
    messages = []
    for case in (unread(), stored().case()):
        with pytest.raises((ValidationError, AttributeError, TypeError)) as caught:
            refused(case)
        messages.append((caught.type, str(caught.value).replace("_UnreadCase", "EvalCase")))
        assert case == PLAIN
    assert messages[0] == messages[1]


def test_plain_fields_and_replayable_decode_nothing(decoded):
    case = unread()
    seen = [case.id, case.created_at, case.session_id, case.kind, case.signature, case.notes, case.replayable]
    assert seen == ["c-1", PLAIN.created_at, "s", "failure", ("a", "a", "b"), "n", True]
    assert decoded == []
    assert case.replay_input is case.replay_input
    assert case.baseline_scores is case.baseline_scores
    assert len(decoded) == 1


@pytest.mark.parametrize("payload", [None, False, 0, "", [], {}, {"half": "\\ud800"}, 10**30, 1e300, "é\u2028"])
def test_every_payload_is_what_the_file_holds(payload):
    case = unread(replay_input=payload)
    assert case.replayable == (payload is not None)
    assert (case.replay_input, type(case.replay_input)) == (payload, type(payload))


def test_half_a_surrogate_pair_is_read_late_as_it_is_early():
    data = json.dumps({**RECORD, "replay_input": {"x": "\ud800"}}).encode()
    found = stored_case(data, "c-1.json")
    assert unread_cases([found])[0] == found.case()


def test_each_has_its_own_whichever_is_read_or_changed_first():
    found = stored()
    one, two, three = *unread_cases([found, found]), found.case()
    one.replay_input["x"].append(2)
    one.baseline_scores["m"] = 9.0
    one.model_fields_set.clear()
    vars(one)["notes"] = "changed"
    assert two == three == PLAIN
    assert two.model_fields_set == set(EvalCase.model_fields)
    assert (one.notes, one.replay_input["x"][-1], one.baseline_scores) == ("changed", 2, {"m": 9.0})


def test_a_change_past_the_model_stays():
    case = unread()
    object.__setattr__(case, "notes", "mine")
    assert (case.notes, case.record()["notes"], unread().notes) == ("mine", "mine", "n")


def test_a_case_that_was_read_keeps_nothing_of_the_set():
    case, found = unread(), stored()
    assert case.replay_input
    assert not [one for one in gc.get_referents(case) if isinstance(one, type(found))]


def test_threads_that_share_a_case_get_the_same_payload(often):
    found, ways = stored(), [lambda case: case.replay_input, lambda case: vars(case)["replay_input"]] * 4
    for _ in range(300):
        case = unread_cases([found])[0]
        gate, seen = threading.Barrier(len(ways)), []

        def read(way, case=case, gate=gate, seen=seen):
            gate.wait()
            seen.append(way(case))

        threads = [threading.Thread(target=read, args=(way,)) for way in ways]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(seen) == len(ways)
        assert all(one is case.replay_input for one in seen)


@pytest.mark.parametrize("change", ["edit", "attach", "remove", "unreadable"])
def test_a_case_is_of_the_time_when_it_was_found(tmp_path, change):
    cases = EvalSet(tmp_path, HarnessConfig())
    arguments = {"kind": "failure", "signature": ("a",), "baseline_scores": {"m": 0.5}, "notes": "before"}
    before = cases.capture(session_id="s", replay_input={"x": "before"}, **arguments)
    path = tmp_path / "evalset" / f"{before.id}.json"
    (found,), (listed,) = cases.matching(["a"]), cases.cases()
    match change:
        case "edit":
            path.write_bytes(path.read_bytes().replace(b"before", b"after!").replace(b"0.5", b"0.9"))
        case "attach":
            cases.attach_input(before.id, {"x": "after"})
        case "remove":
            cases.remove(before.id)
        case "unreadable":
            path.write_bytes(b"{")
    now = cases.matching(["a"])
    assert found.notes == "before"
    assert found == listed == before
    assert before not in now
    assert len(now) == (change in ("edit", "attach"))
