"""Functions named on a command line."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from harnesskit.model.replay import ReplayError
from harnesskit.replays.loading import load_function

SOURCE = """
from neighbour_of_agent import answer
class Agent:
    def run(self, case): return answer
agent = Agent()
def replay(case): return answer
number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my_agent.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "neighbour_of_agent.py").write_text("answer = 'new-1'", encoding="utf-8")
    (tmp_path / "broken_agent.py").write_text("raise SystemExit('no key')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("my_agent", "neighbour_of_agent", "broken_agent"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


@pytest.mark.parametrize("spec", ["my_agent.py", "./my_agent.py:replay", "my_agent", "my_agent:agent.run"])
def test_a_file_or_a_module_with_or_without_a_name(folder: Path, spec: str) -> None:
    assert load_function(spec)(None) == "new-1"
    assert load_function(str(folder / "my_agent.py"))(None) == "new-1"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("gone.py", "there is no file"),
        ("gone_module", "cannot be loaded: ModuleNotFoundError"),
        ("broken_agent.py", "cannot be loaded: SystemExit: no key"),
        ("my_agent.py:relay", "there is no 'relay' in my_agent.py (did you mean 'replay'?)"),
        ("my_agent.py:number", "is no function; found int"),
        (":replay", "path.py:attr or module:attr"),
    ],
)
def test_what_cannot_be_loaded_says_why(folder: Path, spec: str, said: str) -> None:
    with pytest.raises(ReplayError, match=re.escape(said)):
        load_function(spec)
