"""From which score a trial passes: the threshold of a metric, given, declared, or plain from its values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from harnesskit.model.errors import PolicyError, listed, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from harnesskit.model.metrics import Metric, Metrics

PassAt: TypeAlias = float | Mapping[str, float] | None


class PassBar(NamedTuple):
    """The bar of a metric; NaN when there is none."""

    score: float
    higher_is_better: bool | None


def pass_bars(
    values: Mapping[str, NDArray[np.float64]], names: Iterable[object], metrics: Metrics, pass_at: PassAt, *, by: str
) -> dict[str, PassBar]:
    """Return the bar of every metric.

    Parameters
    ----------
    values
        The scores of each metric.
    names
        The metrics asked for.
    pass_at
        What the caller gave; it comes before a declared threshold, that before the better end of 0 and 1.
    by
        The public function, for errors.

    Examples
    --------
    >>> from harnesskit.model.metrics import Metrics
    >>> pass_bars({"p": np.array([0.0, 1.0])}, ["p", "q"], Metrics(), {"q": 0.7}, by="example()")
    {'p': PassBar(score=1.0, higher_is_better=True), 'q': PassBar(score=0.7, higher_is_better=True)}
    """
    wanted = sorted({str(name) for name in names})
    given = _given(pass_at, wanted, by)
    return {name: _bar(metrics[name], given.get(name), values.get(name)) for name in wanted}


def _given(pass_at: PassAt, names: list[str], by: str) -> dict[str, float]:
    found = dict(pass_at) if isinstance(pass_at, Mapping) else {} if pass_at is None else dict.fromkeys(names, pass_at)
    for name, score in found.items():
        if name not in names:
            raise PolicyError(
                f"{by}: pass_at names metric {name!r}{nearest(str(name), names)}, which has no scores; "
                f"there are: {listed(names) or 'none'}."
            )
        if isinstance(score, bool) or not isinstance(score, int | float | np.number) or not math.isfinite(score):
            raise PolicyError(f"{by}: pass_at needs a finite number for metric {name!r}, found {score!r}.")
    return {name: float(score) for name, score in found.items()}


def _bar(metric: Metric, given: float | None, values: NDArray[np.float64] | None) -> PassBar:
    if metric.higher_is_better is None:
        return PassBar(float("nan"), None)
    score = metric.threshold if given is None else given
    if score is None and values is not None and len(values) and np.isin(values, (0.0, 1.0)).all():
        score = 1.0 if metric.higher_is_better else 0.0
    return PassBar(float("nan") if score is None else float(score), metric.higher_is_better)
