"""The demo: rebuilt, it is the one in the project; and what was planted is there."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest

import harnesskit as hk
from harnesskit.demo import SEED, build_demo
from harnesskit.demo_world import cases as planted
from harnesskit.demo_world import replays, traffic
from harnesskit.demo_world.draws import METRICS, texts
from harnesskit.model.errors import WorkspaceError
from harnesskit.workspace.evalset import look, read_cases
from harnesskit.workspace.journal import read_journal
from harnesskit.workspace.labels import read_labels
from harnesskit.workspace.mailbox import read_mailbox
from harnesskit.workspace.online import online_files
from harnesskit.workspace.rows import SampleRow, ScoreRow
from harnesskit.workspace.rules import read_rules
from harnesskit.workspace.runs import read_run, run_folders

MEGABYTE = 1_000_000


def files_of(root: Path) -> dict[str, Path]:
    return {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory) -> Path:
    return build_demo(tmp_path_factory.mktemp("demo") / "demo")


@pytest.fixture(scope="module")
def truth() -> dict[str, planted.DemoCase]:
    return {case.case_id: case for case in planted.make_cases(SEED, texts())}


@pytest.fixture(scope="module")
def scores(demo_root, truth) -> pd.DataFrame:
    """One row per sample and metric of all stored runs, with the planted kind and topic of the case."""
    parts = []
    for folder in run_folders(demo_root):
        run, samples, rows, problems = read_run(folder)
        assert problems == []
        about = pd.DataFrame(samples, columns=SampleRow._fields).drop(columns=["status", "reason"])
        part = pd.DataFrame(rows, columns=ScoreRow._fields).merge(about, on="sample_id", validate="many_to_one")
        parts.append(part.assign(run=run.run_id))
    frame = pd.concat(parts, ignore_index=True)
    cases = frame["case_id"].map(truth)
    return frame.assign(kind=cases.map(lambda c: c.kind), topic=cases.map(lambda c: c.topic))


@pytest.fixture(scope="module")
def online(demo_root) -> pd.DataFrame:
    return duckdb.read_parquet([str(file) for file in online_files(demo_root)], hive_partitioning=False).df()


def test_rebuilding_gives_the_same_files(rebuilt, demo_root):
    new, kept = files_of(rebuilt), files_of(demo_root)
    assert list(new) == list(kept)
    for name, path in new.items():
        if path.suffix == ".parquet":  # the bytes depend on the version of pyarrow, the rows do not
            assert pq.ParquetFile(path).read().equals(pq.ParquetFile(kept[name]).read()), name
        else:
            assert path.read_bytes() == kept[name].read_bytes(), name


def test_another_seed_gives_another_world(rebuilt, tmp_path):
    other = build_demo(tmp_path / "other", seed=7)
    assert (other / "journal.jsonl").read_bytes() != (rebuilt / "journal.jsonl").read_bytes()
    assert len(list((other / "evalset").iterdir())) == len(list((rebuilt / "evalset").iterdir()))


def test_it_never_writes_into_a_folder_that_holds_something(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(WorkspaceError, match="needs an empty folder"):
        build_demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_it_is_small_and_names_no_machine(demo_root):
    files = files_of(demo_root)
    assert sum(path.stat().st_size for path in files.values()) < 2.5 * MEGABYTE
    text = b"".join(path.read_bytes() for path in files.values() if path.suffix != ".parquet")
    assert b"/home/" not in text
    assert b"/tmp/" not in text


def test_the_eval_set_has_what_the_readme_says(demo_root):
    names = look(demo_root, {}).names
    rows, problems = next(iter(read_cases(demo_root, names, {})))
    frame = pd.DataFrame(rows, columns=rows[0]._fields)
    counts = frame[frame["case_id"] != "c-nan0score"].groupby(["kind", "replayable"]).size().to_dict()
    assert counts == {("failure", True): 45, ("failure", False): 5, ("win", True): 27, ("win", False): 3}
    assert sorted((p.file, p.kind) for p in problems) == [
        ("evalset/c-nan0score.json", "not_a_number"),
        ("evalset/c-truncated.json", "not_json"),
    ]


def test_a_near_duplicate_is_there(truth):
    one, other = list(truth.values())[:2]
    assert one.case_id != other.case_id
    assert one.session_id != other.session_id
    assert (one.signature, one.slots) == (other.signature, other.slots)
    assert other.task == one.task.rstrip(".") + ", please."


def test_rules_journal_and_mailbox_have_what_the_readme_says(demo_root):
    found = read_rules(demo_root / "rules.jsonl")
    statuses = pd.Series([rule.status for rule in found.rules]).value_counts().to_dict()
    assert statuses == {"candidate": 5, "active": 3, "retired": 3, "unknown": 1}
    assert [p.kind for p in found.problems] == ["bad_status"]
    journal = read_journal(demo_root / "journal.jsonl")
    kinds = pd.Series([event.type for event in journal.events]).value_counts()
    assert (kinds["notice"], kinds["regression"], kinds["rule_add"]) == (50, 2, 12)
    assert [p.kind for p in journal.problems] == ["torn"]
    mailbox = read_mailbox(demo_root)
    assert mailbox.problems == []
    assert pd.Series([n.status for n in mailbox.notices]).value_counts().to_dict() == {"acknowledged": 44, "pending": 6}


def test_runs_and_their_sizes(demo_root):
    runs = [read_run(folder) for folder in run_folders(demo_root)]
    assert {run.run_id: (run.role, sum(s.counts for s in samples)) for run, samples, _, _ in runs} == {
        "baseline": ("control", 72 * replays.CONTROL_TRIALS),
        "candidate": ("replay", 72 * replays.CANDIDATE_TRIALS),
        "rule-good": ("candidate", 33),
        "rule-useless": ("candidate", 4),
        "rule-harmful": ("candidate", 7),
        "rule-thin": ("candidate", 8),
    }
    assert all(run.finished_at > run.started_at for run, *_ in runs)
    assert {run.version for run, *_ in runs if run.run_id != "candidate"} == {"v1"}
    for run, samples, _, _ in runs:
        assert len(samples) - sum(s.counts for s in samples) == {"baseline": 5, "candidate": 3}.get(run.run_id, 0)


def test_one_regression_is_planted_and_nothing_else(scores):
    numbers = scores.assign(value=scores["value"].astype(float))
    means = numbers.pivot_table(index=["kind", "topic", "case_id", "metric"], columns="run", values="value")
    change = (means["candidate"] - means["baseline"]).rename("change").reset_index()
    hit = (change["kind"] == "win") & (change["topic"] == planted.REGRESSED_TOPIC)
    assert change.loc[hit, "case_id"].nunique() == 2
    assert change.loc[hit, "change"].mean() == pytest.approx(replays.REGRESSION, abs=0.05)
    assert change.loc[hit, "change"].max() < -0.15
    assert change.loc[~hit].groupby("kind")["change"].mean().to_dict() == pytest.approx(
        {"failure": 0, "win": 0}, abs=0.02
    )


@pytest.mark.parametrize(
    ("name", "verdict", "reason", "detail"),
    [
        ("good", "promote", "benefit", ""),
        ("useless", "retire", "futility", "no_worthwhile_effect"),
        ("harmful", "retire", "harm", "harm"),
        ("thin", "pending", "guard_incomplete", ""),
    ],
)
def test_trials_of_rules_reach_the_planted_verdicts(demo_root, name, verdict, reason, detail):
    harness = hk.open(demo_root)
    trial = next(run for run, *_ in map(read_run, run_folders(demo_root)) if run.run_id == f"rule-{name}")
    result = harness.evidence(trial.rule_id)
    assert result.run_id == trial.run_id
    assert (result.verdict, result.decision.reason, result.decision.detail) == (verdict, reason, detail)
    assert (result.decision.runs_needed is not None) == (verdict == "pending")
    kept = json.loads(trial.parameters)["verdict"]
    assert kept["evidence_hash"] == result.decision.evidence_hash
    assert result.frozen["sources"], "the case that the rule was written for was replayed"


def test_noise_is_as_declared(scores):
    bank = scores[(scores["run"] == "baseline") & (scores["kind"] == "win")]
    wide = bank.assign(value=bank["value"].astype(float)).pivot_table(
        index=["case_id", "trial"], columns="metric", values="value"
    )
    steady = wide[wide.mean(axis=1) > 0.5]  # without the runs that broke down
    within = steady - steady.groupby("case_id").transform("mean")
    assert within.std().between(0.05, 0.09).all()
    correlation = within.corr().to_numpy()[0, 1:]
    assert correlation.mean() == pytest.approx(0.5, abs=0.15)


def test_production_has_one_drift(online):
    assert online["head"].sum() == online["sample_id"].nunique()
    assert online.loc[~online["head"], "input"].isna().all()
    assert online["session_id"].nunique() / traffic.DAYS == pytest.approx(40, abs=2)
    late = online["occurred_at"].dt.tz_convert("UTC") >= pd.Timestamp("2026-06-23", tz="UTC")
    sessions = online.assign(late=late).groupby(["session_id", "late", "metric"])["value"].mean().reset_index()
    change = sessions.pivot_table(index="metric", columns="late", values="value")
    change = (change[True] - change[False]).to_dict()
    expected = dict.fromkeys(METRICS, 0.0) | {traffic.DRIFT_METRIC: traffic.DRIFT}
    assert change == pytest.approx(expected, abs=0.03)


def test_scores_that_are_missing_say_why(online):
    judged = online[online["metric"].notna()]
    missing = judged["value"].isna()
    assert 0.03 < missing.mean() < 0.10
    assert (judged.loc[missing, "score_reason"].notna()).all()
    assert (judged.loc[~missing, "score_status"] == "ok").all()
    assert set(online.loc[online["metric"].isna(), "reason"]) == {"not sampled for judging"}


def test_labels_belong_to_sessions_and_mostly_agree(demo_root, online):
    labels, problems = read_labels(demo_root)
    assert problems == []
    frame = pd.DataFrame(labels, columns=labels[0]._fields)
    assert set(frame["session_id"]) <= set(online["session_id"])
    per_session = frame.groupby("session_id")["failed"].agg(["size", "nunique"])
    assert len(per_session) == traffic.LABELLED
    twice = per_session[per_session["size"] == 2]
    assert len(twice) == traffic.LABELLED_TWICE
    assert (twice["nunique"] == 1).mean() > 0.8


def test_the_journaled_runs_follow_the_margin_of_the_reference(demo_root):
    events = read_journal(demo_root / "journal.jsonl").events
    for event in (json.loads(e.payload) for e in events if e.type == "regression"):
        assert event["total"] == sum(event[k] for k in ("improved", "unchanged", "regressed", "skipped"))
        for result in event["results"]:
            low, high = min(result["deltas"].values(), default=0), max(result["deltas"].values(), default=0)
            expected = "regressed" if low <= -0.05 else "improved" if high >= 0.05 else "unchanged"
            assert result["status"] == (expected if result["deltas"] else "skipped")
