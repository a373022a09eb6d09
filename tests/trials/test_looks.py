"""The path of an adaptive run, as a chart draws it: from the stored attempts, ending in the verdict that was given."""

from __future__ import annotations

from pathlib import Path

import matplotlib.figure
import pytest

import harnesskit as hk
from harnesskit.model.analyses import LOOKS
from tests.trials.test_adaptive_run import AgentOf, Hanging, banked, banked_outcomes, workspace


@pytest.fixture(scope="module")
def harness(tmp_path_factory):
    root: Path = tmp_path_factory.mktemp("w")
    banked(root)
    harness = workspace(root, AgentOf("new", 0.3, ("3",)), control=AgentOf("old"))
    harness.run_regression_now()
    return harness


def test_every_replay_of_a_win_is_a_look_and_the_last_status_is_the_verdict(harness):
    looks = harness.sequence()
    assert list(looks.columns) == list(LOOKS.columns)
    result = harness.regression()
    used = harness.sql("SELECT count(*) AS n FROM samples WHERE run_id = $r AND round IS NOT NULL", r=result.run_id)
    assert len(looks) == used["n"].iloc[0]
    assert (looks.groupby("case_id")["look"].diff().dropna() == 1).all()
    last = looks.groupby("case_id").tail(1).set_index("case_id")["status"]
    wins = result.deltas[result.deltas["kind"] == "win"]
    regressed = wins.loc[wins["status"] == "regressed", "case_id"].unique()
    assert sorted(last.index[last == "regressed"]) == sorted(regressed)
    assert looks["case_id"].iloc[0] == regressed[0]


def test_no_verdict_before_the_second_run_and_beyond_the_boundary_when_it_falls(harness):
    looks = harness.sequence()
    assert looks.loc[looks["n_candidate"] < 2, "bound"].isna().all()
    fell = looks[looks["status"] == "regressed"]
    assert len(fell) == 1
    assert (fell["z"] >= fell["bound"]).all()


def test_it_is_drawn_and_stands_in_the_report(harness):
    axes = hk.plot_sequence(harness.sequence(), ax=matplotlib.figure.Figure().subplots())
    assert any("crossed" in (artist.get_gid() or "") for artist in axes.collections)
    report = harness.regression().report()
    assert "How the evidence came in" in [section.title for section in report.sections]
    assert "came beyond the boundary" in report.render(".md").decode()


def test_a_run_that_is_not_adaptive_has_no_looks(harness):
    control = harness.runs().query("role == 'control'")["run_id"].iloc[0]
    assert harness.sequence(control).empty
    assert list(harness.sequence(control).columns) == list(LOOKS.columns)


def test_yes_or_no_metrics_are_on_the_same_scale(tmp_path: Path):
    banked_outcomes(tmp_path)
    harness = workspace(tmp_path, Hanging("new", 0.0, ("3",)))
    harness.run_regression_now(policy="thorough")
    looks = harness.sequence()
    mine = looks[looks["case_id"] == looks["case_id"].iloc[0]]
    assert set(mine["metrics"]) == {"outcome_correct"}
    assert mine["z"].is_monotonic_increasing
    assert mine["z"].iloc[-1] >= mine["bound"].iloc[-1]
