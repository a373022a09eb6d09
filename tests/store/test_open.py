"""Opening a workspace: it leaves no trace, says clearly what is wrong, and can look back."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pandas as pd
import pytest
from made_workspace import append, event, notice, put, put_case, run, tree, workspace

import harnesskit as hk
from harnesskit.store.database import CONTRACTS

EARLY, LATE = "2026-06-01T10:00:00+00:00", "2026-06-10T10:00:00+00:00"


@pytest.fixture
def root(tmp_path):
    return workspace(tmp_path / "w")


def full(root):
    run(root)
    put(root / "mailbox/pending/n-1.json", notice("n-1"))
    put(root / "harnesskit/metrics.toml", "[metrics.x]\n")
    return root


def test_opening_and_asking_changes_nothing(root, tmp_path):
    full(root)
    (root / "evalset" / "x.json").mkdir()
    before = tree(root)
    harness = hk.open(root)
    for name in CONTRACTS:
        harness.table(name)
    harness.scores(kind="win")
    harness.events()
    harness.problems()
    harness.dictionary()
    harness.refresh()
    harness.export(tmp_path / "out.duckdb")
    repr(harness)
    assert tree(root) == before


def test_a_reference_workspace_is_left_as_it_is(workspace_copy):
    root = workspace_copy("messy")
    before = tree(root)
    harness = hk.open(root)
    for name in CONTRACTS:
        harness.table(name)
    assert tree(root) == before


def test_no_file_stays_open(root):
    full(root)
    if not os.path.isdir("/proc/self/fd"):  # noqa: PTH112
        pytest.skip("only where /proc tells")
    harness = hk.open(root)
    harness.refresh()
    harness.events()
    held = []
    for name in os.listdir("/proc/self/fd"):
        try:
            held.append(str(Path("/proc/self/fd", name).readlink()))
        except OSError:
            continue
    assert not [path for path in held if path.startswith(str(root))]


def test_a_read_only_workspace_opens(root):
    full(root)
    everything = [root, *root.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        harness = hk.open(root)
        assert len(harness.table("cases")) == 3
        assert len(harness.problems()) == 0
    finally:
        for path in everything:
            path.chmod(0o755)


def test_a_missing_folder(tmp_path):
    with pytest.raises(hk.WorkspaceError, match="nowhere does not exist; give the folder that holds evalset/"):
        hk.open(tmp_path / "nowhere")


def test_a_file_is_no_workspace(tmp_path):
    with pytest.raises(hk.WorkspaceError, match="is not a folder"):
        hk.open(put(tmp_path / "f.json", "{}"))


def test_a_folder_of_something_else(tmp_path):
    (tmp_path / "src").mkdir()
    with pytest.raises(hk.WorkspaceError, match="is not a workspace: none of evalset"):
        hk.open(tmp_path)


@pytest.mark.parametrize("name", ["harnesskit", "state"])
def test_a_folder_that_only_shares_a_name_with_ours(tmp_path, name):
    put(tmp_path / name / "__init__.py", "")
    with pytest.raises(hk.WorkspaceError, match="is not a workspace"):
        hk.open(tmp_path)


@pytest.mark.parametrize("file", ["harnesskit/runs/r/run.json", "harnesskit/metrics.toml", "harnesskit/labels.jsonl",
                                  "state/score_history.json", "traces/latest_eval.json", "rules.jsonl",
                                  "mailbox/pending/n.json", "harnesskit/decisions.jsonl"])  # fmt: skip
def test_any_file_of_a_workspace_makes_one(tmp_path, file):
    put(tmp_path / file, "")
    assert len(hk.open(tmp_path).table("cases")) == 0


def test_the_case_folder_itself(root):
    with pytest.raises(hk.WorkspaceError, match="is an eval set; give the workspace, the folder above"):
        hk.open(root / "evalset")


def test_the_root_may_be_text_relative_and_a_link(root, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(root)
    monkeypatch.chdir(tmp_path)
    assert len(hk.open("link").table("cases")) == len(hk.open("./w/").table("cases")) == 3
    assert hk.open("link").root == tmp_path / "link"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert len(hk.open("~/w").table("cases")) == 3


def test_a_keyword_that_is_not_known(root):
    with pytest.raises(TypeError, match="as_off"):
        hk.open(root, as_off="2026-06-01")


def test_metrics_given_when_opening_hold_over_the_file(root):
    put(root / "harnesskit/metrics.toml", "[metrics.task_completion]\nhigh = 5\n[metrics.cost]\nhigh = 9\n")
    harness = hk.open(root, metrics=[hk.Metric("task_completion", high=0.5), hk.Metric("new", low=None, high=None)])
    found = harness.table("metrics").set_index("metric")
    assert found["high"].to_dict()["task_completion"] == 0.5
    assert found["high"].to_dict()["cost"] == 9.0
    assert pd.isna(found.loc["new", "low"])
    assert bool(found.loc["new", "declared"])
    assert harness.metrics["task_completion"].high == 0.5
    assert harness.scores()["status"].tolist() == ["out_of_range"] * 3
    with pytest.raises(hk.PolicyError, match="declared twice"):
        hk.open(root, metrics=[hk.Metric("a"), hk.Metric("a", high=2)])


def later(root):
    """A workspace with one thing of each kind before, and one after, 2026-06-05."""
    put_case(root, "late", created_at=LATE)
    put_case(root, "timeless", created_at=None)
    text = '{{"id": "{0}", "status": "{1}", "rule": "x", "metric": "m", "created_at": "{2}"}}\n'
    put(root / "rules.jsonl", text.format("r-1", "active", EARLY) + text.format("r-2", "candidate", LATE)
        + text.format("r-3", "retired", EARLY) + text.format("r-4", "active", EARLY))  # fmt: skip
    result = {"case_id": "c-0", "kind": "win", "status": "unchanged", "replay_scores": {"task_completion": 0.8}}
    append(root / "journal.jsonl", "".join([
        event("rule_add", id="r-1"), event("rule_add", id="r-3"), event("rule_promote", id="r-3"),
        event("regression", total=1, results=[result]),
        event("rule_promote", LATE, id="r-1"), event("rule_retire", LATE, id="r-3"),
        event("rule_promote", LATE, id="r-4"),
        event("regression", LATE, total=1, results=[{**result, "replay_scores": {"later": 0.8}}]),
    ]))  # fmt: skip
    put(root / "mailbox/processed/n-1.json", notice("n-1", "acknowledged"))
    put(root / "mailbox/pending/n-2.json", notice("n-2", created_at=LATE))
    acked_late = {"acked_at": LATE, "rule_id": "r-1", "note": "", "kind": "candidate"}
    put(root / "mailbox/processed/n-3.json", notice("n-3", "acknowledged", resolution=acked_late))
    run(root, "run-1")
    run(root, "late", started_at=LATE)
    put(root / "harnesskit/labels.jsonl", "".join(
        f'{{"session_id": "s", "rater": "a", "at": "{at}", "failed": true}}\n' for at in (EARLY, LATE)))  # fmt: skip
    return root


def test_looking_back(root):
    harness = hk.open(later(root), as_of="2026-06-05")
    assert harness.table("cases")["case_id"].tolist() == ["c-0", "c-1", "c-2"]
    assert harness.table("rules").set_index("rule_id")["status"].to_dict() == {
        "r-1": "candidate", "r-3": "active", "r-4": "candidate",
    }  # fmt: skip
    assert harness.table("events")["ts"].max() < pd.Timestamp("2026-06-05", tz="UTC")
    assert len(harness.table("labels")) == 1
    assert [run_id.partition(":")[0] for run_id in harness.table("runs")["run_id"]] == ["captured", "journal", "run-1"]
    assert len(harness.table("samples").query("run_id.str.startswith('journal')")) == 1
    assert "later" not in set(harness.table("scores")["metric"])
    assert "later" not in set(harness.table("metrics")["metric"])
    assert len(harness.table("scores")) == 3 + 1 + 2
    notices = harness.table("notices").set_index("notice_id")
    assert notices["status"].to_dict() == {"n-1": "acknowledged", "n-3": "pending"}
    assert notices["resolution_rule_id"].isna().to_dict() == {"n-1": False, "n-3": True}
    assert notices["resolution"].isna().to_dict() == {"n-1": False, "n-3": True}


def test_samples_without_a_time_follow_their_run(root):
    for name, started in (("early", EARLY), ("late", LATE)):
        folder = run(root, name, samples=0, started_at=started)
        put(folder / "samples.jsonl", f'{{"sample_id": "{name}-s", "case_id": "c-0", "status": "scored"}}\n')
    found = hk.open(root, as_of="2026-06-05").table("samples")
    assert found.query("not run_id == 'captured'")["sample_id"].tolist() == ["early-s"]


def test_without_a_time_nothing_is_left_out(root):
    harness = hk.open(later(root))
    assert harness.table("rules").set_index("rule_id")["status"].to_dict() == {
        "r-1": "active", "r-2": "candidate", "r-3": "retired", "r-4": "active",
    }  # fmt: skip
    assert len(harness.table("cases")) == 5
    assert len(harness.table("notices")) == 3
    assert len(harness.table("labels")) == 2


@pytest.mark.parametrize("as_of", [
    "2026-06-05", "2026-06-05T00:00:00Z", datetime(2026, 6, 5), datetime(2026, 6, 5, tzinfo=UTC),  # noqa: DTZ001
    datetime(2026, 6, 5, 5, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))), pd.Timestamp("2026-06-05"),
    datetime(2026, 6, 5).date(),  # noqa: DTZ001
], ids=str)  # fmt: skip
def test_a_time_may_be_text_or_a_datetime(root, as_of):
    assert hk.open(root, as_of=as_of).as_of == datetime(2026, 6, 5, tzinfo=UTC)


@pytest.mark.parametrize("as_of", ["yesterday", "", [], object(), pd.NaT, float("nan")], ids=range(6))
def test_what_is_no_time_is_refused(root, as_of):
    with pytest.raises(hk.WorkspaceError, match="as_of must be a time such as '2026-06-01'"):
        hk.open(root, as_of=as_of)


def test_the_boundary_belongs_to_the_past(root):
    assert len(hk.open(root, as_of="2026-06-01T10:00:00Z").table("cases")) == 3
    assert len(hk.open(root, as_of="2026-06-01T09:59:59.999999Z").table("cases")) == 0


def test_before_everything_there_is_no_run(demo_root):
    """Scores of the live harness have no run record with a time: their runs exist since their first sample."""
    assert len(hk.open(demo_root, as_of="1999-01-01").table("runs")) == 0
    assert "online:history" in set(hk.open(demo_root, as_of="2030-01-01").table("runs")["run_id"])


def test_what_was_loaded_counts_the_runs_that_runs_lists(demo_root):
    harness = hk.open(demo_root)
    assert len(harness.runs()) == 4
    assert ", 4 runs (8 more sources), " in str(harness.loaded)
    assert str(harness.loaded).endswith("4 problems and 1 note")


def test_an_empty_workspace(tmp_path):
    (tmp_path / "evalset").mkdir()
    harness = hk.open(tmp_path)
    assert str(harness.loaded).startswith("nothing loaded; 0 files read")
    assert len(harness.scores()) == 0
    assert len(harness.events()) == 0
    assert len(harness.problems()) == 0


def test_the_zone_of_the_machine_changes_nothing(root):
    """Times in files, parameters, Parquet and results mean the same in Kolkata as in Greenwich."""
    code = (
        "import sys, pandas as pd, harnesskit as hk\n"
        "from datetime import datetime, UTC\n"
        "h = hk.open(sys.argv[1], as_of='2026-06-01T10:00:00Z')\n"
        "at = datetime(2026, 6, 1, 10, tzinfo=UTC)\n"
        "frame = pd.DataFrame({'at': [pd.Timestamp(at)]})\n"
        "print(len(h.table('cases')), len(h.scores(since=at)), len(h.scores(until=at)))\n"
        "print(h.sql('SELECT count(*) AS n FROM cases WHERE created_at = $at', at=at)['n'][0])\n"
        "print(h.sql('SELECT count(*) AS n FROM cases JOIN f ON created_at = f.at', f=frame)['n'][0])\n"
        "said = 'SELECT max(created_at) AS t, $at::TIMESTAMPTZ AS u, max(f.at) AS v FROM cases, f'\n"
        "print(h.sql(said, f=frame, at=at).to_csv())\n"
    )
    said = {
        zone: subprocess.run(
            [sys.executable, "-c", code, str(root)], capture_output=True, text=True, env={**os.environ, "TZ": zone},
            check=True, timeout=60,
        ).stdout
        for zone in ("UTC", "Asia/Kolkata")
    }  # fmt: skip
    assert said["UTC"] == said["Asia/Kolkata"]
    assert said["UTC"].splitlines()[:3] == ["3 3 0", "3", "3"]


def test_online_parquet_means_the_same_in_every_zone(root):
    """The files say UTC; nothing is shifted by the zone of the machine that reads them."""
    code = (
        "import sys, pyarrow as pa, pyarrow.parquet as pq, harnesskit as hk\n"
        "from datetime import datetime, UTC\n"
        "from pathlib import Path\n"
        "from harnesskit.workspace.online import ONLINE_SCHEMA\n"
        "row = dict.fromkeys(ONLINE_SCHEMA.names) | dict(sample_id='o-1', run_id='online:p', session_id='s',"
        " counts=True,"
        " occurred_at=datetime(2026, 6, 1, 10, tzinfo=UTC), status='scored', metric='m', grader='g', value=0.5,"
        " score_status='ok', head=True, source='p', version='1')\n"
        "folder = Path(sys.argv[1], 'harnesskit/online/p/date=2026-06-01'); folder.mkdir(parents=True, exist_ok=True)\n"
        "pq.write_table(pa.Table.from_pylist([row], schema=ONLINE_SCHEMA), folder / 'part-0.parquet')\n"
        "h = hk.open(sys.argv[1])\n"
        "print(h.table('online_samples')['occurred_at'][0], h.table('runs')['started_at'].max())\n"
        "print(len(hk.open(sys.argv[1], as_of='2026-06-01T09:00Z').table('online_samples')),"
        " len(hk.open(sys.argv[1], as_of='2026-06-01T09:00Z').table('scores')),"
        " len(hk.open(sys.argv[1], as_of='2026-06-01T09:00Z').table('runs')))\n"
    )
    for zone in ("Asia/Kolkata", "America/New_York"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(root)], capture_output=True, text=True, env={**os.environ, "TZ": zone},
            check=True, timeout=60,
        )  # fmt: skip
        assert done.stdout.splitlines() == ["2026-06-01 10:00:00+00:00 2026-06-01 10:00:00+00:00", "0 0 0"]


def test_many_threads_may_ask_at_once(root):
    harness = hk.open(root)
    found, failed = [], []

    def ask():
        try:
            found.append(len(harness.sql("SELECT * FROM cases, range($n)", n=50)))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert found == [150] * 8
