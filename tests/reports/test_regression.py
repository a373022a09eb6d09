"""What the regression report says, and the golden Markdown of six rows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import mistune
import pandas as pd
import pytest

import harnesskit as hk
from harnesskit.model.errors import FrameError
from harnesskit.model.policy import RegressionPolicy
from harnesskit.reports.document import Tally
from harnesskit.reports.model import Report
from harnesskit.reports.regression import regression_report
from harnesskit.reports.regression_words import policy_words
from tests.made_regression import made_comparison, made_decision, made_deltas

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "regression_report.md"


def six_rows():
    deltas = made_deltas(["refund-1017", "a|b\nc", "$42"], ["tool_correctness", "q|r"])
    return regression_report(
        deltas, made_comparison(deltas), made_decision(), problems=deltas.head(0)[["case_id", "reason"]],
        title="Prompt v9 against main", reproduce="harnesskit regression --policy default",
        metadata={"harnesskit": "0.1.0"},
    )  # fmt: skip


def test_the_markdown_of_six_rows_is_the_golden_one():
    assert six_rows().render(".md").decode("utf-8") == GOLDEN.read_text(encoding="utf-8")


def test_the_first_line_holds_the_verdict():
    assert six_rows().render(".md").decode().splitlines()[0] == "# FAIL: Prompt v9 against main"


def test_every_row_of_a_markdown_table_has_the_same_number_of_cells(hostile_report):
    tables = re.findall(r"(?:^\|.*\n)+", hostile_report.render(".md").decode(), flags=re.MULTILINE)
    assert len(tables) >= 5
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    rows = mistune.create_markdown(plugins=["table"])(hostile_report.render(".md").decode()).count("<tr>")
    assert rows == sum(len(table.splitlines()) - 1 for table in tables)


def test_captured_baselines_are_called_biased():
    deltas = made_deltas(["a"], ["q"])
    words = {
        source: regression_report(
            deltas.assign(baseline_source=source),
            made_comparison(deltas).assign(baseline_source=source), made_decision(),
        ).render(".md").decode()
        for source in ("captured", "control")
    }  # fmt: skip
    assert "biased by selection" in words["captured"]
    assert "biased by selection" not in words["control"]
    assert "measured in runs of its own" in words["control"]


def worst(**columns):
    """Two cases got worse or are suspect; one is fine."""
    deltas = made_deltas(["a", "b", "c"], ["p", "q"]).assign(status="unchanged", suspect=False, kind="win")
    deltas.loc[deltas["case_id"].isin(["a"]), "status"] = "regressed"
    deltas.loc[2, ["status", "suspect"]] = ["inconclusive", True]
    cases = pd.DataFrame({
        "case_id": ["a", "b", "c"], "notes": ["Kept since May", None, "fine"], "signature": [["healthy", "x"], [], []],
        "replay_input": ['{"task": "Refund order 17", "api_key": "sw0rdfish-1"}', '"' + "long " * 200 + '"', None],
        "file": [f"evalset/{name}.json" for name in "abc"],
    })  # fmt: skip
    return regression_report(deltas, made_comparison(deltas), made_decision(), cases=cases.assign(**columns))


def test_the_cases_that_got_worse_say_what_they_are():
    (table,) = [table for table in worst().tables if table.name == "worse_cases"]
    rows = table.frame.set_index("case_id")
    assert rows.index.tolist() == ["a", "b"]
    assert rows.loc["a", ["worse_in", "notes", "signature", "file"]].tolist() == [
        "p\nq", "Kept since May", "healthy\nx", "evalset/a.json"
    ]  # fmt: skip
    assert rows.loc["b", ["worse_in", "suspect_in"]].tolist() == ["", "p"]
    assert rows.loc["a", "input"] == "task: Refund order 17\napi_key: [masked]"
    assert len(rows.loc["b", "input"]) <= 240
    assert "The cases that got worse" in worst().render(".md").decode()
    for suffix in (".html", ".md", ".json"):
        assert b"sw0rdfish" not in worst().render(suffix)


def test_a_case_is_counted_once_beside_its_changes():
    tallies = [block for section in worst().sections for block in section.blocks if isinstance(block, Tally)]
    assert [(tally.unit, dict(tally.counts)["regressed"]) for tally in tallies] == [
        ("protected wins (cases)", 1), ("changes (case × metric)", 2),
    ]  # fmt: skip


def test_what_changed_between_the_runs_is_said():
    runs = pd.DataFrame({"run_id": ["old", "run-7"], "fingerprint": ['{"prompt":"14","m":1}', '{"prompt":"15","m":1}']})
    deltas = made_deltas(["a"], ["q"])
    text = regression_report(deltas, made_comparison(deltas), made_decision(), runs=runs).render(".md").decode()
    assert "Changed from old to run-7: prompt: 14 → 15." in text


def test_what_several_means_share_is_said_once_and_a_captured_baseline_elsewhere():
    deltas = made_deltas(["a", "b"], ["p", "q"])
    comparison = made_comparison(deltas).assign(warning="captured baseline: selected; few cases")
    text = regression_report(deltas, comparison, made_decision()).render(".md").decode()
    assert "- Few cases: all of them." in text
    assert "captured baseline: selected" not in text.casefold()


def test_one_sided_cases_are_listed(hostile_report):
    (table,) = [table for table in hostile_report.tables if table.name == "one_sided"]
    assert (table.frame["n_candidate"] == 0).all()
    assert len(table.frame) == 6


def test_metrics_of_other_scales_get_charts_of_their_own(hostile_report):
    assert [("latency_s" in chart.title) for chart in hostile_report.charts] == [False, False, True]


def test_problems_not_looked_at_are_said_to_be_so():
    deltas = made_deltas(["a"], ["q"])
    text = regression_report(deltas, made_comparison(deltas), made_decision()).render(".md").decode()
    assert "Not looked at for this report." in text


def test_doubts_about_a_mean_stand_under_it(hostile_report):
    metrics = hostile_report.render(".md").decode().partition("## Metrics")[2].partition("## ")[0]
    assert metrics.count("ewer than 10 cases") == 1  # a doubt that several means share is said once
    assert "- Fewer than 10 cases: " in metrics
    assert "win latency_s" in metrics.partition("- Fewer than 10 cases: ")[2].partition(".")[0]


def test_the_ledger_is_folded_under_the_counts():
    deltas = made_deltas(["a"], ["q"])
    columns = ["side", "kind", "metric", "state", "reason", "n_cases", "n_trials"]
    ledger = pd.DataFrame([["candidate", "win", "q", "unscored", "the judge gave no number", 0, 1]], columns=columns)
    text = regression_report(deltas, made_comparison(deltas), made_decision(), ledger=ledger).render(".md").decode()
    assert "<summary>What became of every case and trial: a case with a scored trial counts as scored, " in text
    assert "| candidate | q | win | unscored | 0 | 1 | the judge gave no number |" in text


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (RegressionPolicy.default(), "drop of 0.1 is excluded with 80% confidence"),
        (RegressionPolicy.fixed(5), "5 trials per case"),
        (RegressionPolicy.floor(0.8), "score at least 0.8"),
        (RegressionPolicy.reference(), "change of 0.05 or more"),
    ],
)
def test_the_policy_is_said_in_words_and_numbers(policy, words):
    assert words in " ".join(policy_words(policy.plain()))


def test_an_unknown_policy_is_said_to_be_one():
    assert "a policy of its own" in policy_words({"mine": 1})[0]


def test_nothing_compared_still_makes_a_report(tmp_path):
    deltas = made_deltas().head(0)
    report = regression_report(deltas, made_comparison(made_deltas()).head(0), made_decision("inconclusive"))
    for suffix in ("html", "md", "json"):
        assert report.save(tmp_path / f"r.{suffix}").stat().st_size > 0


def test_only_the_needed_columns_are_enough():
    deltas = made_deltas(["a"], ["q"])[["case_id", "metric", "delta", "low", "high", "status"]]
    comparison = made_comparison(made_deltas(["a"], ["q"]))
    comparison = comparison[["kind", "metric", "baseline", "candidate", "delta", "low", "high"]]
    assert b"regressed" in regression_report(deltas, comparison, made_decision()).render(".html")


def test_a_missing_column_is_named():
    deltas = made_deltas(["a"], ["q"])
    with pytest.raises(FrameError, match=r"regression_report\(\) needs a case deltas frame.*missing 'status'"):
        regression_report(deltas.drop(columns="status"), made_comparison(deltas), made_decision())


def test_a_case_on_one_side_only_is_counted_apart_and_decides_no_case_that_was_compared():
    before = pd.DataFrame({"case_id": list("aabc"), "metric": list("pqpp"), "value": [0.9] * 4})
    before = pd.concat([before.assign(value=before["value"] + step) for step in (0.0, 0.01, 0.02)])
    after = before[~((before["case_id"] == "a") & (before["metric"] == "q")) & (before["case_id"] != "c")]
    deltas = hk.case_deltas(before, after)
    statuses = hk.case_statuses(deltas).set_index("case_id")["status"].to_dict()
    assert statuses == {"a": "unchanged", "b": "unchanged", "c": "inconclusive"}  # METHODS 11: not tested, but listed
    decision = hk.decide_regression(deltas)
    report = regression_report(deltas, hk.compare_runs(deltas), decision)
    cases, changes = (dict(b.counts) for s in report.sections for b in s.blocks if isinstance(b, Tally))
    assert (cases["unchanged"], cases["inconclusive"], cases["on one side only"]) == (2, 0, 1)
    assert (changes["unchanged"], changes["inconclusive"], changes["on one side only"]) == (2, 0, 2)
    assert "2 on one side only" in decision.detail
    assert (hk.compare_runs(deltas)["n_inconclusive"] == 0).all()


@pytest.fixture(scope="module")
def clustered(shared: Path) -> Report:
    """The report of 120 cases in families, three trials a side."""
    rows = pd.read_csv(shared / "files" / "csv" / "long.csv").rename(columns={"family": "cluster", "passed": "value"})
    rows = rows.assign(metric="passed")
    before, after = (rows[rows["arm"] == arm].drop(columns="arm") for arm in ("baseline", "candidate"))
    deltas = hk.case_deltas(before, after, policy="fixed:3")
    comparison = hk.compare_runs(deltas)
    return regression_report(deltas, comparison, hk.decide_regression(deltas, comparison, policy="fixed:3"))


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_where_cases_have_clusters_both_intervals_are_shown_by_name(clustered: Report, suffix: str):
    text = clustered.render(suffix).decode()
    for label in ("95 % interval over clusters (used)", "95 % interval over cases", "Clusters"):
        assert label in text
    table = next(table for table in clustered.tables if table.name == "comparison")
    shown = dict(zip([column.label for column in table.shown()], table.cells(1)[0], strict=True))
    assert shown["95 % interval over clusters (used)"].text == "-0.170 to -0.058"
    assert shown["95 % interval over cases"].text == "-0.182 to -0.046"
    assert "over clusters is the one that the decision uses" in text


def test_the_json_report_has_both_intervals(clustered: Report):
    table = next(t for t in json.loads(clustered.render(".json"))["tables"] if t["name"] == "comparison")
    row = dict(zip(table["columns"], table["rows"][0], strict=True))
    assert [round(row[f"{over}_{end}"], 3) for over in ("cases", "clusters") for end in ("low", "high")] == [
        -0.182, -0.046, -0.170, -0.058,
    ]  # fmt: skip
    assert (row["low"], row["high"]) == (row["clusters_low"], row["clusters_high"])
    assert any("over clusters" in chart.alt and "over cases" in chart.alt for chart in clustered.charts)


def test_without_clusters_there_is_one_interval():
    deltas = made_deltas(["a"], ["q"])
    text = regression_report(deltas, made_comparison(deltas), made_decision()).render(".md").decode()
    assert "over clusters" not in text
