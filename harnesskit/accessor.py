"""``frame.hk``: the verbs that take a frame first, as one-line delegates; no state, no logic.

Each method imports its function when it is called: registering the accessor must not load scipy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from harnesskit.calibration_accessor import CalibrationVerbs
from harnesskit.grading_accessor import GradingVerbs
from harnesskit.health_accessor import CorpusVerbs
from harnesskit.model.errors import FrameError
from harnesskit.model.metrics import Metric
from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.records import RuleRecord
from harnesskit.promotion_accessor import PromotionVerbs
from harnesskit.trust_accessor import TrustVerbs


def from_json(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of JSON text decoded to Python values, one per row; missing stays None.

    Examples
    --------
    >>> import pandas as pd
    >>> from_json(pd.Series(['{"n": 9007199254740993}', None])).tolist()
    [{'n': 9007199254740993}, None]

    Raises
    ------
    FrameError
        A text is not JSON; the message says in which row.
    """
    values = []
    for row, text in column.items():
        try:
            values.append(None if not isinstance(text, str) else json.loads(text))
        except (ValueError, RecursionError) as error:
            what = f"in row {row!r}{'' if column.name is None else f' of column {column.name!r}'}"
            raise FrameError(
                f"from_json() needs JSON text in every row; found {text[:60]!r} {what} ({error}). "
                "Leave such rows out, or make them missing."
            ) from error
    return pd.Series(values, index=column.index, name=column.name, dtype=object)


