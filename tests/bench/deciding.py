"""What an adaptive run thinks between two replays, at 200 wins."""

from __future__ import annotations

import time

from harnesskit.model.policy import RegressionPolicy
from harnesskit.trials.adaptive_regression import given
from harnesskit.trials.win_states import WinStates
from tests.bench.places import Places
from tests.bench.timing import Row, shown
from tests.operating.simulate import frozen_of, run_corpus
from tests.operating.worlds import World, draw

WINS = 200
BOUND_MS = 5.0


def bench_deciding(places: Places) -> list[Row]:
    """The decisions of a thorough run: evidence on what came in, and what to replay next; bounds are made before."""
    world, policy = World(cases=WINS, drop=0.2), RegressionPolicy.thorough()
    _, frozen, records, _ = run_corpus(world, 1, policy, (3.0,))
    rounds: dict[int, list] = {}
    for record in records:
        rounds.setdefault(record.sample.round or 0, []).append(record)
    states, seconds = WinStates(frozen), []
    for number in sorted(rounds):
        attempts = given(rounds[number], frozen)
        begun = time.perf_counter()
        states.take(attempts)
        states.next_round()
        seconds.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    frozen_of(world, draw(world, 1), policy, 1)
    fit = time.perf_counter() - begun
    each = sorted(seconds[1:])[len(seconds) // 2]
    what = f"adaptive run, {WINS} wins x 4 metrics: one decision / {BOUND_MS:g} ms"
    note = f"first wave {shown(seconds[0])}, noise of the bank {shown(fit)}"
    return [Row(what, shown(each), "", note, each * 1e3 / BOUND_MS, None, 1.0)]
