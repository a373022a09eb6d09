"""Field reports 09, 14, 17, 19, 20, 21, 24, 27 and 51, from their own files through the public functions."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from made_scores import read_captured, read_samples

from harnesskit.decisions.regression import decide_regression
from harnesskit.measures.comparison import compare_runs, percent_change
from harnesskit.measures.deltas import case_deltas
from harnesskit.measures.ledger import evidence_ledger, one_sided
from harnesskit.model.metrics import Metric


def folder(shared: Path, name: str) -> Path:
    return shared / "cases" / name


def test_09_the_case_is_the_unit(shared: Path) -> None:
    here = folder(shared, "09-pooled-repeats")
    deltas = case_deltas(read_samples(here / "base.jsonl"), read_samples(here / "new.jsonl"))
    assert deltas["n_candidate"].tolist() == [3, 3, 3, 3]
    assert compare_runs(deltas).loc[0, "n_paired"] == 4


def test_14_values_of_another_scale_stop_the_comparison(shared: Path) -> None:
    here = folder(shared, "14-scale-mix")
    before, after = read_captured(here / "evalset"), read_samples(here / "samples.jsonl")
    deltas = case_deltas(before, after, policy="reference")
    assert set(deltas["status"]) == {"inconclusive"}
    assert deltas["reason"].str.contains("scale").all()
    assert decide_regression(deltas, policy="reference").verdict == "inconclusive"
    declared = case_deltas(before, after.assign(value=after["value"] / 100), policy="reference")
    assert (
        declared["delta"].round(9).tolist() == json.loads((here / "expected.json").read_text())["declared_0_100_deltas"]
    )


def test_17_direction_is_declared(shared: Path) -> None:
    here = folder(shared, "17-lower-is-better")
    known = [
        Metric("latency_s", high=None, higher_is_better=False, tolerance=0.5),
        Metric("cost_usd", high=None, higher_is_better=False, tolerance=0.001),
        Metric("hallucination", higher_is_better=False),
    ]
    deltas = case_deltas(
        read_captured(here / "evalset"), read_samples(here / "samples.jsonl"), policy="reference", metrics=known
    )
    words = {"regressed": "worse", "improved": "better", "unchanged": "same"}
    expected = json.loads((here / "expected.json").read_text())["verdicts"]
    found = deltas.set_index("metric")["status"]
    for metric, verdict in expected.items():
        assert words.get(found[metric], "no verdict") in verdict
    assert deltas.set_index("metric").loc["oddness", "delta"] == 2.0


def test_19_zero_baselines(shared: Path) -> None:
    here = folder(shared, "19-zero-baseline")
    deltas = case_deltas(read_captured(here / "evalset"), read_samples(here / "samples.jsonl"), policy="reference")
    expected = json.loads((here / "expected.json").read_text())
    words = {"better": "improved", "worse": "regressed", "same": "unchanged"}
    assert deltas["status"].tolist() == [words[v] for v in expected["verdict"]]
    assert deltas["delta"].tolist() == expected["delta"]
    percents = [percent_change(b, d) for b, d in zip(deltas["baseline"], deltas["delta"], strict=True)]
    assert pd.isna(percents[0])
    assert (percents[1], percents[3]) == (-100.0, 0.0)


def test_20_digits_never_contradict_the_verdict(shared: Path) -> None:
    here = folder(shared, "20-threshold-rounding")
    deltas = case_deltas(pd.DataFrame(), read_samples(here / "samples.jsonl"), policy="floor:0.8")
    passed = (deltas["status"] == "unchanged").tolist()
    assert passed == [False, True, True, True, False, True]
    decision = decide_regression(deltas, policy="floor:0.8")
    assert decision.reasons[:3] == [
        "2 of 6 protected wins scored below the floor of 0.8: c0, c4.",
        "c0 scored below the floor in q (0.797).",
        "c4 scored below the floor in q (0.7999999).",
    ]


def test_21_one_rule_one_verdict(shared: Path) -> None:
    here = folder(shared, "21-mean-vs-per-case")
    expected = json.loads((here / "expected.json").read_text())
    deltas = case_deltas(read_captured(here / "evalset"), read_samples(here / "samples.jsonl"), policy="floor:0.8")
    decision = decide_regression(deltas, compare_runs(deltas), policy="floor:0.8")
    assert deltas.loc[deltas["status"] == "regressed", "case_id"].tolist() == expected["cases_below"]
    assert (decision.verdict, decision.exit_code) == ("fail", 1)
    assert compare_runs(deltas).loc[0, "candidate"] == pytest.approx(expected["mean"], abs=1e-4)
    for case, reason in zip(expected["cases_below"], decision.reasons[1:], strict=False):
        assert reason.startswith(f"{case} scored below the floor")
        assert "0.25" in reason


def test_24_paired_over_common_cases(shared: Path) -> None:
    here = folder(shared, "24-different-case-sets")
    expected = json.loads((here / "expected.json").read_text())
    deltas = case_deltas(read_samples(here / "run_a.jsonl"), read_samples(here / "run_b.jsonl"))
    row = compare_runs(deltas).iloc[0]
    assert row["n_paired"] == expected["common_cases"]
    assert row["delta"] == pytest.approx(expected["paired_delta"])
    sides = one_sided(deltas).groupby("side")["case_id"].apply(list)
    assert sides["baseline"] == expected["only_in_a"]
    assert sides["candidate"] == expected["only_in_b"]


def test_27_zero_and_one(shared: Path) -> None:
    here = folder(shared, "27-n-zero-and-one")
    one = case_deltas(read_captured(here / "one"), read_samples(here / "one_sample.jsonl"))
    assert one.loc[0, ["status", "interval_kind"]].tolist() == ["inconclusive", "assumed noise"]
    nothing = case_deltas(read_captured(here / "one"), read_samples(here / "no_samples.jsonl"))
    for deltas in (one, nothing, case_deltas(pd.DataFrame(), pd.DataFrame())):
        decision = decide_regression(deltas)
        assert (decision.verdict, decision.exit_code) == ("inconclusive", 3)
        assert not any("nan" in reason.lower().split() for reason in decision.reasons)


def test_51_missing_cases_do_not_match_each_other(shared: Path) -> None:
    here = folder(shared, "51-null-join-key")
    expected = json.loads((here / "expected.json").read_text())
    records = [json.loads(line) for line in (here / "baselines.jsonl").read_text().splitlines()]
    before = pd.DataFrame(records).rename(columns={"score": "value"})
    after = read_samples(here / "samples.jsonl")
    assert int(case_deltas(before, after)["n_candidate"].sum()) == expected["matched"]
    unmatched = evidence_ledger(before, after).query("state == 'unmatched'").set_index("side")["n_trials"]
    assert unmatched.to_dict() == {
        "baseline": expected["unmatched_baselines"],
        "candidate": expected["unmatched_samples"],
    }
