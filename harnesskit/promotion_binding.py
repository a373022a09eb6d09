"""What the verdict on a guard was computed from, by name: for its signature, and so that it can be computed again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pandas as pd

from harnesskit.regression_evidence import sample_ids

KIND = "promotion"


class JudgedGuard(Protocol):
    """What is read of a result of promotion."""

    @property
    def run_ids(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def fingerprint(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def frozen(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def samples(self) -> pd.DataFrame: ...  # noqa: D102


def promotion_binding(result: JudgedGuard) -> dict[str, Any]:
    """Return runs, seed, guard, fingerprint and the ids of the trial's samples, for the ``evidence`` of its report."""
    return {
        "kind": KIND,
        "run": result.run_ids[0] if result.run_ids else None,
        "runs": list(result.run_ids),
        "guard_hash": guard_hash_of(result),
        "fingerprint": dict(result.fingerprint),
        "validator": "replay",
        "seed": result.frozen.get("seed"),
        "samples": {"trial": sample_ids(result.samples)},
    }


def guard_hash_of(result: Any) -> str | None:
    """Return the hash of the guard that a result judged: its own ``guard_hash``, else that of the frozen rule."""
    own = getattr(result, "guard_hash", None)
    frozen = getattr(result, "frozen", None)
    rule = frozen.get("rule") if isinstance(frozen, Mapping) else None
    found = own or (rule.get("sha256") if isinstance(rule, Mapping) else None)
    return None if found is None else str(found)
