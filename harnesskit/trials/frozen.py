"""What an adaptive run fixes before its first replay: policy, cases, control bank, noise, directions, budget, seed.

The verdict follows from this and from the samples of the run alone; it is kept in run.json under
``parameters.frozen``, numbers included, so that nothing that is added later changes a verdict given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from harnesskit.model.errors import WorkspaceError
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.policy import RegressionPolicy
from harnesskit.stats.beta_evidence import failure_prior
from harnesskit.stats.case_noise import CaseNoise
from harnesskit.stats.classic_evidence import fit_classic
from harnesskit.stats.directions import Directions, fit_directions
from harnesskit.trials.common_scale import Scale, common_values, fit_scales

FORMAT = 1
Members = tuple[int, ...]


class BankRun(NamedTuple):
    """One control run: its sample, and its values on the common scale in the order of the frozen metrics."""

    sample_id: str
    values: tuple[float | None, ...]


class ControlRun(NamedTuple):
    """One run without the change: its sample, where it comes from, and its scores as they are."""

    sample_id: str
    scores: Mapping[str, float]
    source: str = "control"
    """``control``, or ``captured`` for the score that a case was kept for."""


@dataclass(frozen=True)
class Frozen:
    """What an adaptive run fixed before its first replay.

    Attributes
    ----------
    policy
        Rules and budget.
    wins, failures
        Case ids in the order of the run; the wins are those that are tested.
    untested
        Wins that cannot be replayed; they have a row all the same.
    metrics
        Declarations as they were.
    scales
        The metrics that a verdict is possible on.
    controls
        Runs without the change, of wins and failures, by case.
    families
        Sets of metrics (places in `scales`) and their directions with their noise.
    priors
        Yes-or-no metrics (places in `scales`) and the prior of a case's chance to fail.
    budget
        Replays of wins, control top-ups included.
    top_up
        Whether control runs can be added.
    seed
        Seed of the run.
    baseline
        Where the bank comes from.
    notes
        What a reader of the verdict has to know of it.
    """

    policy: RegressionPolicy
    wins: tuple[str, ...]
    failures: tuple[str, ...]
    untested: tuple[str, ...]
    metrics: Metrics
    scales: tuple[Scale, ...]
    controls: Mapping[str, tuple[ControlRun, ...]]
    families: dict[Members, Directions]
    priors: dict[int, tuple[float, float]]
    budget: int
    top_up: bool
    seed: int = 0
    baseline: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def once(self) -> tuple[str, ...]:
        """Cases to replay once, after the wins: shown, never deciding."""
        return (*self.untested, *self.failures)

    @cached_property
    def bank(self) -> tuple[tuple[BankRun, ...], ...]:
        """Control runs of each win on the common scale, in the order of `wins`."""
        return common_bank(self.wins, self.controls, self.scales)

    def directions(self, members: Members) -> Directions:
        """Return the directions of a set of metrics; of one not met before the run, from the same bank."""
        return self.families.get(members) or fit_family(self.policy, self.bank, members)

    def plain(self) -> dict[str, Any]:
        """Return everything as plain data, for run.json."""
        return {
            "format": FORMAT,
            "policy": self.policy.plain(),
            "wins": list(self.wins),
            "failures": list(self.failures),
            "untested": list(self.untested),
            "metrics": [asdict(one) for one in self.metrics],
            "scales": [one._asdict() | {"low": _finite(one.low), "high": _finite(one.high)} for one in self.scales],
            "controls": {
                case_id: [{"sample": run.sample_id, "source": run.source, "scores": dict(run.scores)} for run in runs]
                for case_id, runs in self.controls.items()
            },
            "families": [{"metrics": list(k), **_plain(d)} for k, d in self.families.items()],
            "priors": [{"metric": k, "a": a, "b": b} for k, (a, b) in self.priors.items()],
            "budget": self.budget,
            "top_up": self.top_up,
            "seed": self.seed,
            "baseline": dict(self.baseline),
            "notes": list(self.notes),
        }


def read_frozen(record: Any) -> Frozen:
    """Return what `Frozen.plain` wrote.

    Raises
    ------
    WorkspaceError
        It is of another format, or something is missing.
    """
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        found = record.get("format") if isinstance(record, dict) else type(record).__name__
        raise WorkspaceError(f"the frozen part of the run is of format {found!r}; this version reads {FORMAT}.")
    try:
        return Frozen(
            policy=RegressionPolicy.model_validate({"failed_runs": "unscored", **record["policy"]}),
            wins=tuple(record["wins"]),
            failures=tuple(record["failures"]),
            untested=tuple(record["untested"]),
            metrics=Metrics(tuple(Metric(**one) for one in record["metrics"])),
            scales=tuple(
                Scale(**{**s, "low": _or(s["low"], -np.inf), "high": _or(s["high"], np.inf)}) for s in record["scales"]
            ),
            controls={
                case_id: tuple(ControlRun(r["sample"], r["scores"], r["source"]) for r in runs)
                for case_id, runs in record["controls"].items()
            },
            families={tuple(f["metrics"]): _directions(f) for f in record["families"]},
            priors={p["metric"]: (p["a"], p["b"]) for p in record["priors"]},
            budget=record["budget"],
            top_up=record["top_up"],
            seed=record["seed"],
            baseline=record["baseline"],
            notes=tuple(record["notes"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise WorkspaceError(f"the frozen part of the run cannot be read: {error!r}.") from error


def freeze(
    policy: RegressionPolicy,
    wins: Sequence[str],
    controls: Mapping[str, Sequence[ControlRun]],
    metrics: Metrics,
    *,
    failures: Sequence[str] = (),
    untested: Sequence[str] = (),
    top_up: bool = True,
    spent: int = 0,
    **facts: Any,
) -> Frozen:
    """Return the frozen part of a run.

    Parameters
    ----------
    wins, failures
        Protected wins to test, in order, and cases to replay once at the end.
    untested
        Wins that cannot be replayed.
    controls
        Case to its runs without the change.
    metrics
        Declarations: range, direction, unit.
    top_up
        Whether control runs can be added.
    spent
        Replays that were made to look at the bank; they count.
    **facts
        ``seed``, ``baseline``, ``notes``.
    """
    every = (*wins, *untested, *failures)
    known = {case_id: tuple(controls.get(case_id, ())) for case_id in every}
    scales = fit_scales([run.scores for case_id in wins for run in known[case_id]], metrics)
    bank = common_bank(wins, known, scales)
    sets = sorted({members for runs in bank if (members := family_of(runs, scales))})
    return Frozen(
        policy=policy,
        wins=tuple(wins),
        failures=tuple(failures),
        untested=tuple(untested),
        metrics=metrics,
        scales=scales,
        controls=known,
        families={members: fit_family(policy, bank, members) for members in sets},
        priors=_priors(bank, scales),
        budget=max(int(policy.budget_per_win * len(wins) + 1e-9) - spent, len(wins)),
        top_up=top_up,
        **facts,
    )


def common_bank(
    wins: Sequence[str], controls: Mapping[str, Sequence[ControlRun]], scales: Sequence[Scale]
) -> tuple[tuple[BankRun, ...], ...]:
    """Return the control runs of each win on the common scale."""
    return tuple(
        tuple(BankRun(run.sample_id, common_values(run.scores, scales)) for run in controls[case_id])
        for case_id in wins
    )


def family_of(runs: Sequence[BankRun], scales: Sequence[Scale]) -> Members:
    """Return the metrics in which a win can be tested: scored in at least half of its control runs, not yes-or-no.

    Control runs that lack one of them are left out, so that every run counts for every direction.
    """
    found = [k for k, s in enumerate(scales)
             if not s.binary and runs and 2 * sum(r.values[k] is not None for r in runs) >= len(runs)]  # fmt: skip
    while found and not complete(runs, found):
        found.remove(min(found, key=lambda k: (sum(r.values[k] is not None for r in runs), -k)))
    return tuple(found)


def complete(runs: Sequence[BankRun], members: Sequence[int]) -> list[BankRun]:
    """Return the runs that have a value of every one of these metrics."""
    return [run for run in runs if all(run.values[k] is not None for k in members)]


def fit_family(policy: RegressionPolicy, bank: Sequence[Sequence[BankRun]], members: Members) -> Directions:
    """Return the directions of a set of metrics, their noise from all control runs that have these metrics."""
    rows = [(case, run) for case, runs in enumerate(bank) for run in complete(runs, members)]
    values = np.array([[run.values[k] for k in members] for _, run in rows], dtype=float).reshape(-1, len(members))
    case = np.array([case for case, _ in rows], dtype=np.int64)
    if policy.test == "classic":
        return fit_classic(values, case)
    return fit_directions(values, case, shares=policy.shares)


def _priors(bank: Sequence[Sequence[BankRun]], scales: Sequence[Scale]) -> dict[int, tuple[float, float]]:
    found = {}
    for k, scale in enumerate(scales):
        if scale.binary:
            known = [[scale.failed(v) for r in runs if (v := r.values[k]) is not None] for runs in bank]
            counts = [(sum(one), len(one)) for one in known if one]
            prior = failure_prior([f for f, _ in counts], [n for _, n in counts])
            found[k] = (float(prior[0]), float(prior[1]))
    return found


def _plain(directions: Directions) -> dict[str, Any]:
    plain = {name: np.asarray(v).tolist() for name, v in directions._asdict().items() if name != "case"}
    case = {name: np.asarray(v).tolist() for name, v in directions.case._asdict().items()}
    return plain | {"reach": [_finite(value) for value in directions.reach], "case": case}  # JSON has no infinity


def _directions(record: Mapping[str, Any]) -> Directions:
    named = {**record, "reach": [_or(value, np.inf) for value in record["reach"]]}
    values = {n: np.array(named[n], dtype=bool if n == "subsets" else float) for n in Directions._fields if n != "case"}
    case = CaseNoise(**{name: np.array(record["case"][name], dtype=float) for name in CaseNoise._fields})
    return Directions(**values, case=case)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _or(value: float | None, missing: float) -> float:
    return missing if value is None else float(value)
