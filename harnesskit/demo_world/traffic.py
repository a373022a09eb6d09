"""Four weeks of production traffic with one drift, and what people said about some of its sessions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from harnesskit.demo_world.draws import (
    GRADER,
    GRADER_VERSION,
    METRICS,
    TIER_1,
    draw_scores,
    draw_slots,
    generator,
    hex_id,
    iso,
    moment,
    pick,
)
from harnesskit.workspace.atomic import json_line_bytes, write_atomic
from harnesskit.workspace.online import ONLINE_SCHEMA, write_online
from harnesskit.workspace.reading import to_json

SOURCE = "production"
FIRST_DAY, DAYS, DRIFT_DAYS = datetime(2026, 6, 3, tzinfo=UTC), 28, 8
DRIFT_METRIC, DRIFT = "tool_correctness", -0.10
FAILING = 0.15
"""Share of sessions that really fail; their scores lie around `BAD` instead of `GOOD`."""

GOOD, BAD, USER_SD, SESSION_SD, TURN_SD = 0.83, 0.42, 0.04, 0.06, 0.06
USERS = 160
FORWARD_EFFECT = 0.05
"""What the rule in its forward trial adds to coherence, for the half of the users that see it."""

LABELLED, LABELLED_TWICE, RATER_ERROR = 150, 60, 0.05
NO_TOOL, JUDGE_LOST, SAMPLED_OUT = 0.08, 0.02, 0.03
"""Shares of turns without a tool call, of scores the judge lost, and of turns that were never judged."""


@dataclass(frozen=True)
class Session:
    """One production session and the truth behind it."""

    session_id: str
    user: str
    arm: str
    at: datetime
    topic: str
    failed: bool
    story: tuple[str, str]
    rows: list[dict[str, Any]]


def write_traffic(root: Path, seed: int, words: dict[str, Any]) -> list[Session]:
    """Write the online samples and return the sessions."""
    rng = generator(seed, "traffic")
    users = [(f"u-{hex_id(rng, 6)}", float(rng.normal(0, USER_SD))) for _ in range(USERS)]
    sessions = [
        _session(rng, words, *pick(rng, users), day) for day in range(DAYS) for _ in range(int(rng.integers(36, 45)))
    ]
    rows = [row for session in sessions for row in session.rows]
    given = pa.schema([field for field in ONLINE_SCHEMA if any(field.name in row for row in rows)])
    write_online(root, SOURCE, pa.Table.from_pylist(rows, schema=given))
    return sessions


def _session(rng: np.random.Generator, words: dict[str, Any], user: str, liking: float, day: int) -> Session:
    topic = pick(rng, list(words["families"]))
    at = moment(rng, FIRST_DAY + timedelta(days=day, hours=6), 0.65)
    failed = bool(rng.random() < FAILING)
    level = (BAD if failed else GOOD) + liking
    means = {metric: level + float(rng.normal(0, SESSION_SD)) for metric in METRICS}
    arm = "candidate" if int(user[-1], 16) % 2 else "control"
    means["coherence"] += FORWARD_EFFECT * (arm == "candidate")
    if day >= DAYS - DRIFT_DAYS:
        means[DRIFT_METRIC] += DRIFT
    family, slots = words["families"][topic], draw_slots(rng, words)
    story = pick(rng, family["failures"])
    session = Session(
        f"s-{at:%m%d}-{hex_id(rng, 8)}", user, arm, at, topic, failed, (story[0], story[1].format(**slots)), []
    )
    plan = {"topic": topic, "channel": pick(rng, words["channels"]), "plan": slots["plan"]}
    for turn in range(int(rng.integers(1, 5))):
        said = pick(rng, family["tasks"]).format(**slots) if turn == 0 else pick(rng, words["follow_ups"])
        reply = pick(rng, family["replies"] if turn == 0 else words["follow_up_replies"]).format(**slots)
        reply = session.story[1] if failed and turn == 0 else reply
        text = {"input": to_json(said), "output": to_json(reply), "attributes": to_json(plan)}
        session.rows.extend(_turn(rng, session, turn, means, text))
    return session


def _turn(
    rng: np.random.Generator, session: Session, turn: int, means: dict[str, float], text: dict[str, str]
) -> list[dict[str, Any]]:
    sample = {
        "sample_id": f"{session.session_id}-t{turn + 1}",
        "session_id": session.session_id,
        "trace_id": f"{session.session_id}-t{turn + 1}",
        "turn_index": turn,
        "arm": session.arm,
        "cluster": session.user,
        "occurred_at": session.at + timedelta(seconds=int(95 * turn)),
        "status": "scored",
        "duration_s": round(float(rng.gamma(4.0, 1.1)), 1),
        "version": "v1",
        **text,
    }
    if rng.random() < SAMPLED_OUT:
        return [{**sample, "status": "skipped", "reason": "not sampled for judging", "metric": None}]
    drawn = draw_scores(rng, means, dict.fromkeys(METRICS, TURN_SD))
    no_tool = rng.random() < NO_TOOL
    return [{**sample, **_score(rng, metric, value, no_tool=no_tool)} for metric, value in drawn.items()]


def _score(rng: np.random.Generator, metric: str, value: float, *, no_tool: bool) -> dict[str, Any]:
    row = {"metric": metric, "grader": GRADER, "grader_version": GRADER_VERSION, "value": None}
    if no_tool and metric not in TIER_1:
        return {**row, "score_status": "not_applicable", "score_reason": "no tool was called in this turn"}
    if rng.random() < JUDGE_LOST:
        reason = pick(rng, ["the judge timed out after 30 s", "the judge gave no number"])
        return {**row, "score_status": "unscored", "score_reason": reason}
    return {**row, "value": value, "score_status": "ok", "score_reason": None}


def write_labels(root: Path, seed: int, words: dict[str, Any], sessions: list[Session]) -> None:
    """Write the labels: a random sample of sessions, some judged by two people, who mostly agree."""
    rng = generator(seed, "labels")
    chosen = [sessions[int(i)] for i in rng.permutation(len(sessions))[:LABELLED]]
    at = datetime(2026, 6, 30, 7, tzinfo=UTC)
    lines = []
    for n, session in enumerate(chosen):
        first = int(rng.integers(len(words["raters"])))
        for second in range(2 if n < LABELLED_TWICE else 1):
            at += timedelta(seconds=int(rng.integers(20, 140)))
            failed = session.failed != bool(rng.random() < RATER_ERROR)
            rater = words["raters"][(first + second) % len(words["raters"])]
            label: dict[str, Any] = {"session_id": session.session_id, "rater": rater, "at": iso(at), "failed": failed}
            if failed and session.failed:
                label["note"] = session.story[0]
            lines.append(json_line_bytes(label) + b"\n")
    write_atomic(root / "harnesskit" / "labels.jsonl", b"".join(lines))
