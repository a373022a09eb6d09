"""Numbers and names in sentences: the digits shown never contradict the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from harnesskit.model.text import shorten, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME_LIMIT = 60
REASON_LIMIT = 160


def shown(*values: float) -> list[str]:
    """Return numbers as text with at least two digits, and as many as it takes to tell different ones apart.

    Examples
    --------
    >>> shown(0.7966, 0.8), shown(0.91, 0.62)
    (['0.797', '0.800'], ['0.91', '0.62'])
    """
    different = len({round(v, 9) for v in values})
    texts: list[str] = []
    for digits in range(2, 10):
        texts = [f"{value:.{digits}f}" for value in values]
        if len(set(texts)) >= different:
            break
    return texts


def name(value: object) -> str:
    """Return a name from data as one visible line of bounded length.

    Examples
    --------
    >>> name("refund-1017")
    'refund-1017'
    """
    return shorten(visible(str(value)), NAME_LIMIT)


def counted(n: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> counted(1, "win"), counted(3, "win")
    ('1 win', '3 wins')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def and_more(sentences: Sequence[str], total: int, noun: str) -> list[str]:
    """Return sentences with a full stop, and one that says how many are left out.

    Examples
    --------
    >>> and_more(["a fell"], 3, "change")
    ['a fell.', 'And 2 more changes of this kind.']
    """
    left = total - len(sentences)
    return [f"{s}." for s in sentences] + ([f"And {counted(left, f'more {noun}')} of this kind."] if left > 0 else [])


def reasons_counted(reasons: pd.Series[Any], *, once: bool = False) -> str:
    """Return reasons with how often each occurs, the most frequent first; at most five.

    With `once` a single reason comes without its count, which the sentence has said already.

    Examples
    --------
    >>> reasons_counted(pd.Series(["timeout", "timeout", None]))
    'timeout (2), no reason given (1)'
    >>> reasons_counted(pd.Series(["timeout", "timeout"]), once=True)
    'timeout'
    """
    reasons = reasons.astype(object)
    if once and len(set(reasons.fillna(""))) == 1:
        return shorten(visible(str(reasons.fillna("no reason given").iloc[0])), REASON_LIMIT)
    counts = reasons.fillna("no reason given").astype(str).value_counts().reset_index()
    counts.columns = ["reason", "n"]
    counts = counts.sort_values(["n", "reason"], ascending=[False, True])
    texts = [f"{shorten(visible(reason), REASON_LIMIT)} ({n})" for reason, n in counts.head(5).itertuples(index=False)]
    more = len(counts) - 5
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")
