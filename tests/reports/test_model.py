"""Saving: by suffix, whole or not at all, the same bytes for the same evidence."""

from __future__ import annotations

import dataclasses
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import matplotlib as mpl
import pytest

from harnesskit.model.errors import ReportError
from harnesskit.reports.model import RENDERERS, Report
from harnesskit.reports.regression import regression_report
from tests.made_regression import made_comparison, made_decision, made_deltas


@pytest.mark.parametrize("suffix", sorted(RENDERERS))
def test_the_same_evidence_gives_the_same_bytes(suffix):
    comparison = made_comparison(made_deltas())
    first, second = (
        regression_report(frame, comparison, made_decision()).render(suffix)
        for frame in (made_deltas(), made_deltas().sample(frac=1, random_state=1))
    )
    assert first == second


@pytest.mark.parametrize("suffix", sorted(RENDERERS))
def test_saving_twice_gives_the_same_file_and_leaves_nothing_beside_it(suffix, hostile_report, tmp_path):
    path = hostile_report.save(str(tmp_path / f"r{suffix}"))
    before = path.read_bytes()
    assert hostile_report.save(path) == path
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [f"r{suffix}"]


def test_the_suffix_may_be_in_capitals(tmp_path):
    assert Report("t").save(tmp_path / "R.MD").read_text() == "# t\n"


@pytest.mark.parametrize("name", ["r.docx", "r", ".html"])
def test_an_unknown_suffix_is_refused_with_the_known_ones(name, tmp_path):
    with pytest.raises(ReportError, match=r"use one of \.html, \.json, \.md"):
        Report("t").save(tmp_path / name)


def test_a_write_that_fails_keeps_the_old_file_and_leaves_no_part(tmp_path, monkeypatch):
    path = Report("old").save(tmp_path / "r.md")

    def refuse(handle: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="disk full"):
        Report("new").save(path)
    assert path.read_text() == "# old\n"
    assert os.listdir(tmp_path) == ["r.md"]


def test_a_report_is_immutable_and_does_not_follow_its_frames():
    deltas = made_deltas()
    report = regression_report(deltas, made_comparison(deltas), made_decision())
    before = report.render(".md")
    deltas["delta"] = 99.0
    assert report.render(".md") == before
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.title = "other"


def test_a_time_is_shown_only_when_given():
    assert b"created" not in Report("t").render(".md")
    stamped = Report("t", created_at=datetime(2025, 3, 1, tzinfo=UTC))
    for suffix in RENDERERS:
        assert b"2025-03-01T00:00:00Z" in stamped.render(suffix)


def test_in_a_notebook_the_page_stays_in_a_frame_of_its_own(hostile_report):
    shown = hostile_report._repr_html_()
    assert shown.startswith("<iframe ")
    assert 'sandbox=""' in shown
    assert shown.count("<") == 2  # the frame and its end: everything else is text in an attribute


def test_reports_are_drawn_in_threads_and_touch_no_setting(hostile_report, tmp_path):
    settings, backend = dict(mpl.rcParams), mpl.rcParams._get("backend")
    saved: list[Path] = []
    threads = [
        threading.Thread(target=lambda n=n: saved.append(hostile_report.save(tmp_path / f"{n}.html"))) for n in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len({path.read_bytes() for path in saved}) == 1
    assert len(saved) == 2
    assert dict(mpl.rcParams) == settings
    assert mpl.rcParams._get("backend") == backend


@pytest.mark.parametrize(
    "place", ["evalset/case.json", "harnesskit/report.html", "mailbox/pending/report.json", "state/report.md"]
)
def test_a_report_never_lies_among_the_files_of_a_workspace(place: str, tmp_path: Path, hostile_report):
    for folder in ("evalset", "harnesskit/runs", "mailbox/pending", "state"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "evalset" / "case.json").write_text("{}")
    with pytest.raises(ReportError, match="among the files of a workspace"):
        hostile_report.save(tmp_path / place)
    assert (tmp_path / "evalset" / "case.json").read_text() == "{}"


def test_beside_a_workspace_and_in_a_folder_of_the_same_name_a_report_is_saved(tmp_path: Path):
    (tmp_path / "evalset").mkdir()
    (tmp_path / "project" / "harnesskit").mkdir(parents=True)
    for place in ("report.md", "project/harnesskit/report.md"):
        assert Report("t").save(tmp_path / place).read_text() == "# t\n"
