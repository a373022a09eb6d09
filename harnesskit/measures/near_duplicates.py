"""Cases that say the same again: the same input, or the same signature and nearly the same words."""

from __future__ import annotations

import json
import re
from typing import Any

import pandas as pd

from harnesskit.model.errors import FrameError, nearest
from harnesskit.model.frames import CASES

ALIKE = 0.8
"""Share of words in common from which two inputs are nearly the same."""
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")
COLUMNS = ("case_id", "kind", "why", "similarity")


def near_duplicates(cases: pd.DataFrame, case_id: str) -> pd.DataFrame:
    """Return the other cases that nearly repeat one, the most alike first: case_id, kind, why, similarity (0 to 1).

    The same input is the same JSON, whatever the order of its keys. Nearly the same: equal signatures, and at least
    .8 of the words in common (Jaccard), numbers counting as one word: "order 1017" and "order 1018" are one scenario.

    Parameters
    ----------
    cases
        Rows of the table cases: ``case_id, replay_input``, and ``signature`` or ``signature_key`` and ``kind`` when
        there.
    case_id
        The case to compare with all others.

    Examples
    --------
    >>> text = ['{"task": "refund order 17"}', '{"task": "refund order 18"}', '{"task": "greet"}']
    >>> cases = pd.DataFrame({"case_id": ["a", "b", "c"], "replay_input": text, "signature_key": "[]"})
    >>> near_duplicates(cases, "a")[["case_id", "similarity"]].to_numpy().tolist()
    [['b', 1.0]]
    """
    CASES.require(cases, "case_id", "replay_input", by="near_duplicates()")
    rows = cases.reset_index(drop=True)
    ids = rows["case_id"].astype(str).tolist()
    if case_id not in ids:
        raise FrameError(f"near_duplicates(): there is no case {case_id!r}{nearest(case_id, ids)}.")
    kinds = rows["kind"].tolist() if "kind" in rows else [None] * len(rows)
    labels = signatures(rows)
    inputs = [canonical_input(value) for value in rows["replay_input"]]
    at = ids.index(case_id)
    words = words_of(inputs[at])
    found = []
    for place, other in enumerate(inputs):
        if place == at or other is None or inputs[at] is None:
            continue
        if other == inputs[at]:
            found.append((ids[place], kinds[place], "same input", 1.0))
        elif labels[place] == labels[at]:
            share = _jaccard(words, words_of(other))
            if share >= ALIKE:
                found.append((ids[place], kinds[place], "same signature, similar text", share))
    found.sort(key=lambda one: (-one[3], one[0]))
    return pd.DataFrame(found, columns=list(COLUMNS))


def signatures(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the sorted labels of each case.

    Examples
    --------
    >>> signatures(pd.DataFrame({"signature": [["b", "a"], None]}))
    [('a', 'b'), ()]
    """
    if "signature" in rows:
        return [tuple(sorted(str(label) for label in _listed(value))) for value in rows["signature"]]
    if "signature_key" in rows:
        return [
            tuple(str(label) for label in json.loads(v)) if isinstance(v, str) else () for v in rows["signature_key"]
        ]
    return [()] * len(rows)


def _listed(value: Any) -> list[Any]:
    return list(value) if hasattr(value, "__iter__") and not isinstance(value, str) else []


def canonical_input(value: Any) -> str | None:
    """Return an input as JSON with sorted keys, None when there is none."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return str(value)
    elif value is None or (isinstance(value, float) and value != value):  # NaN is not equal to itself
        return None
    return None if value is None else json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def words_of(text: str | None) -> frozenset[str]:
    """Return the different words of a text, numbers counting as one word."""
    return frozenset(_WORD.findall(_DIGITS.sub("0", (text or "").casefold())))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0
