"""The page on a guard: what it must say before anybody signs, and what it must not let through."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import harnesskit as hk
from harnesskit.model.errors import FrameError
from harnesskit.reports.promotion import promotion_report
from harnesskit.reports.promotion_words import policy_words, status_words, useless_words
from tests import made_guard

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "promotion_report.md"
FIRST = (
    "The guard", "Its failing cases", "Protected wins", "The rules of this decision", "Beside this guard",
    "What would overturn this",
)  # fmt: skip


def page(decision=None, **changes):
    return promotion_report(
        made_guard.evidence(), decision or made_guard.decision(), **{**made_guard.frames(), **changes}
    )


def text(report) -> str:
    return report.render(".md").decode("utf-8")


def reviews(**columns) -> pd.DataFrame:
    row = {
        "decision_id": "d-1", "action": "sign", "status": "signed", "evidence_hash": "e" * 64, "verdict": "promote",
        "author": "Ann Lee", "approver": None, "at": pd.Timestamp("2026-07-01", tz="UTC"), "review_by": None,
    }  # fmt: skip
    return pd.DataFrame([{**row, **columns}])


def test_the_markdown_of_a_hand_made_guard_is_the_golden_one():
    assert text(page()) == GOLDEN.read_text(encoding="utf-8")


def test_what_is_needed_to_decide_comes_before_the_appendix():
    titles = [section.title for section in page().sections]
    assert tuple(titles[: len(FIRST)]) == FIRST
    assert all(title.startswith("Appendix") for title in titles[len(FIRST) :])


@pytest.mark.parametrize(
    "said",
    [
        "# PROMOTE: Promotion of rule r-7",
        "Draft: nobody has signed it.",
        "Look the order up first.",
        "+0.140 (+0.050 to +0.240; repeated, two-sided 95 %)",
        "Evidence for a benefit after 2 looks: z 3.8, boundary 2.5.",
        "1 case that gave rise to the guard: +0.200; 1 case of other sessions: +0.080",
        "from 2 sessions in 1 family (same labels); 1 further case of this kind was not replayed",
        "2 of 3 protected wins were replayed.",
        "Blind spot: the chance is 0.33.",
        "Fixed before the first replay, 2026-06-27 08:00 UTC",
        "the noise of one run (0.080, measured here) and the seed (3)",
        "1 other rule is active, 0 of them promoted since the last regression run",
        "4 rules were tried here so far, 1 of them with the verdict promote.",
        "Agreement of the judge with people on this metric: not known.",
        "harnesskit promote r-7 --retire why",
        "harnesskit report --guard r-7 --out page.html",
        "To be reviewed by: not set",
    ],
)
def test_the_first_page_says(said):
    assert said in text(page())


def test_everything_from_data_is_text_and_credentials_are_masked():
    html = page().render(".html").decode("utf-8")
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    for form in (".html", ".md", ".json"):
        rendered = page().render(form)
        assert b"hunter2" not in rendered
        assert b"sk-live" not in rendered


def test_the_worst_and_the_best_pair_stand_in_full():
    said = text(page())
    assert "Worst: win w-1 in q: 0.900 without, 0.800 with the guard." in said
    assert "Best: failure c-1 in q: 0.400 without, 0.600 with the guard (read)." in said
    assert '"task": "refund order 7"' in said
    assert "Answer without the guard:\nIt is done." in said


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (None, "Draft: nobody has signed it."),
        (reviews(), "Signed by Ann Lee on 2026-07-01 (d-1)."),
        (reviews(approver="Bo Park", status="overdue"), "Bo Park on 2026-07-01 (d-1); its review is overdue."),
        (reviews(status="superseded"), "Superseded: review d-1."),
        (reviews(status="revoked"), "Revoked: review d-1."),
        (reviews(evidence_hash="f" * 64), "The review that holds, d-1 (promote), is of other evidence."),
    ],
)  # fmt: skip
def test_the_page_says_how_it_stands(rows, said):
    assert said in status_words(rows, "e" * 64)


def test_a_review_day_is_shown():
    due = reviews(review_by=pd.Timestamp("2026-12-31", tz="UTC"))
    assert "To be reviewed by: 2026-12-31." in text(page(reviews=due))


@pytest.mark.parametrize(
    ("verdict", "reason", "more", "said"),
    [
        ("pending", "guard_incomplete", {"runs_needed": 26}, "About 26 more replays would settle it."),
        ("retire", "harm", {"detail": "harm"}, "Another cause of the drop of the wins that decided (w-1)"),
        ("retire", "futility", {"detail": "no_worthwhile_effect"}, "reaches beyond 0.1 because it is two-sided"),
    ],
)
def test_every_verdict_says_what_would_overturn_it(verdict, reason, more, said):
    assert said in text(page(made_guard.decision(verdict, reason, **more)))


def test_the_same_evidence_gives_the_same_bytes():
    for form in (".html", ".md", ".json"):
        assert page().render(form) == page().render(form)


def test_evidence_alone_makes_a_page():
    report = promotion_report(made_guard.evidence(), made_guard.decision())
    assert text(report).startswith("# PROMOTE: Promotion of rule r-7")
    assert [section.title for section in report.sections if section.title.startswith("Appendix")] == [
        "Appendix: was it read?",
        "Appendix: policy",
    ]


def test_evidence_without_its_columns_is_refused():
    with pytest.raises(FrameError, match=r"promotion_report\(\) needs a promotion evidence frame"):
        promotion_report(made_guard.evidence().drop(columns="estimate"), made_guard.decision())


def test_the_share_of_useless_guards_is_that_of_the_formula():
    """0.05 x 0.9 / (0.05 x 0.9 + 0.8 x 0.1) = 0.36."""
    assert "36 % if nine in ten" in useless_words(0.05, 4, 1)[1]
    assert useless_words(0.05, 1, 0)[0].startswith("1 rule was tried")


@pytest.mark.parametrize(("kind", "said"), [("case", "80% of its runs"), ("check", "80% of its alarms")])
def test_a_policy_is_said_for_the_kind_of_guard(kind, said):
    assert said in " ".join(policy_words(made_guard.decision().policy, kind))
    assert policy_words({"mine": 1}, kind) == [
        "The decision was made under a policy of its own; its fields are in the table."
    ]


def test_a_forward_trial_speaks_of_sessions():
    arms = {"arm": ["control", "candidate"] * 30, "metric": "q", "value": [0.5, 0.8] * 30}
    sessions = pd.DataFrame({"session_id": range(60), "cluster": range(60), **arms}).astype(
        {"session_id": str, "cluster": str}
    )
    evidence = hk.forward_trial(sessions, metric="q")
    decision = hk.decide_promotion(evidence, policy="open_ended", subject="r-9")
    report = promotion_report(evidence, decision, path=hk.forward_path(sessions, metric="q"))
    said = text(report)
    assert "sessions in q: +0.300" in said
    assert "at random, by user or other cluster" in said
    assert "failing case" not in said.partition("## The rules")[0]
    assert report.charts[0].title == "Evidence after each session, against its boundaries"
