"""Text from data in the three places it is shown: HTML, Markdown, a terminal. It is always text, never markup."""

from __future__ import annotations

import re

from harnesskit.model.text import visible

# As character references: they mean the same inside a table row, in a list, and in every Markdown reader. The dollar
# sign starts mathematics and the at sign a mention on code hosts.
_MARKS = {ord(char): f"&#{ord(char)};" for char in "\\`*|<>[]~$@"} | {ord("&"): "&amp;"}
_OPENERS = re.compile(r"^(?:[#+=-]|\d+(?=[.)]))")


def html_text(text: str) -> str:
    r"""Return `text` ready for autoescaping: unseen characters named, line feeds and tabs kept.

    Examples
    --------
    >>> html_text("a\x00b")
    'a[U+0000]b'
    """
    return visible(text.replace("\r\n", "\n"), keep="\n\t")


def markdown_text(text: str) -> str:
    """Return `text` as one line of a Markdown paragraph, heading or list item that shows it literally.

    Examples
    --------
    >>> markdown_text("# head"), markdown_text("1. one"), markdown_text("_x_")
    ('&#35; head', '&#49;. one', '&#95;x&#95;')
    """
    return _OPENERS.sub(lambda found: "".join(f"&#{ord(char)};" for char in found[0]), markdown_cell(text))


def markdown_cell(text: str) -> str:
    """Return `text` as a cell of a Markdown table; line feeds become ``<br>``, so a row stays one row.

    Examples
    --------
    >>> markdown_cell("a|b*"), markdown_cell("tool_correctness"), markdown_cell("-0.5")
    ('a&#124;b&#42;', 'tool_correctness', '-0.5')
    """
    marked = html_text(text).translate(_MARKS)
    marked = re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", "&#95;", marked)
    # Addresses become links by themselves, and :words: become emoji, unless their punctuation is a reference.
    marked = re.sub(r":(?=//)|(?<=www)\.|:(?=[A-Za-z+_-][\w+-]*:)", lambda found: f"&#{ord(found[0])};", marked)
    return "<br>".join(_spaces(line) for line in marked.split("\n"))


def _spaces(line: str) -> str:
    inner = line.strip(" ")
    if not inner:
        return "&#32;" * len(line)
    lead = len(line) - len(line.lstrip(" "))
    trail = len(line) - len(line.rstrip(" "))
    return ("&#32;" * lead + inner + "&#32;" * trail).replace("\t", "&#9;")


def markdown_code(text: str) -> str:
    """Return `text` as a fenced code block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{html_text(text)}\n{fence}"


def terminal_text(text: str) -> str:
    r"""Return `text` on one line that cannot move the cursor, colour or clear anything.

    Examples
    --------
    >>> terminal_text("\x1b[2Jgone\n")
    '[U+001B][2Jgone[U+000A]'
    """
    return visible(text)
