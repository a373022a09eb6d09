"""The evidence about a guard and the verdict on it, from stored trials: nothing here replays anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from harnesskit.model.decision import Decision
from harnesskit.model.errors import WorkspaceError
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.replays.setup import Record
from harnesskit.trials.promotion_frozen import FrozenPromotion, frozen_of, policy_hash
from harnesskit.trials.promotion_verdict import judge_trial
from harnesskit.workspace.looks import LookRow, read_looks
from harnesskit.workspace.rows import RunRow, ScoreRow
from harnesskit.workspace.runs import read_run, read_run_row, run_folder

if TYPE_CHECKING:
    from harnesskit.reports.model import Report

LINEAGE = ("run_id", "started_at", "sha256", "text", "policy", "replays", "verdict", "reason", "stopped")


@dataclass(frozen=True)
class PromotionResult:
    """What is known of a guard, and what follows.

    Attributes
    ----------
    guard_id, guard_kind
        The guard: a rule id, a case id or a grader; ``rule``, ``case`` or ``check``.
    decision
        The verdict.
    evidence, path, wins, pairs, ledger
        Frames by their contracts; empty where nothing was replayed.
    samples
        Attempts behind the verdict, by the columns of the table ``samples``.
    run_ids
        Runs behind it: the trial first, then those of its control runs.
    frozen
        What was fixed before the first replay, as plain data; empty where nothing was.
    fingerprint
        What produced the samples with the guard; empty when it was not given.
    lineage
        Earlier trials of the guard: of this text, and of earlier ones.
    looks
        Policies asked for after the evidence was there.
    stopped
        Why the replays ended; None where there were none.
    root
        The workspace, as it was given.
    control, candidate
        Scores of both arms, as `harnesskit.promotion_evidence` takes them.
    """

    guard_id: str
    guard_kind: str
    decision: Decision
    evidence: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    path: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    wins: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    pairs: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    ledger: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    samples: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    run_ids: tuple[str, ...] = ()
    frozen: Mapping[str, Any] = field(default_factory=dict, repr=False)
    fingerprint: Mapping[str, Any] = field(default_factory=dict, repr=False)
    lineage: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(LINEAGE)), repr=False)
    looks: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(LookRow._fields)), repr=False)
    stopped: str | None = field(default=None, repr=False)
    root: str = field(default="", repr=False)
    control: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    candidate: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)

    @property
    def rule_id(self) -> str:
        """Id of the guard, as the reference names it."""
        return self.guard_id

    @property
    def run_id(self) -> str | None:
        """The trial; None when nothing was replayed."""
        return self.run_ids[0] if self.run_ids else None

    @property
    def verdict(self) -> str:
        """``promote``, ``retire`` or ``pending``."""
        return self.decision.verdict

    @property
    def exit_code(self) -> int:
        """0 promote, 1 retire, 3 pending."""
        return self.decision.exit_code

    def report(self, title: str | None = None) -> Report:
        """Return the page that is signed; ``.save("page.html")``, ``.md`` or ``.json``.

        What its workspace knows besides is read anew: the reviews of the guard, other active rules, how many were
        tried. The hash of a signature is that of the page as it stood before the signature.
        """
        from harnesskit.promotion_page import page_of  # loads the workspace, and matplotlib

        return page_of(self, title)

    def __str__(self) -> str:
        """Return the verdict and its first reason on one line."""
        return str(self.decision)


def judge_promotion(
    root: Path, run_id: str, *, policy: PromotionPolicy | None = None, given: str = "", whole: bool = True
) -> PromotionResult:
    """Return the verdict on a stored trial of a rule, from its files and nothing else.

    Parameters
    ----------
    root, run_id
        The workspace, and the trial in it.
    policy
        Another policy than the frozen one.
    given
        The root as the user gave it.
    whole
        With the frames beside the evidence; else these are empty.

    Raises
    ------
    WorkspaceError
        There is no such trial.
    """
    row, frozen, records = read_trial(root, run_id)
    if frozen is None:
        raise WorkspaceError(f"The run {run_id!r} under {root} is no trial of a rule: it has nothing frozen.")
    stopped = json.loads(row.parameters or "{}").get("stopped")
    changed = None if policy is None or policy_hash(policy) == policy_hash(frozen.policy) else policy
    found = judge_trial(frozen, records, policy=changed, stopped=stopped, whole=whole)
    return PromotionResult(
        frozen.rule_id,
        "rule",
        found.decision,
        found.evidence,
        found.path,
        found.wins,
        found.pairs,
        found.ledger,
        found.samples,
        run_ids=(run_id, *(str(one) for one in frozen.baseline.get("runs", ()))),
        frozen=frozen.plain(),
        fingerprint=json.loads(row.fingerprint or "{}"),
        lineage=pd.DataFrame([dict(one) for one in frozen.lineage], columns=list(LINEAGE)),
        looks=looks_of(root, frozen.rule_id),
        stopped=stopped,
        root=given or str(root),
        control=found.control,
        candidate=found.candidate,
    )


def looks_of(root: Path, subject: str) -> pd.DataFrame:
    """Return the policies that were asked for on evidence about a guard that was there already."""
    rows = [look for look in read_looks(root) if look.subject == subject]
    return pd.DataFrame(rows, columns=list(LookRow._fields))


def read_trial(root: Path, run_id: str) -> tuple[RunRow, FrozenPromotion | None, list[Record]]:
    """Return a trial of a rule with its attempts as they were written; nothing frozen for another run."""
    folder = run_folder(root, run_id)
    if not folder.is_dir() or frozen_of(read_run_row(folder)) is None:
        return RunRow(run_id, "unknown"), None, []
    row, samples, scores, _ = read_run(folder)
    by_sample: dict[str, list[ScoreRow]] = {}
    for score in scores:
        by_sample.setdefault(score.sample_id, []).append(score)
    return row, frozen_of(row), [Record(sample, by_sample.get(sample.sample_id, [])) for sample in samples]
