"""The eval set of the demo: what is true of each case, and its file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from harnesskit.demo_world.draws import (
    METRICS,
    THRESHOLD,
    draw_scores,
    draw_slots,
    generator,
    hex_id,
    iso,
    moment,
    pick,
)
from harnesskit.workspace.atomic import json_file_bytes, write_atomic

SIGNATURES: dict[tuple[str, ...], int] = {
    ("breach:argument_correctness",): 14,
    ("breach:tool_correctness",): 12,
    ("breach:argument_correctness", "breach:tool_correctness"): 8,
    ("breach:tool_correctness", "stall:task_completion"): 7,
    ("breach:argument_correctness", "regression:coherence"): 5,
    ("breach:tool_correctness", "regression:coherence"): 4,
}
"""Signature of the failures, and how many there are."""

WINS: dict[str, int] = {
    "refunds": 5,
    "duplicate_charges": 4,
    "subscriptions": 5,
    "invoices": 4,
    "addresses": 4,
    "disputes": 2,
    "payouts": 3,
    "cards": 3,
}
"""Topic of the wins, and how many there are."""

REGRESSED_TOPIC = "disputes"
"""Both wins of this topic drop in the run `candidate`."""

COLLAPSE = 0.08
FLAKY = 3
UNREPLAYABLE = {"failure": 5, "win": 3}


@dataclass(frozen=True)
class DemoCase:
    """One case and the truth behind it."""

    case_id: str
    kind: str
    topic: str
    signature: tuple[str, ...]
    created_at: datetime
    session_id: str
    task: str
    slots: dict[str, str]
    story: tuple[str, str]
    reply: str
    tools: tuple[str, ...]
    means: dict[str, float] = field(repr=False)
    sds: dict[str, float] = field(repr=False)
    captured: dict[str, float] = field(repr=False)
    replayable: bool = True
    flaky: bool = False

    @property
    def collapse(self) -> float:
        """Probability that a replay breaks down."""
        return COLLAPSE if self.flaky else 0.0

    @property
    def replay_input(self) -> dict[str, Any] | None:
        """What the replay function is given."""
        if not self.replayable:
            return None
        return {"task": self.task, "topic": self.topic, "customer": self.slots["name"], "order": self.slots["order"]}


def make_cases(seed: int, words: dict[str, Any]) -> list[DemoCase]:
    """Return all cases: 50 failures, the second a near duplicate of the first, then 30 wins."""
    rng = generator(seed, "cases")
    topics = list(words["families"])
    signatures = [signature for signature, n in SIGNATURES.items() for _ in range(n)]
    failures = [_case(rng, words, "failure", pick(rng, topics), signature) for signature in signatures]
    failures[1] = _near_duplicate(rng, failures[0])
    wins = [_case(rng, words, "win", topic, _healthy(topic, i)) for topic, n in WINS.items() for i in range(n)]
    return [*_mark(rng, failures, "failure"), *_mark(rng, wins, "win")]


def _healthy(topic: str, i: int) -> tuple[str, ...]:
    """Return the signature of the i-th win of a topic; the first one was kept before topics were labelled."""
    plain = i == 0 and topic != REGRESSED_TOPIC
    return ("healthy",) if plain else ("healthy", f"topic:{topic}")


def _mark(rng: np.random.Generator, cases: list[DemoCase], kind: str) -> list[DemoCase]:
    """Choose which cases cannot be replayed and which are flaky; the planted ones are neither."""
    free = [i for i, case in enumerate(cases) if i > 1 and case.topic != REGRESSED_TOPIC]
    chosen = [int(i) for i in rng.permutation(free)]
    without, flaky = chosen[: UNREPLAYABLE[kind]], chosen[UNREPLAYABLE[kind] : UNREPLAYABLE[kind] + FLAKY]
    return [replace(case, replayable=i not in without, flaky=i in flaky) for i, case in enumerate(cases)]


def _case(
    rng: np.random.Generator, words: dict[str, Any], kind: str, topic: str, signature: tuple[str, ...]
) -> DemoCase:
    family, slots = words["families"][topic], draw_slots(rng, words)
    bad = {label.partition(":")[2] for label in signature if kind == "failure"}
    means = {m: float(_level(rng, kind, m in bad)) for m in METRICS}
    if topic == REGRESSED_TOPIC and kind == "win":
        means = dict.fromkeys(METRICS, 0.88)
    sds = {m: float(rng.uniform(0.05, 0.10)) for m in METRICS}
    created = moment(rng, datetime(2026, 6, 1, 6, tzinfo=UTC), 22.5)
    story = pick(rng, family["failures"])
    return DemoCase(
        case_id=f"c-{hex_id(rng)}",
        kind=kind,
        topic=topic,
        signature=signature,
        created_at=created,
        session_id=f"s-{created:%m%d-%H%M}-{hex_id(rng, 4)}",
        task=pick(rng, family["tasks"]).format(**slots),
        slots=slots,
        story=(story[0], story[1].format(**slots)),
        reply=pick(rng, family["replies"]).format(**slots),
        tools=tuple(family["tools"]),
        means=means,
        sds=sds,
        captured=_capture(rng, kind, signature, means, sds),
    )


def _level(rng: np.random.Generator, kind: str, bad: bool) -> float:
    if kind == "win":
        return rng.uniform(0.80, 0.92)
    return rng.uniform(0.38, 0.50) if bad else rng.uniform(0.66, 0.80)


def _capture(
    rng: np.random.Generator, kind: str, signature: tuple[str, ...], means: dict[str, float], sds: dict[str, float]
) -> dict[str, float]:
    """Draw until the scores are what got the case into the set: this is the bias of captured baselines."""
    alarmed = [label.partition(":")[2] for label in signature if kind == "failure"]
    while True:
        scores = draw_scores(rng, means, sds)
        if kind == "failure" and all(scores[m] < THRESHOLD for m in alarmed):
            return scores
        if kind == "win" and np.mean(list(scores.values())) > np.mean(list(means.values())):
            return scores


def _near_duplicate(rng: np.random.Generator, case: DemoCase) -> DemoCase:
    """Return the same request as another session would put it, an hour later."""
    created = case.created_at + timedelta(minutes=57)
    return replace(
        case,
        case_id=f"c-{hex_id(rng)}",
        session_id=f"s-{created:%m%d-%H%M}-{hex_id(rng, 4)}",
        created_at=created,
        task=case.task.rstrip(".") + ", please.",
        captured=_capture(rng, case.kind, case.signature, case.means, case.sds),
    )


def summary(case: DemoCase) -> str:
    """Return the line that a notice says of the case's scores."""
    parts = []
    for label in case.signature if case.kind == "failure" else ():
        condition, _, metric = label.partition(":")
        parts.append(f"{metric}={case.captured[metric]:.2f} [{condition}, threshold {THRESHOLD:.2f}]")
    return "; ".join([*parts, f"flagged traces: {case.session_id}-t2"]) if parts else ""


