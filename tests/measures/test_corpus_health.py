"""The health of an eval set: what is said of each case, on planted worlds, and what is not said on few runs."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pandas as pd
import pytest

import harnesskit as hk
from harnesskit.measures.near_duplicates import near_duplicates
from harnesskit.model.health_results import ACTIONS, TOO_FEW


def cases_of(*ids: str, **more: object) -> pd.DataFrame:
    rows = pd.DataFrame({"case_id": list(ids), "kind": "win", "replayable": True})
    rows["created_at"] = pd.Timestamp("2026-01-01", tz="UTC")
    return rows.assign(**more)


def runs_of(case: str, *runs: str, role: str = "control", start: str = "2026-01-02") -> pd.DataFrame:
    """Rows of one case: a text per run, + for a pass, - for a fail, ? for no score."""
    rows = [
        {"case_id": case, "run_id": f"r{i}", "role": role, "arm": "control", "trial": t, "metric": "q",
         "value": {"+": 0.9, "-": 0.1, "?": None}[mark],
         "occurred_at": pd.Timestamp(start, tz="UTC") + pd.Timedelta(days=i)}
        for i, marks in enumerate(runs) for t, mark in enumerate(marks, start=1)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def health(cases: pd.DataFrame, *rows: pd.DataFrame, **more: object) -> pd.DataFrame:
    return hk.corpus_health(cases, pd.concat(rows), pass_at=0.5, **more).set_index("case_id")


def test_a_case_is_born_broke_was_fixed_and_was_flaky() -> None:
    line = hk.case_timeline(runs_of("a", "++", "--", "+-", "++", "?", "+"), pass_at=0.5)
    assert line["event"].tolist() == ["born", "broke", "flaky", "fixed", "not scored", "held"]
    assert line["state"].tolist() == ["pass", "fail", "mixed", "pass", "none", "pass"]
    assert line[["n", "passed", "n_unscored"]].iloc[4].tolist() == [0, 0, 1]


def test_a_trial_needs_every_metric_to_pass_and_one_to_fail() -> None:
    rows = pd.DataFrame(
        {"case_id": "a", "run_id": "r", "sample_id": ["s1", "s1", "s2", "s2", "s3", "s3"],
         "metric": ["p", "q"] * 3, "value": [0.9, 0.9, 0.9, 0.1, 0.9, None]}
    )  # fmt: skip
    line = hk.case_timeline(rows, pass_at=0.5).iloc[0]
    assert (line["n"], line["passed"], line["n_unscored"]) == (2, 1, 1)


def test_what_does_not_apply_does_not_leave_a_trial_open() -> None:
    rows = pd.DataFrame({"case_id": "a", "run_id": "r", "sample_id": "s", "metric": ["p", "q"],
                         "value": [0.9, None], "status": ["ok", "not_applicable"]})  # fmt: skip
    assert hk.case_timeline(rows, pass_at=0.5).loc[0, "state"] == "pass"


def test_candidates_of_a_trial_are_not_how_a_case_stands() -> None:
    rows = pd.concat([runs_of("a", "+++++"), runs_of("a", "-----", role="candidate").assign(run_id="try")])
    assert hk.case_timeline(rows, pass_at=0.5)["run_id"].tolist() == ["r0"]


@pytest.mark.parametrize(
    ("kind", "runs", "action"),
    [
        ("win", ["+++++"], "keep"),
        ("win", ["++"], "replay"),
        ("win", ["?????"], "replay"),
        ("win", ["+----"], "demote"),
        ("failure", ["-----", "-----"], "keep"),
        ("failure", ["++--++--+", "--"], "repair"),
        ("failure", ["+++++++"], "try_as_win"),
        ("failure", ["+++++"], "keep"),
    ],
)
def test_the_action_follows_from_enough_runs_only(kind: str, runs: list[str], action: str) -> None:
    found = health(cases_of("a", kind=kind), runs_of("a", *runs)).loc["a"]
    assert found["action"] == action
    assert found["reason"]


def test_a_win_that_breaks_in_a_replay_is_to_be_reviewed_and_not_demoted() -> None:
    after = runs_of("a", "---", role="replay", start="2026-02-01").assign(run_id="new")
    found = health(cases_of("a"), runs_of("a", "+++++"), after).loc["a"]
    assert found["action"] == "review"
    assert "0 of 3 trials of its newest run new passed" in found["reason"]


def test_a_case_without_input_and_a_copy_come_first() -> None:
    cases = cases_of("a", "b", "c", "d", replay_input=['{"t": 1}', '{"t":1}', '{"t": 2}', None])
    cases.loc[3, "replayable"] = False
    found = health(cases, *(runs_of(case, "+++++") for case in "abc"))
    assert found["action"].to_dict() == {"d": "attach_input", "b": "retire", "a": "keep", "c": "keep"}
    assert found.loc["b", "duplicate_of"] == "a"


def test_age_counts_to_the_time_asked_for_and_old_runs_and_baselines_are_named() -> None:
    rows = runs_of("a", "+++++")
    late = health(cases_of("a"), rows, as_of="2026-07-01").loc["a"]
    assert late["age_days"] == 181
    assert (late["action"], "too old" in late["reason"]) == ("replay", True)
    again = runs_of("a", "+++++", role="replay", start="2026-06-20").assign(run_id="new")
    fresh = health(cases_of("a"), rows, again, as_of="2026-07-01").loc["a"]
    assert fresh["action"] == "re-baseline"
    assert fresh["baseline_at"] == pd.Timestamp("2026-01-02", tz="UTC")


def test_one_disagreement_in_five_is_too_few_to_say_flaky() -> None:
    found = health(cases_of("a", "b", "c"), runs_of("a", "++++-"), runs_of("b", "++--+"), runs_of("c", "+" * 14))
    assert found["stability"].to_dict() == {"a": TOO_FEW, "b": "flaky", "c": "steady"}
    assert found.loc["b", "flip_rate"] == pytest.approx(0.6)
    assert (found.loc["c", "informs"], found.loc["a", "informs"]) == ("says nothing", "tells")


def test_a_change_between_runs_is_not_flakiness() -> None:
    found = health(cases_of("a"), runs_of("a", "+++++++", "-------")).loc["a"]
    assert (found["flip_rate"], found["stability"]) == (0.0, "steady")


def test_cases_that_fail_in_one_run_of_fifty_are_seldom_called_flaky() -> None:
    """1,000 cases with 5 repeats that pass 98 % of the time: at most 1 % look flaky beyond doubt."""
    rng = np.random.default_rng(4)
    ids = [f"c{i}" for i in range(1000)]
    rows = pd.DataFrame({"case_id": np.repeat(ids, 5), "run_id": "r", "role": "control", "metric": "q",
                         "trial": np.tile(range(1, 6), 1000), "value": (rng.random(5000) < 0.98) * 1.0})  # fmt: skip
    found = hk.corpus_health(cases_of(*ids), rows, pass_at=0.5)
    assert (found["stability"] == "flaky").mean() <= 0.01


def test_the_noisiest_metric_is_told_with_its_degrees_of_freedom() -> None:
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"case_id": "a", "run_id": np.repeat(["x", "y"], 10), "role": "control",
                         "trial": np.tile(range(1, 11), 2)})  # fmt: skip
    both = pd.concat(
        [rows.assign(metric=m, value=0.6 + sd * rng.normal(size=20)) for m, sd in (("p", 0.02), ("q", 0.1))]
    )
    found = health(cases_of("a"), both).loc["a"]
    pooled = both[both["metric"] == "q"].groupby("run_id")["value"].var().mean() ** 0.5
    assert (found["noise_metric"], found["noise_df"]) == ("q", 18)
    assert found["noise_sd"] == pytest.approx(pooled)


def test_duplicates_of_all_cases_are_those_of_each() -> None:
    """The fast search over all pairs finds what the slow one finds for one case."""
    rng = np.random.default_rng(3)
    words = [f"word{i}" for i in range(12)]
    texts = [" ".join(rng.choice(words, rng.integers(4, 9), replace=False)) for _ in range(120)]
    cases = pd.DataFrame({"case_id": [f"c{i:03d}" for i in range(120)], "kind": "win",
                          "replay_input": [f'{{"task": "{t}"}}' for t in texts],
                          "signature_key": [f'["s{i % 2}"]' for i in range(120)]})  # fmt: skip
    found = hk.duplicate_cases(cases).set_index("case_id")
    for case in cases["case_id"]:
        near = near_duplicates(cases, case)
        alike = near[near["why"] != "same input"]
        best = alike["similarity"].max() if len(alike) else float("nan")
        assert found.loc[case, "similarity"] == pytest.approx(best, nan_ok=True)


def test_nothing_at_all_gives_no_rows_and_no_warnings(recwarn: pytest.WarningsRecorder) -> None:
    none = pd.DataFrame({"case_id": [], "metric": [], "value": []})
    assert hk.corpus_health(cases_of(), none).empty
    alone = hk.corpus_health(cases_of("a"), none).iloc[0]
    assert (alone["action"], alone["stability"], alone["n_trials"]) == ("replay", TOO_FEW, 0)
    assert not recwarn.list


def test_every_action_is_one_of_the_closed_set_on_the_demo() -> None:
    found = hk.open(hk.demo_root()).health()
    assert set(found.cases["action"]) <= set(ACTIONS)
    assert not found.cases["reason"].isna().any()
    assert found.cases["action"].value_counts().to_dict() == {"keep": 67, "attach_input": 9, "repair": 5}


def test_twenty_thousand_cases_of_ten_runs() -> None:
    rng = np.random.default_rng(0)
    ids = [f"c{i:05d}" for i in range(20_000)]
    cases = cases_of(*ids, replay_input=[f'{{"task": "do {i} of {i % 977} things {i % 89}x"}}' for i in range(20_000)])
    run = np.tile(np.repeat(["a", "b"], 5), 20_000)
    rows = pd.DataFrame({"case_id": np.repeat(ids, 10), "metric": "q", "run_id": run, "role": "control",
                         "trial": np.tile(np.tile(range(1, 6), 2), 20_000),
                         "value": rng.random(200_000)})  # fmt: skip
    start = perf_counter()
    hk.corpus_health(cases, rows, pass_at=0.2)
    assert perf_counter() - start < 8  # 1.3 s on two idle cores
