"""The reasons of a verdict on a rule, in plain sentences, the deciding ones first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from harnesskit.decisions.wording import counted, name, shown
from harnesskit.model.text import visible

if TYPE_CHECKING:
    from harnesskit.decisions.guard_rule import Settled
    from harnesskit.model.promotion_policy import PromotionPolicy

THIN = "thin guard"
"""How the note of a check begins that makes a promotion a thin guard; and the detail of that promotion."""
NO_SIGN = 1.0
"""Evidence of harm (a likelihood ratio) up to which nothing speaks for it."""
_KNOWN = (
    *("benefit", "futility", "harmful_effect", "effect_when_read", "compliance", "missing_data", "missing_data_wins"),
    *("harm", "non_inferiority", "guard_coverage", "blind_spot", "generality", "one_case"),
)
_Row = dict[str, Any]


def promotion_reasons(rows: pd.DataFrame, settled: Settled, policy: PromotionPolicy) -> list[str]:
    """Return why the verdict is what it is, then what a reader has to know besides."""
    listing: dict[str, _Row] = {
        str(one["check"]): {str(k): None if pd.isna(v) else v for k, v in one.items()}
        for one in rows.to_dict("records")
    }
    first = str(settled.deciding["check"])
    deciding = _deciding(listing, settled, policy)
    said = [*deciding, *_benefit_beside(listing, first), *_guard(listing, settled), *_read(listing, first)]
    others = [check for check in listing if check not in _KNOWN and check != first]
    told = ("missing_data", "missing_data_wins", "generality", "one_case", *others)
    said += [_sentence(listing[check].get("note")) for check in told if check in listing and check != first]
    if "benefit" in listing and not (first == "benefit" and _spoken(settled)):
        said.append(_sentence(listing["benefit"].get("note")))
    return list(dict.fromkeys(text for text in said if text))


def _spoken(settled: Settled) -> bool:
    """Whether the note of the benefit is the reason itself: nothing could be compared."""
    return settled.verdict == "pending" and settled.deciding.get("estimate") is None


def _deciding(listing: dict[str, _Row], settled: Settled, policy: PromotionPolicy) -> list[str]:
    row, benefit = settled.deciding, listing["benefit"]
    if settled.verdict == "promote":
        return [f"The rule helps: {_effect(benefit)}.", _stands(benefit, "shows a benefit"), _wide(benefit)]
    if settled.verdict == "retire":
        return _retired(row, benefit, listing, policy)
    needed = settled.runs_needed
    more = "" if needed is None else f"About {counted(needed, 'more replay')} would settle it."
    word = settled.reason
    if word == "insufficient_evidence" and not _spoken(settled) and row["check"] == "benefit":
        return [f"Not decided yet: {_effect(benefit)}.", *_both_ways(listing, policy), more + _then(listing, more)]
    if word == "candidate_not_exercised":
        return [f"{_share_read(row)}; what was not read proves nothing, for or against.", more]
    if word == "missing_data":
        return [f"Too many scores are missing to go by the others: {row.get('note') or 'see the ledger'}."]
    if word == "guard_incomplete":
        return [*_incomplete(row, listing), more]
    if word == "thin_guard":
        wins = "" if needed is None else f"; {counted(needed, 'more win')} replayed would bring it there"
        bar = "" if row.get("bar") is None else f", and at most {shown(float(row['bar']))[0]} is allowed{wins}"
        return [f"The benefit is shown, but too few wins were replayed: {row.get('note') or 'thin guard'}{bar}."]
    return [_sentence(row.get("note")) or f"{name(row['check'])} is open ({word}).", more]


def _wide(benefit: _Row) -> str:
    """Say why a benefit is shown although its interval reaches 0, where it does."""
    low = benefit.get("low")
    if low is None or float(low) > 0:
        return ""
    return "The interval is two-sided, so it may reach 0 where the one-sided test shows a benefit."


def _then(listing: dict[str, _Row], more: str) -> str:
    """Say that the replays of wins are not among those of failing cases; nothing where there are no wins."""
    blind = listing.get("blind_spot", {})
    wins = int(blind.get("n_cases") or 0) - int(blind.get("n") or 0)
    if not more or wins < 1:
        return ""
    return (
        f" They are of failing cases; if it helps, {counted(wins, 'protected win')} still to be replayed come on top."
    )


def _retired(row: _Row, benefit: _Row, listing: dict[str, _Row], policy: PromotionPolicy) -> list[str]:
    if row["check"] == "harm":
        told = _numbers(row, "evidence", "bound")
        much = "" if told is None else f": evidence {told[0]}, where {told[1]} is enough"
        where = f"; {row['note']}" if row.get("note") else ""
        return [f"The rule harms protected wins{much}{where}."]
    if row["check"] == "harmful_effect":
        most = (
            ""
            if row.get("high") is None
            else f"; with 95 % confidence it is {_signed(float(row['high']), 0.0)} at most"
        )
        return [f"The rule makes its own failing cases worse: {_effect(benefit)}{most}."]
    if row["check"] == "futility":
        return [
            f"An improvement worth having ({policy.worthwhile:g} or more) is ruled out: {_effect(benefit)}.",
            _stands(listing["futility"], "rules it out"),
        ]
    return [_sentence(row.get("note")) or f"{name(row['check'])} is not met ({row.get('reason')})."]


def _effect(row: _Row) -> str:
    """Return the mean change in words: how much, over what, with which interval."""
    if row.get("estimate") is None:
        return "no change could be measured"
    metric = f" in {name(row['metric'])}" if row.get("metric") else ""
    cases = row.get("n_cases")
    over = f" on average over {counted(int(cases), 'failing case')}" if cases is not None else ""
    text = f"{_signed(float(row['estimate']), float(row.get('bar') or 0.0))}{over}{metric}"
    if row.get("low") is None or row.get("high") is None:
        return text
    kind = f"{row['interval_kind']}: " if row.get("interval_kind") else ""
    return f"{text} ({kind}{_signed(float(row['low']), 0.0)} to {_signed(float(row['high']), 0.0)})"


def _stands(row: _Row, what: str) -> str:
    """Return where the evidence stands against its bound."""
    told = _numbers(row, "evidence", "bound")
    if told is None:
        return ""
    scale = "E-value" if row.get("scale") == "e" else "z"
    looks = f" at look {int(row['looks'])}" if row.get("looks") is not None else ""
    runs = ""
    if row.get("n_control") is not None and row.get("n_candidate") is not None:
        candidate, control = counted(int(row["n_candidate"]), "run"), counted(int(row["n_control"]), "run")
        runs = f"; {candidate} with the rule, {control} without"
    side = "one-sided " if scale == "z" else ""
    return f"Evidence: {side}{scale} {told[0]}, where {told[1]} {what}{looks}{runs}."


def _both_ways(listing: dict[str, _Row], policy: PromotionPolicy) -> list[str]:
    said = [_stands(listing["benefit"], "would show a benefit")]
    against = listing.get("futility")
    told = None if against is None else _numbers(against, "evidence", "bound")
    if told is not None:
        said.append(f"Against an effect of {policy.worthwhile:g}: {told[0]}, where {told[1]} would rule it out.")
    return said


def _incomplete(row: _Row, listing: dict[str, _Row]) -> list[str]:
    start = "The benefit is shown, but the guard of the wins is not complete"
    if listing["benefit"]["state"] != "met":
        start = "The guard of the wins is not complete"
    if row["check"] == "non_inferiority" and row.get("low") is not None and row.get("bar") is not None:
        low, bar = _positive(-float(row["low"]), -float(row["bar"]))
        return [f"{start}: their mean may have dropped by as much as {low}; {bar} must be ruled out."]
    if row["check"] == "harm" and row.get("evidence") is not None and row.get("estimate") is not None:
        told = _numbers(row, "evidence", "bound") or [str(row["evidence"]), ""]
        seen = listing.get("guard_coverage", {}).get("note")
        far = f"{seen}, " if seen else ""
        where = f" ({row['note']})" if row.get("note") else ""
        if float(row["evidence"]) <= (NO_SIGN if row.get("scale") == "lambda" else NO_SIGN / 2):
            return [
                f"{start}: {far}without a sign of harm so far: evidence {told[0]}, where {told[1]} would retire it."
            ]
        return [f"{start}: {far}evidence of harm {told[0]}, too much to promote and too little to retire{where}."]
    return [f"{start}: {row.get('note') or name(row['check'])}."]


def _benefit_beside(listing: dict[str, _Row], first: str) -> list[str]:
    """Return what the failing cases said when something else decided."""
    row = listing.get("benefit")
    if row is None or first in ("benefit", "futility", "harmful_effect") or row.get("estimate") is None:
        return []
    return [f"On its failing cases: {_effect(row)}."]


def _guard(listing: dict[str, _Row], settled: Settled) -> list[str]:
    """Return what the wins said, and what could not be seen; nothing where the failing cases retired the rule."""
    first = str(settled.deciding["check"])
    seen, mean, harm = (listing.get(check) for check in ("guard_coverage", "non_inferiority", "harm"))
    compared = mean is not None and mean.get("estimate") is not None
    if settled.verdict == "retire" and not compared:
        return []
    said = []
    if mean is not None and compared and first != "non_inferiority":
        covered = f"{seen['note']}: " if seen is not None and seen.get("note") else "Protected wins: "
        said.append(f"{covered}mean change {_signed(float(mean['estimate']), 0.0)}{_ruled_out(mean)}.")
    elif seen is not None and first != "guard_coverage":
        said.append(_sentence(seen.get("note")))
    if harm is not None and harm.get("estimate") is not None and first != "harm":
        said.append(_harm_left(harm))
    blind = listing.get("blind_spot")
    if blind is not None and first != "blind_spot":
        note = str(blind.get("note") or "")
        said.append(_sentence(note if note.startswith(THIN) else f"blind spot: {note}" if note else None))
    return said


def _ruled_out(mean: _Row) -> str:
    if mean.get("low") is None or mean.get("bar") is None:
        return ""
    drop, bar = _positive(-float(mean["low"]), -float(mean["bar"]))
    if float(mean["low"]) > float(mean["bar"]):
        return f", a drop of {drop} or more is ruled out ({mean['interval_kind']})"
    return f", a drop of up to {drop} is not ruled out; {bar} would have to be"


def _harm_left(harm: _Row) -> str:
    told = _numbers(harm, "evidence", "bound")
    note = str(harm.get("note") or "")
    thin = note.startswith(THIN)
    worst = note.partition("; ")[2] if thin else note
    start = f"{THIN.capitalize()}: evidence" if thin else "Evidence"
    lowest = f" Highest: {worst}." if worst else ""
    return f"{start} of harm {told[0]}, where {told[1]} would retire it.{lowest}" if told else ""


def _read(listing: dict[str, _Row], first: str) -> list[str]:
    """Return whether the candidate was read, and the effect where it was."""
    row = listing.get("compliance")
    if row is None or first == "compliance":
        return []
    if row.get("estimate") is None:
        return [_sentence(row.get("note"))]
    said = [f"{_share_read(row)}."]
    own = listing.get("effect_when_read")
    if own is not None and own.get("estimate") is not None and float(row["estimate"]) < 1:
        said.append(f"On the runs that read it the effect would be {_signed(float(own['estimate']), 0.0)}.")
    return said


def _share_read(row: _Row) -> str:
    note = row.get("note") or "the candidate was read in too few replays"
    bar = row.get("bar")
    least = f", {100 * float(bar):.0f} % or more must" if bar is not None and row.get("state") != "met" else ""
    return f"{str(note)[:1].upper()}{str(note)[1:]}{least}"


def _numbers(row: _Row, *columns: str) -> list[str] | None:
    values = [row.get(column) for column in columns]
    if any(value is None for value in values):
        return None
    numbers = [float(value) for value in values if value is not None]
    texts = [f"{number:.3g}" for number in numbers]
    return texts if len(set(texts)) == len(set(numbers)) else shown(*numbers)


def _signed(value: float, other: float) -> str:
    """Return a change with its sign, told apart from what it is held against."""
    text = shown(abs(value), abs(other))[0] if abs(value) != abs(other) else shown(abs(value))[0]
    return f"{'-' if value < 0 else '+'}{text}"


def _positive(*values: float) -> list[str]:
    return [text.removeprefix("-") if float(text) == 0 else text for text in shown(*values)]


def _sentence(note: Any) -> str:
    if note is None or not str(note).strip():
        return ""
    text = visible(str(note)).strip().rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
