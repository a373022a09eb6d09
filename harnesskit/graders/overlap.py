"""Graders of overlap: items of two sets, and words of two texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from harnesskit.graders.grader import Grader, build
from harnesskit.graders.reading import as_text
from harnesskit.graders.wordings import brief, normaliser
from harnesskit.model.errors import listed
from harnesskit.model.grade import Grade
from harnesskit.model.metrics import Metric

ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def set_precision(
    *,
    separator: str = ",",
    ignore_case: bool = False,
    metric: str | Metric = "set_precision",
    name: str = "set_precision",
) -> Grader:
    """Return a grader: which share of the items of `output` is in `expected`? Reads ``output, expected``.

    Items are those of a list, or the parts of a text between `separator`; repeats count once. Without any item in the
    output it does not apply.

    Examples
    --------
    >>> set_precision()("red, blue", ["red", "green"]).value
    0.5
    """

    def share(both: int, found: int, wanted: int) -> float | None:
        return both / found if found else None

    return _set_grader(share, "nothing was given", separator, ignore_case, metric, name)


def set_recall(
    *,
    separator: str = ",",
    ignore_case: bool = False,
    metric: str | Metric = "set_recall",
    name: str = "set_recall",
) -> Grader:
    """Return a grader: which share of the items of `expected` is in `output`? Reads ``output, expected``.

    Items as in `set_precision`. Where nothing is expected it does not apply.

    Examples
    --------
    >>> set_recall()(["red", "blue", "green"], ["red", "green"])
    1.0
    """

    def share(both: int, found: int, wanted: int) -> float | None:
        return both / wanted if wanted else None

    return _set_grader(share, "nothing is expected", separator, ignore_case, metric, name)


def set_f1(
    *, separator: str = ",", ignore_case: bool = False, metric: str | Metric = "set_f1", name: str = "set_f1"
) -> Grader:
    """Return a grader: the F1 of the items of `output` against those of `expected`, 0 to 1. Reads ``output, expected``.

    ``2 both / (found + expected)``; items as in `set_precision`. Two empty sets are equal: 1.

    Examples
    --------
    >>> round(set_f1()("red, blue", "red, green, yellow").value, 2)
    0.4
    """

    def share(both: int, found: int, wanted: int) -> float | None:
        return 2 * both / (found + wanted) if found + wanted else 1.0

    return _set_grader(share, "", separator, ignore_case, metric, name)


def token_f1(
    *,
    articles: bool = False,
    characters: bool = False,
    metric: str | Metric = "token_f1",
    name: str = "token_f1",
) -> Grader:
    """Return a grader: the F1 of the words of `output` against those of `expected`, 0 to 1. Reads ``output, expected``.

    Words as SQuAD counts them: lower case, without ASCII punctuation and English articles, between white space, each
    as often as it stands there. Two texts without words are equal: 1.

    Parameters
    ----------
    articles
        True to keep a, an and the.
    characters
        True to count characters instead of words, for scripts that put no space between them.

    References
    ----------
    Rajpurkar et al. (2016), SQuAD: 100,000+ Questions for Machine Comprehension of Text.

    Examples
    --------
    >>> token_f1()("The capital is Paris.", "Paris")
    0.5
    """
    normal = normaliser(ignore_case=True, ignore_punctuation=True)

    def words(text: str) -> list[str]:
        plain = normal(text)
        plain = plain if articles else ARTICLES.sub(" ", plain)
        return [one for one in plain if not one.isspace()] if characters else plain.split()

    def overlap(output: str, expected: str) -> float:
        found, wanted = words(output), words(expected)
        if not found or not wanted:
            return float(found == wanted)
        both = sum((Counter(found) & Counter(wanted)).values())
        return 2 * both / (len(found) + len(wanted))

    return build(overlap, name=name, metric=metric, settings={"articles": articles, "characters": characters})


def _set_grader(
    share: Callable[[int, int, int], float | None],
    empty: str,
    separator: str,
    ignore_case: bool,
    metric: str | Metric,
    name: str,
) -> Grader:
    normal = normaliser(ignore_case=ignore_case)

    def overlap(output: Any, expected: Any) -> float | Grade:
        """Compare the items of two cells as sets."""
        found, wanted = (_items(cell, separator, normal) for cell in (output, expected))
        value = share(len(found & wanted), len(found), len(wanted))
        if value is None:
            return Grade.not_applicable(empty)
        apart = [*(f"without {brief(one)}" for one in sorted(wanted - found))]
        apart += [f"also {brief(one)}" for one in sorted(found - wanted)]
        return Grade(value, listed(apart)) if value < 1 else value

    return build(overlap, name=name, metric=metric, settings={"separator": separator, "case": ignore_case})


def _items(cell: Any, separator: str, normal: Callable[[str], str]) -> set[str]:
    parts: Iterable[Any] = cell.split(separator) if isinstance(cell, str) else cell
    if not isinstance(parts, (list, tuple, set, frozenset)):
        raise TypeError(f"items must be a list or text; found a value of type {type(cell).__name__}")
    return {text for text in (normal(as_text(part)) for part in parts) if text}
