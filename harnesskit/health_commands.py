"""The commands on the eval set as a whole: its health, and how reliably its cases pass."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

import pandas as pd

from harnesskit.commands import root_of
from harnesskit.harness import open_workspace
from harnesskit.model.errors import PolicyError
from harnesskit.reports.model import check_target
from harnesskit.terminal import print_json, print_table, say, strict_code, tell
from harnesskit.workspace.layout import keep_out

_HEALTH = ("case_id", "kind", "action", "timeline", "passed", "n_trials", "stability", "reason")
_COVERAGE = ("by", "value", "action", "n_sessions", "share", "low", "high", "n_replayable")


def run_health(arguments: Namespace) -> int:
    """Say what to do with each case and which traffic has none; nothing is replayed."""
    _check_out(arguments)
    harness = open_workspace(root_of(arguments))
    found = harness.health(
        pass_at=arguments.pass_at, slices=arguments.slice, as_of=arguments.as_of, stale_days=arguments.stale_days
    )
    if arguments.out is not None:
        say(f"Report: {found.report().save(arguments.out)}")
    if arguments.json:
        print_json(_tables({"cases": found.cases, "coverage": found.coverage}))
    else:
        todo = found.cases[found.cases["action"] != "keep"]
        print_table(todo.loc[:, list(_HEALTH)])
        if len(found.coverage):
            print_table(found.coverage.loc[:, list(_COVERAGE)].head(20).round(4))
        tell(arguments, f"{len(todo):,} of {len(found.cases):,} cases with something to do")
    return strict_code(arguments, harness.problems())


def run_study(arguments: Namespace) -> int:
    """Say how reliably each arm passes over repeats, what changed, and what it cost."""
    _check_out(arguments)
    harness = open_workspace(root_of(arguments))
    found = harness.study(
        arguments.run, k=_ks(arguments.k), metric=arguments.metric, by=arguments.by, baseline=arguments.baseline,
        pass_at=arguments.pass_at, unscored="fail" if arguments.unscored_fail else "left_out",
    )  # fmt: skip
    if arguments.out is not None:
        say(f"Report: {found.report().save(arguments.out)}")
    if arguments.json:
        print_json(
            {"runs": list(found.runs)}
            | _tables({"rates": found.rates, "differences": found.differences, "costs": found.costs})
        )
    else:
        for frame in (found.rates, found.differences, found.costs):
            if len(frame):
                print_table(frame.dropna(axis="columns", how="all").round(3))
    return strict_code(arguments, harness.problems())


def _tables(frames: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Return frames as lists of rows of strict JSON."""
    return {
        name: json.loads(frame.to_json(orient="records", date_format="iso", double_precision=15))
        for name, frame in frames.items()
    }


def _check_out(arguments: Namespace) -> None:
    if arguments.out is not None:
        keep_out(root_of(arguments), check_target(arguments.out))


def _ks(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise PolicyError(f"--k needs whole numbers such as 1,2,4; found {text!r}.") from None
