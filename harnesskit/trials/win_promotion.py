"""A fixed case, replay by replay, until it is a win to protect or is none; the runs become its control bank.

What the verdict hangs on is fixed before the first replay and kept in run.json under ``parameters.win``; the verdict
follows from it and from the samples alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from harnesskit.decisions.win_promotion import decide_win
from harnesskit.measures.win_evidence import win_evidence
from harnesskit.model.case import EvalCase
from harnesskit.model.decision import Decision, evidence_hash
from harnesskit.model.errors import PolicyError, WorkspaceError
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.replays.engine import Sink
from harnesskit.replays.frames import case_scores, samples_frame
from harnesskit.replays.setup import Record, Trial
from harnesskit.trials.adaptive_regression import INTERRUPTED, TIME_LIMIT, Replays
from harnesskit.trials.replayer import reason_code
from harnesskit.trials.win import CONTROL
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import RunRow, SampleRow, ScoreRow

FORMAT = 1
DECIDED, SPENT, NOTHING = "decided", "runs spent", "three runs in a row gave nothing"
NO_THRESHOLD = "no scored metric has a threshold"
MOST_LOST = 3
"""Runs in a row without any score after which something else is wrong than the case."""


@dataclass(frozen=True)
class FrozenWin:
    """What is fixed before the first run.

    Attributes
    ----------
    case_id, kind, signature, input_hash
        The case as it was: another input is another case.
    policy
        ``pass_bar, pass_chance, min_passes, max_passes``.
    thresholds
        What every run must reach; empty: what the declarations say of the metrics that are scored.
    metrics
        Declarations as they were.
    shown_by
        Samples, runs or sessions that showed the fix; they do not count.
    fingerprint
        What produces the samples.
    """

    case_id: str
    kind: str
    signature: tuple[str, ...]
    input_hash: str
    policy: PromotionPolicy
    thresholds: Mapping[str, float] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=Metrics)
    shown_by: tuple[str, ...] = ()
    fingerprint: Mapping[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Return everything as plain data, for run.json."""
        return {
            "format": FORMAT, "case": self.case_id, "kind": self.kind, "signature": list(self.signature),
            "input_hash": self.input_hash, "policy": self.policy.plain(),
            "policy_hash": evidence_hash(self.policy.plain()), "thresholds": dict(self.thresholds),
            "metrics": [asdict(one) for one in self.metrics], "shown_by": list(self.shown_by),
            "fingerprint": dict(self.fingerprint),
        }  # fmt: skip


def freeze_win(
    case: EvalCase,
    policy: PromotionPolicy,
    *,
    metrics: Metrics,
    thresholds: Mapping[str, float] | None = None,
    shown_by: Sequence[str] = (),
    fingerprint: Mapping[str, Any] | None = None,
) -> FrozenWin:
    """Return what a trial of a case fixes: every metric of its captured scores with a threshold, unless named."""
    if policy.mode == "reference":
        raise PolicyError("the reference has no rule by which a case becomes a win; use budgeted.")
    named = dict(thresholds) if thresholds is not None else _declared(case, metrics)
    session = (case.session_id,) if case.session_id else ()
    return FrozenWin(
        case.id, case.kind, case.signature, evidence_hash(case.replay_input), policy, named, metrics,
        tuple(dict.fromkeys((*session, *shown_by))), dict(fingerprint or {}),
    )  # fmt: skip


def _declared(case: EvalCase, metrics: Metrics) -> dict[str, float]:
    """Return the thresholds of captured metrics that are graded on every turn; tiers 2 and 3 are not."""
    found = {}
    for name in sorted(case.baseline_scores):
        metric = metrics[name]
        if metric.threshold is not None and metric.tier in (None, 0, 1):
            found[name] = float(metric.threshold)
    return found


