"""Files that are wrong: refused whole with a clear message, or row by row, and nothing disappears."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harnesskit.harness import Harness
from harnesskit.model.errors import WorkspaceError


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    root = tmp_path / "workspace"
    root.mkdir()
    return Harness(root)


def refused(harness: Harness, path: Path, words: str, **how: str) -> None:
    with pytest.raises(WorkspaceError, match=words):
        harness.import_samples(path, **how)
    assert harness.loaded.counts["samples"] == 0


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.eval", "a.json", "a.parquet"])
def test_a_sparse_file_of_two_gigabytes_is_refused_without_being_read(
    harness: Harness, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(2 << 30)
    refused(harness, path, "zero bytes")


def test_a_line_without_end_is_refused(harness: Harness, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(b'{"id": "a", "score": 1}\n{"id": "')
        file.truncate(2 << 30)
    refused(harness, path, "line 2 is longer than 67 MB")


def test_a_truncated_file_is_refused(harness: Harness, tmp_path: Path, shared: Path) -> None:
    for name in ("inspect/baseline.eval", "promptfoo/results.json", "phoenix/spans_dataframe.parquet"):
        whole = (shared / "files" / name).read_bytes()
        path = tmp_path / Path(name).name
        path.write_bytes(whole[: len(whole) * 2 // 3])
        refused(harness, path, "cut off|Not JSON|cannot be read|no parquet")


def eval_of(path: Path, members: dict[str, bytes], *, declared: int | None = None) -> Path:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    data = buffer.getvalue()
    if declared is not None:
        last = len(members) and max(len(d) for d in members.values())
        data = data.replace(last.to_bytes(4, "little"), declared.to_bytes(4, "little"))
    path.write_bytes(data)
    return path


HEADER = json.dumps({"version": 2, "status": "success", "eval": {"eval_id": "e"}}).encode()
GOOD = json.dumps({"id": "c", "epoch": 1, "uuid": "u", "scores": {"m": {"value": "C"}}}).encode()


@pytest.mark.parametrize("declared", [None, 1000])
def test_a_zip_bomb_is_refused_member_by_member(harness: Harness, tmp_path: Path, declared: int | None) -> None:
    bomb = b'{"id": "' + b"a" * 50_000_000 + b'"}'
    members = {"header.json": HEADER, "samples/bomb.json": bomb, "samples/good.json": GOOD}
    harness.import_samples(eval_of(tmp_path / "a.eval", members, declared=declared))
    assert harness.table("samples")["case_id"].tolist() == ["c"]
    problem = harness.problems().iloc[0]
    assert problem["field"] == "samples/bomb.json"
    assert "unpack" in problem["message"]


def test_every_refused_line_is_a_problem_with_its_place(harness: Harness, tmp_path: Path) -> None:
    path = tmp_path / "prod.jsonl"
    lines = [
        b'{"id": "a", "ts": "2026-05-01T00:00:00+02:00", "score": 0.5}',
        b"",
        b'{"id": "b", "ts": "2026-05-01T00:00:00Z", "sco',
        b"[1, 2]",
        b'{"id": "c", "ts": "yesterday", "score": NaN}',
        b'{"id": "d", "ts": 1777593600, "score": "high"}',
        b'{"id": "a", "ts": "2026-05-02T00:00:00Z", "score": 0.1}',
        b'{"id": "\xff", "ts": "2026-05-02T00:00:00Z", "score": 0.1}',
    ]
    path.write_bytes(b"\n".join(lines))
    harness.import_samples(path, columns={"sample_id": "id", "metrics": ["score"]})
    rows = harness.table("samples").set_index("sample_id")
    assert sorted(rows.index) == ["prod:a", "prod:c", "prod:d"]
    assert rows.loc["prod:a", "occurred_at"].isoformat() == "2026-04-30T22:00:00+00:00"
    assert rows.loc["prod:d", "occurred_at"].isoformat() == "2026-05-01T00:00:00+00:00"
    scores = harness.table("scores").set_index("sample_id")
    assert scores["status"].to_dict() == {"prod:a": "ok", "prod:c": "unscored", "prod:d": "unscored"}
    assert "high" in scores.loc["prod:d", "reason"]
    said = harness.problems()
    assert list(zip(said["line"], said["kind"], strict=True)) == [
        (3, "not_json"),
        (4, "not_json"),
        (5, "bad_time"),
        (7, "duplicate_sample"),
        (8, "not_json"),
    ]


def test_a_file_that_grew_adds_only_what_is_new(harness: Harness, tmp_path: Path) -> None:
    path = tmp_path / "prod.jsonl"
    path.write_text('{"id": "a", "score": 0.5}\n{"id": "b", "score": 0.25}\n')
    harness.import_samples(path)
    path.write_text('{"id": "a", "score": 0.5}\n{"id": "b", "score": 0.25}\n{"id": "c", "score": 1}\n')
    harness.import_samples(path)
    assert harness.table("samples")["sample_id"].tolist() == ["prod:a", "prod:b", "prod:c"]


def test_an_import_that_was_killed_is_made_whole_by_the_next(harness: Harness, tmp_path: Path) -> None:
    path = tmp_path / "prod.jsonl"
    path.write_text('{"id": "a", "score": 0.5}\n{"id": "b", "score": 0.25}\n')
    before = harness.import_samples(path).counts
    for manifest in (harness.root / "harnesskit/imports").glob("*.json"):
        manifest.unlink()  # killed after its parts were put in place
    assert harness.import_samples(path).counts == before


def test_one_row_per_score_is_told_from_one_row_per_sample(harness: Harness, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(
        "session_id;metric;score;judge\ns1;tone;0.5;a\ns1;truth;;a\ns2;tone;1;a\ns1;tone;0.75;b\ns1;tone;0.1;a\n"
    )
    harness.import_samples(path)
    scores = harness.table("scores")
    assert len(harness.table("samples")) == 2
    assert scores["status"].value_counts().to_dict() == {"ok": 3, "unscored": 1}
    assert harness.problems()["kind"].tolist() == ["duplicate_sample"]


def test_parquet_and_a_given_column_map(harness: Harness, tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"who": ["a", "a", "b"], "good": [True, False, None], "n": [1, 2, 3]}), path)
    harness.import_samples(
        path, role="control", run="base", columns={"case_id": "who", "metrics": {"ok": "good"}}, scale={"ok": (0, 1)}
    )
    rows = harness.table("samples").sort_values("trial")
    assert sorted(zip(rows["case_id"], rows["trial"], strict=True)) == [("a", 1), ("a", 2), ("b", 1)]
    assert harness.table("scores")["metric"].unique().tolist() == ["ok"]
    assert bool(harness.table("metrics").set_index("metric").loc["ok", "declared"])
    with pytest.raises(WorkspaceError, match="did you mean 'who'"):
        harness.import_samples(path, columns={"case_id": "whom"})
