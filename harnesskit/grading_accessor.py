"""``frame.hk``: the verbs of grading, as one-line delegates; see `harnesskit.accessor`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pandas as pd

from harnesskit.model.metrics import Metric

if TYPE_CHECKING:
    from harnesskit.graders.grader import Grader
    from harnesskit.graders.keys import Cache


class GradingVerbs:
    """Verbs on a frame of samples."""

    _frame: pd.DataFrame

    def grade(
        self,
        graders: Grader | Callable[..., Any] | Iterable[Grader | Callable[..., Any]],
        *,
        metrics: Iterable[Metric] | None = None,
        concurrency: int = 8,
        timeout_s: float | None = None,
        cache: Cache | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.grade`."""
        from harnesskit.graders.grading import grade

        return grade(self._frame, graders, metrics=metrics, concurrency=concurrency, timeout_s=timeout_s, cache=cache)
