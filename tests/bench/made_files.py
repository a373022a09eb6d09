"""Workspaces of any size with varied content, written as the reference harness writes them."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

METRICS = ("task_completion", "coherence", "tool_correctness", "argument_correctness", "agent_reliability")
TEXT = """refund order customer asked twice charge ledger invoice total: 3:1 tool call failed after the second attempt
because payment gateway returned status pending {retry} and [timeout] was kept over budget"""
PLAIN = tuple(TEXT.split())
ACCENTED = (*PLAIN, "café", "naïve", "“quoted”", "Größe")
START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def write_cases(root: Path, count: int) -> Path:
    """Write `count` case files of about 1 KB below `root` and return `root`."""
    folder = root / "evalset"
    folder.mkdir(parents=True)
    random_ = random.Random(count)
    for number in range(count):
        case = made_case(number, random_)
        text = json.dumps(case, indent=2, sort_keys=True)
        (folder / f"{case['id']}.json").write_bytes(text.encode("ascii"))
    return root


def made_case(number: int, random_: random.Random) -> dict[str, Any]:
    """Return one case: a third are wins, a quarter is not plain ASCII, a tenth has no input, a twentieth no notes."""
    words = ACCENTED if number % 4 == 1 else PLAIN
    metrics = sorted(random_.sample(METRICS, random_.randint(2, len(METRICS))))
    scores = {metric: random_.choice([round(random_.random(), 2), random_.random(), 0, 1]) for metric in metrics}
    kind = "win" if number % 3 == 0 else "failure"
    return {
        "id": f"c-{random_.getrandbits(40):010x}",
        "created_at": (START + timedelta(seconds=37 * number, microseconds=random_.randrange(10**6))).isoformat(),
        "session_id": f"session-{number // 3:06d}",
        "kind": kind,
        "signature": ["healthy"] if kind == "win" else [f"breach:{metric}" for metric in metrics[:2]],
        "baseline_scores": scores,
        "replay_input": None if number % 10 == 7 else _payload(number, random_, words),
        "notes": "" if number % 20 == 3 else _words(random_, words, 12, 26),
    }


def _payload(number: int, random_: random.Random, words: Sequence[str]) -> dict[str, Any]:
    turns = [
        {"role": role, "content": _words(random_, words, 8, 20), "tokens": random_.randint(3, 900)}
        for role in ("user", "assistant")
    ]
    return {
        "task": _words(random_, words, 4, 10),
        "messages": turns,
        "limits": {"max_turns": 12, "temperature": 0.2, "seed": random_.getrandbits(48), "tools": ["search", "pay"]},
        "order": {"id": number, "amount": round(random_.uniform(1, 900), 2), "paid": number % 2 == 0, "coupon": None},
    }


def _words(random_: random.Random, words: Sequence[str], low: int, high: int) -> str:
    return " ".join(random_.choices(words, k=random_.randint(low, high)))


def write_journal(root: Path, count: int) -> Path:
    """Write a journal of `count` records below `root` and return `root`."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / "journal.jsonl").open("w", encoding="ascii", newline="\n") as file:
        file.writelines(json.dumps(record, sort_keys=True) + "\n" for record in made_records(count))
    return root


def made_records(count: int) -> Iterator[dict[str, Any]]:
    """Yield journal records of the kinds that make up most of a journal."""
    random_ = random.Random(count)
    for number in range(count):
        at = (START + timedelta(seconds=5 * number)).isoformat()
        session, case, rule = f"session-{number // 9:06d}", f"c-{number:010x}", f"r-{number // 50:010x}"
        match number % 4:
            case 0:
                yield {
                    "type": "evalset_capture", "ts": at, "case_id": case, "session_id": session, "kind": "failure",
                    "signatures": [f"breach:{random_.choice(METRICS)}"], "replayable": True,
                }  # fmt: skip
            case 1:
                yield {
                    "type": "validation_replay_case", "ts": at, "rule_id": rule, "case_id": case, "kind": "failure",
                    "session_id": session, "candidate_surfaced": True, "outcome": "scored",
                    "deltas": {metric: round(random_.uniform(-1, 1), 3) for metric in METRICS[:3]},
                }  # fmt: skip
            case 2:
                yield {"type": "recovery", "ts": at, "session_id": session}
            case _:
                yield {
                    "type": "repair_model_turn", "ts": at, "task_session_id": session, "turn": number % 7,
                    "repair_session_id": f"repair-{session}", "repair_episode_id": f"e-{number:012x}",
                    "notice_id": f"n-{number}", "notice_ids": [f"n-{number}"], "recommended_scope": None,
                    "model": "some/model", "provider": "some", "tracing_enabled": False, "tool_calls": 2,
                    "usage": {"input_tokens": 900, "output_tokens": 120, "total_tokens": 1020, "cost": 0.0031},
                }  # fmt: skip


def size_of(root: Path) -> int:
    """Return the bytes of the case files below `root`."""
    with os.scandir(root / "evalset") as entries:
        return sum(entry.stat().st_size for entry in entries)
