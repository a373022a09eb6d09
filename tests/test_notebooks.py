"""The notebooks: clean, thin, and they reach the planted verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.run_notebooks import FOLDER, execute, notebooks

ALLOWED_IMPORTS = ("import harnesskit as hk", "import pandas as pd", "from pathlib import Path")


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.name)
def test_a_notebook_is_clean_and_thin(path: Path):
    book = json.loads(path.read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert set(book["metadata"]) <= {"kernelspec", "language_info"}
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert len(code) <= 15
    for cell in code:
        source = "".join(cell["source"])
        assert not cell["outputs"], path.name
        assert cell["execution_count"] is None, path.name
        assert len(source.splitlines()) <= 8, source
        for line in source.splitlines():
            assert not line.lstrip().startswith(("def ", "class ", "for ", "while ", "try:", "with ")), line
            if line.startswith(("import ", "from ")):
                assert line in ALLOWED_IMPORTS, line


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.name)
def test_a_notebook_has_one_tagged_parameters_cell_and_a_question_as_title(path: Path):
    book = json.loads(path.read_text(encoding="utf-8"))
    tagged = [cell for cell in book["cells"] if "parameters" in cell["metadata"].get("tags", [])]
    assert len(tagged) == 1
    title = "".join(book["cells"][0]["source"]).splitlines()[0]
    assert title.startswith("# ")
    assert title.endswith("?")


def test_the_regression_notebook_reaches_the_planted_verdict(tmp_path: Path):
    texts = execute(FOLDER / "01_regression.ipynb", tmp_path)
    assert any("FAIL: 2 of 27 protected wins got worse: c-" in text for text in texts)
    page = (tmp_path / "regression-report.html").read_text(encoding="utf-8")
    assert "c-eeab9567e5" in page
    assert "c-34e0eb9799" in page


def test_the_promotion_notebook_reaches_the_planted_verdict_and_ends_with_the_page(tmp_path: Path):
    texts = execute(FOLDER / "02_guard_promotion.ipynb", tmp_path)
    assert any("r-c4bd987e46: PROMOTE: The rule helps" in text for text in texts)
    page = (tmp_path / "guard-page.html").read_text(encoding="utf-8")
    assert "never retype them from the message" in page
    assert "Draft: nobody has signed it." in page
    assert "r-63ceca8b45" in (tmp_path / "guards.html").read_text(encoding="utf-8")


def test_the_notebook_on_graders_finds_the_planted_failure_rate(tmp_path: Path):
    """15 % of the demo's sessions fail and people err in 5 %: 18.5 % are labelled failed, the judge alone says less."""
    texts = execute(FOLDER / "05_graders.ipynb", tmp_path)
    printed = next(text for text in texts if "judge_only" in text)
    _, low, high, judge = (float(part) for part in printed.splitlines()[1].split())
    assert judge < low < 0.185 < high
    assert (tmp_path / "graders.csv").is_file()


def test_the_notebook_on_the_eval_set_finds_the_planted_traffic_without_a_case(tmp_path: Path):
    texts = execute(FOLDER / "06_corpus_health.ipynb", tmp_path)
    assert any("14 of 81 cases with something to do" in text for text in texts)
    page = (tmp_path / "corpus-health.html").read_text(encoding="utf-8")
    assert "Add first: breach: argument_correctness, coherence, task_completion, tool_correctness: 130 sessions" in page


def test_the_study_notebook_leaves_a_change_of_two_cases_open(tmp_path: Path):
    """Two planted drops among 72 cases: the mean over all cases cannot tell them from noise, the regression can."""
    texts = execute(FOLDER / "07_study.ipynb", tmp_path)
    assert any("surely changed: nothing" in text for text in texts)
    assert "whether it changed is open" in (tmp_path / "study.html").read_text(encoding="utf-8")


def test_the_calibration_notebook_finds_the_planted_precision(tmp_path: Path):
    """Failed sessions lie far below good ones: alarms are right, a threshold is certified, and the page is written."""
    texts = execute(FOLDER / "03_calibration.ipynb", tmp_path)
    assert any("certified_threshold" in text for text in texts)
    assert texts[-1].strip() == "calibration.html"
    page = (tmp_path / "calibration.html").read_text(encoding="utf-8")
    assert "has precision above 0.800 with confidence" in page
    assert "only where the gate" in page
