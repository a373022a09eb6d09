"""The replays of the demo: a control bank, a changed agent with one regression, and what draws one attempt."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from harnesskit.demo_world.cases import REGRESSED_TOPIC, DemoCase
from harnesskit.demo_world.draws import AGENT, GRADER, GRADER_VERSION, THRESHOLD, draw_scores, generator, hex_id
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import RunRow, SampleRow, ScoreRow
from harnesskit.workspace.runs import create_run

CONTROL_TRIALS, CANDIDATE_TRIALS = 5, 3
REGRESSION = -0.25
UNSCORED = 0.01
"""Share of scores that the judge did not give, each with a reason."""

FINGERPRINT = {
    "agent": AGENT,
    "prompt": "support 14",
    "model": "mid-size 2026-04",
    "tools": "shop-tools 3.2",
    "judge": GRADER_VERSION,
    "rules": "3 active",
}


def write_runs(root: Path, seed: int, cases: list[DemoCase]) -> None:
    """Write the runs `baseline` and `candidate`."""
    able = [case for case in cases if case.replayable]
    start = datetime(2026, 6, 26, 7, tzinfo=UTC)
    _write(
        root,
        run_row("baseline", "control", "Control bank, agent v1", start),
        _trials(generator(seed, "baseline"), able, "baseline", start, CONTROL_TRIALS, "control", set()),
    )
    start = datetime(2026, 6, 28, 18, tzinfo=UTC)
    broken = {case.case_id for case in able if case.kind == "win" and case.topic == REGRESSED_TOPIC}
    changed = {**FINGERPRINT, "prompt": "support 15"}
    run = run_row("candidate", "replay", "Agent v2: new prompt", start, version="v2", fingerprint=to_json(changed))
    _write(
        root,
        run,
        _trials(generator(seed, "candidate"), able, "candidate", start, CANDIDATE_TRIALS, "candidate", broken),
    )


def run_row(run_id: str, role: str, label: str, at: datetime, **more: Any) -> RunRow:
    """Return a run of the unchanged agent, but for the columns given."""
    plain = {"parameters": '{"concurrency":1}', "fingerprint": to_json(FINGERPRINT)}
    columns = {"agent": AGENT, "version": "v1", **plain, **more}
    return RunRow(run_id, role, label, started_at=at, **columns)


def _write(root: Path, run: RunRow, attempts: Iterator[tuple[SampleRow, list[ScoreRow]]]) -> None:
    writer = create_run(root, run)
    last = run.started_at
    for sample, scores in attempts:
        writer.append(sample, scores)
        last = sample.occurred_at
    writer.finish(last)


class Replayer:
    """Draws one attempt after the other; its clock only goes forward."""

    def __init__(self, rng: np.random.Generator, run_id: str, at: datetime) -> None:
        self.rng = rng
        self.run_id = run_id
        self.at = at
        self.number = 0

    def attempt(self, case: DemoCase, shift: dict[str, float], **more: Any) -> tuple[SampleRow, list[ScoreRow]]:
        """Return one scored attempt of `case`, its true means moved by `shift`."""
        means = {metric: mean + shift.get(metric, 0.0) for metric, mean in case.means.items()}
        drawn = draw_scores(self.rng, means, case.sds, collapse=case.collapse)
        fine = np.mean(list(drawn.values())) >= THRESHOLD + 0.15
        sample = self._row(case, **more)._replace(
            output=to_json(case.reply if fine else case.story[1]),
            steps=to_json(_steps(case, fine=bool(fine))),
            input_tokens=int(self.rng.integers(1_800, 5_200)),
            output_tokens=int(self.rng.integers(180, 640)),
        )
        cost = (sample.input_tokens or 0) * 4e-7 + (sample.output_tokens or 0) * 1.6e-6
        return sample._replace(cost_usd=round(cost, 6)), self._scores(sample.sample_id, drawn)

    def failed(self, case: DemoCase, **more: Any) -> tuple[SampleRow, list[ScoreRow]]:
        """Return an attempt that ended in a timeout."""
        row = self._row(case, **more)
        reason = "no answer within 300 s"
        return row._replace(status="timeout", reason=reason, duration_s=300.0, error="TimeoutError"), []

    def _row(self, case: DemoCase, **more: Any) -> SampleRow:
        self.number += 1
        duration = round(float(self.rng.gamma(6.0, 1.6)), 2)
        self.at += timedelta(seconds=int(duration) + 2)
        return SampleRow(
            sample_id=f"{self.run_id}-{self.number:04d}",
            run_id=self.run_id,
            case_id=case.case_id,
            session_id=f"r-{self.at:%m%d}-{hex_id(self.rng, 8)}",
            occurred_at=self.at,
            input=to_json(case.replay_input),
            duration_s=duration,
            env_wait_s=0.0,
            **more,
        )

    def _scores(self, sample_id: str, drawn: dict[str, float]) -> list[ScoreRow]:
        rows = []
        for metric, value in drawn.items():
            lost = self.rng.random() < UNSCORED
            reason = "the judge gave no number" if lost else None
            status = "unscored" if lost else "ok"
            rows.append(ScoreRow(sample_id, metric, GRADER, GRADER_VERSION, None if lost else value, status, reason))
        return rows


def _steps(case: DemoCase, *, fine: bool) -> list[dict[str, Any]]:
    order = {"order": case.slots["order"]}
    used = case.tools if fine else (case.tools[0], case.tools[-1])
    return [{"tool": tool, "arguments": order if tool != used[-1] else {**order, "confirm": fine}} for tool in used]


def _trials(
    rng: np.random.Generator,
    cases: list[DemoCase],
    run_id: str,
    start: datetime,
    trials: int,
    arm: str,
    broken: set[str],
) -> Iterator[tuple[SampleRow, list[ScoreRow]]]:
    """Yield `trials` repeats of every case, breadth first, a few of them after a time-out and a retry."""
    replayer = Replayer(rng, run_id, start)
    for trial in range(1, trials + 1):
        for n, case in enumerate(sorted(cases, key=lambda case: (case.kind != "win", case.case_id))):
            shift = dict.fromkeys(case.means, REGRESSION) if case.case_id in broken else {}
            attempt = 1
            if n == 7 * trial:
                yield replayer.failed(case, arm=arm, trial=trial, attempt=attempt)
                attempt += 1
            yield replayer.attempt(case, shift, arm=arm, trial=trial, attempt=attempt)
