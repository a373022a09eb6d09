"""What a trial of a rule fixes before its first replay: text, policy, cases, control runs, noise, seed.

The verdict follows from this and from the samples of the run alone; it is kept in run.json under
``parameters.promotion``, so that nothing that is added later changes a verdict given.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from harnesskit.model.decision import evidence_hash
from harnesskit.model.errors import WorkspaceError
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.records import RuleRecord
from harnesskit.trials.common_scale import Scale, fit_scales
from harnesskit.trials.frozen import ControlRun
from harnesskit.workspace.rows import RunRow

FORMAT = 1
_RULE = ("status", "metric", "scope", "tags", "failure_signatures", "rationale", "source_notice_id")


@dataclass(frozen=True)
class FrozenPromotion:
    """What a trial of a rule fixed before its first replay.

    Attributes
    ----------
    rule
        The rule as it was: ``id, text, sha256, metric, scope, …``.
    policy
        Rules and budget; its alpha is this rule's share when several were tried together.
    target
        Metric that the rule is to improve.
    failures, held_out, sources
        Failures replayed, in order; further ones that the rule is about; those of the replayed that gave rise to it.
    wins, n_wins
        Wins in the order of replay, and how many protected wins there were in all.
    guard_metrics
        Metrics watched on the wins; empty when nothing was known of them.
    metrics
        Declarations as they were.
    controls
        Runs without the rule from before the first replay, by case.
    prior_sd, noise
        Standard deviation of one run of the target metric on the common scale, and where it comes from.
    sentinels
        Cases replayed in control first, to see whether the bank still holds.
    seed
        Seed of the order of wins and of ties.
    baseline
        Where the control runs come from, and the fingerprint of the control arm.
    family
        How many candidates were tried together and how they share the error: ``size, level, alpha``.
    lineage
        Earlier trials of the rule, of this text and of earlier ones.
    notes
        What a reader of the verdict has to know.
    """

    rule: Mapping[str, Any]
    policy: PromotionPolicy
    target: str
    failures: tuple[str, ...]
    wins: tuple[str, ...]
    metrics: Metrics = field(default_factory=Metrics)
    held_out: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    n_wins: int = 0
    guard_metrics: tuple[str, ...] = ()
    controls: Mapping[str, tuple[ControlRun, ...]] = field(default_factory=dict)
    prior_sd: float = 0.10
    noise: str = "assumed"
    sentinels: tuple[str, ...] = ()
    seed: int = 0
    baseline: Mapping[str, Any] = field(default_factory=dict)
    family: Mapping[str, Any] = field(default_factory=dict)
    lineage: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def rule_id(self) -> str:
        """Id of the rule."""
        return str(self.rule["id"])

    @property
    def kinds(self) -> dict[str, str]:
        """Case to its kind, failures first, in the order of the trial."""
        return dict.fromkeys(self.failures, "failure") | dict.fromkeys(self.wins, "win")

    @property
    def banked(self) -> bool:
        """Whether there are control runs of the wins, not captures alone."""
        return any(run.source == "control" for case in self.wins for run in self.controls.get(case, ()))

    @cached_property
    def scales(self) -> tuple[Scale, ...]:
        """The target metric first, then those watched on the wins, as they come to the common scale."""
        names = tuple(dict.fromkeys((self.target, *self.guard_metrics)))
        seen: dict[str, list[float]] = {name: [] for name in names}
        for runs in self.controls.values():
            for run in runs:
                for name in names:
                    seen[name] += [run.scores[name]] if name in run.scores else []
        return tuple(scale for name in names for scale in scale_of(name, seen[name], self.metrics))

    def plain(self) -> dict[str, Any]:
        """Return everything as plain data, for run.json."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        return plain | {
            "format": FORMAT,
            "mode": self.policy.mode,
            "rule": dict(self.rule),
            "policy": self.policy.plain(),
            "policy_hash": policy_hash(self.policy),
            "metrics": [asdict(one) for one in self.metrics],
            "controls": {
                case: [{"sample": run.sample_id, "source": run.source, "scores": dict(run.scores)} for run in runs]
                for case, runs in self.controls.items()
            },
            "baseline": dict(self.baseline),
            "family": dict(self.family),
            "lineage": [dict(one) for one in self.lineage],
            **{name: list(getattr(self, name)) for name in _LISTS},
        }


