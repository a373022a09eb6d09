"""The A/A check: a calm gate fails little, a bare margin fails nearly always, a flaky win is named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harnesskit.model.metrics import Metrics
from harnesskit.stats.intervals import clopper_pearson
from harnesskit.trials.aa_check import _control, _dealt, aa_check
from tests.made_scores import null_world


@pytest.fixture(scope="module")
def control() -> pd.DataFrame:
    return null_world(np.random.default_rng(4), cases=30, metrics=2, trials=5, sd=0.08)[0]


def rows_of(frame: pd.DataFrame) -> dict[str, pd.Series]:
    return {str(row["verdict"]): row for _, row in frame.iterrows()}


def test_a_calm_gate_rarely_fails_and_a_margin_nearly_always(control: pd.DataFrame) -> None:
    calm, margin = (rows_of(aa_check(control, policy=policy, draws=30)) for policy in ("default", "reference"))
    assert calm["fail"]["n"] <= 3
    assert margin["fail"]["n"] == 30
    assert (margin["fail"]["low"], margin["fail"]["high"]) == clopper_pearson(30, 30)
    assert (calm["pass"]["trials_baseline"], calm["pass"]["trials_candidate"]) == (3.0, 2.0)
    assert (margin["pass"]["trials_baseline"], margin["pass"]["trials_candidate"]) == (4.0, 1.0)


def test_the_verdicts_add_up_and_a_seed_gives_the_same_numbers(control: pd.DataFrame) -> None:
    one = aa_check(control, draws=10, seed=7)
    assert one["verdict"].tolist() == ["pass", "fail", "inconclusive"]
    assert one["n"].sum() == 10
    pd.testing.assert_frame_equal(one, aa_check(control, draws=10, seed=7))


def test_a_flaky_win_is_named(control: pd.DataFrame) -> None:
    flaky = (control["case_id"] == "c007") & (control["trial"] <= 2)
    found = rows_of(aa_check(control.assign(value=control["value"].mask(flaky, 0.05)), draws=30))
    assert found["fail"]["blamed"].startswith("c007 (")
    assert pd.isna(found["pass"]["blamed"])


def test_all_metrics_of_a_run_stay_together() -> None:
    """Two metrics that always move against each other: dealt together, their sum is the same on both sides."""
    rng = np.random.default_rng(0)
    first = rng.uniform(0.2, 0.8, (20, 4))
    cases, trials = np.indices(first.shape)
    base = pd.DataFrame({"case_id": cases.ravel().astype(str), "trial": trials.ravel()})
    rows = pd.concat([base.assign(metric="p", value=first.ravel()), base.assign(metric="q", value=1 - first.ravel())])
    control = _control(rows.sample(frac=1, random_state=1), Metrics())
    dealt = _dealt(control, np.full(20, 2), np.random.default_rng(3))
    means = dealt.runs.groupby(["cell", "arm"])["value"].mean().to_numpy().reshape(20, 2, 2)  # case, metric, arm
    assert np.allclose(means.sum(axis=1), 1.0)
    assert (dealt.cells["n_candidate"] == 2).all()


def test_a_fixed_plan_takes_its_trials(control: pd.DataFrame) -> None:
    found = rows_of(aa_check(control, policy="fixed:3", draws=5))
    assert found["pass"]["trials_candidate"] == 3.0
    short = rows_of(aa_check(control, policy="fixed:9", draws=5))
    assert short["inconclusive"]["n"] == 5
    assert "too few control runs for 9 candidate trials" in short["pass"]["warning"]


def test_only_control_runs_of_wins_take_part(control: pd.DataFrame) -> None:
    named = control.assign(role="control", run_id="r", arm=None)
    more = pd.concat([named, named.assign(role="replay", value=0.0), named.assign(kind="failure", case_id="f")])
    pd.testing.assert_frame_equal(aa_check(more, draws=5), aa_check(named, draws=5))


def test_without_repeats_there_is_no_draw_and_it_says_so(control: pd.DataFrame) -> None:
    found = aa_check(control[control["trial"] == 1], draws=5)
    assert found["draws"].tolist() == [0, 0, 0]
    assert found["share"].isna().all()
    assert "replay the unchanged agent again" in found["warning"].iloc[0]


def test_no_draws_is_refused(control: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="draws of at least 1"):
        aa_check(control, draws=0)
