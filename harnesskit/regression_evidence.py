"""What the verdict on a regression run was computed from, by name, so that anybody can compute it again."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, Protocol

import pandas as pd

from harnesskit.model.errors import WorkspaceError, listed
from harnesskit.model.text import counted

KIND = "regression"


class JudgedRun(Protocol):
    """What is read of a result of regression."""

    @property
    def run_id(self) -> str: ...  # noqa: D102
    @property
    def baseline_id(self) -> str: ...  # noqa: D102
    @property
    def adaptive(self) -> bool: ...  # noqa: D102
    @property
    def runs(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def before(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def after(self) -> pd.DataFrame: ...  # noqa: D102


def regression_evidence(result: JudgedRun) -> dict[str, Any]:
    """Return run, baseline, seed, fingerprint and the ids of every sample that the verdict rests on, for the report."""
    own = result.runs[result.runs["run_id"] == result.run_id].to_dict("records")
    parameters = _object(own[0].get("parameters")) if own else {}
    return {
        "kind": KIND,
        "run": result.run_id,
        "baseline": result.baseline_id,
        "adaptive": result.adaptive,
        "seed": _object(parameters.get("frozen")).get("seed"),
        "fingerprint": _object(own[0].get("fingerprint")) if own else {},
        "samples": {"baseline": sample_ids(result.before), "candidate": sample_ids(result.after)},
    }


def sample_ids(frame: pd.DataFrame) -> list[str]:
    """Return the ids of the samples in a frame of scores, sorted; none when it has no such column."""
    return sorted({str(one) for one in frame["sample_id"].dropna()}) if "sample_id" in frame else []


def only_samples(frame: pd.DataFrame, wanted: Collection[str] | None, where: str) -> pd.DataFrame:
    """Return the rows of the samples wanted; all of them when None.

    Raises
    ------
    WorkspaceError
        One of them is not there.
    """
    if wanted is None:
        return frame
    require_samples(wanted, sample_ids(frame), where)
    return frame[frame["sample_id"].isin(set(wanted))].reset_index(drop=True)


def require_samples(wanted: Collection[str], have: Collection[str], where: str) -> None:
    """Raise WorkspaceError when a sample that a report names is not there, or no longer counts."""
    gone = sorted(set(wanted) - set(have))
    if gone:
        raise WorkspaceError(
            f"the report rests on {counted(len(set(wanted)), 'sample')} of {where}, and {len(gone)} of them cannot be "
            f"found there any more: {listed(gone)}. Nothing can be computed again without them."
        )


def _object(value: Any) -> dict[str, Any]:
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
