"""Evaluation dumps: only what the score history does not hold, once."""

from __future__ import annotations

import json

import pytest

from harnesskit.workspace.dumps import RUN_ID, read_dumps

STEM = "n-20260612T231843119749-a5821673"


@pytest.fixture
def read(tmp_path):
    def write_and_read(dumps, held=()):
        for name, dump in dumps.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(dump))
        return read_dumps(tmp_path, held)

    return write_and_read


def dump(*scores, **fields):
    return {"session_id": "s", "turn_index": 2, "scores": list(scores), **fields}


def score(metric, value, tier=2, trace_id="t", **fields):
    return {"metric": metric, "value": value, "tier": tier, "trace_id": trace_id, **fields}


def values(found):
    return [(s.sample_id, s.metric, s.value, s.status) for s in found.scores]


def test_tier_1_scores_that_the_history_holds_are_not_doubled(read):
    dumps = {STEM: dump(score("m1", 0.4, tier=1), score("m2", 0.1, threshold=0.5, breached=True))}
    found = read(dumps, held={("s", "m1")})
    assert values(found) == [(f"dump:{STEM}:t", "m2", 0.1, "ok")]
    (sample,) = found.samples
    assert (sample.session_id, sample.trace_id, sample.turn_index, sample.run_id) == ("s", "t", 2, RUN_ID)
    assert sample.occurred_at.isoformat() == "2026-06-12T23:18:43.119749+00:00"
    assert json.loads(sample.attributes)["scores"] == {"m2": {"tier": 2, "threshold": 0.5, "breached": True}}
    assert len(read(dumps).scores) == 2
    assert found.problems == []


def test_a_dump_of_0_6_has_no_tiers_and_no_traces(read):
    dumps = {STEM: dump({"metric": "agent_reliability", "value": 0.3})}
    assert read(dumps, held={("s", "agent_reliability")}).scores == []
    assert values(read(dumps)) == [(f"dump:{STEM}", "agent_reliability", 0.3, "ok")]


def test_the_copy_of_the_newest_dump_adds_nothing(read):
    same = dump(score("m", 0.1))
    assert len(read({STEM: same, "latest_eval": same}).scores) == 1


def test_two_dumps_that_disagree_are_a_problem(read):
    found = read({STEM: dump(score("m", 0.1)), "latest_eval": dump(score("m", 0.2))})
    assert [v[2] for v in values(found)] == [0.1]
    assert [(p.file, p.kind) for p in found.problems] == [("traces/latest_eval.json", "contradiction")]


def test_a_score_without_value_is_unscored_with_the_reason_given(read):
    found = read({STEM: dump(score("m", None, reason="judge timed out"), score("p", None, pending=True))})
    assert [(s.value, s.status, s.reason) for s in found.scores] == [
        (None, "unscored", "judge timed out"),
        (None, "unscored", "the score was pending"),
    ]
    assert found.samples[0].status == "inconclusive"


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        (dump(score("m", "0.5")), "not_a_number"),
        (dump(7), "not_an_object"),
        (dump(score(None, 0.5)), "no_id"),
        ({"session_id": "s"}, "not_a_list"),
        (dump(session_id=None), "no_id"),
        ([], "not_an_object"),
    ],
)
def test_a_broken_dump_costs_itself(read, broken, kind):
    found = read({"n-broken": broken, STEM: dump(score("m", 0.1))})
    assert (f"dump:{STEM}:t", "m", 0.1, "ok") in values(found)
    assert [(p.file, p.kind) for p in found.problems] == [("traces/n-broken.json", kind)]
