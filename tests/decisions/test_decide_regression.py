"""Evidence, policy, verdict: both sides of every bar, and what the reasons say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_scores import made_scores, null_world

from harnesskit.decisions.mean_drop import mean_drops
from harnesskit.decisions.regression import decide_regression
from harnesskit.decisions.regression_checks import GLOBAL
from harnesskit.measures.comparison import compare_runs
from harnesskit.measures.deltas import case_deltas
from harnesskit.model.errors import FrameError, PolicyError
from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.results import CHECKS


def rows(n: int = 12, **columns: object) -> pd.DataFrame:
    """Wins that did not change, by hand."""
    delta = np.linspace(-0.02, 0.02, n)
    base = {"case_id": [f"c{i:02d}" for i in range(n)], "metric": "q", "baseline": 0.9, "delta": delta}
    frame = pd.DataFrame({**base, "candidate": 0.9 + delta, "n_candidate": 3, "n_baseline": 3, "status": "unchanged"})
    return frame.assign(**columns)


def with_row(frame: pd.DataFrame, position: int, **values: object) -> pd.DataFrame:
    out = frame.copy()
    for column, value in values.items():
        if column not in out:
            out[column] = None
        out.loc[position, column] = value
    return out


REGRESSED = {"status": "regressed", "candidate": 0.5, "delta": -0.4}
LOST = {
    "status": "inconclusive",
    "candidate": np.nan,
    "delta": np.nan,
    "n_candidate": 0,
    "reason": "no candidate score: timeout",
}
TABLE = [
    ("nothing changed", rows(), "pass"),
    ("one win regressed", with_row(rows(), 3, **REGRESSED), "fail"),
    ("one failure regressed", with_row(rows(), 3, **REGRESSED, kind="failure").fillna({"kind": "win"}), "pass"),
    ("one of twelve without a score", with_row(rows(), 3, **LOST), "pass"),
    ("two of twelve without a score", with_row(with_row(rows(), 3, **LOST), 4, **LOST), "inconclusive"),
    ("changes too uncertain", rows(delta=np.tile([-0.3, 0.3], 6)), "inconclusive"),
    ("a small drop everywhere", rows(delta=np.linspace(-0.06, -0.04, 12)), "fail"),
    ("the same on captured scores", rows(delta=np.linspace(-0.06, -0.04, 12), baseline_source="captured"), "pass"),
    ("a drop everywhere below a tenth of the tolerance", rows(delta=np.linspace(-0.009, -0.007, 12)), "pass"),
    ("one win only", rows(1), "inconclusive"),
    ("failures only", rows(kind="failure"), "inconclusive"),
    ("no metric can be judged", rows(unit=np.nan, status="inconclusive"), "inconclusive"),
    ("no row at all", rows(0), "inconclusive"),
    ("all skipped", rows(status="skipped", delta=np.nan, candidate=np.nan, n_candidate=0), "inconclusive"),
]


@pytest.mark.parametrize(("frame", "verdict"), [t[1:] for t in TABLE], ids=[t[0] for t in TABLE])
def test_verdicts(frame: pd.DataFrame, verdict: str) -> None:
    alone = decide_regression(frame)
    assert alone.verdict == verdict
    assert list(alone.checks.columns) == list(CHECKS.columns)
    assert alone.checks["check"].is_unique
    assert alone.reasons
    together = decide_regression(frame, compare_runs(frame))
    assert (together.verdict, together.reasons, together.evidence_hash) == (verdict, alone.reasons, alone.evidence_hash)


def test_reasons_are_sentences_and_the_deciding_one_comes_first() -> None:
    decision = decide_regression(with_row(rows(), 3, **REGRESSED), subject="run-7")
    assert str(decision) == "run-7: FAIL: 1 of 12 protected wins got worse: c03."
    assert decision.reasons[1] == "c03 got worse in q (0.90 to 0.50, 3 trials)."
    assert all(reason.endswith(".") for reason in decision.reasons)


def test_a_case_is_named_once_with_its_metrics_together() -> None:
    both = pd.concat([with_row(rows(), 3, **REGRESSED), with_row(rows(metric="p"), 3, **REGRESSED)])
    third = with_row(rows(metric="r", status="inconclusive"), 3, suspect=True).fillna({"suspect": False})
    frame = pd.concat([both, third]).fillna({"suspect": False})
    assert decide_regression(frame).reasons[:2] == [
        "1 of 12 protected wins got worse: c03.",
        "c03 got worse in p and q (0.90 to 0.50 on average, 3 trials); suspect also in r.",
    ]


def test_metrics_of_other_scales_are_not_averaged() -> None:
    slow = {"status": "regressed", "baseline": 2.0, "candidate": 5.5, "delta": 3.5}
    seconds = with_row(rows(metric="s", unit=10.0, higher_is_better=False), 3, **slow)
    frame = pd.concat([with_row(rows(unit=1.0, higher_is_better=True), 3, **REGRESSED), seconds])
    assert decide_regression(frame).reasons[1] == (
        "c03 got worse in q (0.90 to 0.50) and s (2.00 to 5.50; lower is better), 3 trials."
    )


def test_a_suspect_case_is_named_once() -> None:
    frame = pd.concat([rows(status="inconclusive"), rows(metric="p", status="inconclusive")], ignore_index=True)
    frame["suspect"] = frame["case_id"] == "c00"
    found = [reason for reason in decide_regression(frame).reasons if reason.startswith("Suspect")]
    said = "Suspect: c00 may have got worse in p and q (0.90 to 0.88 on average, 3 trials), not enough to call"
    assert found == [f"{said} among all wins."]


def test_failures_are_counted_once_each() -> None:
    failures = rows(kind="failure").assign(case_id=lambda f: "f" + f["case_id"])
    other = with_row(failures.assign(metric="p"), 3, status="inconclusive")
    reasons = decide_regression(pd.concat([rows(), failures, other])).reasons
    assert "Failures are shown and never decide: of 12 failures 11 unchanged, 1 inconclusive in some metric." in reasons


def test_nothing_compared_is_said_plainly() -> None:
    skipped = {"status": "skipped", "delta": np.nan, "candidate": np.nan, "n_candidate": 0}
    assert "No win could be compared." in decide_regression(rows(**skipped)).reasons


def test_one_reason_is_counted_once() -> None:
    skipped = {"status": "skipped", "delta": np.nan, "candidate": np.nan, "n_candidate": 0, "reason": "no input"}
    frame = with_row(with_row(rows(), 3, **skipped), 4, **skipped)
    assert "2 wins skipped: no input." in decide_regression(frame).reasons


def test_at_most_five_cases_are_named() -> None:
    decision = decide_regression(rows(9, **REGRESSED))
    assert decision.reasons[0] == "9 of 9 protected wins got worse: c00, c01, c02, c03, c04 and 4 more."
    assert sum(" to 0.50, 3 trials)" in reason for reason in decision.reasons) == 5
    assert "And 4 more cases of this kind." in decision.reasons


def test_captured_baselines_are_called_biased_in_words() -> None:
    decision = decide_regression(rows(baseline_source="captured"))
    assert any("biased by selection" in reason for reason in decision.reasons)
    state = decision.checks.set_index("check").loc[GLOBAL]
    assert (state["state"], "biased by selection" in state["note"]) == ("unknown", True)


def test_inconclusive_says_what_is_missing_and_how_many_runs() -> None:
    frame = with_row(with_row(rows(), 3, **LOST, runs_needed=2), 4, **LOST, runs_needed=2)
    decision = decide_regression(frame)
    assert decision.runs_needed == 4
    assert decision.reason == "wins scored"
    assert "Only 10 of 12 protected wins were scored; at least 90 % are needed." in decision.reasons
    assert "Not compared: no candidate score: timeout (2)." in decision.reasons


def test_a_metric_that_lost_its_scores_cannot_hide() -> None:
    """Every win is scored in one metric; the other metric vanished from the candidate."""
    lost = rows(metric="gone", **LOST)
    decision = decide_regression(pd.concat([rows(), lost]))
    assert decision.verdict == "inconclusive"
    assert decision.reason == "mean drop in gone"


@pytest.mark.parametrize("seed", range(5))
def test_mean_drops_are_the_numbers_of_compare_runs(seed: int) -> None:
    before, after = null_world(np.random.default_rng(seed), cases=9, metrics=3, trials=2)
    clusters = before["case_id"].map({f"c{i:03d}": "ab"[i % 2] for i in range(6)})
    deltas = case_deltas(before.assign(cluster=clusters), after)
    sign = deltas.assign(drop=-deltas["delta"] / deltas["unit"])
    ours, theirs = mean_drops(sign).set_index("metric"), compare_runs(deltas).set_index("metric")
    for column in ("n_paired", "drop", "drop_bound", "drop_p", "drop_all", "drop_all_p", "tolerance"):
        np.testing.assert_allclose(ours[column].astype(float), theirs[column].astype(float), rtol=1e-9)
    assert ours["baseline_source"].tolist() == theirs["baseline_source"].tolist()


def test_deltas_of_another_policy_are_refused() -> None:
    before, after = null_world(np.random.default_rng(1), cases=3, metrics=1, trials=2)
    deltas = case_deltas(before, after, policy="floor:0.5")
    with pytest.raises(PolicyError, match=r"made under policy 'floor:0.5', the decision asks for 'default'"):
        decide_regression(deltas)
    assert decide_regression(deltas, policy=RegressionPolicy.floor(0.5)).policy["floor_score"] == 0.5


def test_missing_columns_are_named() -> None:
    with pytest.raises(FrameError, match=r"decide_regression\(\) needs a case deltas frame"):
        decide_regression(pd.DataFrame({"case_id": ["a"]}))


def test_same_evidence_same_hash_whatever_the_row_order() -> None:
    frame = rows()
    shuffled = frame.sample(frac=1, random_state=3)
    assert decide_regression(frame).evidence_hash == decide_regression(shuffled).evidence_hash
    changed = with_row(frame, 0, candidate=0.1)
    assert decide_regression(changed).evidence_hash != decide_regression(frame).evidence_hash


@pytest.mark.parametrize(
    ("scores", "verdict"), [([0.8, 0.9], "pass"), ([0.79, 0.9], "fail"), ([None, 0.9], "inconclusive")]
)
def test_floor(scores: list[float | None], verdict: str) -> None:
    after = pd.DataFrame({"case_id": ["a", "b"], "metric": "q", "value": scores})
    decision = decide_regression(case_deltas(pd.DataFrame(), after, policy="floor:0.8"), policy="floor:0.8")
    assert decision.verdict == verdict


def test_reference_fails_on_any_case_and_never_passes_on_nothing() -> None:
    before = pd.DataFrame({"case_id": ["a", "b"], "kind": ["win", "failure"], "metric": "q", "value": [0.9, 0.5]})
    worse = case_deltas(before, before.assign(value=[0.9, 0.45]), policy="reference")
    assert decide_regression(worse, policy="reference").verdict == "fail"
    same = case_deltas(before, before, policy="reference")
    assert decide_regression(same, policy="reference").verdict == "pass"
    nothing = case_deltas(before, pd.DataFrame(), policy="reference")
    assert decide_regression(nothing, policy="reference").verdict == "inconclusive"


def test_no_change_mostly_passes_and_hardly_ever_fails() -> None:
    """Twenty wins, three trials a side, noise .10: the operating point a user meets first."""
    rng = np.random.default_rng(21)
    verdicts = [
        decide_regression(case_deltas(*null_world(rng, cases=20, metrics=3, trials=3))).verdict for _ in range(40)
    ]
    assert verdicts.count("fail") <= 5
    assert verdicts.count("pass") >= 34


def test_hostile_names_stay_on_one_visible_line() -> None:
    frame = with_row(rows(), 0, **REGRESSED, case_id="a\nb\u202e")
    assert decide_regression(frame).reasons[1].startswith("a[U+000A]b[U+202E] got worse in q")


def test_a_perfect_metric_that_breaks_is_found() -> None:
    before = made_scores(np.ones((10, 2, 3)))
    after = before.assign(value=np.where((before["case_id"] == "c004") & (before["metric"] == "m1"), 0.5, 1.0))
    decision = decide_regression(case_deltas(before, after))
    assert decision.reasons[1] == "c004 got worse in m1 (1.00 to 0.50, 3 trials)."
