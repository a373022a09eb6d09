"""``frame.hk``: the verbs that take a frame first, as one-line delegates; no state, no logic.

Each method imports its function when it is called: registering the accessor must not load scipy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

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
    """
    values = [None if not isinstance(text, str) else json.loads(text) for text in column]
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

    def evidence_ledger(self, candidate: pd.DataFrame, *, metrics: Iterable[Metric] | None = None) -> pd.DataFrame:
        """See `harnesskit.evidence_ledger`."""
        from harnesskit.measures.ledger import evidence_ledger

        return evidence_ledger(self._frame, candidate, metrics=metrics)

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
