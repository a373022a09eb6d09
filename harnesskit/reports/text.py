"""Text from data in the three places it is shown: HTML, Markdown, a terminal. It is always text, never markup."""

from __future__ import annotations

import re

from harnesskit.model.text import visible

# As character references: they mean the same inside a table row, in a list, and in every Markdown reader. The dollar
# sign starts mathematics and the at sign a mention on code hosts.
_MARKS = {ord(char): f"&#{ord(char)};" for char in "\\`*|<>[]~$@"} | {ord("&"): "&amp;"}
_OPENERS = re.compile(r"^(\s*)([#+=>-]|\d+(?=[.)]))")


def html_text(text: str) -> str:
    r"""Return `text` ready for autoescaping: unseen characters named, line feeds and tabs kept.

    Examples
    --------
    >>> html_text("a\x00b")
    'a[U+0000]b'
    """
    return visible(text.replace("\r\n", "\n"), keep="\n\t")


def markdown_text(text: str) -> str:
    """Return `text` as one Markdown line that shows it literally.

    Line feeds become ``<br>``, so a table row stays one row and a paragraph one paragraph.

    Examples
    --------
    >>> markdown_text("a|b*"), markdown_text("tool_correctness"), markdown_text("_x_")
    ('a&#124;b&#42;', 'tool_correctness', '&#95;x&#95;')
    """
    marked = html_text(text).translate(_MARKS)
    marked = re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", "&#95;", marked)
    marked = re.sub(r":(?=//)|(?<=www)\.|(?<=\w):(?=\w+:)", lambda dot: f"&#{ord(dot[0])};", marked)
    lines = [_OPENERS.sub(lambda m: m[1] + "".join(f"&#{ord(c)};" for c in m[2]), line) for line in marked.split("\n")]
    return "<br>".join(_spaces(line) for line in lines)


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
