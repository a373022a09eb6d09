"""What a newcomer hands in: misspelt kinds, nameless metrics, other graders, copies, rows without a case."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_scores import made_scores

from harnesskit.decisions.regression import decide_regression
from harnesskit.measures.comparison import compare_runs
from harnesskit.measures.deltas import case_deltas
from harnesskit.measures.ledger import evidence_ledger
from harnesskit.model.errors import FrameError, PolicyError


def twenty(seed: int, *, trials: int = 3, mean: float = 0.8, sd: float = 0.03) -> pd.DataFrame:
    """Return 20 cases x `trials`: case_id, metric 'q', value, trial."""
    noise = np.random.default_rng(seed).normal(size=(20, 1, trials))
    return made_scores(np.round(mean + sd * noise, 4), metrics=["q"]).drop(columns="kind")


@pytest.fixture
def before() -> pd.DataFrame:
    return twenty(1)


@pytest.fixture
def after() -> pd.DataFrame:
    return twenty(2)


def said(before: pd.DataFrame, after: pd.DataFrame, **how: Any) -> str:
    return "\n".join(decide_regression(case_deltas(before, after, **how), **how).reasons)


@pytest.mark.parametrize("kind", ["Win", "wins", "success", " win"])
@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_a_misspelt_kind_never_takes_a_win_out_of_protection(before, after, side: str, kind: str) -> None:
    frames = {"baseline": before, "candidate": after}
    frames[side] = frames[side].assign(kind=kind)
    with pytest.raises(FrameError, match=f"kind must be 'win' or 'failure', as the {side}; found {kind!r}"):
        case_deltas(**frames)
    with pytest.raises(FrameError, match="kind must be 'win' or 'failure'"):
        decide_regression(case_deltas(before, after).assign(kind=kind))
    with pytest.raises(FrameError, match="kind must be 'win' or 'failure'"):
        compare_runs(case_deltas(before, after).assign(kind=kind))


@pytest.mark.parametrize("kind", [None, np.nan, ""])
def test_a_missing_kind_is_a_win(before, after, kind: object) -> None:
    assert set(case_deltas(before, after.assign(kind=kind))["kind"]) == {"win"}


def test_a_score_without_the_name_of_a_metric_is_counted_and_never_used(before, after) -> None:
    extra = pd.DataFrame({"case_id": ["c000"], "metric": [None], "value": [0.0], "trial": [9]})
    plain, more = case_deltas(before, after), case_deltas(before, pd.concat([after, extra]))
    assert more.loc[0, "candidate"] == plain.loc[0, "candidate"]
    assert more["n_unscored"].tolist() == [1] + [0] * 19
    assert "1 candidate score not used: a score without the name of a metric (c000)." in said(
        before, pd.concat([after, extra])
    )


def test_two_graders_are_two_scales_and_are_not_compared(before, after) -> None:
    frames = before.assign(grader="judge-a"), after.assign(grader="judge-b", value=after["value"] + 0.1)
    deltas = case_deltas(*frames)
    assert set(deltas["status"]) == {"inconclusive"}
    assert deltas["delta"].isna().all()
    words = "graders differ: the baseline was scored by 'judge-a', the candidate by 'judge-b'"
    assert set(deltas["reason"]) == {words}
    assert words in compare_runs(deltas).loc[0, "warning"]
    decision = decide_regression(deltas)
    assert (decision.verdict, decision.runs_needed) == ("inconclusive", None)
    assert decision.reasons[0] == f"No verdict in q: {words}; score both sides with one grader."


@pytest.mark.parametrize("grader", [None, "judge-a"])
def test_the_same_grader_or_none_on_one_side_is_compared(before, after, grader: str | None) -> None:
    deltas = case_deltas(before.assign(grader=grader), after.assign(grader="judge-a"))
    assert deltas["delta"].notna().all()
    assert deltas["note"].isna().all()


def test_captured_scores_recorded_by_a_harness_are_compared_and_it_is_said(before, after) -> None:
    captured = before[before["trial"] == 1].assign(source="captured", grader="harness")
    deltas = case_deltas(captured, after.assign(grader="judge"))
    assert deltas["delta"].notna().all()
    assert set(deltas["note"]) == {"captured by 'harness', replayed by 'judge'"}
    assert "captured by 'harness', replayed by 'judge'" in compare_runs(deltas).loc[0, "warning"]
    assert "Captured by 'harness', replayed by 'judge' (20 cases)." in decide_regression(deltas).reasons


def test_repeats_that_are_all_copies_are_judged_by_the_smallest_noise_believed() -> None:
    same = made_scores(np.full((20, 1, 3), 0.9), metrics=["q"])
    deltas = case_deltas(same, same)
    assert set(deltas["status"]) == {"unchanged"}
    assert set(deltas["interval_kind"]) == {"smallest noise believed, repeats alike"}
    assert (deltas["high"] - deltas["low"] > 0).all()
    warning = compare_runs(deltas).loc[0, "warning"]
    assert "most repeats give the same score: they may not be independent" in warning
    collapsed = same.assign(value=same["value"].where(same["case_id"] != "c003", 0.3))
    assert case_deltas(same, collapsed).query("status == 'regressed'")["case_id"].tolist() == ["c003"]


def test_more_copies_are_never_asked_for() -> None:
    rng = np.random.default_rng(4)
    copied = [made_scores(np.repeat(rng.uniform(0.6, 0.9, (20, 1, 1)), 3, axis=2)) for _ in "ab"]
    deltas = case_deltas(*copied)
    left = deltas[(deltas["status"] == "inconclusive") & ~deltas["suspect"]]
    assert len(left)
    assert left["runs_needed"].isna().all()
    assert left["reason"].str.contains("more trials of the same kind will not help").all()


def test_rows_without_a_case_are_counted_in_the_reasons_and_in_the_ledger(before, after) -> None:
    loose = pd.DataFrame({"case_id": [None] * 4, "metric": "q", "value": 0.1, "trial": [1, 2, 3, 4]})
    frames = before, pd.concat([after, loose])
    assert "4 rows without a case were left out." in said(*frames)
    unmatched = evidence_ledger(*frames).query("state == 'unmatched'")
    assert unmatched[["side", "n_trials"]].to_numpy().tolist() == [["candidate", 4]]
    assert "without a case" not in said(before, after)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_trial_that_is_not_a_number_is_named(before, after, value: float) -> None:
    after.loc[0, "value"] = value
    assert "1 candidate score is not a number (c000)." in said(before, after)


def test_cases_on_one_side_are_a_state_of_their_own(before, after) -> None:
    frames = before[before["case_id"] != "c000"], after[~after["case_id"].isin(["c001", "c002"])]
    deltas = case_deltas(*frames)
    decision = decide_regression(deltas)
    words = "\n".join(decision.reasons)
    assert "In the baseline only, compared with nothing: c001, c002." in words
    assert "In the candidate only, compared with nothing: c000." in words
    assert "3 cases inconclusive" not in words
    assert deltas.loc[deltas["case_id"].isin(["c000", "c001", "c002"]), "runs_needed"].isna().all()
    assert "3 on one side only" in decision.detail
    row = compare_runs(deltas).iloc[0]
    assert (row["n_inconclusive"], row["n_baseline_only"], row["n_candidate_only"]) == (0, 2, 1)


def test_exact_copies_without_a_trial_are_counted(before, after) -> None:
    bare = after.drop(columns="trial")
    words = said(before, pd.concat([bare] * 4))
    assert "180 rows are exact copies of others; without a trial each counts as one." in words
    assert "exact copies" not in said(before, bare)


def test_two_rows_of_one_trial_are_averaged_and_it_is_said(before, after) -> None:
    again = after.iloc[:1].assign(value=0.2)
    frame = pd.concat([after, again])
    assert "1 row was averaged with others of the same trial (c000)." in said(before, frame)
    assert case_deltas(before, frame).loc[0, "n_candidate"] == 3


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"columns": {"case_id": "id", "value": "score"}}, r"missing 'case_id' \(is it 'id'\? .*'value' \(is it 'score'\?"),
    ({"index": ["case_id", "metric"]}, r"'case_id' \(it is in the index: use frame.reset_index\(\)\)"),
    ({"twice": "value"}, r"every column once; found more than one 'value'"),
    ({"text": "high"}, r"numbers in column 'value'; found 'high'"),
]


@pytest.mark.parametrize("side", ["baseline", "candidate"])
@pytest.mark.parametrize(("change", "words"), REFUSED, ids=[next(iter(c)) for c, _ in REFUSED])
def test_a_frame_that_cannot_be_used_names_its_side(before, after, side: str, change: dict[str, Any], words: str):
    frame = {"baseline": before, "candidate": after}[side]
    if "columns" in change:
        frame = frame.rename(columns=change["columns"])
    elif "index" in change:
        frame = frame.set_index(change["index"])
    elif "twice" in change:
        frame = pd.concat([frame, frame[[change["twice"]]]], axis=1)
    else:
        frame = frame.assign(value=change["text"])
    with pytest.raises(FrameError, match=words) as refused:
        case_deltas(**{"baseline": before, "candidate": after, side: frame})
    assert f"as the {side}" in str(refused.value)


@pytest.mark.parametrize("metrics", ["q", ["q"], 5])
def test_metrics_are_declarations_not_names(before, after, metrics: Any) -> None:
    with pytest.raises(PolicyError, match=r"metrics must be Metric declarations.*found"):
        case_deltas(before, after, metrics=metrics)
    with pytest.raises(PolicyError, match=r"metrics must be Metric declarations.*found"):
        evidence_ledger(before, after, metrics=metrics)


def test_raw_scores_are_not_case_deltas(before) -> None:
    with pytest.raises(FrameError, match=r"status 'ok' is none of .*case_deltas\(baseline, candidate\)"):
        decide_regression(before.assign(status="ok"))
