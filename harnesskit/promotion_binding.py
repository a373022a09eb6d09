"""What the verdict on a guard was computed from, by name: for its signature, and so that it can be computed again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pandas as pd

from harnesskit.regression_evidence import sample_ids


class JudgedGuard(Protocol):
    """What is read of a result of promotion."""

    @property
    def guard_id(self) -> str: ...  # noqa: D102
    @property
    def run_ids(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def fingerprint(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def frozen(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def samples(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def candidate(self) -> pd.DataFrame: ...  # noqa: D102


def promotion_binding(result: JudgedGuard) -> dict[str, Any]:
    """Return runs, seed, guard, fingerprint and the ids of the samples, for the ``evidence`` of the report.

    ``kind`` says how the verdict came about: ``promotion`` (a trial of a rule), ``case``, ``forward``, ``check``, or
    ``runs`` (of another making).
    """
    kind = _kind(result)
    samples = result.samples if len(result.samples) else result.candidate
    return {
        "kind": kind,
        "guard": result.guard_id,
        "run": result.run_ids[0] if result.run_ids else None,
        "runs": list(result.run_ids),
        "guard_hash": guard_hash_of(result),
        "fingerprint": dict(result.fingerprint),
        "validator": "forward_trial" if kind == "forward" else "replay",
        "seed": result.frozen.get("seed"),
        "check": result.frozen.get("check"),
        "sessions": sessions_of(result.candidate) if kind == "forward" else None,
        "samples": {"trial": sample_ids(samples)},
    }


def sessions_of(rows: pd.DataFrame) -> list[str]:
    """Return the sessions that were assigned to an arm, scored or not."""
    return sorted({str(one) for one in rows["session_id"].dropna()}) if "session_id" in rows else []


def _kind(result: JudgedGuard) -> str:
    frozen = result.frozen
    if "check" in frozen:
        return "check"
    if frozen.get("mode") == "forward":
        return "forward"
    if "case" in frozen:
        return "case"
    return "promotion" if "rule" in frozen else "runs"


def guard_hash_of(result: Any) -> str | None:
    """Return the hash of the guard that a result judged: its own ``guard_hash``, else what its trial has frozen."""
    frozen = getattr(result, "frozen", None)
    kept = frozen if isinstance(frozen, Mapping) else {}
    rule = kept.get("rule")
    text = rule.get("sha256") if isinstance(rule, Mapping) else None
    found = getattr(result, "guard_hash", None) or text or kept.get("input_hash")
    return None if found is None else str(found)