@pd.api.extensions.register_dataframe_accessor("hk")
class HkAccessor(PromotionVerbs, GradingVerbs, TrustVerbs, CalibrationVerbs, CorpusVerbs):
    """The verbs of harnesskit on a frame; each is the public function of the same name."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def case_deltas(
        self,
        candidate: pd.DataFrame,
        *,
        policy: str | RegressionPolicy = "default",
        metrics: Iterable[Metric] | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.case_deltas`."""
        from harnesskit.measures.deltas import case_deltas

        return case_deltas(self._frame, candidate, policy=policy, metrics=metrics)

    def compare_runs(self) -> pd.DataFrame:
        """See `harnesskit.compare_runs`."""
        from harnesskit.measures.comparison import compare_runs

        return compare_runs(self._frame)

    def case_statuses(self) -> pd.DataFrame:
        """See `harnesskit.case_statuses`."""
        from harnesskit.measures.deltas import case_statuses

        return case_statuses(self._frame)

    def evidence_ledger(
        self,
        candidate: pd.DataFrame,
        *,
        policy: str | RegressionPolicy = "default",
        metrics: Iterable[Metric] | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.evidence_ledger`."""
        from harnesskit.measures.ledger import evidence_ledger

        return evidence_ledger(self._frame, candidate, policy=policy, metrics=metrics)

    def case_flips(
        self,
        candidate: pd.DataFrame,
        *,
        metrics: Iterable[Metric] | None = None,
        pass_at: float | Mapping[str, float] | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.case_flips`."""
        from harnesskit.measures.flips import case_flips

        return case_flips(self._frame, candidate, metrics=metrics, pass_at=pass_at)

    def grader_drift(
        self,
        candidate: pd.DataFrame,
        *,
        metrics: Iterable[Metric] | None = None,
        pass_at: float | Mapping[str, float] | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.grader_drift`."""
        from harnesskit.measures.grader_drift import grader_drift

        return grader_drift(self._frame, candidate, metrics=metrics, pass_at=pass_at)

    def missing_bounds(
        self,
        candidate: pd.DataFrame,
        *,
        policy: str | RegressionPolicy = "default",
        metrics: Iterable[Metric] | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.missing_bounds`."""
        from harnesskit.measures.missing import missing_bounds

        return missing_bounds(self._frame, candidate, policy=policy, metrics=metrics)

    def run_fingerprints(self, *, baseline: str | Mapping[str, Any] | None = None) -> pd.DataFrame:
        """See `harnesskit.run_fingerprints`."""
        from harnesskit.measures.fingerprints import run_fingerprints

        return run_fingerprints(self._frame, baseline=baseline)

    def noise_table(self, *, metrics: Iterable[Metric] | None = None, replay_cost: float = 10.0) -> pd.DataFrame:
        """See `harnesskit.noise_table`."""
        from harnesskit.measures.noise_table import noise_table

        return noise_table(self._frame, metrics=metrics, replay_cost=replay_cost)

    def compare_clusters(self) -> pd.DataFrame:
        """See `harnesskit.compare_clusters`."""
        from harnesskit.measures.clusters import compare_clusters

        return compare_clusters(self._frame)

    def aa_check(
        self,
        *,
        policy: str | RegressionPolicy | PromotionPolicy = "default",
        draws: int = 200,
        seed: int = 0,
        metrics: Iterable[Metric] | None = None,
        target_metric: str | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.aa_check`."""
        from harnesskit.trials.aa_check import aa_check

        return aa_check(
            self._frame, policy=policy, draws=draws, seed=seed, metrics=metrics, target_metric=target_metric
        )

    def forward_trial(
        self,
        *,
        metric: str,
        arm: str = "arm",
        cluster: str = "cluster",
        policy: str | PromotionPolicy = "open_ended",
        observational: bool = False,
        history: pd.DataFrame | None = None,
        stratum: str | None = None,
        sd: float | None = None,
        guardrails: Iterable[str] | None = None,
        metrics: Iterable[Metric] | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.forward_trial`."""
        from harnesskit.measures.forward_trial import forward_trial

        return forward_trial(
            self._frame, metric=metric, arm=arm, cluster=cluster, policy=policy, observational=observational,
            history=history, stratum=stratum, sd=sd, guardrails=guardrails, metrics=metrics,
        )  # fmt: skip

    def forward_path(
        self,
        *,
        metric: str,
        arm: str = "arm",
        cluster: str = "cluster",
        policy: str | PromotionPolicy = "open_ended",
        observational: bool = False,
        history: pd.DataFrame | None = None,
        stratum: str | None = None,
        sd: float | None = None,
        metrics: Iterable[Metric] | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.forward_path`."""
        from harnesskit.measures.forward_trial import forward_path

        return forward_path(
            self._frame, metric=metric, arm=arm, cluster=cluster, policy=policy, observational=observational,
            history=history, stratum=stratum, sd=sd, metrics=metrics,
        )  # fmt: skip

    def win_evidence(
        self,
        *,
        policy: str | PromotionPolicy = "budgeted",
        thresholds: Mapping[str, float] | None = None,
        metrics: Iterable[Metric] | None = None,
        fingerprint: str | None = None,
        shown_by: Iterable[str] = (),
        wins: pd.DataFrame | None = None,
        noise: pd.DataFrame | None = None,
        cases: pd.DataFrame | None = None,
        protected: bool = False,
        as_of: datetime | None = None,
        stale_days: int = 90,
    ) -> pd.DataFrame:
        """See `harnesskit.win_evidence`."""
        from harnesskit.measures.win_evidence import win_evidence

        return win_evidence(
            self._frame, policy=policy, thresholds=thresholds, metrics=metrics, fingerprint=fingerprint,
            shown_by=shown_by, wins=wins, noise=noise, cases=cases, protected=protected, as_of=as_of,
            stale_days=stale_days,
        )  # fmt: skip

    def check_evidence(
        self,
        labels: pd.DataFrame | None = None,
        *,
        policy: str | PromotionPolicy = "budgeted",
        metric: str | None = None,
        bar: float | None = None,
        higher_is_better: bool = True,
        cost_false_stop: float | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.check_evidence`."""
        from harnesskit.measures.check_evidence import check_evidence

        return check_evidence(
            self._frame, labels, policy=policy, metric=metric, bar=bar, higher_is_better=higher_is_better,
            cost_false_stop=cost_false_stop,
        )  # fmt: skip

    def replay(
        self,
        replay: Callable[..., Any] | None,
        *,
        trials: int = 1,
        role: str = "replay",
        arm: str | None = None,
        rule: str | None = None,
        rules: Iterable[RuleRecord] | None = None,
        scorer: Callable[[str], Any] | None = None,
        verifier: Callable[..., Any] | None = None,
        concurrency: int = 1,
        timeout_s: float = 300.0,
        env_wait_s: float = 0.0,
        scoring_timeout_s: float = 300.0,
        retries: int = 0,
        resume: str | None = None,
        run: str | None = None,
        root: str | Path | None = None,
        seed: int = 0,
        progress: bool = True,
        fingerprint: Mapping[str, Any] | str | None = None,
        label: str | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.replay`."""
        from harnesskit.replays.replay import replay as run_replays

        return run_replays(
            self._frame, replay, trials=trials, role=role, arm=arm, rule=rule, rules=rules, scorer=scorer,
            verifier=verifier, concurrency=concurrency, timeout_s=timeout_s, env_wait_s=env_wait_s,
            scoring_timeout_s=scoring_timeout_s, retries=retries, resume=resume, run=run, root=root, seed=seed,
            progress=progress, fingerprint=fingerprint, label=label,
        )  # fmt: skip
