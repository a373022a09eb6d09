"""Labels are literal, visible, told apart, and never boxes."""

from __future__ import annotations

import matplotlib as mpl
import pytest

from harnesskit.plots.labels import font_families, label_keys, left_to_right, row_labels

SCRIPTS = ["付款失败", "결제 실패", "🔥 retry", "ไทย", "naïve Ω", "breach:tool_correctness"]


def test_ordinary_text_and_dollar_signs_stay_as_they_are():
    texts = ["refund", "$42", "a^2_b", r"\frac{1}{2}", "naïve Ω"]
    assert row_labels(texts).by_text == {text: text for text in texts}


def test_a_text_without_glyphs_gets_a_key_and_the_key_table_names_it():
    keys = label_keys(SCRIPTS)
    assert keys["text"].tolist() == ["付款失败", "결제 실패", "🔥 retry", "ไทย"]
    assert keys["key"].tolist() == ["key 1", "key 2", "key 3", "key 4"]


def test_the_same_texts_get_the_same_keys():
    assert row_labels(SCRIPTS) == row_labels(SCRIPTS)


def test_two_long_names_that_look_alike_when_cut_are_told_apart():
    first, second = "a" * 90 + "b" + "c" * 90, "a" * 90 + "d" + "c" * 90
    labels = row_labels([first, second]).by_text
    assert labels[first] != labels[second]


def test_a_key_never_equals_a_name_of_the_data():
    labels = row_labels(["key 1", "付款失败"]).by_text
    assert labels == {"key 1": "key 1", "付款失败": "key 2"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "(empty)"),
        ("  ", "[U+0020][U+0020]"),
        ("a\nb", "a[U+000A]b"),
        ("x\u202ey", "x[U+202E]y"),
        ("\ud800", "[U+D800]"),
    ],
)
def test_what_cannot_be_seen_is_named(text, shown):
    assert row_labels([text]).by_text == {text: shown}


def test_missing_names_are_said_to_be_missing():
    assert set(row_labels([None, float("nan")]).by_text) == {"(missing)"}


def test_a_long_name_is_cut_visibly():
    (label,) = row_labels(["x" * 200]).by_text.values()
    assert len(label) <= 26
    assert "…" in label


def test_the_house_font_comes_first_whatever_the_user_has_set(monkeypatch):
    monkeypatch.setitem(mpl.rcParams, "font.family", ["No Such Font", "DejaVu Serif"])
    assert font_families() == ["DejaVu Sans", "DejaVu Serif"]


def test_a_label_that_begins_right_to_left_is_laid_out_from_the_left():
    assert left_to_right("العربية · q").startswith("\u200e")
    assert left_to_right("q · العربية") == "q · العربية"
