"""``frame.hk``: the verbs that take a frame first, as one-line delegates; no state, no logic.

Each method imports its function when it is called: registering the accessor must not load scipy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from harnesskit.model.errors import FrameError
from harnesskit.model.metrics import Metric
from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.records import RuleRecord


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
class HkAccessor:
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
        policy: str | RegressionPolicy = "default",
        draws: int = 200,
        seed: int = 0,
        metrics: Iterable[Metric] | None = None,
    ) -> pd.DataFrame:
        """See `harnesskit.aa_check`."""
        from harnesskit.trials.aa_check import aa_check

        return aa_check(self._frame, policy=policy, draws=draws, seed=seed, metrics=metrics)

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
