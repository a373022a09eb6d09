"""``frame.hk``: the verbs on pass rates and on the eval set, as one-line delegates; see `harnesskit.accessor`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import pandas as pd

from harnesskit.model.metrics import Metric

if TYPE_CHECKING:
    from harnesskit.measures.trial_passes import Unscored


class CorpusVerbs:
    """Verbs on a frame of scores, of samples, or of cases."""

    _frame: pd.DataFrame

    def pass_rates(
        self,
        *,
        k: int | Iterable[int] = (1, 2, 3, 4),
        by: str | Sequence[str] | None = None,
        pass_at: float | Mapping[str, float] | None = 1.0,
        metrics: Iterable[Metric] | None = None,
        unscored: Unscored = "left_out",
    ) -> pd.DataFrame:
        """See `harnesskit.pass_rates`."""
        from harnesskit.measures.pass_rates import pass_rates

        return pass_rates(self._frame, k=k, by=by, pass_at=pass_at, metrics=metrics, unscored=unscored)

    def pass_differences(
        self,
        *,
        arm: str = "arm",
        baseline: str | None = None,
        k: int | Iterable[int] = (1, 2, 3, 4),
        by: str | Sequence[str] | None = None,
        pass_at: float | Mapping[str, float] | None = 1.0,
        metrics: Iterable[Metric] | None = None,
        unscored: Unscored = "left_out",
    ) -> pd.DataFrame:
        """See `harnesskit.pass_differences`."""
        from harnesskit.measures.pass_differences import pass_differences

        return pass_differences(
            self._frame, arm=arm, baseline=baseline, k=k, by=by, pass_at=pass_at, metrics=metrics, unscored=unscored
        )

    def trial_costs(self, *, arm: str = "arm", baseline: str | None = None) -> pd.DataFrame:
        """See `harnesskit.trial_costs`."""
        from harnesskit.measures.trial_costs import trial_costs

        return trial_costs(self._frame, arm=arm, baseline=baseline)

    def corpus_health(
        self,
        samples: pd.DataFrame,
        *,
        metrics: Iterable[Metric] | None = None,
        pass_at: float | Mapping[str, float] | None = None,
        as_of: datetime | str | None = None,
        stale_days: int = 90,
    ) -> pd.DataFrame:
        """See `harnesskit.corpus_health`."""
        from harnesskit.measures.corpus_health import corpus_health

        return corpus_health(self._frame, samples, metrics=metrics, pass_at=pass_at, as_of=as_of, stale_days=stale_days)

    def case_timeline(
        self,
        *,
        metrics: Iterable[Metric] | None = None,
        pass_at: float | Mapping[str, float] | None = None,
        roles: Sequence[str] = ("captured", "control", "replay"),
    ) -> pd.DataFrame:
        """See `harnesskit.case_timeline`."""
        from harnesskit.measures.case_timeline import case_timeline

        return case_timeline(self._frame, metrics=metrics, pass_at=pass_at, roles=roles)

    def duplicate_cases(self) -> pd.DataFrame:
        """See `harnesskit.duplicate_cases`."""
        from harnesskit.measures.duplicate_cases import duplicate_cases

        return duplicate_cases(self._frame)

    def coverage(self, traffic: pd.DataFrame, *, slices: Sequence[str] = ()) -> pd.DataFrame:
        """See `harnesskit.coverage`."""
        from harnesskit.measures.coverage import coverage

        return coverage(self._frame, traffic, slices=slices)

    def session_signatures(
        self,
        *,
        metrics: Iterable[Metric] | None = None,
        pass_at: float | Mapping[str, float] | None = None,
        slices: Sequence[str] = (),
    ) -> pd.DataFrame:
        """See `harnesskit.session_signatures`."""
        from harnesskit.measures.coverage import session_signatures

        return session_signatures(self._frame, metrics=metrics, pass_at=pass_at, slices=slices)
