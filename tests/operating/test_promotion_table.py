"""What a trial of a rule promises, held against worlds of known truth; the whole table is `make operating`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harnesskit.model.promotion_policy import PromotionPolicy
from tests.operating import promotion_cells
from tests.operating.promotion_cells import CELLS, FAR, PromotionCell
from tests.operating.promotion_fast import gated, play, ungated
from tests.operating.promotion_table import promotion_text, simulate_promotion
from tests.operating.promotion_trial import run_candidate
from tests.operating.promotion_world import PromotionWorld, draw_candidate

WORLDS = (
    PromotionWorld(),
    PromotionWorld(bank=0),
    PromotionWorld(effect=0.2),
    PromotionWorld(effect=0.2, bank=0, harmed=0.1),
    PromotionWorld(effect=0.1, noise="flaky"),
    PromotionWorld(effect=0.1, noise="round", bank=0, sd=0.15, assumed=0.10),
)
POLICIES = ("budgeted:20", "budgeted:40", "classic:20", "open_ended", "certified")
SHORT = ("0, sd .10, bank 5, B=20", "0, sd .10, fresh, B=10", "0, sd .10, bank 5, certified", "+0.20, bank 5, B=20")


def both_paths(world: PromotionWorld, name: str, seeds: range) -> None:
    """Hold the fast path against the real runner, without the gates and with those of the policy."""
    policy = PromotionPolicy.parse(name)
    wide = replace(world, most=FAR) if policy.mode == "open_ended" else world
    for seed in seeds:
        candidate = draw_candidate(wide, seed)
        fast = play(wide, candidate, ungated(policy), seed)
        real = run_candidate(wide, candidate, ungated(policy), seed)
        assert (fast[:2], fast[3:]) == (real[:2], real[3:]), (wide, name, seed)
        closed = gated(fast, wide.wins, policy)
        if closed != fast.verdict:
            assert run_candidate(wide, candidate, policy, seed).verdict == closed, (wide, name, seed)


@pytest.mark.parametrize("name", POLICIES)
def test_the_fast_path_ends_as_the_real_runner(name: str):
    for world in (WORLDS[0], WORLDS[3]):
        both_paths(world, name, range(70, 72))


def test_a_short_promotion_table_holds():
    cells = [cell for cell in CELLS if cell.name in SHORT]
    assert len(cells) == len(SHORT)
    rows = simulate_promotion(cells, seed=1, scale=0.1, jobs=1)
    assert not [row for row in rows if row.missed], promotion_text(rows)
    helps = rows[-1]
    assert helps.reference < 0.3 < helps.promote, "the reference retires nearly every good rule"


def test_every_promise_is_about_a_cell_of_its_own_name():
    names = [cell.name for cell in CELLS]
    assert len(set(names)) == len(names)


@pytest.mark.operating
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("world", WORLDS)
def test_the_fast_path_ends_as_the_real_runner_on_many_seeds(world: PromotionWorld, name: str):
    both_paths(world, name, range(7000, 7010))


@pytest.mark.operating
@pytest.mark.parametrize("group", ["NOTHING", "OPEN", "HELPS", "HARMS", "SPEED"])
def test_the_whole_promotion_table_holds(group: str, capsys: pytest.CaptureFixture[str]):
    cells: list[PromotionCell] = getattr(promotion_cells, group)
    rows = simulate_promotion(cells, seed=5000)
    with capsys.disabled():
        print("\n" + promotion_text(rows))
    assert not [row for row in rows if row.missed], promotion_text([row for row in rows if row.missed])
