"""What the replays of protected wins say: evidence of harm, the mean drop that is ruled out, and what was not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harnesskit.measures.evidence_rows import MET, UNKNOWN, UNMET, row
from harnesskit.measures.promotion_quality import imputed, shares_missing
from harnesskit.measures.promotion_runs import CONTROL
from harnesskit.measures.promotion_stage import GuardStage, guard_stage, harm_scale
from harnesskit.measures.promotion_trial import Replays
from harnesskit.stats.blind_spot import blind_spot, harmed_wins
from harnesskit.stats.harm_mixture import GuardLook, guard_look
from harnesskit.stats.harm_steps import GuardPath, guard_path, guard_verdict
from harnesskit.stats.open_interval import FARTHEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.measures.promotion_benefit import Benefit
    from harnesskit.measures.promotion_trial import Trial

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

THIN_EVIDENCE = 0.5
"""Evidence of harm left above which a promotion at the end of the budget is a thin guard."""
_DOUBT = 2.0
_WORST = 3


class Guard(NamedTuple):
    """The evidence of the wins at its last look."""

    stage: GuardStage
    replays: Replays
    path: GuardPath | None
    """Look by look, where the order of the replays is known."""
    look: GuardLook
    verdict: str
    """``harm``, ``clean`` or ``open``."""

    @property
    def replayed(self) -> int:
        """Distinct wins that were compared."""
        return int(np.isfinite(self.look.delta).sum())


def guard_of(trial: Trial, benefit: Benefit, scores: Floats | None = None) -> Guard | None:
    """Return the evidence of the wins; None without any, or without a metric that both sides of them have.

    Parameters
    ----------
    scores
        (runs, K) in place of the scores of the metrics watched.
    """
    if not trial.wins or not trial.guard_metrics:
        return None
    values = guard_scores(trial) if scores is None else scores
    bank, captures = _before(trial, values)
    stage = guard_stage(
        bank, captures, cells=_cells(trial, values), policy=trial.policy, spent=len(benefit.replays.row),
        wins=len(trial.wins), metrics=len(trial.guard_metrics),
    )  # fmt: skip
    replays = trial.replays(trial.wins, "win")
    if not trial.runs.ordered:
        ours = replays.candidate
        replays = Replays(replays.row[ours], replays.case[ours], ours[ours])
    given = (replays.case, replays.candidate, values[replays.row])
    rounds = trial.runs.table["round"].to_numpy(dtype=float)[replays.row]
    if trial.runs.ordered and len(np.unique(rounds)) == len(rounds):
        path = guard_path(stage.known, *given, budget=stage.budget, rules=stage.rules)
        return Guard(stage, replays, path, path.last, path.verdict)
    look = guard_look(stage.known, *given, rules=stage.rules)
    ended = not trial.runs.ordered or len(rounds) >= stage.budget
    return Guard(stage, replays, None, look, guard_verdict(look, stage.known, ended=ended, rules=stage.rules))


def guard_scores(trial: Trial) -> Floats:
    """Return (runs, K): the scores of the metrics watched."""
    return np.column_stack([trial.runs.score(metric) for metric in trial.guard_metrics])


def _before(trial: Trial, values: Floats) -> tuple[Floats | None, Floats | None]:
    """Return what was known of each win before its first replay: (W, R, K) control runs and (W, K) captured scores."""
    table, runs = trial.runs.table, trial.runs
    control = (table["arm"] == CONTROL).to_numpy(dtype=bool) & np.isfinite(values).any(axis=1)
    bank = trial.banked if runs.ordered else control & ~runs.flag("captured")
    case = table["case_id"].to_numpy(dtype=object)
    rows = [np.flatnonzero(control & bank & (case == win)) for win in trial.wins]
    most = max(len(of) for of in rows)
    found = np.full((len(trial.wins), most, values.shape[1]), np.nan)
    captures = np.full((len(trial.wins), values.shape[1]), np.nan)
    for place, (win, of) in enumerate(zip(trial.wins, rows, strict=True)):
        found[place, : len(of)] = values[of]
        kept = values[control & runs.flag("captured") & (case == win)]
        if len(kept):
            captures[place] = _means(kept)
    return found if most else None, captures if np.isfinite(captures).any() else None


def _means(rows: Floats) -> Floats:
    known = np.isfinite(rows)
    count = known.sum(axis=0)
    total = np.where(known, rows, 0.0).sum(axis=0)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan), dtype=float)


def _cells(trial: Trial, values: Floats) -> list[Floats]:
    """Return the runs of each failing case and arm in the metrics watched, the bank included."""
    table = trial.runs.table
    use = (table["case_id"].isin(trial.failures) & ~table["captured"].astype(bool)).to_numpy(dtype=bool)
    use = use & (np.isfinite(values).any(axis=1))
    cells = [values[use & at] for at in _each_cell(table)]
    return [cell for cell in cells if len(cell)]


def _each_cell(table: Any) -> list[Flags]:
    keys = sorted({(str(case), int(arm)) for case, arm in zip(table["case_id"], table["arm"], strict=True)})
    case, arm = table["case_id"].astype(str).to_numpy(dtype=object), table["arm"].to_numpy()
    return [(case == one) & (arm == side) for one, side in keys]


def guard_rows(trial: Trial, benefit: Benefit, guard: Guard | None) -> list[dict[str, Any]]:
    """Return the rows missing_data_wins, harm, non_inferiority, guard_coverage and blind_spot."""
    if not trial.wins:
        asked = trial.policy.min_guard_wins > 0
        note = "there is no protected win to replay, so nothing says what the guard breaks"
        return [
            row("guard_coverage", UNKNOWN if asked else MET, note, n=0, n_cases=0, estimate=0.0, bar=0.0,
                reason="guard_incomplete" if asked else None)
        ]  # fmt: skip
    rows = [] if guard is None else [_missing(trial, benefit, guard)]
    return [
        *rows,
        _harm(trial, guard, shown=benefit.looks.verdict == "efficacy"),
        _mean(trial, guard),
        *_seen(trial, guard),
    ]


def _counts(trial: Trial, guard: Guard | None) -> dict[str, Any]:
    watched = ", ".join(trial.guard_metrics) or None
    if guard is None:
        return {"metric": watched, "n": 0, "n_cases": 0, "n_control": 0, "n_candidate": 0, "looks": 0}
    here = np.isfinite(guard.look.delta)
    return {
        "metric": watched, "n": int(here.sum()), "n_cases": int(here.sum()),
        "n_control": int(guard.look.n_control[here].sum()), "n_candidate": int(guard.look.n_candidate.sum()),
        "looks": 1 if guard.path is None else len(guard.path.replays),
    }  # fmt: skip


def _harm(trial: Trial, guard: Guard | None, *, shown: bool) -> dict[str, Any]:
    scale, bound = harm_scale(trial.policy)
    facts = {**_counts(trial, guard), "scale": scale, "bound": bound}
    if guard is None or not guard.replayed:
        note = "no win was replayed" + ("" if shown else ": that follows once the benefit is shown")
        needed = min(len(trial.wins), 40)
        begin = 1.0 if scale == "lambda" else 0.0
        return row("harm", UNKNOWN, note, reason="guard_incomplete", evidence=begin, runs_needed=needed, **facts)
    look = guard.look
    facts |= {"evidence": look.evidence, "estimate": look.estimate}
    worst = _worst(trial, look)
    if guard.verdict == "harm":
        return row("harm", UNMET, f"most of it in {worst}", reason="harm", **facts)
    if guard.verdict == "clean":
        thin = "thin guard: evidence of harm is left; " if look.evidence > THIN_EVIDENCE else ""
        return row("harm", MET, f"{thin}{worst}", **facts)
    unseen = min(len(trial.wins), 40) - guard.replayed
    needed = max(unseen, 0) + 2 * int((look.harm >= _DOUBT).sum()) or 1
    return row("harm", UNKNOWN, worst, reason="guard_incomplete", runs_needed=needed, **facts)


def _worst(trial: Trial, look: GuardLook) -> str:
    """Return the wins with the largest evidence of harm, at most three."""
    seen = np.flatnonzero(np.isfinite(look.delta))
    order = seen[np.lexsort((seen, -look.harm[seen]))][:_WORST]
    what = "z" if trial.policy.design == "classic" else "ratio"
    return ", ".join(f"{trial.wins[i]} ({look.delta[i]:+.2f}, {what} {_ratio(look.harm[i])})" for i in order)


def _ratio(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _mean(trial: Trial, guard: Guard | None) -> dict[str, Any]:
    policy = trial.policy
    facts = {**_counts(trial, guard), "bar": -policy.ni_margin}
    if guard is None or not guard.replayed or not np.isfinite(guard.look.highest_drop):
        return row("non_inferiority", UNKNOWN, reason="guard_incomplete", **facts)
    facts |= {
        "estimate": guard.look.estimate, "low": -guard.look.highest_drop,
        "interval_kind": f"one-sided, {100 * policy.ni_level:g} %",
    }  # fmt: skip
    if guard.look.highest_drop < policy.ni_margin:
        return row("non_inferiority", MET, **facts)
    return row("non_inferiority", UNKNOWN, reason="guard_incomplete", runs_needed=_to_rule_out(trial, guard), **facts)


def _to_rule_out(trial: Trial, guard: Guard) -> int | None:
    """Return about how many more replays would rule the margin out, the mean staying as seen."""
    drop, high = -guard.look.estimate, guard.look.highest_drop
    if drop >= trial.policy.ni_margin:
        return None
    factor = ((high - drop) / (trial.policy.ni_margin - drop)) ** 2
    more = max(int(guard.look.n_candidate.sum()), 1) * (factor - 1)
    return max(int(np.ceil(more)), 1) if more <= FARTHEST else None


def _seen(trial: Trial, guard: Guard | None) -> list[dict[str, Any]]:
    """Return how many distinct wins were replayed, and the chance that none of the harmed ones was among them."""
    policy, total = trial.policy, trial.n_wins
    got = 0 if guard is None else guard.replayed
    least = min(policy.min_guard_wins, len(trial.wins))
    enough = got >= least
    coverage = row(
        "guard_coverage", MET if enough else UNKNOWN, _covered(got, total), estimate=got,
        bar=least, n=got, n_cases=got, reason=None if enough else "guard_incomplete",
        runs_needed=None if enough else least - got,
    )  # fmt: skip
    harmed = harmed_wins(total, policy.harmed_share)
    chance = blind_spot(total, harmed, got)
    which = "1 of them is" if harmed == 1 else f"{harmed} of them are"
    note = f"if {which} harmed, the chance that none of the harmed ones was replayed is {chance:.2f}"
    allowed = chance <= policy.max_blind_spot + 1e-12
    if allowed and chance > policy.thin_blind_spot + 1e-12:
        note = f"thin guard: {note}"
    enough_at = (k for k in range(got, total + 1) if blind_spot(total, harmed, k) <= policy.max_blind_spot)
    more = next(enough_at, total) - got
    blind = row(
        "blind_spot", MET if allowed else UNKNOWN, note, estimate=chance, bar=policy.max_blind_spot, scale="chance",
        n=got, n_cases=total, reason=None if allowed else "thin_guard", runs_needed=None if allowed else more,
    )  # fmt: skip
    return [coverage, blind]


def _covered(got: int, total: int) -> str:
    return f"{got} of {total} protected win{'' if total == 1 else 's'} {'was' if got == 1 else 'were'} replayed"


def _missing(trial: Trial, benefit: Benefit, guard: Guard) -> dict[str, Any]:
    """Return whether a clean guard may rest on the scores there are: it must hold with the others at their worst."""
    replays = trial.replays(trial.wins, "win")
    lost = np.asarray(np.isnan(guard_scores(trial)[replays.row]).all(axis=1), dtype=bool)
    facts, excessive, note = shares_missing(trial, lost, replays)
    if not excessive:
        return row("missing_data_wins", MET, note, **facts)
    found = [imputed(trial, metric, against_candidate=True) for metric in trial.guard_metrics]
    worst = None
    if all(one is not None for one in found):
        worst = guard_of(trial, benefit, np.column_stack([one for one in found if one is not None]))
    held = worst is not None and worst.verdict != "harm" and worst.look.highest_drop < trial.policy.ni_margin
    if held:
        return row("missing_data_wins", MET, f"{note}; the guard holds with the missing scores at their worst", **facts)
    return row("missing_data_wins", UNKNOWN, note, reason="missing_data", **facts)
