"""Starting without a harness: around a function, around a command in any language."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harnesskit.model.case import EvalCase
from harnesskit.model.records import RuleRecord
from harnesskit.model.replay import ReplayError, ReplayResult
from harnesskit.replays.agents import from_agent, from_command
from harnesskit.replays.replay import replay

Make = Callable[..., list[EvalCase]]


def test_ten_lines_are_enough(make_cases: Make) -> None:
    def agent(task: dict[str, int]) -> dict[str, int]:
        return {"answer": task["n"] * 2}

    async def agent_later(task: dict[str, int]) -> dict[str, int]:
        return agent(task)

    for function in (agent, agent_later, lambda task: agent_later(task)):
        samples = replay(make_cases(3), from_agent(function), verifier=lambda case, session: 1)
        assert [json.loads(text)["answer"] for text in samples["output"]] == [0, 2, 4]
        assert samples["session_id"].nunique() == 3
        assert samples["status"].tolist() == ["scored"] * 3


def test_an_agent_may_report_scores_and_cost(make_cases: Make) -> None:
    samples = replay(make_cases(1), from_agent(lambda task: ReplayResult("", output=1, scores={"q": 1}, cost_usd=0.25)))
    assert samples["cost_usd"].tolist() == [0.25]
    assert samples["session_id"][0].startswith("replay-")
    numbered = replay(make_cases(1), from_agent(lambda task: 1, session=lambda: "mine"))
    assert numbered["session_id"].tolist() == ["mine"]
    with pytest.raises(ReplayError, match="needs a function"):
        from_agent("agent")  # type: ignore[arg-type]


ANSWER = """
import json, sys
asked = json.load(sys.stdin)
n = asked["case"]["replay_input"]["n"]
if n == 1:
    sys.exit("the model is gone")
if n == 2:
    print("hello")
    sys.exit()
if n == 3:
    print(json.dumps({"session": "typo"}))
    sys.exit()
rules = [rule["id"] for rule in asked["rules"]]
answer = {"output": [asked["trial"], "é", rules], "scores": {"q": 0.5}, "input_tokens": 9}
print(json.dumps({**answer, "rules_read": rules}))
"""


def test_a_command_speaks_json(make_cases: Make) -> None:
    rules = [RuleRecord(rule_id="r-1", status="candidate", rule="x"), RuleRecord(rule_id="r-2", status="candidate")]
    agent = from_command([sys.executable, "-c", ANSWER])
    samples = replay(make_cases(4), agent, rules=rules, rule="r-1", concurrency=2)
    assert samples["status"].tolist() == ["scored", "error", "error", "error"]
    assert json.loads(samples["output"][0]) == [1, "é", ["r-1"]]
    assert samples["candidate_surfaced"].tolist() == [True, False, False, False]
    assert samples["input_tokens"][0] == 9
    assert "ended with status 1; it said: the model is gone" in samples["reason"][1]
    assert "wrote no JSON" in samples["reason"][2]
    assert "'session' (did you mean 'session_id'?)" in samples["reason"][3]


def test_a_command_that_cannot_be_run_is_an_error_of_its_replay(make_cases: Make, tmp_path: Path) -> None:
    samples = replay(make_cases(1), from_command([str(tmp_path / "missing")]))
    assert samples["reason"][0].startswith("raised: ReplayError: the command")
    assert "was not found" in samples["reason"][0]
    with pytest.raises(ReplayError, match="program and arguments"):
        from_command("agent --fast")  # type: ignore[arg-type]


PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1], "w").write(str(child.pid))
child.wait()
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
def test_at_its_limit_a_command_is_killed_with_its_children(make_cases: Make, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    samples = replay(make_cases(1), from_command([sys.executable, "-c", PARENT, str(note)]), timeout_s=2)
    assert samples["reason"].tolist() == ["timed_out: after 2 s"]

    def alive() -> bool:
        try:
            state = Path(f"/proc/{int(note.read_text())}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        return state != "Z"

    until = time.monotonic() + 10
    while alive() and time.monotonic() < until:
        os.sched_yield()
    assert not alive()


def test_an_environment_is_passed_on(make_cases: Make, tmp_path: Path) -> None:
    code = "import json, os, sys; print(json.dumps({'output': [os.environ['MODEL'], os.getcwd()]}))"
    agent: Any = from_command([sys.executable, "-c", code], environment={"MODEL": "m-1"}, cwd=str(tmp_path))
    assert json.loads(replay(make_cases(1), agent)["output"][0]) == ["m-1", str(tmp_path)]
