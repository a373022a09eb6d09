"""Before the first replay of an adaptive run: which cases, which bank, is it stale, and what is frozen."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from harnesskit.model.case import EvalCase
from harnesskit.model.identity import identity_of
from harnesskit.model.metrics import Metrics
from harnesskit.model.policy import RegressionPolicy
from harnesskit.replays.run_store import rules_hash
from harnesskit.replays.setup import Sessions, Setup, Trial
from harnesskit.trials.adaptive_regression import AgentReplays, Replays
from harnesskit.trials.bank import Bank, find_bank
from harnesskit.trials.frozen import ControlRun, Frozen, freeze
from harnesskit.trials.replayer import scored_values
from harnesskit.trials.sentinel import bank_is_stale
from harnesskit.trials.win import CANDIDATE, CONTROL
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import RunRow, SampleRow, ScoreRow
from harnesskit.workspace.runs import create_run

NO_FINGERPRINT = (
    "The agent has no fingerprint, so control runs of other days cannot be told from runs of another agent; give "
    "fingerprint= to build a control bank."
)


@dataclass
class Preparation:
    """What an adaptive run is made from.

    Attributes
    ----------
    root, cases, policy, metrics, seed
        The workspace, its cases in order, and the rules.
    setups
        What the attempts of an arm have in common: ``candidate``, and ``control`` when there is a function of the old
        version.
    control
        A run named as the control, or None.
    fingerprint
        What produces the candidate's samples, as the user gave it.
    blocking, concurrency
        As for `AgentReplays`.
    """

    root: Path
    cases: Sequence[EvalCase]
    policy: RegressionPolicy
    metrics: Metrics
    setups: Mapping[str, Setup]
    control: str | None = None
    fingerprint: Any = None
    seed: int = 0
    blocking: bool = False
    concurrency: int = 1
    notes: list[str] = field(default_factory=list)

    @property
    def wins(self) -> list[EvalCase]:
        """Protected wins that can be replayed."""
        return [case for case in self.cases if case.kind == "win" and case.replayable]

    @property
    def can_control(self) -> bool:
        """Whether control runs can be made."""
        return CONTROL in self.setups

    def replays(self, run_id: str) -> Replays:
        """Return what makes the attempts of a run."""
        sessions = Sessions()
        setups = {arm: replace(setup, run_id=run_id, arm=arm, sessions=sessions) for arm, setup in self.setups.items()}
        return AgentReplays(setups, self.blocking, self.concurrency)

    def bank(self) -> Bank:
        """Return the control bank there is, if it can be used."""
        bank = find_bank(self.root, control=self.control)
        version = (bank.fingerprint or {}).get("control")
        if version is not None and self.can_control and version != identity_of(self.setups[CONTROL].replay):
            return Bank()  # made by another function than the one that stands for the old version now
        return bank

    async def ready(self) -> Frozen | None:
        """Return the frozen part, control runs made where they are needed; None when there is nothing to compare with.

        The bank is looked at first: some banked wins are replayed in control, and a stale bank is left aside. Without
        a bank fresh controls are made, as a run of their own that later runs find.
        """
        bank, spent = self.bank(), 0
        ids = [case.id for case in self.wins]
        if bank.depth(ids) and self.can_control and bank.source == "fingerprint":
            bank, spent = await self._looked_at(bank)
        if ids and not bank.depth(ids) and self.can_control:
            bank = await self._fresh(self.wins, self.policy.fresh_controls)
        return self.frozen(bank, spent) if bank.depth(ids) else None

    def frozen(self, bank: Bank, spent: int = 0) -> Frozen:
        """Return the frozen part with this bank."""
        if self.fingerprint is None:
            self.notes.append(NO_FINGERPRINT)
        if not self.can_control:
            self.notes.append("No control function was given: control runs could not be added where they would help.")
        return freeze(
            self.policy,
            [case.id for case in self.wins],
            {case.id: bank.runs.get(case.id) or _captured(case) for case in self.cases},
            self.metrics,
            failures=[case.id for case in self.cases if case.kind != "win"],
            untested=[case.id for case in self.cases if case.kind == "win" and not case.replayable],
            top_up=self.can_control,
            spent=spent,
            seed=self.seed,
            baseline=bank.plain(),
            notes=tuple(dict.fromkeys(self.notes)),
        )

    async def _looked_at(self, bank: Bank) -> tuple[Bank, int]:
        banked = [case for case in self.wins if len(bank.runs.get(case.id, ())) > 1]
        order = np.random.default_rng(self.seed).permutation(len(banked))
        chosen = [banked[i] for i in sorted(order[: self.policy.sentinels])]
        if not chosen:
            return bank, 0
        made = await self._controls(chosen, 1, bank.fingerprint or {}, "sentinel")
        if bank_is_stale(bank.runs, made.runs, [case.id for case in self.wins], self.metrics):
            self.notes.append(
                f"The control bank is stale: {len(chosen)} of its wins, replayed in control, differ by more than "
                "3 standard errors. It was left aside and fresh controls were made."
            )
            return Bank(), 0
        merged = {case_id: (*runs, *made.runs.get(case_id, ())) for case_id, runs in bank.runs.items()}
        return replace(bank, runs=merged, run_ids=(*bank.run_ids, *made.run_ids)), len(chosen)

    async def _fresh(self, cases: Sequence[EvalCase], trials: int) -> Bank:
        setup = self.setups[CONTROL]
        fingerprint = {"control": identity_of(setup.replay), "rules_hash": rules_hash(setup)}
        made = await self._controls(cases, trials, fingerprint, "fresh controls")
        self.notes.append(
            f"There was no valid control bank: {trials} control runs of every win were made first ({made.run_ids[0]}), "
            "beside the budget."
        )
        return made

    async def _controls(
        self, cases: Sequence[EvalCase], trials: int, fingerprint: Mapping[str, Any], label: str
    ) -> Bank:
        """Replay cases in control, as a run of its own."""
        now, total = datetime.now(UTC), len(cases) * trials
        run_id = f"control-{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}"
        row = RunRow(
            run_id, "control", label=label, started_at=now, fingerprint=to_json(dict(fingerprint)),
            parameters=to_json({"total": len(cases), "trials": trials, "replays": total}),
        )  # fmt: skip
        writer = create_run(self.root, row)
        found: dict[str, list[ControlRun]] = {}

        def sink(sample: SampleRow, scores: list[ScoreRow]) -> None:
            writer.append(sample, scores)
            values = scored_values(scores)
            if sample.status == "scored" and values and sample.case_id:
                found.setdefault(sample.case_id, []).append(ControlRun(sample.sample_id, values))

        replays = self.replays(run_id)
        for trial in range(1, trials + 1):
            await replays.make([Trial(case, trial) for case in cases], CONTROL, sink)
        writer.finish()
        return Bank({case_id: tuple(runs) for case_id, runs in found.items()}, label, (run_id,), dict(fingerprint))


def _captured(case: EvalCase) -> tuple[ControlRun, ...]:
    """Return the captured scores of a case as its only run; of failures they are shown and decide nothing."""
    scores = {name: float(value) for name, value in case.baseline_scores.items()}
    return (ControlRun(f"captured:{case.id}", scores, "captured"),) if scores else ()


def setups_of(replay: Callable[..., Any] | None, control: Any, common: Mapping[str, Any]) -> dict[str, Setup]:
    """Return the set-ups of the arms that can be replayed."""
    found = {CANDIDATE: Setup(run_id="", replay=replay, arm=CANDIDATE, **common)}
    if callable(control):
        found[CONTROL] = Setup(run_id="", replay=control, arm=CONTROL, **common)
    return found
