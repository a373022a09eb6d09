"""Labels from data: literal, visible, short, and never drawn as empty boxes."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import matplotlib as mpl
import pandas as pd
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

from harnesskit.model.text import shorten, visible

HOUSE_FONT = "DejaVu Sans"  # comes with matplotlib: the same letters on every machine
_GENERIC = ("sans-serif", "sans serif", "sans", "serif", "cursive", "fantasy", "monospace")
_SHAPED = getattr(mpl, "__version_info__", (0,)) >= (3, 11)  # older ones draw right-to-left scripts backwards


class RowLabels(NamedTuple):
    """Short labels by full text, and the texts that a key stands for."""

    by_text: dict[str, str]
    keys: dict[str, str]


def font_families() -> list[str]:
    """Return the families a label may use: the house font, then the user's own where installed."""
    wanted: list[str] = []
    for family in mpl.rcParams["font.family"]:
        wanted += mpl.rcParams["font.sans-serif"] if family == "sans-serif" else [family]
    installed = {entry.name for entry in fontManager.ttflist}
    extra = [name for name in wanted if name in installed and name != HOUSE_FONT and name not in _GENERIC]
    return [HOUSE_FONT, *dict.fromkeys(extra)]


def row_labels(texts: Iterable[object], limit: int = 26) -> RowLabels:
    """Return one short label per different text.

    A label is the text itself, control characters as code points, its middle cut out beyond `limit` characters. A
    text that no available font can draw, or whose short form is also another text's, gets a key (``key 1``) instead;
    the same texts always get the same keys.

    Examples
    --------
    >>> row_labels(["refund", "$42", "付款失败", ""]).by_text
    {'refund': 'refund', '$42': '$42', '付款失败': 'key 1', '': '(empty)'}
    """
    different = list(dict.fromkeys(plain(text) for text in texts))
    glyphs = _glyphs()
    short = {text: shorten(visible(text), limit) if text.strip() else _blank(text) for text in different}
    uses = Counter(short.values())
    keys: dict[str, str] = {}
    taken = set(short.values())
    number = 0
    for text in different:
        if uses[short[text]] == 1 and _drawable(short[text], glyphs):
            continue
        number += 1
        while f"key {number}" in taken:
            number += 1
        short[text] = f"key {number}"
        keys[short[text]] = text
    return RowLabels(short, keys)


def label_keys(texts: Iterable[object], limit: int = 26) -> pd.DataFrame:
    """Return one row per key that `row_labels` uses for `texts`: ``key`` and the full ``text`` it stands for."""
    keys = row_labels(texts, limit).keys
    return pd.DataFrame({"key": list(keys), "text": list(keys.values())}, dtype=object)


def left_to_right(label: str) -> str:
    """Return `label` so that it is laid out from the left even when it begins in a right-to-left script."""
    strong = next((way for way in map(unicodedata.bidirectional, label) if way in ("L", "R", "AL")), "L")
    return label if strong == "L" else f"\u200e{label}"


def plain(value: object) -> str:
    """Return a value of a frame as the text of a label; a missing one as ``(missing)``."""
    if isinstance(value, str):
        return value
    return "(missing)" if value is None or value is pd.NA or value != value else str(value)  # NaN differs from itself


def _blank(text: str) -> str:
    return "".join(f"[U+{ord(char):04X}]" for char in text) if text else "(empty)"


def _glyphs() -> list[set[int]]:
    paths = [findfont(FontProperties(family=[name]), fallback_to_default=False) for name in font_families()]
    return [set(get_font(path).get_charmap()) for path in paths]


def _drawable(text: str, glyphs: list[set[int]]) -> bool:
    if not _SHAPED and any(unicodedata.bidirectional(char) in ("R", "AL") for char in text):
        return False
    return all(char == " " or any(ord(char) in known for known in glyphs) for char in text)
