"""``harnesskit calibrate``: exit codes, what it prints, and that it says what the function says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import harnesskit as hk
from harnesskit.cli import main


def test_it_prints_what_the_function_gives_and_writes_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    labels = tmp_path / "labels.csv"
    named = hk.open("data/demo").table("labels").drop_duplicates("session_id")
    lines = [f"{row.session_id};{'F' if row.failed else 'ok'}" for row in named.itertuples()]
    labels.write_text("\n".join(["\ufeffSession;Failed", *lines, "s-odd;perhaps"]), encoding="utf-8")
    out = tmp_path / "c.json"
    code = main([
        "calibrate", "--root", "data/demo", "--labels", str(labels), "--metric", "coherence", "--metric",
        "task_completion", "--target-precision", "0.8", "--out", str(out), "--json",
    ])  # fmt: skip
    assert code == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert [one["metric"] for one in found["metrics"]] == ["coherence", "task_completion"]
    assert "perhaps" in found["refused"][0]["message"]
    assert "perhaps" in said.err
    ours = hk.open("data/demo").calibrate(labels, metric=["coherence", "task_completion"], target_precision=0.8)
    assert found["metrics"][0]["certified_threshold"] == ours.table["certified_threshold"][0]
    assert found["graders"] == {"coherence": "judge", "task_completion": "judge"}
    assert {one["name"] for one in json.loads(out.read_text())["tables"]} >= {
        "metrics",
        "choices",
        "sweep",
        "agreement",
    }


@pytest.mark.parametrize(
    "wrong",
    [["--labels", "absent.csv"], ["--metric", "nonsense"], ["--target-precision", "2"], ["--policy", "x"],
     ["--cost-missed", "1"], ["--grader", "nobody"], ["--out", "absent/c.html"]],
)  # fmt: skip
def test_what_cannot_be_done_exits_with_2(wrong: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["calibrate", "--root", "data/demo", *wrong]) == 2
    assert capsys.readouterr().err.startswith("harnesskit calibrate: ")


def test_labels_text_is_text_in_the_page(tmp_path: Path):
    import pandas as pd

    name = "<script>alert(1)</script>|$x^2$"
    scores = pd.DataFrame({"session_id": range(60), "metric": name, "value": [i / 60 for i in range(60)]})
    labels = {i: i < 25 for i in range(60)}
    metrics = [hk.Metric(name, threshold=0.5)]
    found, sweep = (fn(scores, labels, metrics=metrics) for fn in (hk.calibrate, hk.sweep_thresholds))
    page = hk.calibration_report(found, sweep, scores=hk.labelled_scores(scores, labels)).save(tmp_path / "c.html")
    assert "<script>alert" not in page.read_text(encoding="utf-8")
