"""What an adaptive run promises, held against simulated worlds; the whole table is `make operating`."""

from __future__ import annotations

import numpy as np
import pytest

from harnesskit.model.policy import RegressionPolicy
from tests.operating.cells import MAIN, OTHERS, STRESS, SUSPECTS, Cell
from tests.operating.simulate import judge_corpus, run_corpus
from tests.operating.table import simulate, text
from tests.operating.worlds import World

SHORT = [SUSPECTS, MAIN[3], *(cell for cell in MAIN if cell.name in ("clip .10 m5 one .20", "flaky .10 m5 all .20"))]


def test_a_short_table_holds():
    rows = simulate(SHORT, seed=1, scale=0.1, jobs=2)
    assert not [row for row in rows if row.missed], text(rows)
    ours = [row for row in rows if "reference" not in row.name]
    assert max(row.cost for row in ours) <= 3.0
    assert [row.fwer for row in rows if row.name == "clip .10 m5 null (reference)"] == [1.0]


def test_a_smaller_budget_is_the_beginning_of_a_larger_one():
    world = World(drop=0.2)
    both = run_corpus(world, 3, RegressionPolicy.default(), (2.0, 3.0))[0]
    alone = run_corpus(world, 3, RegressionPolicy.default(), (2.0,))[0]
    assert both[0] == alone[0]


def test_the_verdict_of_the_public_functions_is_that_of_the_runner():
    for seed in (1, 2):
        outcomes, frozen, records, corpus = run_corpus(World(drop=0.2), seed, RegressionPolicy.default(), (2.0,))
        verdict = judge_corpus(frozen, records, corpus)
        assert (verdict.verdict == "fail") == (outcomes[0].power > 0 or outcomes[0].false_alarm)
        assert verdict.covered > 0.9


@pytest.mark.operating
@pytest.mark.parametrize("cells", [MAIN, STRESS, OTHERS], ids=["main", "stress", "others"])
def test_the_whole_table_holds(cells: list[Cell], capsys: pytest.CaptureFixture[str]):
    rows = simulate(cells, seed=5000)
    with capsys.disabled():
        print("\n" + text(rows))
    assert not [row for row in rows if row.missed], text(row for row in rows if row.missed)
    judged = [row.covered for row in rows if not np.isnan(row.covered)]
    assert not judged or min(judged) >= 0.95
