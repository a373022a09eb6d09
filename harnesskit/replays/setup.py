"""What a run of replays is made of: its trials, what they have in common, and the sessions they returned."""

from __future__ import annotations

import hashlib
import inspect
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NamedTuple
from urllib.parse import quote

from harnesskit.model.case import EvalCase
from harnesskit.model.errors import listed, nearest
from harnesskit.model.records import RuleRecord
from harnesskit.model.replay import ReplayError
from harnesskit.replays.context import ReplayContext
from harnesskit.replays.rule_tools import RuleTools, visible_rules
from harnesskit.replays.scoring import Scorer, Verifier
from harnesskit.workspace.problems import shown
from harnesskit.workspace.reading import clean_text, to_json
from harnesskit.workspace.rows import SampleRow, ScoreRow

ReplayFunction = Callable[..., Any]
"""Takes ``(case, context)`` or ``(case)`` and returns a new session id, a `ReplayResult`, or an awaitable of one."""


class Interrupted(Exception):  # noqa: N818 - what happened, not what is wrong
    """The user stopped the run from inside a replay."""


class InconclusiveError(Exception):
    """A replay function raises this when the replay proves nothing: the attempt is inconclusive, not an error."""


class Record(NamedTuple):
    """One attempt and its scores."""

    sample: SampleRow
    scores: list[ScoreRow]


class Trial(NamedTuple):
    """One trial of one case that has to be run, and the number of its next attempt."""

    case: EvalCase
    trial: int
    attempt: int = 1


@dataclass
class Sessions:
    """The session ids that the replays of a run have returned."""

    used: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def refusal(self, session: Any, case: EvalCase) -> str | None:
        """Take `session` for a replay of `case`; return why it cannot be its new session, or None."""
        if not isinstance(session, str):
            return f"the replay must return the id of its new session as text; found {_kind(session)}"
        if not session.strip():
            return "the replay returned an empty session id"
        if session == case.session_id:
            return f"the replay returned {shown(session)}, the session the case was captured from"
        with self.lock:
            if session in self.used:
                return f"the replay returned {shown(session)}, which another replay of this run returned before"
            self.used.add(session)
        return None


def _kind(value: object) -> str:
    return "None" if value is None else f"{shown(value)} ({type(value).__name__})"


@dataclass
class Setup:
    """What all attempts of a run have in common."""

    run_id: str
    replay: ReplayFunction | None
    arm: str | None = None
    rule: str | None = None
    rules: Iterable[RuleRecord] = ()
    scorer: Scorer | None = None
    verifier: Verifier | None = None
    timeout_s: float = 300.0
    env_wait_s: float = 0.0
    scoring_timeout_s: float = 300.0
    seed: int = 0
    sessions: Sessions = field(default_factory=Sessions)

    def __post_init__(self) -> None:
        self.rules = tuple(self.rules)
        for name in ("timeout_s", "env_wait_s", "scoring_timeout_s"):
            value = getattr(self, name)
            number = isinstance(value, Real) and not isinstance(value, bool)
            if not number or not (value > 0 or (value == 0 and name == "env_wait_s")):
                raise ReplayError(f"{name} must be a number of seconds above 0; found {value!r}.")
        if self.replay is not None and not callable(self.replay):
            raise ReplayError(f"the replay function must be callable; found {_kind(self.replay)}.")
        if self.rule is not None and all(rule.rule_id != self.rule for rule in visible_rules(self.rules, self.rule)):
            known = [rule.rule_id for rule in self.rules]
            found = f"the rules are {listed(known)}" if known else "there are no rules"
            raise ReplayError(
                f"the rule {self.rule!r} is no candidate or active rule{nearest(self.rule, known)}; {found}."
            )
        self.with_context = self.replay is not None and takes_context(self.replay)

    def context(self, trial: Trial) -> ReplayContext:
        """Return a fresh context: nothing of another replay is in it."""
        tools = RuleTools(self.rules, candidate_id=self.rule)
        drawn = hashlib.sha256(to_json([self.seed, trial.case.id, trial.trial]).encode()).digest()
        seed = int.from_bytes(drawn[:4], "big")
        return ReplayContext(task_tools=tools, candidate_rule_id=self.rule, seed=seed, trial=trial.trial)

    def sample_id(self, trial: Trial) -> str:
        """Return the id of an attempt: run, case, arm, trial and attempt in one text."""
        arm = () if self.arm is None else (self.arm,)
        parts = [quote(clean_text(part), safe="") for part in (self.run_id, trial.case.id, *arm)]
        return "/".join([*parts, f"{trial.trial}.{trial.attempt}"])


def takes_context(replay: ReplayFunction) -> bool:
    """Return whether a replay function is called with a context beside the case.

    Examples
    --------
    >>> takes_context(lambda case, context: ""), takes_context(lambda case, tries=3: "")
    (True, False)
    """
    try:
        parameters = list(inspect.signature(replay).parameters.values())
    except (TypeError, ValueError):
        return True
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return True
    places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return len(places) > 1 and (places[1].default is places[1].empty or places[1].name in ("context", "ctx"))
