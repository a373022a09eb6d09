"""The cells of the operating table: worlds, and what is promised in each at 2 and 3 replays per win."""

from __future__ import annotations

from typing import NamedTuple

from tests.operating.worlds import World


class Target(NamedTuple):
    """What is promised at one budget."""

    fwer: float = 0.05
    power: float | None = None
    false_suspects: float | None = None
    suspect_power: float | None = None
    mean_fell_most: float | None = None
    mean_fell_least: float | None = None


class Cell(NamedTuple):
    """A world, its promises at 2 and at 3 replays per win, and how many corpora are drawn in the whole table."""

    name: str
    world: World
    at2: Target = Target()
    at3: Target = Target()
    corpora: int = 300
    judged: int = 0
    """Corpora that the public functions judge too: verdicts and intervals."""
    policy: str | None = None
    """Policy of this cell, whatever that of the table is."""


def _target(power: float | None) -> Target:
    return Target(power=power)


def _rows(name: str, world: dict, at10=(None, None), at20=(None, None)) -> list[Cell]:
    """A world without a change, with a drop of .10 and with one of .20 in three wins."""
    return [
        Cell(f"{name} null", World(**world), corpora=600, judged=40),
        Cell(f"{name} all .10", World(drop=0.1, **world), *map(_target, at10)),
        Cell(f"{name} all .20", World(drop=0.2, **world), *map(_target, at20)),
    ]


SUSPECTS = Cell(
    "clip .10 m5 all .20",
    World(drop=0.2),
    Target(power=0.80, false_suspects=0.006, suspect_power=0.85),
    Target(power=0.92),
)

MAIN: list[Cell] = [
    *_rows("clip .05 m5", {"sd": 0.05}, (0.75, None), (0.98, None)),
    *_rows("clip .10 m5", {}, (0.20, 0.33))[:2],
    SUSPECTS,
    *_rows("clip .15 m5", {"sd": 0.15}, at20=(0.48, 0.66)),
    *_rows("clip .10 m3", {"bank": 3}, at20=(0.75, 0.88)),
    *_rows("round .10 m5", {"noise": "round"}),
    *_rows("flaky .10 m5", {"noise": "flaky"}, at20=(0.48, 0.68)),
    Cell("clip .10 m5 one .10", World(drop=0.1, metrics=1)),
    Cell("clip .10 m5 one .20", World(drop=0.2, metrics=1), _target(0.46), _target(0.63)),
    Cell("clip .10 m5 two .20", World(drop=0.2, metrics=2), _target(0.66), _target(0.80)),
    Cell("clip .10 m5 6 wins all .20", World(drop=0.2, wins=6)),
]

STRESS: list[Cell] = [
    Cell("null rho 0", World(rho=0.0)),
    Cell("null rho .8", World(rho=0.8)),
    Cell("null metric sd .03/.08/.12/.20", World(metric_sd=(0.03, 0.08, 0.12, 0.20))),
    Cell("null t4 noise", World(noise="t4")),
    Cell("null exp-skew noise", World(noise="skew")),
    Cell("null collapse 15 %", World(noise="flaky", collapse=0.15)),
    Cell("null collapse 2 %", World(noise="flaky", collapse=0.02)),
    Cell("null het chi2_3", World(het=3)),
    Cell("half the wins +.15 on 3 metrics", World(improved=0.5), Target(fwer=0.06), Target(fwer=0.06)),
    Cell("null flaky m3", World(noise="flaky", bank=3)),
    Cell("null clip .15 m3", World(sd=0.15, bank=3)),
    Cell("null round .05 m5", World(sd=0.05, noise="round")),
    Cell("60 % of runs collapse", World(broken=0.6), corpora=150),
    Cell("rho 0 all .20", World(rho=0.0, drop=0.2), corpora=150),
    Cell("rho 0 one .20", World(rho=0.0, drop=0.2, metrics=1), corpora=150),
    Cell("rho .8 all .20", World(rho=0.8, drop=0.2), corpora=150),
    Cell("rho .8 one .20", World(rho=0.8, drop=0.2, metrics=1), corpora=150),
]

OTHERS: list[Cell] = [
    Cell(f"binary base {base:.2f} {name}", World(noise="binary", sd=base, drop=drop), Target(0.07, power), Target(0.07))
    for base, name, drop, power in (
        (0.03, "null", 0.0, None), (0.03, "never passes", 1.0, 0.88), (0.03, "fails 70 %", 0.7, 0.65),
        (0.10, "null", 0.0, None), (0.10, "never passes", 1.0, 0.88),
    )
] + [
    Cell("mean drop: size", World(), Target(mean_fell_most=0.015), corpora=300, judged=300),
    Cell("mean drop .03 everywhere", World(drop=0.03, wins=60), Target(1.0, mean_fell_least=0.48), Target(1.0),
         corpora=150, judged=150),
]  # fmt: skip

_MEASURED = Target(fwer=1.0)
"""Nothing is promised: the row says what the error is."""
_UNEQUAL = (1, 2, 3, 5, 8)

# Measured at 2 and 3 replays per win, 100 corpora from seed 5000 (the null rows of unequal banks: 300 from seed 9000):
# classic at equal banks .02 and .03 (flaky 0 and 0); unequal banks .057 and .063 (flaky .02 and .03), and .073 and .097
# under classic, which is more than the .05 asked for: use it with banks of one size, or the default.
MEASURED: list[Cell] = [
    Cell(name, World(**world), _MEASURED, _MEASURED, corpora=100, judged=20, policy=policy)
    for name, world, policy in (
        ("classic, clip .10 m5 null", {}, "classic"),
        ("classic, flaky .10 m5 null", {"noise": "flaky"}, "classic"),
        ("classic, clip .10 m5 all .20", {"drop": 0.2}, "classic"),
        ("banks of 1, 2, 3, 5, 8, clip .10 null", {"banks": _UNEQUAL}, None),
        ("banks of 1, 2, 3, 5, 8, flaky .10 null", {"banks": _UNEQUAL, "noise": "flaky"}, None),
        ("banks of 1, 2, 3, 5, 8, clip .10 all .20", {"banks": _UNEQUAL, "drop": 0.2}, None),
        ("classic, banks of 1, 2, 3, 5, 8, clip .10 null", {"banks": _UNEQUAL}, "classic"),
    )
]
OTHERS += MEASURED
