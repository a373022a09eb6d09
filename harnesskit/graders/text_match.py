"""Graders that compare or search text: exact, contains, regex, one of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import regex as patterns

from harnesskit.graders.grader import Grader, build
from harnesskit.graders.wordings import brief, normaliser
from harnesskit.model.errors import GraderError, listed
from harnesskit.model.grade import Grade
from harnesskit.model.metrics import Metric


def exact(
    *,
    ignore_case: bool = False,
    ignore_space: bool = True,
    ignore_punctuation: bool = False,
    metric: str | Metric = "exact",
    name: str = "exact",
) -> Grader:
    """Return a grader: is `output` the text of `expected`? 1 or 0. Reads ``output, expected``.

    Parameters
    ----------
    ignore_case, ignore_space, ignore_punctuation
        Differences that do not count; two Unicode spellings of one character never differ.
    metric, name
        What is scored, and who scores.

    Examples
    --------
    >>> exact()("Paris ", "Paris")
    True
    """
    normal = normaliser(ignore_case=ignore_case, ignore_space=ignore_space, ignore_punctuation=ignore_punctuation)

    def same(output: str, expected: str) -> bool | Grade:
        if output == expected or normal(output) == normal(expected):
            return True
        return Grade(False, f"expected {brief(expected)}, found {brief(output)}")

    settings = {"case": ignore_case, "space": ignore_space, "punctuation": ignore_punctuation}
    return build(same, name=name, metric=metric, settings=settings)


def contains(
    words: str | Iterable[str],
    *,
    mode: Literal["any", "all", "none"] = "any",
    ignore_case: bool = False,
    partial: bool = False,
    metric: str | Metric = "contains",
    name: str = "contains",
) -> Grader:
    """Return a grader: does `output` contain any, all or none of `words`? 1 or 0. Reads ``output``.

    Parameters
    ----------
    words
        Texts to look for, anywhere: also inside longer words.
    mode
        ``any``: at least one; ``all``: every one; ``none``: not a single one.
    partial
        With ``all``: the share of the words that is there, instead of 1 or 0.

    Raises
    ------
    GraderError
        No words, an empty one, or another mode.

    Examples
    --------
    >>> contains(["refund", "order"], mode="all", partial=True)("The refund is on its way.")
    Grade(value=0.5, reason="without 'order'", status=None, details=None)
    """
    wanted = [words] if isinstance(words, str) else list(words)
    if not wanted or not all(isinstance(word, str) and word for word in wanted):
        raise GraderError(f"contains() needs words, none of them empty; found {wanted!r}.")
    if mode not in ("any", "all", "none"):
        raise GraderError(f"contains() needs mode 'any', 'all' or 'none'; found {mode!r}.")
    normal = normaliser(ignore_case=ignore_case, ignore_space=False)
    keys = [(word, normal(word)) for word in wanted]

    def contained(output: str) -> bool | Grade:
        text = normal(output)
        there = [word for word, key in keys if key in text]
        if mode == "any":
            return bool(there) or Grade(False, f"none of {_shown(wanted)}")
        if mode == "none":
            return Grade(False, f"contains {_shown(there)}") if there else True
        if len(there) == len(keys):
            return True
        gone = _shown([word for word in wanted if word not in there])
        return Grade(len(there) / len(keys) if partial else False, f"without {gone}")

    settings = {"words": wanted, "mode": mode, "case": ignore_case, "partial": partial}
    return build(contained, name=name, metric=metric, settings=settings)


def regex(
    pattern: str,
    *,
    mode: Literal["search", "fullmatch"] = "search",
    ignore_case: bool = False,
    expect: bool = True,
    timeout_s: float = 0.5,
    metric: str | Metric = "regex",
    name: str = "regex",
) -> Grader:
    """Return a grader: does `pattern` match `output`? 1 or 0. Reads ``output``.

    Parameters
    ----------
    pattern
        In the syntax of the module ``regex``, which understands patterns of ``re``.
    mode
        ``search`` finds it anywhere, ``fullmatch`` wants the whole text.
    expect
        False: 1 when the pattern does not match.
    timeout_s
        A pattern that takes longer on a sample (one that backtracks without end) is an error of that sample.

    Raises
    ------
    GraderError
        The pattern is not valid.

    Examples
    --------
    >>> regex("order [0-9]{4,}")("Your order 10175 is on its way.")
    True
    """
    try:
        compiled = patterns.compile(pattern, patterns.IGNORECASE if ignore_case else 0)
    except (patterns.error, TypeError, RecursionError) as error:
        raise GraderError(f"regex() needs a valid pattern; found {pattern!r}: {error}.") from error
    if mode not in ("search", "fullmatch"):
        raise GraderError(f"regex() needs mode 'search' or 'fullmatch'; found {mode!r}.")
    look = compiled.search if mode == "search" else compiled.fullmatch

    def matches(output: str) -> bool | Grade:
        try:
            found = look(output, timeout=timeout_s)
        except TimeoutError:
            return Grade.error(f"timed_out: the pattern took more than {timeout_s:g} s on this text")
        if (found is not None) == expect:
            return True
        return Grade(False, "no match" if expect else f"matches {brief(found.group() if found else '')}")

    settings = {"pattern": pattern, "mode": mode, "case": ignore_case, "expect": expect, "timeout_s": timeout_s}
    return build(matches, name=name, metric=metric, settings=settings)


def one_of(
    choices: Iterable[str],
    *,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    metric: str | Metric = "one_of",
    name: str = "one_of",
) -> Grader:
    """Return a grader: is `output` one of `choices`, and nothing else? 1 or 0. Reads ``output``.

    Raises
    ------
    GraderError
        There are no choices.

    Examples
    --------
    >>> one_of(["approve", "deny"], ignore_case=True)("Deny")
    True
    """
    allowed = [choices] if isinstance(choices, str) else list(choices)
    if not allowed or not all(isinstance(choice, str) for choice in allowed):
        raise GraderError(f"one_of() needs texts to choose from; found {allowed!r}.")
    normal = normaliser(ignore_case=ignore_case, ignore_punctuation=ignore_punctuation)
    keys = {normal(choice) for choice in allowed}

    def chosen(output: str) -> bool | Grade:
        return normal(output) in keys or Grade(False, f"{brief(output)} is none of {_shown(allowed)}")

    settings = {"choices": allowed, "case": ignore_case, "punctuation": ignore_punctuation}
    return build(chosen, name=name, metric=metric, settings=settings)


def _shown(words: list[str]) -> str:
    return listed([brief(word) for word in words])
