"""The HTML report: one file, nothing live from data, readable by everyone."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest

from harnesskit.model.decision import EXIT_CODES
from harnesskit.reports.cells import Column
from harnesskit.reports.document import Chart, Document, Section, Table
from harnesskit.reports.figures import svg
from harnesskit.reports.html import ROW_LIMIT, render
from harnesskit.reports.regression import regression_report
from tests.made_regression import made_comparison, made_decision, made_deltas


class Page(HTMLParser):
    """Tags with their attributes, and all text."""

    def __init__(self, source: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(source.decode("utf-8"))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def all(self, name):
        return [attrs for tag, attrs in self.tags if tag == name]


def field_report(shared, folder):
    files = sorted((shared / "cases" / "62-html-in-data" / folder).glob("*.json"))
    cases = [json.loads(path.read_text()) for path in files]
    names = [case["notes"] for case in cases]
    deltas = made_deltas(names, [next(iter(cases[0]["baseline_scores"])), "q"])
    decision = made_decision()
    frame = pd.DataFrame([{**case, "error": case["notes"]} for case in cases])
    report = regression_report(
        deltas, made_comparison(deltas), decision, ledger=frame, problems=frame, title=names[0],
        reproduce=names, metadata={"note": names[1]},
    )  # fmt: skip
    return report, names


def test_payloads_of_the_field_report_are_text(shared, tmp_path, check):
    report, names = field_report(shared, "evalset")
    path = report.save(tmp_path / "r.html")
    twin = field_report(shared, "harmless_twin")[0].save(tmp_path / "twin.html")
    assert "PWNED visible as text: True" in check("check_html.py", path, twin)
    text = Page(path.read_bytes()).text
    for name in names:
        assert name in text


def test_the_page_is_accessible(hostile_report, tmp_path, check):
    check("check_a11y.py", hostile_report.save(tmp_path / "r.html"))
    page = Page(hostile_report.render(".html"))
    assert [attrs["lang"] for attrs in page.all("html")] == ["en"]
    assert all(attrs.get("scope") in ("col", "row") for attrs in page.all("th"))
    assert all("regressed" in attrs["alt"] or "Mean change" in attrs["alt"] for attrs in page.all("img"))


def test_nothing_is_loaded_and_nothing_runs(hostile_report):
    source = hostile_report.render(".html")
    page = Page(source)
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in page.tags}
    assert all(attrs["src"].startswith("data:image/svg+xml;base64,") for attrs in page.all("img"))
    assert b"default-src 'none'" in source
    assert not re.search(rb"url\(|@import", source)


@pytest.mark.parametrize("verdict", sorted(EXIT_CODES))
def test_every_verdict_is_said_in_words(verdict):
    page = Page(render(Document("t", made_decision(verdict))))
    assert verdict.upper() in page.text
    assert made_decision().reasons[0] in page.text


def test_status_is_said_in_words(hostile_report):
    text = Page(hostile_report.render(".html")).text
    for words in ("▼ regressed", "▲ improved", "● unchanged", "○ inconclusive", "× skipped", "✗ unmet"):
        assert words in text


def test_missing_values_never_show_as_nan(hostile_report):
    plain = replace(hostile_report, verdict=None, sections=hostile_report.sections[:3] + hostile_report.sections[4:])
    assert not re.search(r"\b(nan|NaN|None|NaT|<NA>)\b", Page(plain.render(".html")).text)


def test_seldom_needed_columns_are_folded_and_blank_ones_left_out(hostile_report):
    text = Page(hostile_report.render(".html")).text
    assert "More columns: Trials base / cand." in text
    frame = pd.DataFrame({"a": ["x", "y"], "b": [None, None], "c": [1.0, None]})
    table = Table("t", "c", frame, tuple(Column(name, name, "text") for name in "abc"))
    assert [column.name for column in table.shown()] == ["a", "c"]


def test_counts_are_whole_numbers_and_shares_are_not():
    page = Page(render(Document("t", made_decision()))).text
    assert "unmet\n" not in page
    assert "3.000" not in page
    assert "0.950" in page


def test_every_chart_has_a_twin_for_phones(hostile_report):
    page = Page(hostile_report.render(".html"))
    narrow = page.all("source")
    assert len(narrow) == len(page.all("img")) == len(hostile_report.charts)
    assert all(attrs["media"] == "(max-width: 640px)" for attrs in narrow)
    widths = [
        re.search(rb'width="([\d.]+)pt"', base64.b64decode(attrs["srcset"].partition(",")[2]))[1] for attrs in narrow
    ]
    assert {float(width) for width in widths} == {302.4}


def test_a_caption_stays_in_sight_and_says_that_there_is_more(hostile_report):
    source = hostile_report.render(".html").decode()
    assert 'class="many"' in source
    assert "scroll sideways" in source


def test_literal_words_and_lone_surrogates_show():
    frame = pd.DataFrame({"note": ["nan", "None", "\ud83d", "a\x00b", None]}, dtype=object)
    text = Page(render(Document("t", None, (Section("s", (Table("t", "c", frame),)),)))).text
    for words in ("nan", "None", "[U+D83D]", "a[U+0000]b"):
        assert words in text


def test_two_hundred_cases_stay_under_a_megabyte():
    deltas = made_deltas([f"case-{i:04d}-refund-of-an-order-in-another-currency" for i in range(200)])
    page = regression_report(deltas, made_comparison(deltas), made_decision()).render(".html")
    assert len(page) < 1_000_000


def test_a_very_long_table_is_cut_and_says_so():
    frame = pd.DataFrame({"n": range(ROW_LIMIT + 7)})
    text = Page(render(Document("t", None, (Section("s", (Table("t", "c", frame),)),)))).text
    assert "7 further rows are in the JSON report" in text


def test_a_name_that_cannot_be_drawn_stands_beside_its_chart(hostile_report):
    text = Page(hostile_report.render(".html")).text
    assert "key 1" in text
    assert "付款失败" in text


def test_charts_hold_no_date_no_random_name_and_no_text_of_the_data(hostile_report):
    chart = next(block for block in hostile_report.charts if isinstance(block, Chart))
    image = svg(chart)
    assert image == svg(chart)
    assert b"dc:date" not in image
    assert b"<!--" not in image
    uri = Page(hostile_report.render(".html")).all("img")[0]["src"]
    assert base64.b64decode(uri.partition(",")[2]).startswith(b"<?xml")
