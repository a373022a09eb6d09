"""The cells of the promotion table: worlds, policies, and what is promised of a rule of known worth in each.

The worlds have three failing cases, 20 protected wins and four metrics; promises are for policies without the gates on
how many wins were replayed, so each row says beside it what is promoted with them.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.operating.promotion_world import PromotionWorld

FIXED = 36
"""Replays of a fixed test with power .9 for +.10 where runs have an sd of .10."""
LONG = 56
"""Budget whose replays of failures are at most 42: one round of six more than the fixed test."""
FAR = 200


class Bound(NamedTuple):
    """What is promised: the name of a column, and what it is at most or at least."""

    what: str
    most: float | None = None
    least: float | None = None

    def __str__(self) -> str:
        return f"{self.what} <= {self.most:g}" if self.most is not None else f"{self.what} >= {self.least:g}"


class PromotionCell(NamedTuple):
    """A world, a policy and its promises."""

    name: str
    world: PromotionWorld
    policy: str
    bounds: tuple[Bound, ...] = ()
    candidates: int = 600
    judged: int = 6
    """How many of them the real runner makes again, for the public functions to judge."""


def most(what: str, bound: float) -> Bound:
    """Return a promise that something is at most so large."""
    return Bound(what, most=bound)


def least(what: str, bound: float) -> Bound:
    """Return a promise that something is at least so large."""
    return Bound(what, least=bound)


_KNOWN = {"sd .05": {"sd": 0.05}, "sd .10": {}, "sd .15": {"sd": 0.15}, "sd .10 rounded": {"noise": "round"}}
_WRONG = {
    "sd .15 believed .10": {"sd": 0.15, "assumed": 0.10}, "sd .10 believed .15": {"assumed": 0.15},
    "12 % of runs collapse": {"noise": "flaky"},
}  # fmt: skip
_BINARY = {"yes or no, believed .40": {"noise": "binary", "assumed": 0.40}}
_ALSO = {
    ("sd .10", 5, 40): (most("replays", 11),),
    ("sd .10", 0, 40): (most("replays", 21), least("retire", 0.82)),
    ("sd .10", 5, 20): (least("retire", 0.84),),
}


def _bank(bank: int) -> str:
    return f"bank {bank}" if bank else "fresh"


NOTHING = [
    PromotionCell(
        f"0, {name}, {_bank(bank)}, B={budget}", PromotionWorld(bank=bank, **world), f"budgeted:{budget}",
        (most("promote", bound), *_ALSO.get((name, bank, budget), ())),
    )
    for bound, worlds in ((0.06, _KNOWN), (0.08, _WRONG))
    for name, world in worlds.items()
    for bank in (5, 0)
    for budget in (5, 10, 20, 40, 80)
]  # fmt: skip

OPEN = [
    PromotionCell(
        f"0, {name}, {_bank(bank)}, {policy}", PromotionWorld(bank=bank, most=FAR, **world), policy,
        (most("promote", 0.05),), candidates=400, judged=2,
    )
    for policy in ("open_ended", "certified")
    for name, world in (_KNOWN | _WRONG | _BINARY).items()
    for bank in (5, 0)
]  # fmt: skip


def _helps(
    effect: float, bank: int, budget: int, *bounds: Bound, harmed: float = 0.0, n: int = 400, **world
) -> PromotionCell:
    broken = f", {harmed:.0%} of wins -{world.get('drop', 0.2):.2f}" if harmed else ""
    other = "".join(f", {key} {value}" for key, value in world.items() if key != "drop")
    return PromotionCell(
        f"{effect:+.2f}{broken}{other}, {_bank(bank)}, B={budget}",
        PromotionWorld(effect=effect, bank=bank, harmed=harmed, **world), f"budgeted:{budget}", bounds, candidates=n,
    )  # fmt: skip


HELPS = [
    _helps(0.20, 5, 10, least("promote", 0.90), most("retire", 0.03)),
    _helps(0.20, 5, 20, least("promote", 0.97), most("retire", 0.03)),
    _helps(0.20, 5, 40, least("promote", 0.97), most("retire", 0.03), most("replays", 35), most("veto", 0.04)),
    _helps(0.20, 5, 40, most("veto", 0.04), noise="flaky"),
    _helps(0.10, 5, 20, least("promote", 0.74), most("retire", 0.13)),
    _helps(0.10, 5, 40, least("promote", 0.83), most("retire", 0.13)),
    _helps(0.20, 0, 20, least("promote", 0.66), most("retire", 0.03)),
    _helps(0.20, 0, 40, least("promote", 0.94), most("retire", 0.03), most("veto", 0.04)),
    _helps(0.20, 0, 40, most("veto", 0.04), noise="flaky"),
    _helps(0.10, 0, 40, most("retire", 0.13)),
    _helps(-0.05, 5, 40, most("promote", 0.015), n=800),
    _helps(-0.05, 0, 40, most("promote", 0.015), n=800),
]

HARMS = [
    _helps(0.20, 5, 40, most("promote", 0.10), most("replays", 24), harmed=0.1),
    _helps(0.20, 5, 40, most("promote", 0.02), most("replays", 15), harmed=0.3),
    _helps(0.20, 5, 20, most("promote", 0.34), harmed=0.1),
    _helps(0.20, 5, 20, most("promote", 0.07), harmed=0.3),
    _helps(0.20, 0, 40, most("promote", 0.28), harmed=0.1),
    _helps(0.20, 0, 40, harmed=0.3),
    # a mean drop by the margin itself: what non-inferiority at 95 % lets through; captures cost some of it
    _helps(0.20, 5, 40, most("promote", 0.05), harmed=1.0, drop=0.10),
    _helps(0.20, 0, 40, most("promote", 0.09), harmed=1.0, drop=0.10),
    _helps(0.20, 0, 40, most("promote", 0.09), harmed=1.0, drop=0.10, selected=False),
]


def _speed(effect: float, bank: int, bound: float) -> PromotionCell:
    world = PromotionWorld(effect=effect, bank=bank, wins=0)
    name = f"{effect:+.2f}, {_bank(bank)}, failures only, over a fixed test"
    return PromotionCell(name, world, f"budgeted:{LONG}", (most("ratio", bound),))


SPEED = [
    _speed(effect, bank, bound)
    for bank, bounds in ((0, (0.75, 0.75, 0.46)), (5, (0.40, 0.45, 0.17)))
    for effect, bound in zip((0.0, 0.10, 0.20), bounds, strict=True)
]


def _classic(effect: float, bank: int, *bounds: Bound, harmed: float = 0.0, **world) -> PromotionCell:
    cell = _helps(effect, bank, 40, *bounds, harmed=harmed, **world)
    return cell._replace(name=f"classic: {cell.name}", policy="classic")


CLASSIC = [
    _classic(0.0, 5, most("promote", 0.06)),
    _classic(0.0, 0, most("promote", 0.06)),
    _classic(0.0, 5, most("promote", 0.08), noise="flaky"),
    _classic(0.20, 5, least("promote", 0.97), most("veto", 0.04)),
    _classic(0.20, 5, most("veto", 0.04), noise="flaky"),
    _classic(0.20, 0, least("promote", 0.94), most("veto", 0.04)),
    _classic(0.20, 5, most("promote", 0.12), harmed=0.1),
    _classic(0.20, 5, most("promote", 0.03), harmed=0.3),
    _classic(0.20, 0, harmed=0.1),  # without a bank harm to a few wins mostly passes: measured, not promised
    _classic(0.20, 0, harmed=0.3),
]

CELLS = [*NOTHING, *OPEN, *HELPS, *HARMS, *SPEED, *CLASSIC]
