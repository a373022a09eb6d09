"""The rules of a workspace for writing: candidates added, verdicts and trials recorded, in the reference's format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harnesskit.model.config import HarnessConfig
from harnesskit.model.errors import WorkspaceError, listed
from harnesskit.model.records import RuleRecord, RuleStatus
from harnesskit.workspace.clock import Clock, utc_now, written_time
from harnesskit.workspace.layout import OURS, RULES
from harnesskit.workspace.locking import hold
from harnesskit.workspace.problems import shown
from harnesskit.workspace.rule_candidate import candidate_record, new_trial
from harnesskit.workspace.rule_novelty import duplicate_of
from harnesskit.workspace.rule_writes import finish_write, last_record, unfinished, write_rule
from harnesskit.workspace.rules import STATUSES, read_rules
from harnesskit.workspace.trial_baseline import trial_baseline

LOCK = f"{OURS}/rules.lock"
_EVENTS = {"active": "rule_promote", "retired": "rule_retire"}


TrialChange = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Takes a trial as it stands in the file and returns the next one; called under the lock, so that no update is lost."""


class DuplicateRuleError(WorkspaceError):
    """A rule says what a live rule of its scope says already.

    Attributes
    ----------
    rule_id
        The rule that is there already.
    """

    def __init__(self, message: str, rule_id: str) -> None:
        super().__init__(message)
        self.rule_id = rule_id


class RuleChangedError(WorkspaceError):
    """A rule no longer has the status that a verdict on it was reached under."""


