"""The command line. JSON goes to standard output, everything else to standard error.

Exit codes: 0 done (with ``--gate``: pass), 1 regression, 2 usage, configuration or a workspace that cannot be read,
3 inconclusive or nothing comparable.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
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
    warnings.showwarning = _warn
    home = "run_commands" if arguments.command in ("replay", "regression", "validate") else "commands"
    try:
        run = getattr(importlib.import_module(f"harnesskit.{home}"), f"run_{arguments.command}")
        return int(run(arguments))
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


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    print(f"harnesskit: warning: {message}", file=sys.stderr)


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

    _add_agent_commands(commands, shared)

    export = commands.add_parser("export", parents=[shared], help="write every table to one DuckDB file")
    export.add_argument("path", type=Path, help="file to write, e.g. analysis.duckdb")

    commands.add_parser("doctor", parents=[shared], help="say whether the workspace is sound and what to mend")
    return parser


def _add_agent_commands(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser
) -> None:
    """Add the commands that run the user's agent."""
    agent = argparse.ArgumentParser(add_help=False)
    agent.add_argument("--replay", metavar="SPEC", help="replay function: path.py[:attr] or module:attr")
    agent.add_argument(
        "--scorer", metavar="SPEC", help="scorer, as --replay; 'none' if replays bring scores (default: pandaprobe)"
    )
    agent.add_argument("--label", help="name of the run, for people")

    replay = commands.add_parser("replay", parents=[shared, agent], help="replay cases and store every attempt")
    replay.add_argument("--kind", choices=("failure", "win"), help="only cases of this kind")
    replay.add_argument("--case", action="append", metavar="ID", help="only this case (may be given several times)")
    replay.add_argument("--trials", type=int, default=1, help="independent repeats of each case (default 1)")
    replay.add_argument("--concurrency", type=int, default=1, help="replays at the same time (default 1)")
    replay.add_argument("--timeout", type=float, metavar="SECONDS", help="limit of each replay")
    replay.add_argument("--resume", metavar="RUN", help="run only what is missing in this run")

    regression = commands.add_parser(
        "regression", parents=[shared, agent], help="replay the eval set; the exit code is the verdict"
    )
    regression.add_argument(
        "--policy", default="default", help="default, reference, fixed:N, floor:X, or a declared name"
    )
    regression.add_argument("--sample", type=int, metavar="N", help="only the first N cases, wins first")
    regression.add_argument("--out", type=Path, help="report to write (.html, .md, .json)")

    validate = commands.add_parser(
        "validate", parents=[shared, agent], help="judge the candidate rules; the exit code is the verdict"
    )
    validate.add_argument("--policy", default="reference", help="reference")


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