_LISTS = ("failures", "wins", "held_out", "sources", "guard_metrics", "sentinels", "notes")
_PLAIN = ("target", "n_wins", "prior_sd", "noise", "seed")


def scale_of(name: str, values: Sequence[float], metrics: Metrics) -> tuple[Scale, ...]:
    """Return the scale of a metric that a verdict is possible on; none of another metric.

    Without a value it is that of its declaration.

    Examples
    --------
    >>> [one.metric for one in scale_of("q", [], Metrics())], scale_of("q", [7.0], Metrics())
    (['q'], ())
    """
    if values:
        return fit_scales([{name: value} for value in values], metrics)
    metric = metrics[name]
    if not metric.decidable:
        return ()
    low = -np.inf if metric.low is None else metric.low
    high = np.inf if metric.high is None else metric.high
    sign = 1.0 if metric.higher_is_better else -1.0
    return (Scale(name, sign, float(metric.unit or 1.0), low, high, name == "outcome_correct"),)


def rule_record(rule: RuleRecord) -> dict[str, Any]:
    """Return a rule as it is frozen, with the hash of its text.

    Examples
    --------
    >>> found = rule_record(RuleRecord(rule_id="r-1", status="candidate", rule="Check twice."))
    >>> found["id"], found["text"], len(found["sha256"])
    ('r-1', 'Check twice.', 64)
    """
    kept = {name: getattr(rule, name) for name in _RULE}
    kept |= {name: list(kept[name]) for name in ("tags", "failure_signatures")}
    created = None if rule.created_at is None else rule.created_at.isoformat()
    text = rule.rule or ""
    return {"id": rule.rule_id, "text": text, "sha256": text_hash(text), "created_at": created, **kept}


def text_hash(text: str | None) -> str:
    """Return the SHA-256 of a rule's text: another text is another rule."""
    return hashlib.sha256((text or "").encode("utf-8", "backslashreplace")).hexdigest()


def policy_hash(policy: PromotionPolicy) -> str:
    """Return the SHA-256 of a policy's fields."""
    return evidence_hash(policy.plain())


def frozen_of(row: RunRow) -> FrozenPromotion | None:
    """Return what a run fixed before its first replay; None for a run that is no trial of a rule.

    Raises
    ------
    WorkspaceError
        It is of another format, or something is missing.
    """
    parameters = json.loads(row.parameters or "{}")
    record = parameters.get("promotion") if isinstance(parameters, dict) else None
    return None if record is None else read_frozen(record)


def read_frozen(record: Any) -> FrozenPromotion:
    """Return what `FrozenPromotion.plain` wrote.

    Raises
    ------
    WorkspaceError
        It is of another format, or something is missing.
    """
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        found = record.get("format") if isinstance(record, dict) else type(record).__name__
        raise WorkspaceError(f"the frozen part of the trial is of format {found!r}; this version reads {FORMAT}.")
    try:
        given: dict[str, Any] = {name: tuple(record[name]) for name in _LISTS}
        given |= {name: record[name] for name in ("rule", "baseline", "family", *_PLAIN)}
        return FrozenPromotion(
            policy=PromotionPolicy.model_validate(record["policy"]),
            metrics=Metrics(tuple(Metric(**one) for one in record["metrics"])),
            controls={
                case: tuple(ControlRun(run["sample"], run["scores"], run["source"]) for run in runs)
                for case, runs in record["controls"].items()
            },
            lineage=tuple(record["lineage"]),
            **given,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise WorkspaceError(f"the frozen part of the trial cannot be read: {error!r}.") from error