class RuleBook:
    """The rules in ``rules.jsonl``: read whole, written one record at a time, safe with other writers of ours.

    Parameters
    ----------
    root
        The workspace.
    config
        Reads ``sanitize_max_len`` and ``max_active_rules``.
    clock
        Returns the present, with its zone.

    Examples
    --------
    >>> import tempfile
    >>> book = RuleBook(Path(tempfile.mkdtemp()))
    >>> rule_id = book.add("Look the order up before you refund it.", metric="tool_correctness")
    >>> book.get(rule_id).status, [rule.rule_id == rule_id for rule in book.candidates()]
    ('candidate', [True])
    """

    def __init__(self, root: str | Path, config: HarnessConfig | None = None, clock: Clock = utc_now) -> None:
        self.root = Path(root)
        self.config = HarnessConfig() if config is None else config
        self.clock = clock

    def rules(self) -> list[RuleRecord]:
        """Return the latest record of every rule, one per rule, oldest first."""
        return read_rules(self.root / RULES).rules

    def get(self, rule_id: str) -> RuleRecord | None:
        """Return the latest record of one rule, None when there is no such rule."""
        return next((rule for rule in self.rules() if rule.rule_id == rule_id), None)

    def candidates(self) -> list[RuleRecord]:
        """Return the rules on trial, oldest first."""
        return [rule for rule in self.rules() if rule.status == "candidate"]

    def active(self) -> list[RuleRecord]:
        """Return the active rules, oldest first."""
        return [rule for rule in self.rules() if rule.status == "active"]

    @property
    def unfinished(self) -> bool:
        """Whether a crash left a write half done; the next write finishes it."""
        return unfinished(self.root)

    def finish(self) -> bool:
        """Finish what a crash left half done, and return whether there was something; nothing is touched otherwise."""
        if not self.unfinished:
            return False
        with self._hold("finish a write"):
            return finish_write(self.root)

    def add(
        self,
        rule: str,
        *,
        metric: str | None = None,
        rationale: str = "",
        signatures: Sequence[str] = (),
        scope: str = "global",
        applicability: str | None = None,
        source_notice_id: str | None = None,
        tags: Sequence[str] = (),
        force: bool = False,
    ) -> str:
        """Write a candidate rule, journal it, and return its id.

        Parameters
        ----------
        rule
            What the agent should do, as one instruction.
        metric
            The metric that the rule should improve; its breaches, stalls and regressions choose the cases for trial.
        rationale
            Why, for the people who review it.
        signatures
            Labels such as ``breach:tool_correctness`` of the failures that it should fix; kept as they are
            (at most 16), and among the tags as the reference writes them.
        scope
            What the rule is filed under; letters and digits, other signs become ``-``.
        applicability
            ``global``, ``topical`` or ``task``; from the scope when None.
        source_notice_id
            The notice that gave rise to it.
        tags
            Further words to find it by; lower case, 48 characters, 16 in all.
        force
            Add it although a live rule of the scope says nearly the same.

        Raises
        ------
        DuplicateRuleError
            A live rule of the scope says the same; its id is in ``rule_id``.
        WorkspaceError
            The text, the scope or the applicability cannot be used, or the workspace cannot be written.
        """
        record = candidate_record(
            rule,
            metric=metric,
            rationale=rationale,
            signatures=signatures,
            scope=scope,
            applicability=applicability,
            source_notice_id=source_notice_id,
            tags=tags,
            longest=self.config.sanitize_max_len,
            at=written_time(self.clock),
        )
        with self._hold("add a rule"):
            finish_write(self.root)
            self._refuse_known(record["rule"], record["scope"], force)
            record["trial"] = new_trial(trial_baseline(self.root, metric), record["created_at"])
            self._write(record, "rule_add", {}, None)
        return str(record["id"])

    def record(
        self,
        rule_id: str,
        *,
        status: RuleStatus | None = None,
        trial: TrialChange | None = None,
        expect: RuleStatus | None = None,
        reason: str | None = None,
        validator: str | None = None,
        evidence: Mapping[str, Any] | None = None,
        decision: bytes | None = None,
    ) -> RuleRecord:
        """Append the next record of a rule and return it; what is not given stays, unknown fields too.

        A rule that becomes active or retired is journaled (``rule_promote``, ``rule_retire``) with `reason`,
        `validator` and, when retired, `evidence`. An update of the trial alone leaves no event.

        Parameters
        ----------
        rule_id
            The rule.
        status
            ``candidate``, ``active`` or ``retired``.
        trial
            Given the trial as it stands now, returns it as it should stand. A rule without a trial gets none.
        expect
            The status that the rule must still have.
        decision
            The line of the review that a new status rests on; it is written before the record, and with it or not at
            all. The caller holds the lock of the reviews.

        Raises
        ------
        KeyError
            There is no such rule.
        RuleChangedError
            Somebody changed the status meanwhile; nothing was written.
        WorkspaceError
            The status is none, or the workspace cannot be written.
        """
        if status is not None and status not in STATUSES:
            raise WorkspaceError(f"the status of a rule must be one of {listed(list(STATUSES))}; found {status!r}.")
        with self._hold(f"record rule {rule_id}"):
            finish_write(self.root)
            latest = last_record(self.root, rule_id)
            if latest is None:
                raise KeyError(rule_id)
            before = latest.get("status")
            if expect is not None and before != expect:
                raise RuleChangedError(f"rule {rule_id} was {expect}, it is {shown(before)} now; nothing was written.")
            changes: dict[str, Any] = {} if status is None else {"status": status}
            if trial is not None and isinstance(latest.get("trial"), dict):
                changes["trial"] = dict(trial(latest["trial"]))
            kind = _EVENTS.get(status or "") if before != status else None
            about: dict[str, Any] = {"reason": reason, "validator": validator}
            if kind == "rule_retire" and evidence is not None:
                about["evidence"] = dict(evidence)
            about = {name: value for name, value in about.items() if value is not None}
            self._write({**latest, **changes}, kind, about, decision)
        found = self.get(rule_id)
        if found is None:
            raise KeyError(rule_id)
        return found

    def _write(self, record: dict[str, Any], kind: str | None, about: dict[str, Any], decision: bytes | None) -> None:
        if kind is None:
            write_rule(self.root, record, None)
            return
        fields = {"id": record["id"]} if kind == "rule_retire" else record
        event = {**fields, **about, "ts": written_time(self.clock), "type": kind}
        write_rule(self.root, record, event, decision=decision)

    def _hold(self, purpose: str) -> Any:
        return hold(self.root / LOCK, purpose)

    def _refuse_known(self, text: str, scope: str, force: bool) -> None:
        rules = self.rules()
        known = None if force else duplicate_of(text, scope, rules)
        if known is not None:
            raise DuplicateRuleError(
                f"rule {known} of scope {scope!r} says nearly the same; change that one, or pass force=True.", known
            )
        live = sum(rule.status in ("candidate", "active") for rule in rules)
        if 0 < self.config.max_active_rules <= live:
            raise WorkspaceError(
                f"there are {live} live rules and max_active_rules allows {self.config.max_active_rules}; "
                "retire one first."
            )
