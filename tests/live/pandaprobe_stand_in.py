"""A stand-in for PandaProbe's command: it answers by the script that lies beside it, and notes every call."""

import json
import subprocess
import sys
import time
from pathlib import Path

SCORES = {"task_completion": 0.8, "coherence": 0.7, "tool_correctness": 0.4, "argument_correctness": 0.3}
TRACES = [
    {"trace_id": "t-2", "status": "COMPLETED", "started_at": "2026-06-01T10:00:05Z"},
    {"trace_id": "t-1", "status": "COMPLETED", "started_at": "2026-06-01T10:00:00Z"},
]


def option(name):
    found = [argument.split("=", 1)[1] for argument in sys.argv[1:] if argument.startswith(f"--{name}=")]
    return found[0] if found else ""


def score_list(script, state):
    if "scores" in script:
        return script["scores"]
    value = (lambda metric: 0.2) if script.get("low") else SCORES.get
    return [
        {"trace_id": trace, "name": metric, "value": str(value(metric)), "status": "SUCCESS", "metadata": {}}
        for trace in state["traces"]
        for metric in state["metrics"]
    ]


def answer(here, script):
    state_file = here / "state.json"
    state = json.loads(state_file.read_text()) if state_file.exists() else {}
    command = [word for word in sys.argv[3:] if not word.startswith("-")]
    if command[0] == "version":
        return {"version": "0.2.0"}
    if command[:2] == ["traces", "list"]:
        return {"items": script.get("traces", TRACES), "pagination": {}}
    if command[2] == "scores":
        return [] if state["looks"] < script.get("pending", 0) else score_list(script, state)
    if command[2] == "batch":
        state = {"looks": 0, "traces": option("trace-ids").split(","), "metrics": option("metrics").split(",")}
    else:
        state["looks"] += 1
    state_file.write_text(json.dumps(state))
    done = script.get("status", "COMPLETED") if state["looks"] >= script.get("pending", 0) else "RUNNING"
    return {"id": "e-1", "status": done, "error_message": "the judge is out of tokens" if done == "FAILED" else None}


def main():
    here = Path(sys.argv[0]).resolve().parent
    script = json.loads((here / "script.json").read_text())
    mode = script.get("mode", "")
    with (here / "calls.jsonl").open("a") as log:
        log.write(json.dumps(sys.argv[1:]) + "\n")
    failing = len((here / "calls.jsonl").read_text().splitlines()) <= script.get("fail_first", 0)
    if mode == "hang":
        subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
        time.sleep(60)
    elif mode == "garbage":
        print("<html>502 Bad Gateway</html>")
    elif mode == "odd":
        print("{}")
    elif (mode == "crash" or failing) and "version" not in sys.argv:
        print("network is down", file=sys.stderr)
        sys.exit(script.get("code", 1))
    elif mode != "silent":
        print(json.dumps(answer(here, script)))


if __name__ == "__main__":
    main()
