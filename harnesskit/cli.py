"""The command line. JSON goes to standard output, everything else to standard error.

Exit codes: 0 done (with ``--gate``: pass), 1 regression, 2 usage, configuration or a workspace that cannot be read,
3 inconclusive or nothing comparable.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import harnesskit
from harnesskit.model.errors import HarnesskitError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if not arguments.command:
        parser.print_help(sys.stderr)
        return 2
    from harnesskit import commands

    try:
        return int(getattr(commands, f"run_{arguments.command}")(arguments))
    except HarnesskitError as error:
        print(f"harnesskit {arguments.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"harnesskit {arguments.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"harnesskit {arguments.command}: stopped; nothing that was finished is lost.", file=sys.stderr)
        return 130


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; building it loads nothing heavy."""
    parser = argparse.ArgumentParser(
        prog="harnesskit",
        description="Regression analysis over the eval set of an agent harness.",
        epilog="Exit codes: 0 done or pass, 1 regression, 2 usage or unreadable workspace, 3 inconclusive.",
    )
    parser.add_argument("--version", action="version", version=f"harnesskit {harnesskit.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    shared = _shared_options()

    demo = commands.add_parser("demo", parents=[shared], help="make a report on the demo workspace")
    demo.add_argument("--out", type=Path, default=Path("demo-report.html"), help="report to write (.html, .md, .json)")

    commands.add_parser("load", parents=[shared], help="load the workspace and say what was loaded and what was wrong")

    cases = commands.add_parser("list", parents=[shared], help="list the cases, oldest first")
    cases.add_argument("--kind", choices=("failure", "win"), help="only cases of this kind")
    cases.add_argument("--case", action="append", metavar="ID", help="only this case (may be given several times)")

    report = commands.add_parser("report", parents=[shared], help="write a regression report on a stored run")
    report.add_argument("--run", metavar="ID", help="run to judge (default: the last one that scored something)")
    report.add_argument("--baseline", metavar="ID", help="run to compare with, or 'captured' (default: see the README)")
    report.add_argument("--policy", default="default", help="default, reference, fixed:N, floor:X, or a declared name")
    report.add_argument("--out", type=Path, default=Path("report.html"), help="file to write (.html, .md, .json)")
    report.add_argument("--gate", action="store_true", help="exit 1 on a regression, 3 when inconclusive")

    export = commands.add_parser("export", parents=[shared], help="write every table to one DuckDB file")
    export.add_argument("path", type=Path, help="file to write, e.g. analysis.duckdb")

    commands.add_parser("doctor", parents=[shared], help="say whether the workspace is sound and what to mend")
    return parser


def _shared_options() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    default = os.environ.get("HARNESS_ROOT")
    shared.add_argument(
        "--root",
        type=Path,
        default=Path(default) if default else None,
        help="workspace folder (default: HARNESS_ROOT, else the current folder)",
    )
    shared.add_argument("--json", action="store_true", help="write JSON to standard output")
    shared.add_argument("--strict", action="store_true", help="exit 2 when a file of the workspace has a problem")
    return shared


if __name__ == "__main__":
    sys.exit(main())
