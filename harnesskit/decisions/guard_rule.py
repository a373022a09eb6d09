"""The one rule by which rows of evidence about a guard become promote, retire or pending."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harnesskit.model.decision import PENDING_REASONS, Decision, evidence_hash
from harnesskit.model.errors import FrameError, PolicyError, listed
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.promotion_results import PROMOTION_EVIDENCE
from harnesskit.model.results import CHECKS

_STATES = ("met", "unmet", "unknown")
_OPEN = "insufficient_evidence"


class Settled(NamedTuple):
    """What the rows say: the verdict, the row that decided, and what is still to be done."""

    verdict: str
    reason: str
    detail: str
    deciding: dict[str, Any]
    runs_needed: int | None


def read_evidence(evidence: pd.DataFrame, policy: PromotionPolicy, main: Sequence[str], *, by: str) -> pd.DataFrame:
    """Return the evidence with every column of its contract, or say what is wrong with it.

    Raises
    ------
    FrameError
        A column or a check that the verdict needs is missing, a check is there twice, or a state is none.
    PolicyError
        The evidence was made under another policy.
    """
    PROMOTION_EVIDENCE.require(evidence, "check", "state", by=by)
    rows = evidence.reset_index(drop=True)
    rows = rows.reindex(columns=[*PROMOTION_EVIDENCE.columns, *rows.columns.difference([*PROMOTION_EVIDENCE.columns])])
    odd = sorted({repr(state) for state in rows["state"].unique().tolist() if state not in _STATES})
    if odd:
        raise FrameError(f"{by}: a state is one of {', '.join(_STATES)}; found {listed(odd)}.")
    twice = rows.loc[rows["check"].duplicated(), "check"].astype(str).tolist()
    if twice:
        raise FrameError(f"{by}: every check once; found twice: {listed(twice)}. Decide on one guard at a time.")
    missing = [name for name in main if name not in set(rows["check"])]
    if missing:
        raise FrameError(f"{by}: the evidence lacks {listed(missing)}; it has {listed(rows['check'].tolist())}.")
    made = sorted({str(p) for p in rows["policy"].dropna().unique()})
    if made and made != [policy.label]:
        raise PolicyError(
            f"the evidence was made under policy {', '.join(map(repr, made))}, the decision asks for "
            f"{policy.label!r}; use the same policy for both."
        )
    return rows


def settle(rows: pd.DataFrame, main: Sequence[str]) -> Settled:
    """Return the verdict of the rows.

    A row that is unmet retires the guard. It is promoted when its main checks are met and no row is unknown for a
    reason; a row without a reason informs, and decides nothing. Else it is pending for the first such reason.

    Examples
    --------
    >>> rows = pd.DataFrame({"check": ["benefit"], "state": ["unknown"], "reason": ["insufficient_evidence"]})
    >>> settle(rows, ["benefit"]).verdict
    'pending'
    """
    listing: list[dict[str, Any]] = [
        {str(k): None if pd.isna(v) else v for k, v in one.items()} for one in rows.to_dict("records")
    ]
    unmet = [one for one in listing if one["state"] == "unmet"]
    if unmet:
        return Settled("retire", str(unmet[0]["check"]), str(unmet[0].get("reason") or ""), unmet[0], None)
    by_name = {str(one["check"]): one for one in listing}
    open_rows = [one for one in listing if one["state"] == "unknown" and one.get("reason")]
    open_rows += [by_name[name] for name in main if by_name[name]["state"] != "met" and by_name[name] not in open_rows]
    if not open_rows:
        return Settled("promote", str(main[0]), "", by_name[main[0]], None)
    first = open_rows[0]
    word = str(first.get("reason") or _OPEN)
    needed = [int(one["runs_needed"]) for one in open_rows if one.get("runs_needed") is not None]
    reason = word if word in PENDING_REASONS else _OPEN
    return Settled("pending", reason, "" if word == reason else word, first, max(needed, default=None))


def decision(
    rows: pd.DataFrame,
    settled: Settled,
    reasons: Sequence[str],
    *,
    subject: str,
    guard_kind: str,
    policy: PromotionPolicy,
    detail: str | None = None,
) -> Decision:
    """Return the decision object of a settled verdict."""
    kept = rows[list(PROMOTION_EVIDENCE.columns)].astype(object)
    plain = {str(name): [_plain(value) for value in kept[name]] for name in kept.columns}
    return Decision(
        subject=subject,
        guard_kind=guard_kind,
        verdict=settled.verdict,
        reason=settled.reason,
        detail=settled.detail if detail is None else detail,
        reasons=[text for text in reasons if text],
        checks=rows[list(CHECKS.columns)].reset_index(drop=True),
        runs_needed=settled.runs_needed,
        policy=policy.plain(),
        evidence_hash=evidence_hash(plain, policy.plain()),
    )


def _plain(value: Any) -> Any:
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value


def notes(rows: pd.DataFrame, *names: str) -> list[str]:
    """Return the notes of these checks as sentences, in the order of the rows; a name that ends in * is a beginning."""
    found = []
    for one in rows.itertuples(index=False):
        wanted = any(
            str(one.check).startswith(name[:-1]) if name.endswith("*") else one.check == name for name in names
        )
        if wanted and isinstance(one.note, str) and one.note:
            found.append(f"{one.note[0].upper()}{one.note[1:]}.")
    return found
