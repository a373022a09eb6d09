"""Labelling: nothing said is lost, nothing is asked twice, no score is shown, text stays text."""

from __future__ import annotations

import pandas as pd
import pytest

import harnesskit as hk
from harnesskit.review.label_queue import LabelQueue
from harnesskit.workspace.labels import read_labels


def samples(n=10):
    rows = [{"session_id": f"s-{i}", "output": f"<script>{i}</script>", "value": 0.123456} for i in range(n)]
    return pd.DataFrame(rows)


def press(box, text):
    next(one for one in box.children[3].children if one.description == text).click()


def test_a_rater_resumes_and_another_starts_anew(tmp_path):
    box = hk.review.label(samples(), root=tmp_path, rater="ana")
    for text in ["failed", "ok", "failed"]:
        press(box, text)
    again = hk.review.label(samples(), root=tmp_path, rater="ana")
    assert again.children[0].value == "3 of 10 labelled"
    for _ in range(7):
        press(again, "ok")
    rows, problems = read_labels(tmp_path)
    assert {row.session_id for row in rows} == set(samples()["session_id"])
    assert len(rows) == 10
    assert not problems
    assert sum(row.failed is True for row in rows) == 2
    assert all(one.disabled for one in again.children[3].children[:3])
    assert LabelQueue(samples(), tmp_path, "ben").progress == "0 of 10 labelled"
    assert LabelQueue(samples(), tmp_path, "ana", metric="tone").progress == "0 of 10 labelled"
    labels = hk.open(tmp_path).table("labels")
    assert len(labels) == 10


def test_text_is_escaped_and_scores_are_not_shown(tmp_path):
    shown = hk.review.label(samples(), root=tmp_path, rater="ana").children[1].value
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert "0.123456" not in shown


def test_half_a_surrogate_pair_is_shown_as_a_mark(tmp_path):
    odd = pd.DataFrame({"session_id": ["s"], "output": pd.Series(["a\ud800"], dtype=object)})
    assert "a?" in hk.review.label(odd, root=tmp_path, rater="ana").children[1].value


def test_undo_appends_a_second_label_and_skip_writes_none(tmp_path):
    queue = LabelQueue(samples(3), tmp_path, "ana", seed=4)
    first = queue.current
    queue.label(True)
    queue.undo()
    assert queue.current == first
    queue.label(False, note="looked again")
    queue.skip()
    rows, _ = read_labels(tmp_path)
    assert [(row.session_id, row.failed) for row in rows] == [(first, True), (first, False)]
    assert rows[1].note == "looked again"


def test_order_is_the_seeds_own(tmp_path):
    firsts = {LabelQueue(samples(), tmp_path, "ana", seed=seed).current for seed in range(20)}
    assert len(firsts) > 1
    assert (
        LabelQueue(samples()[::-1], tmp_path, "a", seed=3).current
        == LabelQueue(samples(), tmp_path, "b", seed=3).current
    )


def test_scale_labels_are_values(tmp_path):
    press(hk.review.label(samples(1), root=tmp_path, rater="ana", metric="tone", scale=(0, 0.5, 1)), "0.5")
    ((row,), problems) = read_labels(tmp_path)
    assert (row.metric, row.value, row.failed, problems) == ("tone", 0.5, None, [])


def test_bad_input_is_named(tmp_path):
    with pytest.raises(hk.FrameError, match="session_id"):
        hk.review.label(samples().rename(columns={"session_id": "session"}), root=tmp_path, rater="ana")
    with pytest.raises(hk.FrameError, match="nothing to label"):
        hk.review.label(samples().iloc[:0], root=tmp_path, rater="ana")
    with pytest.raises(ValueError, match="scale"):
        hk.review.label(samples(), root=tmp_path, rater="ana", scale=())
    with pytest.raises(ValueError, match="finite"):
        LabelQueue(samples(), tmp_path, "ana").label(value=float("nan"))
