"""What became of a guard: promoted or taken back, on which review, and what has to be done next."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GuardChange:
    """A guard that was promoted or retired.

    Attributes
    ----------
    guard_id, guard_kind
        The guard: ``rule``, ``case`` or ``check``.
    status
        What it is now: ``active`` or ``retired`` (rule), ``win`` or ``failure`` (case), ``enforcing`` or ``shadow``
        (check).
    decision_id
        The record of it in ``decisions.jsonl``.
    signature_id
        The signed review that it rests on; None when there is none.
    override
        Why it was done against what the review asks for; None when nothing was overruled.
    promoted_since
        Guards promoted since the last regression run, this one included: tested alone, deployed together.
    notes
        Sentences: what has to be known, and what is due.
    """

    guard_id: str
    guard_kind: str
    status: str
    decision_id: str
    signature_id: str | None = None
    override: str | None = None
    promoted_since: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return what was done, then the notes, one per line.

        Examples
        --------
        >>> print(GuardChange("r-1", "rule", "active", "d-2", notes=("A run of the new active set is due.",)))
        rule r-1 is active now (d-2).
        A run of the new active set is due.
        """
        first = f"{self.guard_kind} {self.guard_id} is {self.status} now ({self.decision_id})."
        return "\n".join([first, *self.notes])
