"""A forward trial in a workspace: sessions are assigned as they start, scored as any other, and weighed later."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import harnesskit as hk
from harnesskit.model.errors import PolicyError, WorkspaceError
from harnesskit.workspace.assignments import read_forward
from harnesskit.workspace.online import write_online


def with_rule(root: Path, metric: str | None = "coherence") -> tuple[hk.Harness, str]:
    made = hk.Harness.create(hk.HarnessConfig(harness_root=str(root)), scorer=lambda session: {})
    found = made.rules.add("Say what was done.", metric=metric, signatures=("breach:coherence",))
    return made, found if isinstance(found, str) else found.rule_id


def score(root: Path, values: dict[str, float], *, at: datetime) -> None:
    rows = [
        {"sample_id": f"x-{session}", "session_id": session, "occurred_at": at + timedelta(seconds=i),
         "status": "scored", "metric": "coherence", "grader": "judge", "value": value, "score_status": "ok"}
        for i, (session, value) in enumerate(values.items())
    ]  # fmt: skip
    write_online(root, "live", pa.Table.from_pylist(rows))


def played(made: hk.Harness, rule: str, n: int, *, effect: float, seed: int = 0) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    arms = {f"s{i}": made.trial_arm(rule, f"u{i}", session_id=f"s{i}") for i in range(n)}
    return {
        session: float(np.clip(rng.normal(0.6, 0.1) + effect * (arm == "candidate"), 0, 1))
        for session, arm in arms.items()
    }


def test_a_trial_is_assigned_scored_and_weighed(tmp_path: Path):
    made, rule = with_rule(tmp_path)
    values = played(made, rule, 40, effect=0.25)
    assert made.forward_trial(rule).verdict == "pending", "assigned and not scored yet"
    score(tmp_path, values, at=datetime.now(UTC))
    made.refresh()
    found = made.forward_trial(rule)
    assert (found.verdict, found.guard_kind, found.decision.reason) == ("promote", "rule", "benefit")
    assert found.frozen["target"] == "coherence"
    assert len(found.frozen["rule"]["sha256"]) == 64
    assert set(found.path["check"]) == {"benefit", "futility", "harm"}


def test_sessions_that_were_never_scored_are_counted(tmp_path: Path):
    made, rule = with_rule(tmp_path)
    values = played(made, rule, 40, effect=0.3)
    lost = [session for i, session in enumerate(values) if i % 4 == 0]
    score(tmp_path, {s: v for s, v in values.items() if s not in lost}, at=datetime.now(UTC))
    made.refresh()
    missing = made.forward_trial(rule).evidence.set_index("check").loc["missing_data"]
    assert (missing["n"], missing["estimate"]) == (40, 0.25)


def test_the_scatter_is_that_of_the_sessions_before_and_stays_fixed(tmp_path: Path):
    made, rule = with_rule(tmp_path)
    early = datetime.now(UTC) - timedelta(days=3)
    before = np.random.default_rng(1).normal(0.6, 0.1, 50)
    score(tmp_path, {f"h{i}": float(v) for i, v in enumerate(before)}, at=early)
    made.refresh()
    made.trial_arm(rule, "u0", session_id="s0")
    fixed = made.forward_trial(rule).frozen["prior_sd"]
    assert fixed == pytest.approx(before.std(ddof=1))
    score(tmp_path, {f"late{i}": float(i % 2) for i in range(50)}, at=early)
    made.refresh()
    made.trial_arm(rule, "u1", session_id="s1")
    assert made.forward_trial(rule).frozen["prior_sd"] == fixed


def test_a_cluster_keeps_its_arm_and_a_session_is_written_once(tmp_path: Path):
    made, rule = with_rule(tmp_path)
    arms = [made.trial_arm(rule, "ann", session_id=f"s{i}") for i in (1, 2, 2)]
    assert len(set(arms)) == 1
    digest = made.forward_trial(rule).frozen["rule"]["sha256"]
    assert [one.session_id for one in read_forward(tmp_path, rule, digest).sessions] == ["s1", "s2"]


def test_assignments_made_at_once_still_come_in_blocks(tmp_path: Path):
    made, rule = with_rule(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        arms = list(pool.map(lambda i: made.trial_arm(rule, f"u{i}", session_id=f"s{i}"), range(40)))
    assert arms.count("candidate") == 20


def test_what_cannot_begin_is_named(tmp_path: Path):
    made, rule = with_rule(tmp_path)
    with pytest.raises(WorkspaceError, match="has no forward trial"):
        made.forward_trial(rule)
    with pytest.raises(WorkspaceError, match="no rule 'nope'"):
        made.trial_arm("nope", "u", session_id="s")
    with pytest.raises(PolicyError, match="cannot be 'reference'"):
        made.trial_arm(rule, "u", session_id="s", policy="reference")
