"""The options of the commands on the eval set as a whole; loading this file loads nothing heavy."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_health_commands(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser
) -> None:
    """Add ``health`` and ``study``."""
    both = argparse.ArgumentParser(add_help=False)
    both.add_argument("--out", type=Path, help="report to write (.html, .md, .json); none when not given")
    both.add_argument("--pass-at", type=float, metavar="SCORE", help="score that passes (default: declared thresholds)")

    health = commands.add_parser(
        "health", parents=[shared, both], help="say what to do with each case, and which traffic has none"
    )
    health.add_argument(
        "--slice",
        action="append",
        metavar="NAME",
        help="slice of the traffic, a column or attribute (may be given several times; default: those in case labels)",
    )
    health.add_argument("--as-of", metavar="TIME", help="time that ages count to (default: the newest in the files)")
    health.add_argument("--stale-days", type=int, default=90, help="days after which a run is old (default 90)")

    study = commands.add_parser(
        "study", parents=[shared, both], help="pass@k and pass^k of each arm over repeats, with differences and costs"
    )
    study.add_argument("--run", action="append", metavar="ID", help="only this run (may be given several times)")
    study.add_argument("--k", default="1,2,3,4", metavar="K,K", help="numbers of trials (default 1,2,3,4)")
    study.add_argument("--metric", action="append", metavar="NAME", help="only this metric")
    study.add_argument("--by", action="append", metavar="COLUMN", help="a further column that makes groups, e.g. kind")
    study.add_argument("--baseline", metavar="ARM", help="arm to compare with (default: control)")
    study.add_argument("--unscored-fail", action="store_true", help="a trial without a score has failed")
