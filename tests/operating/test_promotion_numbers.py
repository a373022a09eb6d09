"""Whole decisions from the numbers alone: a short table; seeds are fixed, so these never flicker."""

from __future__ import annotations

from tests.operating.promotion_numbers import Row, Settings, decide, decide_open, summary
from tests.operating.promotion_world import PromotionWorld


def share(world: PromotionWorld, n: int, budget: int = 40) -> Row:
    return summary([decide(world, 9000 + seed, Settings(budget)) for seed in range(n)])


def test_a_useless_rule_is_retired_and_seldom_promoted():
    row = share(PromotionWorld(), 150)
    assert row.promote <= 0.06 + 0.04
    assert row.retire >= 0.84
    assert row.replays <= 12.5


def test_a_good_rule_is_promoted_and_a_harmful_one_is_not():
    good, bad = share(PromotionWorld(effect=0.2), 40), share(PromotionWorld(effect=0.2, harmed=0.3), 40)
    assert good.promote >= 0.9
    assert (bad.promote, bad.retire >= 0.9) == (0.0, True)
    assert bad.replays < good.replays


def test_fresh_controls_find_harm_too():
    row = share(PromotionWorld(effect=0.2, harmed=0.3, bank=0), 40)
    assert row.promote <= 0.15


def test_replaying_until_decided_decides():
    for certified in (False, True):
        useless = summary([decide_open(PromotionWorld(), 9000 + seed, certified=certified) for seed in range(80)])
        good = summary(
            [decide_open(PromotionWorld(effect=0.2), 9000 + seed, certified=certified) for seed in range(40)]
        )
        assert useless.promote <= 0.08
        assert (good.promote >= 0.95, good.replays < 9) == (True, True)