def notes(case: DemoCase) -> str:
    """Return the notes of the case file."""
    if case.kind == "win":
        return f"Kept as a good example of {case.topic.replace('_', ' ')}."
    return f"{case.story[0]} {summary(case)}"


def write_cases(root: Path, cases: list[DemoCase]) -> None:
    """Write one file per case, and two that are broken in the ways files break."""
    folder = root / "evalset"
    folder.mkdir(parents=True)
    for case in cases:
        write_atomic(folder / f"{case.case_id}.json", json_file_bytes(case_record(case)))
    broken = case_record(replace(cases[5], case_id="c-truncated", session_id="s-cut"))
    (folder / "c-truncated.json").write_bytes(json_file_bytes(broken)[:300])
    odd = case_record(replace(cases[9], case_id="c-nan0score", session_id="s-0619-0807-nan0", replayable=False))
    odd["baseline_scores"]["tool_correctness"] = "<nan>"
    (folder / "c-nan0score.json").write_bytes(json_file_bytes(odd).replace(b'"<nan>"', b"NaN"))


def case_record(case: DemoCase) -> dict[str, Any]:
    """Return the case as its file holds it."""
    return {
        "id": case.case_id,
        "kind": case.kind,
        "session_id": case.session_id,
        "created_at": iso(case.created_at),
        "signature": sorted(case.signature),
        "baseline_scores": dict(case.captured),
        "replay_input": case.replay_input,
        "notes": notes(case),
    }
