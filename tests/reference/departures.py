"""Where harnesskit reads a workspace otherwise than the reference, on purpose: what, ours, theirs, and why.

Every row is held to: a difference without a row fails the agreement test, and so does a row without its difference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from reference_forms import ABSENT


class Departure(NamedTuple):
    """One difference on purpose."""

    workspaces: str
    table: str
    key: str
    field: str
    ours: Any
    theirs: Any
    why: str


BOM = "a byte-order mark is part of the encoding, not of the text: such a file is as good as any other"
NULL = "a text that is missing is missing; '' and 'None' are texts that nobody wrote"
TWICE = "an id in two files names no case: neither is loaded, both are named"
NO_ID = "null is no id; 'None' would join every such case with every other"
INFINITE = "an infinite score wins or loses every comparison: it is unscored, and said"
NUMBER = "a score is a JSON number or null; true is no score, and what is no number is kept as unscored"
NO_NAME = "a score without the name of its metric cannot be compared: it is left out, and said"
ZONE = "a time without a zone is read as UTC, and said; times are ordered as instants, never as text"
NO_TIME = "what is no ISO 8601 time gives no time; as text it would come before or after every other"
SECONDS = "a JSON number is seconds since 1970, and said"
KEY_TWICE = "a key given twice: which of the two holds is not known, so the case is not loaded"
DEPTH = "one limit on nesting (100), checked on the way in, so that what is loaded can be stored and exported"
STATUS = "a status that nobody defined is unknown; only a rule that says active is active"
ABSENT_COUNT = "a count that is not given, or is no count, is missing; zero would be evidence"
VERDICT = "an empty verdict is no verdict"
LINE = "lines end at the line feed only; a separator inside a text cuts no record"
SEVERITY = "'relative' was renamed to trend in 0.8 and is read as that; 0.9 reads it as breach"
HINT = "a hint that is not given, or is none of the known, is missing; global would be advice"
KIND = "before 0.9 nobody recorded the kind of a resolution; it is missing, not 'no_proposal'"
OLD_SCORE = "0.6 knew no tiers; a tier that is not given is missing, not 0"
NOTICE_SCORE = "a number that is not given, or is none, is missing; 0 and tier 1 would be values that nobody wrote"
BOTH = "a notice in both folders was resolved: the processed copy is written first, the pending one deleted after"
ONE_BAD = "one bad turn_index costs itself; the reference cannot read the folder"
SERIES_ITEM = "an item without a usable number is an unscored sample, and said; the rest of the series is read"
NO_ITEMS = "a series without items is no sample"


def _rows(workspaces: str, table: str, why: str, *rows: tuple[str, str, Any, Any]) -> list[Departure]:
    return [Departure(workspaces, table, *row, why) for row in rows]


CASES = [
    *_rows("messy", "cases", BOM, ("c-m04", "record", "read", ABSENT)),
    *_rows(
        "messy", "cases", INFINITE,
        ("c-m13", "baseline_scores", {"task_completion": None, "tool_correctness": None},
         {"task_completion": float("-inf"), "tool_correctness": float("inf")}),
        ("c-m14", "baseline_scores", {"task_completion": 0.4, "tool_correctness": None},
         {"task_completion": 0.4, "tool_correctness": float("inf")}),
    ),
    *_rows(
        "messy", "cases", f"{NUMBER}; {NO_NAME}",
        ("c-m16", "baseline_scores",
         dict.fromkeys(("argument_correctness", "coherence", "n", "plan", "task_completion", "tool_correctness")),
         {"": 0.2, "coherence": 0.0, "task_completion": 1.0}),
    ),
    *_rows(
        "messy", "cases", NULL,
        ("c-m18", "created_at", None, ""), ("c-m18", "notes", None, ""), ("c-m18", "session_id", None, ""),
        ("c-m23", "created_at", None, "None"), ("c-m23", "notes", None, "None"), ("c-m23", "session_id", None, "None"),
    ),
    *_rows("messy", "cases", TWICE, ("c-m19", "record", ABSENT, "read"), ("c-m19 again", "record", ABSENT, "read")),
    *_rows("messy", "cases", NO_ID, ("None", "record", ABSENT, "read")),
    *_rows(
        "messy", "cases", ZONE,
        ("c-m26b", "created_at", "2026-06-20T07:00:00+00:00", "2026-06-20T07:00:00"),
        ("c-m26d", "created_at", "2026-06-20T00:00:00+00:00", "2026-06-20"),
        ("c-m26i", "created_at", "2026-06-20T00:00:00+00:00", "2026-W25-6"),
    ),
    *_rows(
        "messy", "cases", NO_TIME,
        ("c-m26e", "created_at", None, "1750000000"), ("c-m26f", "created_at", None, ""),
        ("c-m26g", "created_at", None, "yesterday"),
    ),
    *_rows("messy", "cases", SECONDS, ("c-m27", "created_at", "2025-06-15T15:06:40.500000+00:00", "1750000000.5")),
    *_rows("messy", "cases", KEY_TWICE, ("c-m31-second", "record", ABSENT, "read")),
    *_rows("messy", "cases", DEPTH, ("c-m43", "record", ABSENT, "read")),
]  # fmt: skip

ORDERED_BY_INSTANT = ("c-m26a", "c-m26c", "c-m26h", "c-m26j")
"""Cases of messy whose spelling of one instant (07:00 UTC) the reference sorts as text: see ZONE."""

RULES = [
    *_rows("small_offline", "rules", VERDICT, ("r-0fd630f1f2", "trial_verdict", None, "")),
    *_rows(
        "mid messy", "rules", VERDICT,
        ("r-9f7e5824b4", "trial_verdict", None, ""), ("r-86dc92c11b", "trial_verdict", None, ""),
        ("r-14df22f09b", "trial_verdict", None, ""),
    ),
    *_rows(
        "messy", "rules", VERDICT,
        ("r-x05", "trial_verdict", None, ""), ("r-x06", "trial_verdict", None, ""),
    ),
    *_rows(
        "messy", "rules", STATUS,
        ("r-x01", "status", "unknown", "active"), ("r-x02", "status", "unknown", "active"),
        ("r-x03", "status", "unknown", "active"), ("r-x13", "status", "unknown", "active"),
    ),
    *_rows(
        "messy", "rules", ABSENT_COUNT,
        ("r-x05", "baseline_sessions", None, 0), ("r-x05", "baseline_window", None, 0),
        ("r-x05", "replay_attempts", None, True),
        ("r-x06", "baseline_window", None, 0), ("r-x06", "replay_attempts", None, 0),
    ),
    *_rows(
        "messy", "rules", NULL,
        ("r-x05", "trial_started_at", None, ""), ("r-x06", "trial_started_at", None, ""),
        ("r-x11", "rule", None, "None"), ("r-x12", "created_at", None, "None"),
        ("r-x13", "rule", None, ""), ("r-x13", "rationale", None, ""), ("r-x13", "created_at", None, ""),
    ),
    *_rows("messy", "rules", LINE, ("r-x14", "record", "read", ABSENT)),
]  # fmt: skip

_OLD, _BAD = "n-20260805T090006250000-c7a2ea20", "n-20260625T000000000000-aaaa000"

NOTICES = [
    *_rows("small_0.6.3", "notices", HINT, (_OLD, "applicability_hint", None, "global")),
    *_rows("small_0.6.3", "notices", KIND, (_OLD, "resolution.kind", None, "no_proposal")),
    *_rows(
        "small_0.6.3", "notices", OLD_SCORE,
        (_OLD, "metrics[0].tier", None, 0), (_OLD, "metrics[1].tier", None, 0),
    ),
    *_rows(
        "messy", "notices", BOTH,
        (f"{_BAD}1", "folder", "processed", "pending"), (f"{_BAD}1", "status", "acknowledged", "pending"),
    ),
    *_rows("messy", "notices", SEVERITY, (f"{_BAD}2", "severity", "trend", "breach")),
    *_rows(
        "messy", "notices", HINT,
        *((f"{_BAD}{n}", "applicability_hint", None, "global") for n in (1, 2, 4)),
    ),
    *_rows(
        "messy", "notices", NOTICE_SCORE,
        (f"{_BAD}4", "metrics[0].threshold", None, 0.0), (f"{_BAD}4", "metrics[0].tier", None, 0),
        (f"{_BAD}4", "metrics[1].name", None, ""), (f"{_BAD}4", "metrics[1].threshold", None, 0.0),
        (f"{_BAD}4", "metrics[1].tier", None, 1), (f"{_BAD}4", "metrics[1].value", None, 1.0),
    ),
    *_rows(
        "messy", "notices", ONE_BAD,
        (f"{_BAD}5", "record", "read", ABSENT), (f"{_BAD}6", "record", "read", ABSENT),
    ),
]  # fmt: skip

HISTORY = [
    *_rows(
        "messy", "history", SERIES_ITEM,
        ("bare-session::task_completion", "values", [None, None], "TypeError"),
        ("bool-session::task_completion", "values", [None], [True]),
        ("last-bad::task_completion", "values", [0.3, None], "KeyError"),
        ("str-session::task_completion", "values", [None], ["0.7"]),
    ),
    *_rows(
        "messy", "history", NO_ITEMS,
        ("empty-session::task_completion", "record", ABSENT, "read"),
        ("list-session::task_completion", "record", ABSENT, "read"),
        ("no-separator", "record", ABSENT, "read"),
    ),
]  # fmt: skip

ALL = [*CASES, *RULES, *NOTICES, *HISTORY]


def departures(workspace: str, table: str) -> list[Departure]:
    """Return the rows for one table of one workspace."""
    return [row for row in ALL if workspace in row.workspaces.split() and row.table == table]
