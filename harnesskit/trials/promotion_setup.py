"""Before the first replay of a trial of a rule: cases, control runs, target metric, noise, and what is frozen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from harnesskit.model.case import EvalCase
from harnesskit.model.metrics import Metrics
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.records import RuleRecord
from harnesskit.replays.run_store import rules_hash
from harnesskit.replays.setup import Sessions, Setup
from harnesskit.stats.cells import cell_variances
from harnesskit.stats.noise import ASSUMED_SD, pool_noise, sd_floor
from harnesskit.trials.adaptive_regression import AgentReplays, Replays
from harnesskit.trials.adaptive_setup import NO_FINGERPRINT
from harnesskit.trials.bank import Bank
from harnesskit.trials.common_scale import common_values
from harnesskit.trials.frozen import ControlRun
from harnesskit.trials.promotion_cases import Chosen
from harnesskit.trials.promotion_frozen import FrozenPromotion, rule_record, scale_of
from harnesskit.trials.replay_verdict import OUTCOME
from harnesskit.trials.win import CANDIDATE, CONTROL

ASSUMED_OUTCOME_SD = 0.40
"""Standard deviation of one yes-or-no outcome that is assumed: that of a rate of .20 or .80."""
SENTINELS = 3


@dataclass
class PromotionSetup:
    """What a trial of one rule is made from.

    Attributes
    ----------
    root, rule, rules
        The workspace, the rule, and all rules of the workspace.
    chosen
        The cases.
    policy, metrics, seed
        The rules of the trial.
    replay, common
        The user's function, and what the attempts of both arms have in common (scorer, verifier, limits).
    fingerprint
        What produces the samples, as the user gave it.
    bank
        Control runs from before the first replay.
    target
        Metric that the rule is to improve, when it was named.
    sentinels
        Banked wins replayed in control first.
    facts
        ``family``, ``lineage`` and ``notes`` of the trial.
    """

    root: Path
    rule: RuleRecord
    rules: Sequence[RuleRecord]
    chosen: Chosen
    policy: PromotionPolicy
    metrics: Metrics
    replay: Callable[..., Any]
    common: Mapping[str, Any]
    fingerprint: Any = None
    seed: int = 0
    bank: Bank = field(default_factory=Bank)
    target: str | None = None
    sentinels: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verified(self) -> bool:
        """Whether outcomes are asked for."""
        return self.common.get("verifier") is not None

    def setups(self) -> dict[str, Setup]:
        """Return what the attempts of each arm have in common: only the candidate's can find the rule."""
        return arms(self.rule, self.rules, self.replay, {**self.common, "seed": self.seed})

    def replays(self, run_id: str, *, blocking: bool, concurrency: int, used: Sequence[str] = ()) -> Replays:
        """Return what makes the attempts of a run; `used` are the sessions that it has already."""
        sessions = Sessions(set(used))
        setups = {arm: replace(setup, run_id=run_id, sessions=sessions) for arm, setup in self.setups().items()}
        return AgentReplays(setups, blocking, concurrency)

    def frozen(self) -> FrozenPromotion | None:
        """Return what the trial fixes before its first replay; None when no metric can be named as its target."""
        controls = {case.id: self._controls(case) for case in self.chosen.cases}
        target = self.target or target_metric(self.rule, self.chosen.failures, self.bank, verified=self.verified)
        if target is None:
            return None
        prior_sd, noise = self._noise(target)
        facts = {"family": {}, "lineage": (), **self.facts}
        return FrozenPromotion(
            rule=rule_record(self.rule),
            policy=self.policy,
            target=target,
            failures=tuple(case.id for case in self.chosen.failures),
            wins=tuple(case.id for case in self.chosen.wins),
            metrics=self.metrics,
            held_out=self.chosen.held_out,
            sources=self.chosen.sources,
            n_wins=self.chosen.n_wins,
            guard_metrics=guard_metrics([controls[case.id] for case in self.chosen.wins], self.metrics),
            controls=controls,
            prior_sd=prior_sd,
            noise=noise,
            sentinels=self._sentinels(controls),
            seed=self.seed,
            baseline=self.bank.plain(),
            **{**facts, "notes": (*self._notes(controls), *facts.get("notes", ()))},
        )

    def _controls(self, case: EvalCase) -> tuple[ControlRun, ...]:
        """Return the control runs of a case; its capture for a win without one, never for a failure, selected low."""
        known = self.bank.runs.get(case.id, ())
        if known or case.kind != "win" or not case.baseline_scores:
            return known
        scores = {name: float(value) for name, value in case.baseline_scores.items()}
        return (ControlRun(f"captured:{case.id}", scores, "captured"),)

    def _noise(self, target: str) -> tuple[float, str]:
        """Return the standard deviation of one run of the target metric, from control runs of all other cases."""
        if self.policy.prior_sd is not None:
            return self.policy.prior_sd, "given"
        own = {case.id for case in self.chosen.failures}
        others = {case: runs for case, runs in self.bank.runs.items() if case not in own}
        raw = [run.scores[target] for runs in others.values() for run in runs if target in run.scores]
        scale = scale_of(target, raw, self.metrics)
        rows = [
            (place, value)
            for place, runs in enumerate(others.values())
            for run in runs
            if scale and (value := common_values(run.scores, scale)[0]) is not None
        ]
        if not rows:
            return (ASSUMED_OUTCOME_SD if target == OUTCOME else ASSUMED_SD), "assumed"
        case = np.array([place for place, _ in rows], dtype=np.int64)
        values = np.array([value for _, value in rows], dtype=float)
        found = cell_variances(values, case, case, len(others))
        noise = pool_noise(found.s2, found.df, floor=sd_floor(values))
        return float(noise.prior.s2**0.5), noise.source

    def _sentinels(self, controls: Mapping[str, Sequence[ControlRun]]) -> tuple[str, ...]:
        banked = [case.id for case in self.chosen.wins if sum(r.source == CONTROL for r in controls[case.id]) > 1]
        order = np.random.default_rng([self.seed, 1]).permutation(len(banked))
        return tuple(banked[place] for place in sorted(order[: self.sentinels]))

    def _notes(self, controls: Mapping[str, Sequence[ControlRun]]) -> list[str]:
        notes = [NO_FINGERPRINT] if self.fingerprint is None else []
        captured = sum(any(run.source == "captured" for run in controls[case.id]) for case in self.chosen.wins)
        if captured:
            notes.append(
                f"{captured} of {len(self.chosen.wins)} wins have no control runs: their captured score, which was "
                "selected high, stands for one."
            )
        if not self.chosen.wins:
            notes.append("There is no protected win that can be replayed: harm to other cases was not looked for.")
        return notes


