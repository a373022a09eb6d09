"""Columns spelt as JSON: the same characters as the standard encoder, so that hashes stay what they were."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from harnesskit.decisions.evidence_text import encoded_columns

EDGES = [0.0, -0.0, 1.0, 1e-5, 9.9e-5, 1e-3, 0.1, 999999.9999999999, 1e6, 1e15, 1e16, 1e22, 5e-324, -2.5, np.nan]


def plainly(frame: pd.DataFrame) -> str:
    known = frame.astype(object)
    lists = {str(name): column.where(column.notna(), None).tolist() for name, column in known.items()}
    return json.dumps(lists, sort_keys=True, allow_nan=False, default=str)


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_spelt_as_python_spells_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**63, 2000).view(float)
    frame = pd.DataFrame({"x": [*EDGES, *rng.random(2000), *rng.normal(0, 50, 2000), *bits[np.isfinite(bits)]]})
    assert encoded_columns(frame, ["x"]).text == plainly(frame)


def test_texts_flags_and_counts_are_spelt_as_python_spells_them() -> None:
    frame = pd.DataFrame(
        {
            "name": ['a "b"', "é\n", None, "a"],
            "kind": pd.Categorical(["win", None, "win", "failure"]),
            "n": pd.array([1, None, 3, 1], dtype="Int64"),
            "flag": [True, False, True, True],
            "mixed": pd.Series([1, True, 1.0, None], dtype=object),
        }
    )
    assert encoded_columns(frame, list(frame)).text == plainly(frame)


def test_an_infinite_number_is_refused() -> None:
    with pytest.raises(ValueError):
        encoded_columns(pd.DataFrame({"x": [1.0, np.inf]}), ["x"])
