"""Text from data, made safe to look at: what cannot be seen is named, what is too long is cut visibly."""

from __future__ import annotations

import unicodedata

# Format characters that have a glyph of their own (Arabic and Syriac number and letter signs, Kaithi number signs).
_SEEN_FORMATS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_JOINERS = frozenset("\u200c\u200d")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def visible(text: str, keep: str = "") -> str:
    r"""Return `text` with every character that cannot be seen written as its code point.

    Control characters, direction marks, zero-width characters, private-use characters and lone surrogates become
    ``[U+0007]``. Joiners stay after a character that is not ASCII, where scripts and emoji need them.

    Parameters
    ----------
    text
        Any text, lone surrogates included; the result can always be encoded as UTF-8.
    keep
        Characters to leave alone, e.g. a line feed where the output can show one.

    Examples
    --------
    >>> visible("a\x1b[31mb"), visible("pay\u202etxt"), visible("caf\u00e9")
    ('a[U+001B][31mb', 'pay[U+202E]txt', 'café')
    >>> visible("a\nb", keep="\n") == "a\nb"
    True
    """
    if text.isprintable():
        return text
    shown: list[str] = []
    before = ""
    for char in text:
        hidden = char not in keep and _is_hidden(char, before)
        shown.append(f"[U+{ord(char):04X}]" if hidden else char)
        before = char
    return "".join(shown)


def _is_hidden(char: str, before: str) -> bool:
    if char in _JOINERS:
        return not before or before.isascii()
    if char in _SEEN_FORMATS:
        return False
    return unicodedata.category(char) in _HIDDEN or (ord(char) & 0xFFFE) == 0xFFFE


def shorten(text: str, limit: int) -> str:
    """Return `text` in at most `limit` characters, the middle replaced by an ellipsis.

    The end stays because names of cases and metrics often differ only there.

    Examples
    --------
    >>> shorten("refund-2024-order-1017", 12)
    'refund…-1017'
    """
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def counted(n: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless it is one.

    Examples
    --------
    >>> counted(1, "case"), counted(1200, "case")
    ('1 case', '1,200 cases')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
