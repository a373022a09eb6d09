"""Whether a rule says something new: the same words, or nearly the same, as a live rule of its scope."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from harnesskit.model.records import RuleRecord

OVERLAP = 0.8
"""Share of the words of two rules, taken together, that both must have for one to be a near copy of the other."""

_TURNS = frozenset({"not", "no", "never", "none", "without", "unless", "except", "dont", "cannot", "always", "only"})
"""Words that turn a rule round: rules that differ in one of them, or in a number, are not copies."""


def rule_words(text: str) -> tuple[str, ...]:
    """Return the words of a rule as they are compared: letter case, punctuation and spelling forms do not count.

    Examples
    --------
    >>> rule_words("Don't retry  -- EVER."), rule_words("ﬁrst")
    (('dont', 'retry', 'ever'), ('first',))
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return tuple(re.findall(r"\w+", re.sub(r"['’]", "", plain)))


def duplicate_of(text: str, scope: str, rules: Iterable[RuleRecord]) -> str | None:
    """Return the id of the first live rule of `scope` that `text` is a copy or a near copy of, or None.

    Live rules are candidates and active ones. A near copy shares at least `OVERLAP` of the distinct words of both, and
    differs neither in a number nor in a word such as "not" or "always".

    Examples
    --------
    >>> live = [RuleRecord(rule_id="r-1", status="active", rule="Confirm the amount before you refund an order.")]
    >>> duplicate_of("confirm the amount before you refund an order, please", "global", live)
    'r-1'
    >>> duplicate_of("Never confirm the amount before you refund an order.", "global", live) is None
    True
    """
    words = rule_words(text)
    for rule in rules:
        if rule.status not in ("candidate", "active") or rule.scope != scope or not rule.rule:
            continue
        other = rule_words(rule.rule)
        if words == other or _near(set(words), set(other)):
            return rule.rule_id
    return None


def _near(ours: set[str], theirs: set[str]) -> bool:
    apart = ours ^ theirs
    if any(word in _TURNS or any(char.isdigit() for char in word) for word in apart):
        return False
    both = ours | theirs
    return bool(both) and len(ours & theirs) / len(both) >= OVERLAP
