"""Text from data stays text in Markdown, HTML and a terminal."""

from __future__ import annotations

from html import unescape
from html.parser import HTMLParser

import mistune
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesskit.reports.text import markdown_cell, markdown_code, markdown_text, terminal_text

NOTES = [
    "cheap | fast", "line1\nline2", "a\r\nb", "`code | x`", "# head", "* star", "---", "1. one", "<b>bold</b>",
    "\\| done", "  lead", "", "tab\there", "[x](y)", "~~no~~", "https://example.invalid/a|b", "$x_1$ and $y$", "@team",
    "&amp;", ":fire:", "__init__", "![x](javascript:y)", "www.example.invalid", "<!-- x", "ends with \\",
]  # fmt: skip
render = mistune.create_markdown(escape=False, plugins=["table", "strikethrough", "url"])


class Cells(HTMLParser):
    """The text of every cell of a rendered page, and the tags met."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")
        if tag == "br":
            self.cells[-1] += "\n"

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


def table_of(text: str) -> Cells:
    return Cells(render(f"| a | b |\n| :--- | ---: |\n| {markdown_cell(text)} | end |\n"))


@pytest.mark.parametrize("text", NOTES)
def test_a_cell_shows_the_text_and_nothing_else(text):
    page = table_of(text)
    assert [one.strip() for one in page.cells[:2]] == ["a", "b"]
    assert page.cells[2].strip() == text.replace("\r\n", "\n").strip()
    assert page.cells[3].strip() == "end"
    assert page.tags <= {"table", "thead", "tbody", "tr", "th", "td", "br"}


@pytest.mark.parametrize("text", NOTES)
def test_a_paragraph_shows_the_text_and_nothing_else(text):
    page = render(markdown_text(text))
    inner = page.strip().removeprefix("<p>").removesuffix("</p>").replace("<br>", "\n").replace("<br />", "\n")
    assert "<" not in inner
    assert unescape(inner).strip() == text.replace("\r\n", "\n").strip()


@given(st.text(st.characters(codec=None), max_size=40))
def test_any_text_stays_one_cell(text):
    assert len(table_of(text).cells) == 4


def test_code_with_fences_inside_stays_one_block():
    assert render(markdown_code("a\n```\n# b\n````\nc")).count("<pre>") == 1


def test_a_terminal_gets_one_harmless_line():
    assert terminal_text("a\x1b]0;t\x07\r\nb") == "a[U+001B]]0;t[U+0007][U+000D][U+000A]b"
