"""The command line as a person in a shell meets it: what goes where, what is refused, and when."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import harnesskit as hk
from harnesskit.advice import OTHERWISE, advise

CLI = [sys.executable, "-m", "harnesskit.cli"]


def cli(*arguments: object, code: int = 0, **options: object) -> subprocess.CompletedProcess[str]:
    command = [*CLI, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=120)


@pytest.fixture
def small(demo_root: Path, tmp_path: Path) -> Path:
    """A small workspace with one problem: three cases, a journal of two runs, a case file that was cut off."""
    root = tmp_path / "work"
    (root / "evalset").mkdir(parents=True)
    for name in ("c-1ff896f8e8", "c-5dabf9892a", "c-eeab9567e5", "c-truncated"):
        shutil.copy(demo_root / "evalset" / f"{name}.json", root / "evalset")
    lines = (demo_root / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (root / "journal.jsonl").write_bytes(b"".join(line for line in lines if b'"regression"' in line))
    return root


def test_the_report_names_the_root_as_it_was_given_wherever_one_stands(small: Path, tmp_path: Path):
    pages = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        environment = os.environ | {"PWD": str(tmp_path / folder), "OLDPWD": str(tmp_path)}
        cli("report", "--root", small, "--out", "r.md", cwd=tmp_path / folder, env=environment)
        pages.append((tmp_path / folder / "r.md").read_text())
    assert f"--root {small} " in pages[0]
    assert pages[0] == pages[1]
    cli("report", "--root", "../work", "--out", "near.md", cwd=tmp_path / "one")
    assert "--root ../work " in (tmp_path / "one" / "near.md").read_text()
    cli("report", "--out", tmp_path / "here.md", cwd=small)
    assert "--root . " in (tmp_path / "here.md").read_text()


def test_problems_are_said_beside_the_verdict_and_strict_says_why_it_exits_with_2(small: Path, tmp_path: Path):
    arguments = ["report", "--root", small, "--out", tmp_path / "r.md", "--gate"]
    loose = cli(*arguments, code=3)
    assert "1 problem in the workspace: harnesskit doctor" in loose.stderr
    strict = cli(*arguments, "--strict", code=2)
    assert "exit 2: 1 problem in the workspace, see harnesskit doctor (--strict)" in strict.stderr
    assert strict.stdout.startswith("journal:")


def test_a_report_that_cannot_be_saved_is_refused_before_the_analysis(tmp_path: Path):
    """The workspace is not there either: what is refused first is what is said."""
    nowhere = tmp_path / "no-workspace"
    for out, words in ((tmp_path / "none" / "r.html", "there is no folder"), (tmp_path / "r.docx", "cannot be saved")):
        for command in ("report", "demo", "regression"):
            done = cli(command, "--root", nowhere, "--out", out, code=2)
            assert words in done.stderr
            assert len(done.stderr.splitlines()) == 1
    assert str(tmp_path / "none") in cli("report", "--out", tmp_path / "none" / "r.md", code=2).stderr


def test_the_demo_is_the_demo_whatever_harness_root_says(tmp_path: Path):
    environment = os.environ | {"HARNESS_ROOT": str(tmp_path / "other")}
    done = cli("demo", "--out", tmp_path / "r.md", env=environment)
    assert done.stdout.startswith("candidate: FAIL")
    assert "does not exist" in cli("list", env=environment, code=2).stderr


@pytest.mark.parametrize(
    ("command", "words"),
    [("demo", "default: the demo workspace"), ("report", "HARNESS_ROOT"), ("export", ".duckdb or .db"),
     (None, "messages to standard error")],
)  # fmt: skip
def test_help_says_what_holds_for_the_command(command: str | None, words: str):
    shown = cli(*filter(None, [command]), "--help", env=os.environ | {"COLUMNS": "200"}).stdout
    assert words in " ".join(shown.split())


def test_an_export_is_a_duckdb_file(small: Path, tmp_path: Path):
    done = cli("export", "--root", small, tmp_path / "a.parquet", code=2)
    assert ".duckdb or .db" in done.stderr
    cli("export", "--root", small, tmp_path / "a.db")


@pytest.mark.parametrize("place", ["evalset/r.json", "mailbox/r.md", "harnesskit/r.html", "state/r.md"])
def test_nothing_is_written_among_the_files_of_the_workspace(small: Path, place: str):
    (small / place).parent.mkdir(exist_ok=True)
    done = cli("report", "--root", small, "--out", small / place, code=2)
    assert "among the files of a workspace" in done.stderr
    assert not (small / place).exists()
    with pytest.raises(hk.WorkspaceError, match="among the files"):
        hk.open(small).export(small / "evalset" / "a.duckdb")


def test_the_default_report_is_not_written_into_an_eval_set(small: Path):
    done = cli("report", "--root", "..", cwd=small / "evalset", code=2)
    assert "among the files of a workspace" in done.stderr
    cli("report", "--root", ".", cwd=small)
    assert (small / "report.html").is_file()


def test_a_closed_or_full_standard_output_is_one_line(small: Path):
    command = shlex.join([*CLI, "list", "--root", str(small)])
    for line in (f"{command} >&-", f"{command} >/dev/full"):
        done = shell(line)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") <= 2
    assert len(shell(f"{command} >&-").stderr.splitlines()) == 1


def test_ctrl_c_while_it_loads_is_no_traceback():
    code = (
        "import builtins, os, signal, sys\n"
        "from harnesskit import cli\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell in the background ignores it
        "real = builtins.__import__\n"
        "def stop(name, *rest, **more):\n"
        "    if name == 'pandas': os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest, **more)\n"
        "builtins.__import__ = stop\n"
        "sys.exit(cli.main(['list']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 130
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["load", "doctor"])
def test_findings_are_results(small: Path, command: str):
    done = cli(command, "--root", small)
    assert "c-truncated.json" in done.stdout
    assert done.stderr == ""
    both = cli(command, "--root", small, "--json")
    json.loads(both.stdout)
    assert "c-truncated.json" in both.stderr


def test_counts_have_a_singular(small: Path):
    assert "1 case, " in cli("list", "--root", small, "--case", "c-5dabf9892a").stderr


def test_a_folder_above_workspaces_is_told_which_they_are(shared: Path):
    done = cli("load", "--root", shared / "reference" / "workspaces" / "small", code=2)
    assert "closed_loop_self_heal/workspace" in done.stderr
    assert "give one of these" in done.stderr


def test_an_eval_set_is_told_which_folder_is_meant(small: Path):
    assert str(small) in cli("list", "--root", small / "evalset", code=2).stderr.split("workspace, ")[1]


@pytest.mark.parametrize("name", ["messy", "mid", "small_0.6.3/closed_loop_self_heal/harness"])
def test_the_doctor_has_advice_for_every_kind_of_problem(shared: Path, name: str):
    found = advise(hk.open(shared / "reference" / "workspaces" / name).problems())
    assert found.loc[found["advice"] == OTHERWISE, "kind"].tolist() == []


def test_the_case_of_the_readme_is_a_case(tmp_path: Path):
    text = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
    case = text.partition("```json\n")[2].partition("```")[0]
    assert len(case.splitlines()) == 5
    (tmp_path / "evalset").mkdir()
    (tmp_path / "evalset" / f"{json.loads(case)['id']}.json").write_text(case, encoding="utf-8")
    harness = hk.open(tmp_path)
    assert harness.table("cases")[["case_id", "kind", "replayable"]].values.tolist() == [["refund-1017", "win", True]]
    assert harness.problems().empty


def test_what_a_notebook_or_a_command_writes_beside_itself_is_no_change_to_the_project():
    ignored = (Path(__file__).resolve().parents[1] / ".gitignore").read_text(encoding="utf-8").split()
    assert {"/notebooks/*.html", "/report.html", "/demo-report.html"} <= set(ignored)
