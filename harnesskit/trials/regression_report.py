"""What a regression run under the reference policy found: one result per case, the counts, and the verdict."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

from harnesskit.decisions.regression_checks import CASES
from harnesskit.model.decision import Decision, evidence_hash
from harnesskit.model.policy import RegressionPolicy
from harnesskit.model.results import CHECKS

Status = Literal["improved", "unchanged", "regressed", "skipped", "inconclusive"]
JOURNALED = 50
"""Case results that one journal record keeps, as in the reference."""


@dataclass(frozen=True)
class CaseResult:
    """The result of one case; `reason` says why it is not judged, or which metrics of its baseline were not scored."""

    case_id: str
    kind: str
    status: Status
    replay_session_id: str | None = None
    baseline_scores: dict[str, float] = field(default_factory=dict)
    replay_scores: dict[str, float] = field(default_factory=dict)
    deltas: dict[str, float] = field(default_factory=dict)
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as the reference writes it."""
        return {
            "baseline_scores": dict(self.baseline_scores),
            "case_id": self.case_id,
            "deltas": dict(self.deltas),
            "kind": self.kind,
            "reason": self.reason,
            "replay_scores": dict(self.replay_scores),
            "replay_session_id": self.replay_session_id,
            "status": self.status,
        }

    def line(self) -> str:
        """Return the result as one line of text: deltas with two decimals, by metric; the reason without any."""
        said = ", ".join(f"{metric} {delta:+.2f}" for metric, delta in sorted(self.deltas.items()))
        said = "; ".join(part for part in (said, self.reason) if part)
        session = f" -> {self.replay_session_id}" if self.replay_session_id else ""
        return f"  [{self.kind}] {self.case_id} {self.status}{f' ({said})' if said else ''}{session}"


@dataclass(frozen=True)
class RegressionReport:
    """A regression run, in the reference's terms.

    Attributes
    ----------
    started_at, finished_at
        ISO 8601 text, UTC.
    results
        One per case asked for, in the order of the run.
    interrupted
        The run was stopped; the cases not reached are skipped.
    margins
        The drop that makes a case regressed and the gain that makes it improved.
    """

    started_at: str
    finished_at: str
    results: tuple[CaseResult, ...]
    interrupted: bool = False
    margins: tuple[float, float] = (0.05, 0.05)

    def _count(self, status: Status) -> int:
        return sum(result.status == status for result in self.results)

    @property
    def total_cases(self) -> int:
        """Cases asked for: replayed, skipped and inconclusive ones add up to it."""
        return len(self.results)

    @property
    def replayed(self) -> int:
        """Cases that were replayed and compared."""
        return self.improved + self.unchanged + self.regressed

    @property
    def improved(self) -> int:
        """Cases in which a metric rose by the margin and none fell by it."""
        return self._count("improved")

    @property
    def unchanged(self) -> int:
        """Cases in which no metric changed by the margin."""
        return self._count("unchanged")

    @property
    def regressed(self) -> int:
        """Cases in which a metric fell by the margin."""
        return self._count("regressed")

    @property
    def skipped(self) -> int:
        """Cases that were not replayed."""
        return self._count("skipped")

    @property
    def inconclusive(self) -> int:
        """Cases whose replay failed, ran out of time, or has no score to compare."""
        return self._count("inconclusive")

    @property
    def clean(self) -> bool:
        """Whether something was compared and nothing regressed; a stopped run is never clean."""
        return self.regressed == 0 and self.replayed > 0 and not self.interrupted

    @property
    def verdict(self) -> str:
        """``fail`` when a case regressed, ``pass`` when the run is clean, else ``inconclusive``."""
        return "fail" if self.regressed else "pass" if self.clean else "inconclusive"

    def counts(self) -> dict[str, Any]:
        """Return the counts and `clean`; `inconclusive` is ours, the reference counts such cases as skipped."""
        names = ("replayed", "improved", "unchanged", "regressed", "skipped", "inconclusive", "clean")
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return the report in the reference's JSON form."""
        return {
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "total_cases": self.total_cases,
            **self.counts(),
            "results": [result.to_dict() for result in self.results],
        }

    def event(self) -> dict[str, Any]:
        """Return the fields of the journal's ``regression`` event: the counts and the first 50 results."""
        stopped = {"interrupted": True} if self.interrupted else {}
        results = [result.to_dict() for result in self.results[:JOURNALED]]
        return {"total": self.total_cases, **self.counts(), "results": results, **stopped}

    def text(self) -> str:
        """Return the report as the reference prints it: a header, a line per case, the verdict."""
        head = (
            f"Regression run: {self.total_cases} case(s), {self.replayed} replayed — improved {self.improved}, "
            f"unchanged {self.unchanged}, regressed {self.regressed}, skipped {self.skipped}"
        )
        if self.inconclusive:
            head += f", inconclusive {self.inconclusive}"
        last = {"fail": "REGRESSIONS DETECTED", "pass": "CLEAN", "inconclusive": "INCONCLUSIVE"}[self.verdict]
        if self.verdict == "inconclusive":
            last += ": the run was stopped" if self.interrupted else ": nothing could be compared"
        return "\n".join([head, *(result.line() for result in self.results), last])

    @property
    def decision(self) -> Decision:
        """The verdict as a `Decision`: the same one check that stored runs are held against under this policy."""
        regress, promote = self.margins
        policy = {**RegressionPolicy.reference().model_copy(update={"margin": regress}).plain(), "gain_margin": promote}
        state = {"fail": "unmet", "pass": "met", "inconclusive": "unknown"}[self.verdict]
        note = f"{self.regressed} of {self.replayed} compared got worse" if self.replayed else "no case was compared"
        row = {"check": CASES, "state": state, "estimate": float(self.regressed), "low": None, "high": None}
        row |= {"bar": 0.0, "n": self.replayed, "note": note}
        checks = pd.DataFrame([row], columns=list(CHECKS.columns))
        checks = checks.astype({"estimate": float, "low": float, "high": float, "bar": float, "n": "Int64"})
        return Decision(
            subject="regression run",
            guard_kind=None,
            verdict=self.verdict,
            reason=CASES,
            detail=", ".join(f"{n} {status}" for status, n in sorted(Counter(r.status for r in self.results).items())),
            reasons=self._reasons(note),
            checks=checks,
            runs_needed=None,
            policy=policy,
            evidence_hash=evidence_hash([result.to_dict() for result in self.results], policy),
        )

    def _reasons(self, note: str) -> list[str]:
        reasons = [
            f"{result.case_id} fell by {-min(result.deltas.values()):.2f} in {min(result.deltas, key=_of(result))}."
            for result in self.results
            if result.status == "regressed" and min(result.deltas.values()) < 0
        ]
        reasons.append(f"{note[0].upper()}{note[1:]}.")
        if self.interrupted:
            reasons.append("The run was stopped before its end.")
        for name, count in (("inconclusive", self.inconclusive), ("skipped", self.skipped)):
            if count:
                reasons.append(f"{count} of {self.total_cases} cases {name}: {_why(self.results, name)}.")
        return reasons


def _of(result: CaseResult) -> Any:
    return lambda metric: result.deltas[metric]


def _why(results: tuple[CaseResult, ...], status: str) -> str:
    """Return the most frequent reason of a status, and how many cases have another."""
    reasons = Counter(result.reason for result in results if result.status == status)
    reason, count = min(reasons.items(), key=lambda one: (-one[1], one[0]))
    others = reasons.total() - count
    return f"{reason} ({count})" + (f", other reasons ({others})" if others else "")
