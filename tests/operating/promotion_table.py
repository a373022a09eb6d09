"""The promotion table: trials of rules simulated in processes, summarised, and held against what is promised.

Most trials are played by `promotion_fast`; of each cell some are made again by the real runner and judged by the public
functions, and have to end alike. A cell misses a promise only when its 99 % Monte-Carlo interval does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy import stats

from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.stats.intervals import clopper_pearson
from tests.operating.promotion_cells import CELLS, FIXED, Bound, PromotionCell
from tests.operating.promotion_fast import Played, gated, play, ungated
from tests.operating.promotion_trial import reference_verdict, run_candidate
from tests.operating.promotion_world import draw_candidate

CHUNK = 20


class Trial(NamedTuple):
    """One candidate, by each path."""

    played: Played
    gated: str
    reference: str
    reference_alone: str
    """The same without any protected win."""
    same: bool | None
    """Whether the real runner and the public functions end alike, with the gates and without; None: not made."""


class PromotionRow(NamedTuple):
    """One cell of the table."""

    name: str
    candidates: int
    promote: float
    retire: float
    gated: float
    veto: float
    replays: float
    ratio: float
    judged: int
    same: int
    reference: float
    reference_alone: float
    missed: tuple[str, ...]


def simulate_promotion(
    cells: Sequence[PromotionCell] = tuple(CELLS), *, seed: int, scale: float = 1.0, jobs: int | None = None
) -> list[PromotionRow]:
    """Return a row per cell.

    Parameters
    ----------
    seed
        Candidates have the seeds `seed`, `seed` + 1, ... in every cell.
    scale
        Share of the candidates of each cell that is drawn.
    """
    work = [
        (cell, seed + start, min(CHUNK, n - start), max(0, min(judged - start, CHUNK)))
        for cell in cells
        for n, judged in ((max(round(cell.candidates * scale), 1), max(round(cell.judged * scale), 1)),)
        for start in range(0, n, CHUNK)
    ]
    if jobs == 1:
        parts = list(map(_chunk, work))
    else:
        with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
            parts = list(pool.map(_chunk, work))
    return [
        _row(cell, [one for (of, *_), part in zip(work, parts, strict=True) if of is cell for one in part])
        for cell in cells
    ]


def _chunk(work: tuple[PromotionCell, int, int, int]) -> list[Trial]:
    cell, seed, n, judged = work
    return [one_trial(cell, seed + place, judged=place < judged) for place in range(n)]


def one_trial(cell: PromotionCell, seed: int, *, judged: bool) -> Trial:
    """Return what becomes of the candidate of a seed."""
    policy, world = PromotionPolicy.parse(cell.policy), cell.world
    candidate = draw_candidate(world, seed)
    played = play(world, candidate, ungated(policy), seed)
    closed = gated(played, world.wins, policy)
    same = None
    if judged:
        made = run_candidate(world, candidate, ungated(policy), seed)
        same = made[:2] == played[:2] and made[3:] == played[3:]
        if played.verdict == "promote" and world.wins:  # else the gates cannot matter
            same = same and run_candidate(world, candidate, policy, seed).verdict == closed
    alone = reference_verdict(candidate, wins=False)
    return Trial(played, closed, reference_verdict(candidate) if world.wins else alone, alone, same)


def _row(cell: PromotionCell, trials: Sequence[Trial]) -> PromotionRow:
    said = [one.played.verdict for one in trials]
    replays = np.array([one.played.replays for one in trials], dtype=float)
    columns = {
        "promote": np.array([one == "promote" for one in said]),
        "retire": np.array([one == "retire" for one in said]),
        "veto": np.array([one.played.stage == "harm" for one in trials]),
        "replays": replays,
        "ratio": np.array([one.played.tested for one in trials]) / FIXED,
    }
    made = [one.same for one in trials if one.same is not None]
    missed = [str(bound) for bound in cell.bounds if _missed(columns[bound.what], bound)]
    missed += ["the runner ends otherwise"] if not all(made) else []

    def share(values: Iterable[str]) -> float:
        return float(np.mean([one == "promote" for one in values]))

    return PromotionRow(
        cell.name, len(trials), *(float(columns[name].mean()) for name in ("promote", "retire")),
        share(one.gated for one in trials), float(columns["veto"].mean()), float(replays.mean()),
        float(columns["ratio"].mean()), len(made), sum(made), share(one.reference for one in trials),
        share(one.reference_alone for one in trials), tuple(missed),
    )  # fmt: skip


def _missed(values: np.ndarray, bound: Bound) -> bool:
    low, high = _ends(values)
    return low > bound.most if bound.most is not None else bound.least is not None and high < bound.least


def _ends(values: np.ndarray) -> tuple[float, float]:
    """Return the 99 % interval of a share, or of a mean, over candidates."""
    n = len(values)
    if values.dtype == bool:
        low, high = clopper_pearson(int(values.sum()), n, confidence=0.99)
        return float(low), float(high)
    half = float(stats.t.ppf(0.995, n - 1) * values.std(ddof=1) / n**0.5) if n > 1 else np.inf
    return float(values.mean()) - half, float(values.mean()) + half


def promotion_text(rows: Sequence[PromotionRow], cells: Sequence[PromotionCell] = tuple(CELLS)) -> str:
    """Return the table in Markdown, with a line on how it was made."""
    promised = {cell.name: ", ".join(map(str, cell.bounds)) or "-" for cell in cells}
    head = "| true effect, world | candidates | promote | retire | vetoed | with gates | replays | / fixed "
    lines = [f"{head}| by the runner | reference | it without wins | promised | missed |", "|---" * 13 + "|"]
    lines += [
        f"| {row.name} | {row.candidates} | {row.promote:.3f} | {row.retire:.3f} | {row.veto:.3f} | {row.gated:.3f} | "
        f"{row.replays:.1f} | {row.ratio:.2f} | {row.same}/{row.judged} alike | {row.reference:.3f} | "
        f"{row.reference_alone:.3f} | {promised[row.name]} | {', '.join(row.missed) or '-'} |"
        for row in rows
    ]
    n, made, same = (sum(getattr(row, name) for row in rows) for name in ("candidates", "judged", "same"))
    lines.append(
        f"\n{n} trials played on arrays by the numbers of the runner; {made} of them made again by the real runner and "
        f"judged by the public functions, {same} of these with the same verdict, replays and wins replayed. promote: "
        "without the gates on how many wins were replayed (max_blind_spot, min_guard_wins), as the promises are; "
        "with gates: the default. / fixed: replays of failures over the 36 of a fixed test. reference: promoted by the "
        "reference's rule, one replay of three failures and two wins."
    )
    return "\n".join(lines)
