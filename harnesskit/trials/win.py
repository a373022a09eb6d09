"""One protected win of an adaptive run, and what goes in and out of it: attempts, steps, findings."""

from __future__ import annotations

from typing import NamedTuple

from harnesskit.stats.win_evidence import Look
from harnesskit.trials.frozen import Frozen, Members, complete, family_of

CANDIDATE, CONTROL = "candidate", "control"


class Given(NamedTuple):
    """One attempt as the evidence needs it: values on the common scale, None where unscored."""

    case_id: str
    arm: str
    values: tuple[float | None, ...] | None
    """None for an attempt without any usable score."""


class Step(NamedTuple):
    """A replay to make."""

    case_id: str
    arm: str


class Found(NamedTuple):
    """A direction in which a win stands out, at the look at which it did."""

    metrics: Members
    z: float
    bound: float
    n: int
    m: int


class Win:
    """One protected win."""

    def __init__(self, frozen: Frozen, place: int) -> None:
        runs = frozen.bank[place]
        self.family = family_of(runs, frozen.scales)
        self.members = self.family
        self.bank = complete(runs, self.family) if self.family else []
        self.m0 = len(self.bank)
        self.n, self.m, self.failed = 0, self.m0, 0
        self.attempts = 0
        self.status = "open"  # open, regressed, improved, closed, left
        self.found: Found | None = None
        self.suspect: Found | None = None
        self.traded: Found | None = None
        self.look: tuple[Look, int] | None = None
        self.fails: dict[int, list[int]] = {
            k: [sum(frozen.scales[k].failed(v) for v in known), len(known), 0, 0]
            for k in frozen.priors
            if (known := [v for r in runs if (v := r.values[k]) is not None])
        }  # control fails, control runs, candidate fails, candidate runs
        self.log_e = 0.0
        self.rank = 1.0

    def next_arm(self, top_up: bool, n: int | None = None, m: int | None = None) -> str:
        """Return the arm of the next run on the path: candidate until there are as many as controls, then in turn."""
        after, before = self.n if n is None else n, self.m if m is None else m
        return CONTROL if top_up and self.family and after >= max(before, 1) else CANDIDATE
