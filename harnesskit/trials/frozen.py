"""What an adaptive run fixes before its first replay: policy, cases, control bank, noise, directions, budget, seed.

The verdict follows from this and from the samples of the run alone; it is kept in run.json under
``parameters.frozen``, numbers included, so that nothing that is added later changes a verdict given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from harnesskit.model.errors import WorkspaceError
from harnesskit.model.metrics import Metrics
from harnesskit.model.policy import RegressionPolicy
from harnesskit.stats.beta_evidence import failure_prior
from harnesskit.stats.classic_evidence import fit_classic
from harnesskit.stats.directions import Directions, fit_directions
from harnesskit.stats.noise import grid_step

FORMAT = 1
OUTCOME = "outcome_correct"
Members = tuple[int, ...]


class Scale(NamedTuple):
    """How a metric is brought to the common scale, higher better: sign * value / unit."""

    metric: str
    sign: float
    unit: float
    low: float
    high: float
    binary: bool

    def common(self, value: float) -> float | None:
        """Return the value on the common scale, None when it cannot be a value of the metric."""
        slack = 1e-9 * self.unit
        return self.sign * value / self.unit if self.low - slack <= value <= self.high + slack else None

    def failed(self, common: float) -> bool:
        """Whether a value on the common scale is a failure of a yes-or-no metric."""
        return common < (0.5 if self.sign > 0 else -0.5)


class BankRun(NamedTuple):
    """One control run: its sample, and its values on the common scale in the order of the frozen metrics."""

    sample_id: str
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class Frozen:
    """What an adaptive run fixed before its first replay.

    Attributes
    ----------
    policy
        Rules and budget.
    wins, failures
        Case ids in the order of the run; the wins are those that are tested.
    scales
        The metrics that a verdict is possible on.
    bank
        Control runs of each win, in the order of `wins`.
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
    scales: tuple[Scale, ...]
    bank: tuple[tuple[BankRun, ...], ...]
    families: dict[Members, Directions]
    priors: dict[int, tuple[float, float]]
    budget: int
    top_up: bool
    seed: int = 0
    baseline: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

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
            "scales": [one._asdict() | {"low": _finite(one.low), "high": _finite(one.high)} for one in self.scales],
            "bank": [[{"sample": r.sample_id, "values": list(r.values)} for r in runs] for runs in self.bank],
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
            policy=RegressionPolicy.model_validate(record["policy"]),
            wins=tuple(record["wins"]),
            failures=tuple(record["failures"]),
            scales=tuple(
                Scale(**{**s, "low": _or(s["low"], -np.inf), "high": _or(s["high"], np.inf)}) for s in record["scales"]
            ),
            bank=tuple(tuple(BankRun(r["sample"], tuple(r["values"])) for r in runs) for runs in record["bank"]),
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
    bank: Mapping[str, Sequence[tuple[str, Mapping[str, float]]]],
    metrics: Metrics,
    *,
    failures: Sequence[str] = (),
    top_up: bool = True,
    spent: int = 0,
    **facts: Any,
) -> Frozen:
    """Return the frozen part of a run.

    Parameters
    ----------
    bank
        Win to its control runs, each a sample id and ``{metric: value}``; the keys are the wins of the run, in order.
    metrics
        Declarations: range, direction, unit.
    failures
        Cases to replay once at the end.
    top_up
        Whether control runs can be added.
    spent
        Replays that were made to look at the bank; they count.
    **facts
        ``seed``, ``baseline``, ``notes``.
    """
    scales = _scales(bank, metrics)
    runs = tuple(
        tuple(
            BankRun(sample, tuple(None if s.metric not in v else s.common(v[s.metric]) for s in scales))
            for sample, v in of
        )
        for of in bank.values()
    )
    families = {members: fit_family(policy, runs, members) for members in sorted({family_of(r, scales) for r in runs})
                if members}  # fmt: skip
    budget = max(int(policy.budget_per_win * len(bank) + 1e-9) - spent, 0)
    return Frozen(
        policy, tuple(bank), tuple(failures), scales, runs, families, _priors(runs, scales), budget, top_up, **facts
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


def _scales(bank: Mapping[str, Sequence[tuple[str, Mapping[str, float]]]], metrics: Metrics) -> tuple[Scale, ...]:
    """Return the metrics of the bank that a verdict is possible on."""
    seen: dict[str, list[float]] = {}
    for runs in bank.values():
        for _, values in runs:
            for name, value in values.items():
                seen.setdefault(name, []).append(value)
    found = []
    for name in sorted(seen):
        metric = metrics[name]
        if not metric.decidable or not (metric.declared or all(metric.holds(v) for v in seen[name])):
            continue
        low = -np.inf if metric.low is None else metric.low
        high = np.inf if metric.high is None else metric.high
        sign, unit = (1.0 if metric.higher_is_better else -1.0), float(metric.unit or 1.0)
        binary = (low, high) == (0.0, 1.0) and (name == OUTCOME or grid_step(seen[name]) == 1.0)
        found.append(Scale(name, sign, unit, low, high, binary))
    return tuple(found)


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
    return {name: np.asarray(value).tolist() for name, value in directions._asdict().items()}


def _directions(record: Mapping[str, Any]) -> Directions:
    values = {name: np.array(record[name], dtype=bool if name == "subsets" else float) for name in Directions._fields}
    return Directions(**values)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _or(value: float | None, missing: float) -> float:
    return missing if value is None else float(value)