def read_win(row: RunRow) -> FrozenWin | None:
    """Return what a run of a case has frozen; None for a run of another kind.

    Raises
    ------
    WorkspaceError
        It is of another format, or something is missing.
    """
    record = json.loads(row.parameters or "{}").get("win")
    if not isinstance(record, dict):
        return None
    if record.get("format") != FORMAT:
        raise WorkspaceError(
            f"run {row.run_id!r}: its frozen part is of format {record.get('format')!r}; this version reads {FORMAT}."
        )
    try:
        return FrozenWin(
            record["case"], record["kind"], tuple(record["signature"]), record["input_hash"],
            PromotionPolicy.model_validate(record["policy"]), record["thresholds"],
            Metrics(tuple(Metric(**one) for one in record["metrics"])), tuple(record["shown_by"]),
            record["fingerprint"],
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise WorkspaceError(f"run {row.run_id!r}: its frozen part cannot be read: {error!r}.") from error


class WinVerdict(NamedTuple):
    """What follows from the runs of a case."""

    decision: Decision
    evidence: pd.DataFrame
    scores: pd.DataFrame
    samples: pd.DataFrame


def judge_win(
    frozen: FrozenWin,
    records: Sequence[Record],
    *,
    policy: PromotionPolicy | None = None,
    cases: pd.DataFrame | None = None,
) -> WinVerdict:
    """Judge the runs of a case.

    Parameters
    ----------
    frozen, records
        The trial.
    policy
        Another policy than the frozen one.
    cases
        The table cases, for near-duplicates and coverage: shown, never deciding.
    """
    rules = frozen.policy if policy is None else policy
    case = EvalCase(id=frozen.case_id, kind="win" if frozen.kind == "win" else "failure", signature=frozen.signature)
    made = [one for one in records if reason_code(one.sample) != "interrupted"]
    samples = samples_frame(made, [case], CONTROL)
    scores = case_scores(samples)
    if scores.empty:
        scores = pd.DataFrame([{"case_id": frozen.case_id, "metric": None, "value": None, "status": "skipped"}])
    if frozen.fingerprint:
        scores = scores.assign(fingerprint=to_json(dict(frozen.fingerprint)))
    thresholds = frozen.thresholds or None
    if thresholds is None and not any(frozen.metrics[m].threshold is not None for m in scores["metric"].dropna()):
        return WinVerdict(_nothing(frozen, rules, made), pd.DataFrame(), scores, samples)
    evidence = win_evidence(
        scores, policy=rules, thresholds=thresholds, metrics=frozen.metrics, shown_by=frozen.shown_by, cases=cases
    )  # fmt: skip
    return WinVerdict(decide_win(evidence, policy=rules, subject=frozen.case_id), evidence, scores, samples)


def _nothing(frozen: FrozenWin, rules: PromotionPolicy, made: Sequence[Record]) -> Decision:
    """Return the verdict on runs none of whose metrics has a threshold, or without any run."""
    why = (
        "No scored metric of this case has a threshold, so no run can pass; declare one, or name thresholds."
        if any(one.scores for one in made)
        else "No fresh run of this case has a score yet."
    )
    checks = pd.DataFrame(columns=["check", "state", "estimate", "low", "high", "bar", "n", "note"])
    return Decision(
        frozen.case_id, "case", "pending", "insufficient_evidence", "", [why], checks, rules.min_passes, rules.plain(),
        evidence_hash([one.sample.sample_id for one in made], rules.plain()),
    )  # fmt: skip


@dataclass
class WinTrial:
    """The runs of one case, begun or gone on with.

    Attributes
    ----------
    frozen, case
        What was fixed, and the case.
    replays
        Makes attempts of the arm ``control``: nothing is under test but the case itself.
    keep
        Is given every attempt as it ends; it is on disk when this returns.
    earlier
        Attempts that the trial has already.
    time_limit_s
        Seconds after which no further run is begun.
    clock, step
        Seconds that pass; called after each attempt.
    """

    frozen: FrozenWin
    case: EvalCase
    replays: Replays
    keep: Sink
    earlier: Sequence[Record] = ()
    time_limit_s: float | None = None
    clock: Callable[[], float] = time.monotonic
    step: Callable[[], None] = lambda: None

    async def go(self) -> str:
        """Replay until a reason to stop, and return the reason.

        Raises
        ------
        CancelledError
            The task was cancelled; everything that had ended is kept.
        """
        records = list(self.earlier)
        began = self.clock()
        try:
            while True:
                made = [one for one in records if reason_code(one.sample) != "interrupted"]
                found = judge_win(self.frozen, made)
                if found.decision.verdict != "pending":
                    return DECIDED
                if found.evidence.empty and any(one.scores for one in made):
                    return NO_THRESHOLD
                if len(made) >= self.frozen.policy.max_passes:
                    return SPENT
                if len(made) >= MOST_LOST and not any(one.scores for one in made[-MOST_LOST:]):
                    return NOTHING
                if self.time_limit_s is not None and self.clock() - began >= self.time_limit_s:
                    return TIME_LIMIT
                records += await self._replayed(made, records)
        except KeyboardInterrupt:
            return INTERRUPTED

    async def _replayed(self, made: Sequence[Record], records: Sequence[Record]) -> list[Record]:
        number = 1 + max((one.sample.trial or 0 for one in made), default=0)
        attempt = 1 + max((one.sample.attempt for one in records if one.sample.trial == number), default=0)
        found: list[Record] = []

        def sink(sample: SampleRow, scores: list[ScoreRow]) -> None:
            numbered = sample._replace(round=number)
            self.keep(numbered, scores)
            found.append(Record(numbered, scores))
            self.step()

        await self.replays.make([Trial(self.case, number, attempt)], CONTROL, sink)
        return found
