"""Which cases a candidate rule is replayed on: the failures that it is about, and the wins that it could break."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from harnesskit.model.case import EvalCase
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.records import RuleRecord
from harnesskit.trials.reference_validation import Cases
from harnesskit.trials.replay_verdict import target_signatures
from harnesskit.workspace.reading import to_json

MOST_WINS = 40
"""Wins that a run names at least, however small its budget: the size at which all of them may stand for more."""
_NO_TOPIC = {"global", "learned", "breach", "stall", "regression", "trend", "needs_human", "healthy"}
"""Tags that the harness itself gives; they say nothing of what a rule is about."""


class Chosen(NamedTuple):
    """The cases of one trial of a rule.

    Attributes
    ----------
    failures
        Replayed, newest first.
    held_out
        Ids of further failures that the rule is about and that are not replayed.
    sources
        Ids of the failures replayed that gave rise to the rule.
    wins
        In the order in which they are replayed: related ones first, then at random.
    n_wins
        Protected wins that can be replayed, those that the trial does not name included.
    """

    failures: tuple[EvalCase, ...]
    held_out: tuple[str, ...]
    sources: tuple[str, ...]
    wins: tuple[EvalCase, ...]
    n_wins: int

    @property
    def cases(self) -> tuple[EvalCase, ...]:
        """All cases that may be replayed."""
        return (*self.failures, *self.wins)


def choose_cases(
    rule: RuleRecord, evalset: Cases, policy: PromotionPolicy, seed: int, *, source_session: str | None = None
) -> Chosen:
    """Return the cases that a rule is tried on; without a replayable failure that it is about there are none at all.

    Failures share a label with the rule, as in the reference; the newest `max_failures` are replayed. Wins come by
    what they share with the rule (labels, then words of its scope and tags and the tools that it names), those that
    share as much in random order; not the newest ones, which are alike. An id that is in two files names no case.

    Parameters
    ----------
    rule, evalset, policy
        The rule, where the cases are, and how many are wanted.
    seed
        Seed of the order of wins.
    source_session
        Session whose notice gave rise to the rule.
    """
    targets = target_signatures(rule)
    matching = [case for case in evalset.matching(targets, "failure") if case.replayable] if targets else []
    wins = [case for case in evalset.cases("win") if case.replayable] if matching else []
    times = Counter(case.id for case in (*matching, *wins))
    matching, wins = ([case for case in some if times[case.id] == 1] for some in (matching, wins))
    if not matching:
        return Chosen((), (), (), (), 0)
    failures = matching[: policy.max_failures]
    named = max(policy.budget, MOST_WINS)
    return Chosen(
        tuple(failures),
        tuple(case.id for case in matching[policy.max_failures :]),
        tuple(case.id for case in failures if _gave_rise(case, rule, source_session)),
        tuple(_ordered(rule, wins, seed)[:named]),
        len(wins),
    )


def _gave_rise(case: EvalCase, rule: RuleRecord, source_session: str | None) -> bool:
    session = case.session_id
    told = re.search(rf"(?<![\w-]){re.escape(session)}(?![\w-])", rule.rationale or "") if session else None
    return bool(session) and (session == source_session or told is not None)


def _ordered(rule: RuleRecord, wins: Iterable[EvalCase], seed: int) -> list[EvalCase]:
    known = sorted(wins, key=lambda case: case.id)  # so that the seed alone decides, whatever the order of files
    drawn = np.random.default_rng(seed).permutation(len(known))
    shuffled = [known[place] for place in drawn]
    topics, labels = rule_topics(rule), set(target_signatures(rule))
    return sorted(shuffled, key=lambda case: -overlap(case, labels, topics))


def rule_topics(rule: RuleRecord) -> set[str]:
    """Return the words that say what a rule is about: of its scope and tags, and the tools that its text names.

    Examples
    --------
    >>> rule = RuleRecord(
    ...     rule_id="r-1", status="candidate", scope="refund-desk", tags=("learned", "orders", "breach:q"), metric="q",
    ...     rule="Call get_order before orders.refund.",
    ... )
    >>> sorted(rule_topics(rule))
    ['desk', 'get_order', 'orders', 'orders.refund', 'refund']
    """
    metrics = {label.partition(":")[2] for label in (*rule.tags, *rule.failure_signatures) if ":" in label}
    plain = [tag for tag in rule.tags if ":" not in tag and tag not in metrics and tag != rule.metric]
    words = {word for text in (rule.scope, *plain) for word in re.findall(r"[a-z0-9_.]+", text.casefold())}
    tools = set(re.findall(r"[a-z0-9]+(?:[_.][a-z0-9]+)+", (rule.rule or "").casefold()))
    return (words - _NO_TOPIC) | tools


def overlap(case: EvalCase, labels: Collection[str], topics: Collection[str]) -> int:
    """Return how much a case shares with a rule: labels count more than all words together.

    Examples
    --------
    >>> case = EvalCase(id="c-1", signature=("stall:q",), replay_input={"task": "refund order 7"})
    >>> overlap(case, {"stall:q"}, {"refund", "desk"})
    1001
    """
    shared = len(set(labels) & set(case.signature))
    if not topics:
        return 1000 * shared
    told = f"{to_json(case.replay_input)} {case.notes} {' '.join(case.signature)}".casefold()
    words = set(re.findall(r"[a-z0-9_.]+", told)) | set(re.findall(r"[a-z0-9]+", told))
    return 1000 * shared + min(len(words & set(topics)), 999)