def arms(
    rule: RuleRecord, rules: Sequence[RuleRecord], replay: Callable[..., Any], common: Mapping[str, Any]
) -> dict[str, Setup]:
    """Return the set-ups of both arms of a trial; in control the rule is hidden, whatever its status."""
    others = tuple(other for other in rules if other.rule_id != rule.rule_id)
    tried = rule.model_copy(update={"status": "candidate"})
    return {
        CONTROL: Setup(run_id="", replay=replay, arm=CONTROL, rules=others, **common),
        CANDIDATE: Setup(
            run_id="", replay=replay, arm=CANDIDATE, rule=rule.rule_id, rules=(*others, tried), **common
        ),
    }  # fmt: skip


def fingerprint_of(given: Any, setup: Setup) -> dict[str, Any]:
    """Return a fingerprint with the hash of the rules that can be found; empty when none was given."""
    if given is None:
        return {}
    named = {"version": given} if isinstance(given, str) else {str(key): value for key, value in given.items()}
    return {**named, "rules_hash": rules_hash(setup)}


def target_metric(rule: RuleRecord, failures: Sequence[EvalCase], bank: Bank, *, verified: bool = False) -> str | None:
    """Return the metric that a rule is to improve, chosen before anything is replayed.

    The outcome where at least .8 of the banked runs of the failures have it (without a bank, of their captures, if
    outcomes are asked for); else the rule's own metric; else the one that its labels, or those of its failures, name
    most often.
    """
    runs = [run.scores for case in failures for run in bank.runs.get(case.id, ())]
    known = runs or [case.baseline_scores for case in failures if verified]
    if known and sum(OUTCOME in scores for scores in known) >= 0.8 * len(known):
        return OUTCOME
    if rule.metric:
        return rule.metric
    labels = [*rule.failure_signatures, *rule.tags, *(label for case in failures for label in case.signature)]
    named = Counter(label.partition(":")[2] for label in labels if ":" in label)
    return named.most_common(1)[0][0] if named else None


def guard_metrics(controls: Sequence[Sequence[ControlRun]], metrics: Metrics) -> tuple[str, ...]:
    """Return the metrics watched on the wins: those that at least half of the wins with scores have.

    Examples
    --------
    >>> runs = [[ControlRun("a", {"q": 0.5, "r": 9.0})], [ControlRun("b", {"q": 0.7})], []]
    >>> guard_metrics(runs, Metrics())
    ('q',)
    """
    known = [{name for run in runs for name in run.scores} for runs in controls if runs]
    counts = Counter(name for names in known for name in names)
    seen: dict[str, list[float]] = {}
    for runs in controls:
        for run in runs:
            for name, value in run.scores.items():
                seen.setdefault(name, []).append(value)
    return tuple(
        name for name in sorted(counts) if 2 * counts[name] >= len(known) and scale_of(name, seen[name], metrics)
    )
