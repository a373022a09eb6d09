"""Graders of likeness between two texts: edits, ROUGE, chrF, and embeddings through a function of yours."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from rapidfuzz.distance import Levenshtein

from harnesskit.graders.grader import Grader, build
from harnesskit.graders.signature import awaits
from harnesskit.graders.wordings import normaliser
from harnesskit.model.errors import GraderError
from harnesskit.model.grade import Grade
from harnesskit.model.metrics import Metric

Vector = Sequence[float]


def edit_similarity(
    *,
    ignore_case: bool = False,
    max_chars: int = 50_000,
    metric: str | Metric = "edit_similarity",
    name: str = "edit_similarity",
) -> Grader:
    """Return a grader: one minus the edits between `output` and `expected` per character of the longer one, 0 to 1.

    Reads ``output, expected``. Levenshtein distance (rapidfuzz) after the white space rule of `exact`.

    Parameters
    ----------
    max_chars
        A longer text is unscored: the time grows with the product of both lengths.

    Examples
    --------
    >>> round(edit_similarity()("kitten", "sitting"), 3)
    0.571
    """
    normal = normaliser(ignore_case=ignore_case)

    def alike(output: str, expected: str) -> float | Grade:
        return _too_long(max_chars, output, expected) or Levenshtein.normalized_similarity(
            normal(output), normal(expected)
        )

    return build(alike, name=name, metric=metric, settings={"case": ignore_case, "max_chars": max_chars})


def rouge(
    kind: Literal["rouge1", "rouge2", "rougeL", "rougeLsum"] = "rougeL",
    *,
    score: Literal["f1", "precision", "recall"] = "f1",
    stem: bool = False,
    max_chars: int = 20_000,
    metric: str | Metric | None = None,
    name: str | None = None,
) -> Grader:
    """Return a grader: ROUGE of `output` against `expected`, 0 to 1. Reads ``output, expected``.

    Needs the extra ``text`` (rouge-score, which knows words of ASCII letters and digits only: a text without any is
    unscored).

    Parameters
    ----------
    kind
        Words, pairs of words, or the longest common subsequence (of the whole, or per line).
    score
        Which of the three numbers.
    stem
        True for the Porter stemmer (English).
    max_chars
        A longer text is unscored.

    References
    ----------
    Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries.

    Examples
    --------
    >>> round(rouge("rouge1")("the cat sat", "the cat sat down"), 3)
    0.857
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise _extra("rouge()", "rouge-score") from error
    if kind not in ("rouge1", "rouge2", "rougeL", "rougeLsum") or score not in ("f1", "precision", "recall"):
        raise GraderError(
            "rouge() needs kind rouge1, rouge2, rougeL or rougeLsum and score f1, precision or recall; "
            f"found {kind!r} and {score!r}."
        )
    scorer = RougeScorer([kind], use_stemmer=stem)
    field = "fmeasure" if score == "f1" else score

    def recalled(output: str, expected: str) -> float | Grade:
        if long := _too_long(max_chars, output, expected):
            return long
        if not any(one.isascii() and one.isalnum() for one in expected):
            return Grade.unscored("expected has no word of ASCII letters or digits, and ROUGE knows no others")
        return float(getattr(scorer.score(expected, output)[kind], field))

    settings = {"kind": kind, "score": score, "stem": stem, "max_chars": max_chars}
    return build(recalled, name=name or kind, metric=metric or kind, settings=settings)


def chrf(
    *,
    word_order: int = 0,
    beta: int = 2,
    max_chars: int = 200_000,
    metric: str | Metric = "chrf",
    name: str = "chrf",
) -> Grader:
    """Return a grader: chrF of `output` against `expected`, 0 to 1 (a hundredth of what sacrebleu prints).

    Reads ``output, expected``. Needs the extra ``text`` (sacrebleu).

    Parameters
    ----------
    word_order
        0 for chrF, 2 for chrF++.
    beta
        How much more recall counts than precision.
    max_chars
        A longer text is unscored.

    References
    ----------
    Popović (2015), chrF: character n-gram F-score for automatic MT evaluation.

    Examples
    --------
    >>> round(chrf()("the cat sat", "the cat sat down"), 3)
    0.66
    """
    try:
        from sacrebleu.metrics.chrf import CHRF
    except ImportError as error:
        raise _extra("chrf()", "sacrebleu") from error
    scorer = CHRF(word_order=word_order, beta=beta)

    def alike(output: str, expected: str) -> float | Grade:
        return _too_long(max_chars, output, expected) or scorer.sentence_score(output, [expected]).score / 100

    settings = {"word_order": word_order, "beta": beta, "max_chars": max_chars}
    return build(alike, name=name, metric=metric, settings=settings)


def embedding_similarity(
    embed: Callable[[str], Vector | Awaitable[Vector]],
    *,
    model: str = "",
    metric: str | Metric = "embedding_similarity",
    name: str = "embedding_similarity",
) -> Grader:
    """Return a grader: the cosine of the embeddings of `output` and `expected`; below 0 counts as 0. Reads both.

    Parameters
    ----------
    embed
        Text to vector, sync or async; a sync one is called in threads.
    model
        Name of what is behind `embed`: part of the version.

    Examples
    --------
    >>> letters = lambda text: [text.count(one) for one in "abc"]
    >>> round(embedding_similarity(letters)("aab", "ab"), 3)
    0.949
    """

    def likeness(first: Vector, second: Vector) -> float | Grade:
        a, b = [float(one) for one in first], [float(one) for one in second]
        if len(a) != len(b):
            return Grade.error(f"embed gave vectors of {len(a)} and {len(b)} numbers")
        size = math.hypot(*a) * math.hypot(*b)
        if not size or not math.isfinite(size):
            return Grade.unscored("embed gave a vector of length zero, or one that is not finite")
        return min(1.0, max(0.0, math.fsum(x * y for x, y in zip(a, b, strict=True)) / size))

    async def later(output: str, expected: str) -> float | Grade:
        call: Any = embed
        return likeness(await call(output), await call(expected))

    def now(output: str, expected: str) -> float | Grade:
        call: Any = embed
        return likeness(call(output), call(expected))

    waits = awaits(embed)
    return build(
        later if waits else now, name=name, metric=metric, settings={"embed": embed, "model": model}, blocking=not waits
    )


def _too_long(most: int, *texts: str) -> Grade | None:
    longest = max(map(len, texts))
    return Grade.unscored(f"a text of {longest} characters; at most {most} are compared") if longest > most else None


def _extra(who: str, package: str) -> GraderError:
    return GraderError(f"{who} needs {package}; install it with: pip install 'harnesskit[text]'.")
