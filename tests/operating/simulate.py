"""Corpora of known worlds through the real adaptive runner: an agent that is simulated, results kept in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from harnesskit.model.case import EvalCase
from harnesskit.model.metrics import Metrics
from harnesskit.model.policy import RegressionPolicy
from harnesskit.replays.setup import Record, Trial
from harnesskit.trials.adaptive_regression import AdaptiveRun
from harnesskit.trials.frozen import ControlRun, Frozen, freeze
from harnesskit.trials.replayer import finish
from harnesskit.trials.stored_adaptive import adaptive_verdict
from harnesskit.trials.win_states import WinStates
from harnesskit.workspace.rows import SampleRow, ScoreRow
from tests.operating.worlds import Corpus, World, draw


@dataclass
class SimulatedAgent:
    """Replays that take their scores from a corpus, in the place of the user's functions."""

    corpus: Corpus
    names: Sequence[str]
    used: dict[tuple[str, str], int] = field(default_factory=dict)

    async def make(self, trials: Sequence[Trial], arm: str, sink) -> None:
        values = self.corpus.candidate if arm == "candidate" else self.corpus.control
        for trial in trials:
            turn = self.used.get((arm, trial.case.id), 0)
            self.used[arm, trial.case.id] = turn + 1
            sample_id = f"r/{trial.case.id}/{arm}/{trial.trial}.{trial.attempt}"
            row = values[int(trial.case.id[1:]), turn]
            scores = [ScoreRow(sample_id, name, "judge", None, float(v), "ok", None)
                      for name, v in zip(self.names, row, strict=True)]  # fmt: skip
            sink(SampleRow(sample_id, "r", trial.case.id, arm=arm, trial=trial.trial, attempt=trial.attempt), scores)


class Outcome(NamedTuple):
    """What a budget brought in one corpus."""

    false_alarm: bool
    power: float
    cost: float
    false_suspects: float
    suspect_power: float


class Verdict(NamedTuple):
    """What the public functions say of one corpus."""

    verdict: str
    mean_fell: bool
    covered: float


def names_of(world: World) -> list[str]:
    return ["outcome_correct"] if world.noise == "binary" else [f"m{k}" for k in range(world.k)]


def frozen_of(world: World, corpus: Corpus, policy: RegressionPolicy, seed: int) -> Frozen:
    names, ids = names_of(world), [f"c{i}" for i in range(world.cases)]
    controls = {
        case_id: [
            ControlRun(f"b/{case_id}/{j}", dict(zip(names, row, strict=True)))
            for j, row in enumerate(runs[: world.depth(place)].tolist())
        ]
        for place, (case_id, runs) in enumerate(zip(ids, corpus.bank, strict=True))
    }
    return freeze(policy, ids, controls, Metrics(()), seed=seed, baseline={"source": "simulated", "runs": []})


def run_corpus(
    world: World, seed: int, policy: RegressionPolicy, budgets: Sequence[float]
) -> tuple[list[Outcome], Frozen, list[Record], Corpus]:
    """Return what each budget brought; a smaller budget is the beginning of the run with the largest."""
    corpus = draw(world, seed)
    frozen = frozen_of(world, corpus, policy.model_copy(update={"budget_per_win": budgets[-1]}), seed)
    found: list[Outcome] = []
    records: list[Record] = []

    def keep(sample: SampleRow, scores: list[ScoreRow]) -> None:
        left = len(budgets) - len(found)
        if left > 1 and len(records) >= budgets[len(found)] * world.cases:
            found.append(_outcome(world, corpus, run.states))
        records.append(Record(sample, scores))

    cases = {case_id: EvalCase(id=case_id, kind="win", replay_input={}) for case_id in frozen.wins}
    run = AdaptiveRun(frozen, cases, SimulatedAgent(corpus, names_of(world)), keep)
    ended = finish(run.go())
    while len(found) < len(budgets):
        found.append(_outcome(world, corpus, ended.states))
    return found, frozen, records, corpus


def _outcome(world: World, corpus: Corpus, states: WinStates) -> Outcome:
    wins = [states.wins[f"c{i}"] for i in range(world.cases)]
    regressed = np.array([win.status == "regressed" for win in wins])
    suspect = regressed | np.array([win.suspect is not None for win in wins])
    fine, none = ~corpus.broken, not corpus.broken.any()
    return Outcome(
        bool((regressed & fine).any()),
        np.nan if none else float(regressed[corpus.broken].mean()),
        states.spent / world.cases,
        float(suspect[fine].mean()) if fine.any() else 0.0,
        np.nan if none else float(suspect[corpus.broken].mean()),
    )


def judge_corpus(frozen: Frozen, records: Sequence[Record], corpus: Corpus) -> Verdict:
    """Return the verdict by the public functions, and how often the intervals hold the truth where nothing changed."""
    found = adaptive_verdict(frozen, records, subject="r")
    checks = found.decision.checks.set_index("check")["state"]
    place = found.deltas["case_id"].str[1:].astype(int).to_numpy()
    same = ~corpus.broken[place] & found.deltas["low"].notna().to_numpy()
    low, high = found.deltas["low"].to_numpy(), found.deltas["high"].to_numpy()
    covered = float(((low <= 0) & (high >= 0))[same].mean()) if same.any() else np.nan
    return Verdict(found.decision.verdict, checks.get("drop of the mean of all wins") == "unmet", covered)


def reference_outcome(corpus: Corpus) -> Outcome:
    """Return what the reference's rule makes of a corpus: one replay of each win, any metric .05 below its capture."""
    flagged = (corpus.captured - corpus.candidate[:, 0]).max(axis=1) >= 0.05 - 1e-9
    fine, none = ~corpus.broken, not corpus.broken.any()
    power = np.nan if none else float(flagged[corpus.broken].mean())
    return Outcome(bool((flagged & fine).any()), power, 1.0, float(flagged[fine].mean()) if fine.any() else 0.0, power)
