"""Fields of one JSON object, read by type: the value, or a stated stand-in and a finding."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from harnesskit.workspace.documents import kind_of
from harnesskit.workspace.problems import Finding, Severity
from harnesskit.workspace.reading import clean_text, to_json
from harnesskit.workspace.times import read_time


class Fields:
    """One JSON object and what had to be said about the fields read from it.

    Parameters
    ----------
    record
        The object.
    prefix
        Put before a field's name in findings, e.g. ``"trial."``.

    Examples
    --------
    >>> fields = Fields({"turn": "third", "tags": ["a", 1]})
    >>> fields.integer("turn"), fields.labels("tags"), [f.kind for f in fields.findings]
    (None, ('a', '1'), ['not_a_count', 'label_not_text'])
    """

    def __init__(self, record: dict[str, Any], prefix: str = "") -> None:
        self.record = record
        self.prefix = prefix
        self.findings: list[Finding] = []

    def say(self, field: str, kind: str, message: str, severity: Severity = "problem") -> None:
        """Add a finding about `field`."""
        self.findings.append(Finding(clean_text((self.prefix + field).rstrip(".")), severity, kind, message))

    def text(self, field: str, *, required: bool = False) -> str | None:
        """Return the text; another type as its JSON text, with a finding; None when absent or null."""
        raw = self.record.get(field)
        if isinstance(raw, str):
            return raw if raw.isascii() else clean_text(raw)
        if raw is None:
            if required:
                found = "null" if field in self.record else "missing"
                self.say(field, "no_text", f"{field} is {found}; it is kept as missing.")
            return None
        self.say(field, "not_text", f"{field} is {kind_of(raw)}, not text; its text is taken.")
        return clean_text(to_json(raw))

    def choice(self, field: str, known: tuple[str, ...]) -> str:
        """Return the text if it is one of `known`, else ``"unknown"`` and a finding."""
        raw = self.record.get(field)
        if isinstance(raw, str) and raw in known:
            return raw
        found = kind_of(raw) if field in self.record else "nothing"
        self.say(field, f"bad_{field}", f"{field} must be one of {', '.join(known)}; found {found}. Read as unknown.")
        return "unknown"

    def option(self, field: str, known: tuple[str, ...]) -> str | None:
        """Return the text if it is one of `known`; None when absent or null, None and a finding otherwise."""
        raw = self.record.get(field)
        if raw is None or (isinstance(raw, str) and raw in known):
            return raw
        message = f"{field} must be one of {', '.join(known)}; found {kind_of(raw)}. It is kept as missing."
        self.say(field, f"bad_{field}", message)
        return None

    def integer(self, field: str, *, required: bool = True) -> int | None:
        """Return a whole number from 0 up; anything else is None and a finding (a missing one only if required)."""
        raw = self.record.get(field)
        if isinstance(raw, int) and not isinstance(raw, bool) and 0 <= raw < 2**63:
            return raw
        if raw is None and field not in self.record and not required:
            return None
        found = kind_of(raw) if field in self.record else "nothing"
        message = f"{field} must be a whole number from 0 up; found {found}. It is kept as missing."
        self.say(field, "not_a_count", message)
        return None

    def number(self, field: str) -> float | None:
        """Return a finite number; None when absent or null, None and a finding otherwise."""
        raw = self.record.get(field)
        if raw is None:
            return None
        value, reason = read_score(raw)
        if value is None:
            self.say(field, "not_a_number", f"{field}: {reason}; it is kept as missing.")
        return value

    def labels(self, field: str, *, optional: bool = True) -> tuple[str, ...]:
        """Return a list of texts, order and repeats kept; anything else is empty and a finding."""
        raw = self.record.get(field)
        if isinstance(raw, list):
            odd = [label for label in raw if not isinstance(label, str)]
            if odd:
                message = f"{field} holds {kind_of(odd[0])} ({len(odd)} not text); its text is taken."
                self.say(field, "label_not_text", message)
            return tuple(clean_text(label if isinstance(label, str) else to_json(label)) for label in raw)
        if field in self.record or not optional:
            found = kind_of(raw) if field in self.record else "nothing"
            self.say(field, "not_a_list", f"{field} must be a list; found {found}. It is read as empty.")
        return ()

    def time(self, field: str) -> datetime | None:
        """Return the UTC time, with a finding when a rule was needed or none could be read."""
        moment = read_time(self.record.get(field), field)
        if moment.finding:
            self.findings.append(moment.finding._replace(field=clean_text(self.prefix + field)))
        return moment.at


def read_score(value: object) -> tuple[float | None, str | None]:
    """Return the score that `value` stands for, or None and why it is none.

    Examples
    --------
    >>> read_score(1), read_score("0.7")
    ((1.0, None), (None, "the text '0.7' is not a number"))
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            score = float(value)
        except OverflowError:
            return None, "the number is too large for a score"
        return (score, None) if math.isfinite(score) else (None, "the value is not a finite number")
    return None, "there is no value" if value is None else f"{kind_of(value)} is not a number"
