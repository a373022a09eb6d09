"""What a replay function is handed beside the case: a preamble that is text, rule tools, and the start signal."""

from __future__ import annotations

import time
from typing import Self

from harnesskit.replays.rule_tools import RuleTools

PREAMBLE = (
    "Rules learned from earlier sessions may help with this task. They are not part of this text. "
    "The tool harness_rules_list names the scopes that have rules, harness_rules_read gives the rules of one scope, "
    "harness_rules_search finds rules by words, and harness_rule_status tells how far one rule has been tried. "
    "All four only read. Use them when a rule could matter for the task at hand."
)


class ReplayContext(str):
    """The context of one replay: the system preamble as text, and what the replay may use.

    Every replay has a context of its own; nothing carries over from one replay to the next.

    Attributes
    ----------
    task_tools : RuleTools
        Read-only tools over the rules that this replay may see.
    candidate_rule_id : str or None
        The candidate rule under test; None in a regression run.
    seed : int
        A number for this case and trial, the same in every arm; seed the agent with it to compare like with like.
    trial : int
        Which independent repeat of the case this is, from 1.

    Examples
    --------
    >>> context = ReplayContext()
    >>> context == PREAMBLE, context.execution_started
    (True, False)
    >>> context.mark_execution_started()
    >>> context.execution_started
    True
    """

    task_tools: RuleTools
    candidate_rule_id: str | None
    seed: int
    trial: int
    execution_started_at: float | None

    def __new__(
        cls,
        preamble: str = PREAMBLE,
        *,
        task_tools: RuleTools | None = None,
        candidate_rule_id: str | None = None,
        seed: int = 0,
        trial: int = 1,
    ) -> Self:
        """Return a context whose text is `preamble`."""
        context = super().__new__(cls, preamble)
        context.task_tools = RuleTools(()) if task_tools is None else task_tools
        context.candidate_rule_id = candidate_rule_id
        context.seed = seed
        context.trial = trial
        context.execution_started_at = None
        return context

    def mark_execution_started(self) -> None:
        """Say that the environment is ready: the wait ends here and the time limit of the replay begins."""
        if self.execution_started_at is None:
            self.execution_started_at = time.monotonic()

    @property
    def execution_started(self) -> bool:
        """Whether `mark_execution_started` was called in this replay."""
        return self.execution_started_at is not None
