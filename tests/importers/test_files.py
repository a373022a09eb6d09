"""Real files that other tools wrote: what is in each, by its README and by reading it; a second load adds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from harnesskit.harness import Harness

LM = "2026-11-30T16-57-24.641207.jsonl"

# file: format, samples, most trials of a case, cases, scores with a value, unscored, errors of graders, of samples
FILES = {
    "csv/long.csv": ("csv", 720, 3, 120, 1440, 0, 0, 0),
    "csv/baseline.jsonl": ("jsonl", 120, 1, 120, 120, 0, 0, 0),
    "csv/candidate.jsonl": ("jsonl", 120, 1, 120, 120, 0, 0, 0),
    "inspect/baseline.eval": ("inspect", 36, 3, 12, 72, 0, 0, 0),
    "inspect/candidate.json": ("inspect", 36, 3, 12, 72, 0, 0, 0),
    "promptfoo/results.json": ("promptfoo", 36, 3, 6, 75, 0, 0, 1),
    "promptfoo/results.jsonl": ("promptfoo", 36, 3, 6, 75, 0, 0, 1),
    "langsmith/results.json": ("langsmith", 12, 2, 6, 22, 0, 2, 0),
    "mlflow/traces.jsonl": ("mlflow", 16, 1, 8, 46, 0, 2, 0),
    "otel/genai_otlp.json": ("otlp", 4, None, 0, 4, 0, 0, 0),
    "otel/openinference_otlp.json": ("otlp", 4, None, 0, 0, 0, 0, 0),
    "langfuse/otlp_traces_hexids.jsonl": ("otlp", 6, None, 0, 0, 0, 0, 0),
    "langfuse/experiment_result.json": ("langfuse", 6, 1, 6, 11, 1, 0, 0),
    "phoenix/rest_experiment_RXhwZXJpbWVudDox.json": ("phoenix", 24, 3, 8, 45, 0, 3, 0),
    "deepeval/test_run_20261130_165828.json": ("deepeval", 8, 1, 8, 15, 0, 1, 0),
    f"lm-eval/samples_guard_gen_{LM}": ("lm-eval", 24, 1, 24, 48, 0, 0, 0),
    f"lm-eval/samples_guard_mc_{LM}": ("lm-eval", 16, 1, 16, 32, 0, 0, 0),
    "braintrust/eval_results.json": ("braintrust", 12, 2, 6, 34, 0, 2, 0),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("role", ["online", "control"])
def test_what_a_file_holds_is_in_the_tables_and_a_second_load_adds_nothing(
    shared: Path, tmp_path: Path, name: str, role: str
) -> None:
    form, samples, trials, cases, values, unscored, errors, failed = FILES[name]
    if form == "jsonl" and role == "online":
        cases, trials = 0, None  # there an id names the sample
    harness = Harness(tmp_path)
    report = harness.import_samples(shared / "files" / name, role=role)

    assert harness.imported is not None
    assert harness.imported.format == form
    rows, scores = harness.table("samples"), harness.table("scores")
    assert (len(rows), rows["case_id"].nunique(), len(scores)) == (samples, cases, values + unscored + errors)
    assert (None if trials is None else int(rows["trial"].max())) == trials
    assert [int((scores["status"] == s).sum()) for s in ("ok", "unscored", "error")] == [values, unscored, errors]
    assert int((rows["status"] == "error").sum()) == failed
    assert (harness.problems()["severity"] == "note").all()
    assert rows["attributes"].notna().all()
    assert not rows.duplicated(["case_id", "arm", "trial"]).any() or cases == 0

    again = harness.import_samples(shared / "files" / name, role=role)
    assert again.counts == report.counts
    assert harness.imported.again


def test_two_files_of_one_run_are_one_run_and_its_samples_are_not_doubled(shared: Path, tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    for name in ("promptfoo/results.json", "promptfoo/results.jsonl"):
        harness.import_samples(shared / "files" / name, role="replay", run="suite")
    assert len(harness.table("samples")) == 36
    assert "already_imported" in set(harness.problems()["kind"])


def test_a_provider_error_is_no_score_of_nought(shared: Path, tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.import_samples(shared / "files/promptfoo/results.json")
    failed = harness.sql(
        "SELECT s.sample_id, c.value FROM samples s LEFT JOIN scores c USING (sample_id) WHERE s.error <> ''"
    )
    assert len(failed) == 1
    assert failed["value"].isna().all()
