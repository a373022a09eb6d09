"""When two texts count as the same text: the rules that text graders share."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable

_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normaliser(
    *, ignore_case: bool = False, ignore_space: bool = True, ignore_punctuation: bool = False
) -> Callable[[str], str]:
    """Return a function that makes texts comparable.

    Always: Unicode NFC, so that two spellings of one character are equal. `ignore_case` folds case; `ignore_space`
    makes runs of white space one blank and strips the ends; `ignore_punctuation` drops ASCII punctuation.

    Examples
    --------
    >>> normaliser(ignore_case=True)("  New   York ")
    'new york'
    """

    def normal(text: str) -> str:
        if not text.isascii():
            text = unicodedata.normalize("NFC", text)
        if ignore_case:
            text = text.casefold()
        if ignore_punctuation:
            text = text.translate(_PUNCTUATION)
        return " ".join(text.split()) if ignore_space else text

    return normal


def brief(text: object, limit: int = 60) -> str:
    """Return a text in quotes for a reason, cut visibly.

    Examples
    --------
    >>> brief("a" * 70, limit=5)
    "'aaaaa'... (70 characters)"
    """
    said = text if isinstance(text, str) else str(text)
    return repr(said) if len(said) <= limit else f"{said[:limit]!r}... ({len(said)} characters)"
