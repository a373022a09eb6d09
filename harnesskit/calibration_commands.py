"""``harnesskit calibrate``: thresholds held against labels."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import pandas as pd

from harnesskit.commands import root_of
from harnesskit.harness import open_workspace
from harnesskit.model.own_files import keep_out
from harnesskit.reports.jsonform import scalar
from harnesskit.reports.model import check_target
from harnesskit.terminal import print_json, say, strict_code, tell


def run_calibrate(arguments: Namespace) -> int:
    """Say of each metric how far a breach means a failure, and which threshold the labels speak for."""
    root = root_of(arguments)
    if arguments.out is not None:
        keep_out(root, check_target(arguments.out))
    harness = open_workspace(root)
    result = harness.calibrate(
        arguments.labels, metric=arguments.metric, grader=arguments.grader, policy=arguments.policy,
        target_precision=arguments.target_precision, cost_missed=arguments.cost_missed,
        cost_false_alarm=arguments.cost_false_alarm,
    )  # fmt: skip
    for problem in result.problems:
        say(f"{problem['file']}:{problem['line']}: {problem['message']}")
    if arguments.json:
        print_json({
            "metrics": _rows(result.table), "agreement": _rows(result.agreement), "labels": result.source,
            "refused": result.problems, "graders": result.graders,
        })  # fmt: skip
    tell(arguments, f"{len(result.labels):,} labels ({result.source}), {len(result.problems):,} refused")
    for row in result.table.to_dict("records"):
        _tell_metric(arguments, {str(name): value for name, value in row.items()})
    if arguments.out is not None:
        say(f"Report: {result.report().save(arguments.out)}")
    return strict_code(arguments, harness.problems())


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): scalar(value) for name, value in row.items()} for row in frame.to_dict("records")]


def _tell_metric(arguments: Namespace, row: dict[str, Any]) -> None:
    scored = f"{row['n_scored']:,} of {row['n_sessions']:,} sessions scored, {row['n_labelled']:,} labelled"
    tell(arguments, f"\n{row['metric']}: {row['state']}; {scored}, {row['n_failed']:,} of these failed")
    if pd.notna(row["recall"]):
        rates = ", ".join(f"{name} {_with_interval(row, name)}" for name in ("precision", "recall", "f1"))
        tell(arguments, f"  at {row['threshold']:g}: {rates}")
    if pd.notna(row["best_threshold"]):
        shown = f"{row['best_f1_expected']:.2f} expected" if pd.notna(row["best_f1_expected"]) else "in sample"
        tell(arguments, f"  best F1 at {row['best_threshold']:g}: {row['best_f1']:.2f} on these labels, {shown}")
    target = f"precision above {row['target_precision']:g}"
    if pd.notna(row["certified_threshold"]):
        tell(
            arguments,
            f"  {target}: established at {row['certified_threshold']:g}, recall {row['certified_recall']:.2f}",
        )
    elif pd.notna(row["labels_needed"]):
        tell(arguments, f"  {target}: not established; about {int(row['labels_needed']):,} more labels")
    if row["warning"]:
        tell(arguments, f"  {row['warning']}")


def _with_interval(row: dict[str, Any], name: str) -> str:
    if pd.isna(row[name]):
        return "n/a"
    return f"{row[name]:.2f} ({row[f'{name}_low']:.2f} to {row[f'{name}_high']:.2f})"
