"""Metrics: direction, range, threshold and tolerance, declared once and used everywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING

from harnesskit.model.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SEED_TIERS: dict[str, int] = {
    "outcome_correct": 0,
    "task_completion": 1,
    "coherence": 1,
    "tool_correctness": 2,
    "argument_correctness": 2,
    "plan_adherence": 3,
    "plan_quality": 3,
    "step_efficiency": 3,
}
"""The metrics that the reference harness knows, and the tier of each."""


@dataclass(frozen=True)
class Metric:
    """One metric: what its values may be and which way is better.

    Parameters
    ----------
    name
        Exactly as it stands in the data; case and white space matter.
    low, high
        Range of possible values; None means unbounded on that side.
    higher_is_better
        Direction; None means not known: a change is shown, no verdict is given.
    threshold
        A value on the bad side of it is a breach.
    tolerance
        Largest change, in the metric's own unit, that still counts as no change. Needed for a verdict
        on an unbounded metric; default a tenth of the range.
    tier
        0 outcome, 1 every turn, 2 when tier 1 fired, 3 when tier 2 breached.
    declared
        False for a metric that only turned up in the data (0 to 1, higher is better, until a value says otherwise).

    Examples
    --------
    >>> latency = Metric("latency_s", low=0, high=None, higher_is_better=False, tolerance=0.5)
    >>> latency.worse(-1.0), latency.decidable
    (-1.0, True)
    >>> Metric("accuracy").worse(-0.1)
    0.1
    """

    name: str
    low: float | None = 0.0
    high: float | None = 1.0
    higher_is_better: bool | None = True
    threshold: float | None = None
    tolerance: float | None = None
    tier: int | None = None
    declared: bool = True

    def __post_init__(self) -> None:
        """Refuse a declaration that contradicts itself."""
        for label in ("low", "high", "threshold", "tolerance"):
            value = getattr(self, label)
            if value is not None and not (isinstance(value, Real) and math.isfinite(value)):
                hint = "; None means unbounded" if label in ("low", "high") else ""
                raise PolicyError(
                    f"metric {self.name!r}: {label} must be a finite number or None, found {value!r}{hint}"
                )
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise PolicyError(f"metric {self.name!r}: low ({self.low}) must be below high ({self.high})")
        if self.tolerance is not None and self.tolerance <= 0:
            raise PolicyError(f"metric {self.name!r}: tolerance must be above 0, found {self.tolerance}")

    @property
    def span(self) -> float | None:
        """Width of the range, None when unbounded."""
        return None if self.low is None or self.high is None else self.high - self.low

    @property
    def unit(self) -> float | None:
        """Amount of the metric's own unit that counts as 1.0 on the common 0-to-1 scale; None: no verdict possible.

        The range when bounded. For an unbounded metric ten times its tolerance, so that the tolerance is .10 there.
        """
        if self.span is not None:
            return self.span
        return None if self.tolerance is None else 10 * self.tolerance

    @property
    def decidable(self) -> bool:
        """Whether a change of this metric can be called good or bad."""
        return self.higher_is_better is not None and self.unit is not None

    def worse(self, change: float) -> float:
        """Return `change` signed so that positive means worse (the metric's own unit)."""
        return change if self.higher_is_better is False else -change

    def holds(self, value: float) -> bool:
        """Whether `value` lies in the range, with room for floating-point noise."""
        slack = 1e-9 * (self.span or 1.0)
        return (self.low is None or value >= self.low - slack) and (self.high is None or value <= self.high + slack)


SEED_METRICS: dict[str, Metric] = {
    name: Metric(name, tier=tier, threshold=0.9 if tier == 0 else 0.5) for name, tier in SEED_TIERS.items()
}
"""The same as declarations, with the thresholds that the reference uses when the application sets none."""


_WANTED = (
    "metrics must be Metric declarations, e.g. [Metric('latency_s', high=None, higher_is_better=False)]; "
    "found {found}. To keep rows of some metrics only, filter the frame."
)


@dataclass(frozen=True)
class Metrics:
    """The metrics of a workspace or a comparison, by name; an unknown name is 0 to 1, higher is better.

    The metrics of the reference harness are known without a declaration; a declaration of the same name replaces them.

    Examples
    --------
    >>> known = Metrics([Metric("cost", low=0, high=None, higher_is_better=False, tolerance=0.01)])
    >>> known["cost"].higher_is_better, known["anything"].declared
    (False, False)
    """

    items: Iterable[Metric] = ()
    by_name: dict[str, Metric] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Index the declarations and refuse a name declared twice with different content."""
        index: dict[str, Metric] = {}
        for metric in self.items:
            if not isinstance(metric, Metric):
                raise PolicyError(_WANTED.format(found=repr(metric)))
            if metric.name in index and index[metric.name] != metric:
                raise PolicyError(f"metric {metric.name!r} is declared twice, differently; keep one declaration")
            index[metric.name] = metric
        object.__setattr__(self, "items", tuple(index.values()))
        object.__setattr__(self, "by_name", index)

    @classmethod
    def of(cls, metrics: Iterable[Metric] | None) -> Metrics:
        """Return what a user handed in as the metrics of a comparison.

        Raises
        ------
        PolicyError
            It is a name, or something else that declares no metric.
        """
        if metrics is None or isinstance(metrics, Metrics):
            return metrics or cls()
        if isinstance(metrics, str) or not hasattr(metrics, "__iter__"):
            raise PolicyError(_WANTED.format(found=repr(metrics)))
        return cls(tuple(metrics))

    def __getitem__(self, name: str) -> Metric:
        """Return the declared metric, or one by the seed's rule (0 to 1, higher is better, undeclared)."""
        found = self.by_name.get(name) or SEED_METRICS.get(name)
        return found if found is not None else Metric(name, declared=False)

    def __iter__(self) -> Iterator[Metric]:
        """Iterate over the declared metrics."""
        return iter(self.by_name.values())

    def __contains__(self, name: object) -> bool:
        """Whether `name` is declared."""
        return name in self.by_name
