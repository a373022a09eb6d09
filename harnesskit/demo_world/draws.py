"""Draws that all parts of the demo share: scores with known noise, ids, times and texts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

METRICS = ("argument_correctness", "coherence", "task_completion", "tool_correctness")
TIER_1 = ("coherence", "task_completion")
THRESHOLD = 0.5
METRIC_CORRELATION = 0.5
COLLAPSED = 0.15
GRADER, GRADER_VERSION = "judge", "judge-small 2026-05"
AGENT = "support-agent"
NOW = datetime(2026, 6, 30, 18, 0, tzinfo=UTC)
"""The demo's clock: nothing in it is later."""


def texts() -> dict[str, Any]:
    """Return the texts of the demo."""
    found = resources.files("harnesskit.demo_world").joinpath("texts.json").read_text(encoding="utf-8")
    return dict(json.loads(found))


def generator(seed: int, part: str) -> np.random.Generator:
    """Return the generator of one part, so that a change in one part leaves the draws of the others alone."""
    return np.random.default_rng([seed, *part.encode("ascii")])


def pick(rng: np.random.Generator, values: Sequence[T]) -> T:
    """Return one of `values`."""
    return values[int(rng.integers(len(values)))]


def hex_id(rng: np.random.Generator, digits: int = 10) -> str:
    """Return an id of `digits` hex digits."""
    return rng.bytes(digits // 2).hex()


def moment(rng: np.random.Generator, start: datetime, days: float) -> datetime:
    """Return a time within `days` after `start`, to the millisecond."""
    return start + timedelta(milliseconds=int(rng.random() * days * 86_400_000))


def iso(at: datetime) -> str:
    """Return `at` as the reference harness writes it: no fraction when there are no microseconds."""
    return at.isoformat()


def draw_scores(
    rng: np.random.Generator, means: Mapping[str, float], sds: Mapping[str, float], *, collapse: float = 0.0
) -> dict[str, float]:
    """Return one run's scores: correlated noise around `means`, cut to 0 and 1, three digits.

    With probability `collapse` the run breaks down: every metric is drawn around `COLLAPSED`.
    """
    shared, own = rng.standard_normal(), rng.standard_normal(len(METRICS))
    broken = rng.random() < collapse
    noise = np.sqrt(METRIC_CORRELATION) * shared + np.sqrt(1 - METRIC_CORRELATION) * own
    centre = np.array([COLLAPSED if broken else means[metric] for metric in METRICS])
    values = np.clip(centre + noise * np.array([sds[metric] for metric in METRICS]), 0.0, 1.0)
    return {metric: round(float(value), 3) for metric, value in zip(METRICS, values, strict=True)}


def draw_slots(rng: np.random.Generator, words: Mapping[str, Any]) -> dict[str, str]:
    """Return what fills the gaps of one request: a name, an order, an amount."""
    return {
        "name": pick(rng, words["names"]),
        "item": pick(rng, words["items"]),
        "plan": pick(rng, words["plans"]),
        "currency": pick(rng, words["currencies"]),
        "order": f"{int(rng.integers(20_000, 79_999))}",
        "amount": f"{rng.integers(900, 48_000) / 100:.2f}",
    }
