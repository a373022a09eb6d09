"""Which run is a control for which: what a person reads off the fingerprints."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import harnesskit as hk
from harnesskit.model.analyses import FINGERPRINTS

OLD = {"agent": "a1", "prompt": "14", "model": "m", "tools": {"search": 2}, "judge": "j1", "rules_hash": "abc"}


@pytest.fixture
def runs() -> pd.DataFrame:
    prints = [OLD, dict(reversed(OLD.items())), {**OLD, "prompt": "15", "seed": 7}, None, {**OLD, "rules_hash": "def"}]
    return pd.DataFrame(
        {
            "run_id": ["base", "again", "new", "bare", "ruled"],
            "role": ["control", "control", "replay", "replay", "control"],
            "label": None,
            "agent": [None, None, None, "a9", None],
            "fingerprint": [None if p is None else json.dumps(p) for p in prints],
        }
    )


def test_only_exactly_the_same_fingerprint_is_a_control(runs):
    found = hk.run_fingerprints(runs, baseline="base").set_index("run_id")
    assert found["same_as_baseline"].tolist() == [True, True, False, pd.NA, False]
    assert found.loc["new", "differs"] == "prompt: 14 → 15; seed: nothing → 7"
    assert found.loc["ruled", "differs"] == "rules_hash: abc → def"
    assert pd.isna(found.loc["again", "differs"])


def test_every_field_has_its_column_and_what_is_left_is_kept(runs):
    found = runs.hk.run_fingerprints(baseline=OLD)
    assert list(found.columns) == list(FINGERPRINTS.columns)
    row = found.set_index("run_id").loc["new"]
    assert row[["agent", "prompt", "tools", "judge"]].tolist() == ["a1", "15", '{"search": 2}', "j1"]
    assert json.loads(row["other"]) == {"seed": 7}
    bare = found.set_index("run_id").loc["bare"]
    assert (bool(bare["recorded"]), bare["agent"]) == (False, "a9")


def test_without_a_baseline_nothing_is_compared_and_an_unknown_one_is_named(runs):
    assert hk.run_fingerprints(runs)["same_as_baseline"].isna().all()
    with pytest.raises(hk.FrameError, match=r"no run 'bases' \(did you mean 'base'\?\)"):
        hk.run_fingerprints(runs, baseline="bases")


def test_a_workspace_names_the_baseline_of_its_next_run():
    found = hk.open(hk.demo_root()).fingerprints()
    assert found["run_id"].is_unique
    assert len(found) == len(hk.open(hk.demo_root()).table("runs"))
