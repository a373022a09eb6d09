"""The command line. Results go to standard output (text, or JSON with ``--json``), messages to standard error.

Exit codes: 0 done (with ``--gate``: pass), 1 regression, 2 usage, configuration or a workspace that cannot be read,
3 inconclusive or nothing comparable.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import harnesskit
from harnesskit.health_options import add_health_commands
from harnesskit.model.errors import HarnesskitError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if not arguments.command:
        parser.print_help(sys.stderr)
        return 2
    warnings.showwarning = _warn
    if sys.stdout is None:
        os.write(2, b"harnesskit: standard output is closed; send it to a file or to /dev/null.\n")
        return 2
    try:
        return int(_command(_verb(arguments))(arguments))
    except BrokenPipeError:  # the reader of our output has seen enough
        _drop_output()
        return 0
    except (HarnesskitError, OSError) as error:
        print(f"harnesskit {arguments.command}: {error}", file=sys.stderr)
        _drop_output()
        return 2
    except KeyboardInterrupt:
        print(f"harnesskit {arguments.command}: stopped; nothing that was finished is lost.", file=sys.stderr)
        return 130


_HOMES = {
    "calibrate": "calibration_commands",
    **dict.fromkeys(("replay", "regression"), "run_commands"),
    **dict.fromkeys(("health", "study"), "health_commands"),
    **dict.fromkeys(("validate", "guards", "report_guard"), "guard_commands"),
    **dict.fromkeys(("sign", "decisions", "promote", "verify"), "review_commands"),
}


def _verb(arguments: argparse.Namespace) -> str:
    """Return what is asked for: a report is one on a run, or on a guard."""
    return "report_guard" if arguments.command == "report" and arguments.guard is not None else arguments.command


def _command(name: str) -> Callable[[argparse.Namespace], int]:
    """Load the function of a command; Ctrl-C meanwhile ends the process: a half-done import cannot go on."""
    home = _HOMES.get(name, "commands")
    ours = threading.current_thread() is threading.main_thread()
    guarded = ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if guarded:
        signal.signal(signal.SIGINT, _stop_now)
    try:
        command: Callable[[argparse.Namespace], int] = getattr(
            importlib.import_module(f"harnesskit.{home}"), f"run_{name}"
        )
    finally:
        if guarded:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    return command


def _stop_now(*_: Any) -> None:
    os.write(2, b"harnesskit: stopped before anything was done.\n")
    os._exit(130)


def _drop_output() -> None:
    """Let what is still in the buffer of standard output go nowhere, so that Python's own last flush cannot fail."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    if sys.stderr is not None:
        print(f"harnesskit: warning: {message}", file=sys.stderr)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; building it loads nothing heavy."""
    parser = argparse.ArgumentParser(
        prog="harnesskit",
        description="Regression analysis over the eval set of an agent harness.",
        epilog="Results go to standard output, as text or, with --json, as JSON; messages to standard error. "
        "Exit codes: 0 done or pass, 1 regression, 2 usage or unreadable workspace, 3 inconclusive.",
    )
    parser.add_argument("--version", action="version", version=f"harnesskit {harnesskit.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    shared = _shared_options("workspace folder (default: HARNESS_ROOT, else the current folder)")
    own = _shared_options("workspace folder (default: the demo workspace, whatever HARNESS_ROOT says)")
    out = "file to write (.html, .md or .json, by its ending; its folder must exist)"

    demo = commands.add_parser("demo", parents=[own], help="make a report on the demo workspace")
    demo.add_argument("--out", type=Path, default=Path("demo-report.html"), help=f"{out}; default demo-report.html")

    _add_load(commands, shared)

    cases = commands.add_parser("list", parents=[shared], help="list the cases, oldest first")
    cases.add_argument("--kind", choices=("failure", "win"), help="only cases of this kind")
    cases.add_argument("--case", action="append", metavar="ID", help="only this case (may be given several times)")

    report = commands.add_parser("report", parents=[shared], help="write the report on a stored run, or on a guard")
    report.add_argument("--guard", metavar="ID", help="rule, case or check to report on, instead of a run")
    report.add_argument("--run", metavar="ID", help="run to judge (default: the last one that scored something)")
    report.add_argument("--baseline", metavar="ID", help="run to compare with, or 'captured' (default: see the README)")
    report.add_argument(
        "--policy",
        help="of a run: default, reference, fixed:N, floor:X, or a declared name; of a guard: as of validate (default: "
        "the one that it was tried under)",
    )
    report.add_argument("--out", type=Path, default=Path("report.html"), help=f"{out}; default report.html")
    report.add_argument("--gate", action="store_true", help="exit with the verdict: 1 regression or retire, 3 open")

    _add_agent_commands(commands, shared)
    _add_review_commands(commands, shared)
    add_health_commands(commands, shared)

    _add_calibrate(commands, shared)

    export = commands.add_parser("export", parents=[shared], help="write every table to one DuckDB file")
    export.add_argument("path", type=Path, help="file to write, .duckdb or .db, e.g. analysis.duckdb")

    commands.add_parser("doctor", parents=[shared], help="say whether the workspace is sound and what to mend")
    return parser


def _add_load(commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser) -> None:
    """Add the command that loads the workspace, or brings a file into it first."""
    load = commands.add_parser(
        "load", parents=[shared], help="import a file, if one is given; say what is loaded and what was wrong"
    )
    load.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="samples and scores of another tool, or a table"
    )
    load.add_argument("--format", default="auto", help="csv, jsonl, parquet, or the tool (default: what the file says)")
    load.add_argument(
        "--role", default="online", help="online (default: production), control (a baseline), candidate or replay"
    )
    load.add_argument("--run", metavar="ID", help="run that the samples belong to; not for production samples")
    load.add_argument("--arm", metavar="NAME", help="arm of the samples, where the file does not say it")
    load.add_argument("--source", metavar="NAME", help="name of the source (default: the file's, or the format's)")
    load.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="OURS=THEIRS",
        help="column of a table, e.g. case_id=id or metrics=accuracy,cost (may be given several times)",
    )
    load.add_argument(
        "--scale", action="append", default=[], metavar="METRIC=LOW:HIGH", help="range of a metric, e.g. rating=1:5"
    )


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
        "--policy",
        default="default",
        help="default, thorough, classic, reference, fixed:N, floor:X, or a declared name",
    )
    regression.add_argument("--plan", action="store_true", help="say what the run would cost and could see; no replay")
    regression.add_argument("--budget", type=float, metavar="N", help="replays per win (default: the policy's)")
    regression.add_argument("--time-limit", type=float, metavar="SECONDS", help="begin no round after this time")
    regression.add_argument("--resume", metavar="RUN", help="go on with this adaptive run")
    regression.add_argument("--seed", type=int, default=0, help="seed of an adaptive run (default 0)")
    regression.add_argument("--sample", type=int, metavar="N", help="only the first N cases, wins first")
    regression.add_argument("--out", type=Path, help="report to write (.html, .md, .json); none when not given")

    _add_validate(commands, [shared, agent])


def _add_validate(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], parents: list[argparse.ArgumentParser]
) -> None:
    """Add the command that tries candidate rules."""
    validate = commands.add_parser(
        "validate", parents=parents, help="try candidate rules on replays; the exit code is the verdict"
    )
    validate.add_argument("guard", nargs="*", metavar="ID", help="rules or cases to try; every candidate rule if none")
    validate.add_argument(
        "--policy",
        default="budgeted",
        help="budgeted, budgeted:N, open_ended, certified, classic, or reference, which applies what it decides",
    )
    validate.add_argument("--plan", action="store_true", help="say what it would cost and could tell; no replay")
    validate.add_argument("--metric", metavar="NAME", help="metric that the rule is to improve (default: its own)")
    validate.add_argument("--time-limit", type=float, metavar="SECONDS", help="begin no replay after this time")
    validate.add_argument("--resume", metavar="RUN", help="go on with this trial")
    validate.add_argument("--concurrency", type=int, default=1, help="replays at the same time (default 1)")
    validate.add_argument("--seed", type=int, default=0, help="seed of the trial (default 0)")


def _add_review_commands(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser
) -> None:
    """Add the commands that apply a signed review, and that compute a verdict again."""
    guards = commands.add_parser("guards", parents=[shared], help="list every guard, its verdict, what would settle it")
    guards.add_argument("--out", type=Path, help="overview to write (.html, .md, .json); none when not given")

    sign = commands.add_parser("sign", parents=[shared], help="sign the verdict on a guard or a regression run")
    sign.add_argument("subject", metavar="ID|REPORT", help="a guard, a run, or a report saved as .json, checked first")
    sign.add_argument("--author", required=True, metavar="NAME", help="who reviewed it; a record, nobody is asked")
    sign.add_argument("--approver", metavar="NAME", help="who approved it, somebody else where the policy asks for two")
    sign.add_argument("--note", default="", metavar="TEXT", help="free text")
    sign.add_argument("--review-by", metavar="DATE", help="day until which it may be promoted on, e.g. 2026-12-31")

    commands.add_parser("decisions", parents=[shared], help="list every signed review and whether it still holds")

    promote = commands.add_parser("promote", parents=[shared], help="promote a guard on its review, or take it back")
    promote.add_argument("guard", metavar="ID", help="id of a rule or case, or name of a check")
    promote.add_argument("--override", metavar="REASON", help="promote it against its review; the reason is recorded")
    promote.add_argument("--retire", metavar="REASON", help="retire it instead: the way back")
    promote.add_argument("--author", metavar="NAME", help="who does it (default: who signed, else the login name)")
    promote.add_argument(
        "--fingerprint", metavar="TEXT", help="the agent in use, a version or a JSON object; its evidence must match"
    )

    verify = commands.add_parser(
        "verify", parents=[shared], help="compute the verdict of a JSON report again; exit 1 when it differs"
    )
    verify.add_argument("report", type=Path, help="report that was saved as .json")


def _add_calibrate(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser
) -> None:
    """Add the command that holds thresholds against labels."""
    calibrate = commands.add_parser("calibrate", parents=[shared], help="say how far a breach means a failure")
    calibrate.add_argument(
        "--labels", metavar="FILE", help="CSV, JSON, JSON lines; 'cases': failures and wins (default: the workspace's)"
    )
    calibrate.add_argument("--metric", action="append", metavar="NAME", help="only this metric (several times: these)")
    calibrate.add_argument("--grader", metavar="NAME", help="whose scores (default: who scored most)")
    calibrate.add_argument("--target-precision", type=float, default=0.9, metavar="X", help="default 0.9")
    calibrate.add_argument("--cost-missed", type=float, metavar="X", help="what a missed failure costs")
    calibrate.add_argument("--cost-false-alarm", type=float, metavar="X", help="what a false alarm costs")
    calibrate.add_argument("--policy", default="default", help="default, or reference")
    calibrate.add_argument("--out", type=Path, help="report to write (.html, .md, .json); none when not given")


def _shared_options(root: str) -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--root", type=Path, help=root)
    shared.add_argument("--json", action="store_true", help="results as JSON on standard output, text beside it")
    shared.add_argument("--strict", action="store_true", help="exit 2 when a file of the workspace has a problem")
    return shared


if __name__ == "__main__":
    sys.exit(main())
