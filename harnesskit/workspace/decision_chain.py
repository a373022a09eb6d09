"""How a review shows that it was changed: its id is the hash of its content, and each line holds the hash of the last.

The chain shows an edit, a line taken out, put in or moved. It cannot show that the newest lines were cut off, nor that
somebody wrote the whole file anew: that is for the version control that the file lies in.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from harnesskit.workspace.documents import is_absent
from harnesskit.workspace.jsonlines import parse_line, raw_lines
from harnesskit.workspace.problems import Finding, UnreadableError, shown
from harnesskit.workspace.reading import open_regular

_SEALED = re.compile(r"d-[0-9a-f]{20}")
State = Literal["sealed", "foreign", "altered", "unreadable"]


class Link(NamedTuple):
    """One line of the log.

    Attributes
    ----------
    line
        Its number, from 1.
    digest
        SHA-256 of its bytes, blanks at both ends aside (a line end that git rewrote changes nothing).
    decision_id
        Its id; empty when there is none.
    state
        ``sealed`` (as it was written), ``altered``, ``foreign`` (its id is none of ours, so nothing can be said) or
        ``unreadable`` (no JSON object).
    follows
        Whether it names the line before it.
    """

    line: int
    digest: str
    decision_id: str
    state: State
    follows: bool


def seal(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return `record` with its id, which is the hash of all the rest of it.

    Examples
    --------
    >>> seal({"verdict": "pass"})["decision_id"] == seal({"verdict": "fail"})["decision_id"]
    False
    """
    rest = {name: value for name, value in record.items() if name != "decision_id"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return {**rest, "decision_id": f"d-{hashlib.sha256(text.encode('ascii')).hexdigest()[:20]}"}


def read_chain(path: Path) -> list[Link]:
    """Return the lines of a log that are not blank, in file order; none when there is no file or it cannot be read."""
    if is_absent(str(path)):
        return []
    try:
        fd, info = open_regular(str(path))
    except UnreadableError:  # its reader says so
        return []
    links: list[Link] = []
    try:
        for number, raw in enumerate(raw_lines(fd, 0, info.st_size), 1):
            data = raw.data.strip()
            if data:
                record, _ = parse_line(raw)
                before = links[-1].digest if links else None
                links.append(_link(number, hashlib.sha256(data).hexdigest(), record, before))
    finally:
        os.close(fd)
    return links


def _link(line: int, digest: str, record: dict[str, Any] | None, before: str | None) -> Link:
    if record is None:
        return Link(line, digest, "", "unreadable", True)
    decision_id = str(record.get("decision_id") or "")
    state: State = "foreign"
    if _SEALED.fullmatch(decision_id):
        state = "sealed" if _is_sealed(record) else "altered"
    return Link(line, digest, decision_id, state, record.get("previous_hash") == before)


def _is_sealed(record: dict[str, Any]) -> bool:
    try:
        return bool(seal(record)["decision_id"] == record["decision_id"])
    except (ValueError, RecursionError):
        return False


def torn_lines(links: Sequence[Link]) -> set[int]:
    """Return the numbers of lines that hold no record and that the line after them was written to follow.

    A crash tore such a line while it was being written, so nobody was told that it was there; the next writer ended
    it and named it, as it names any line.
    """
    return {link.line for link, after in pairwise(links) if _torn(link, after)}


def _torn(link: Link, after: Link) -> bool:
    return link.state == "unreadable" and after.follows and after.state == "sealed"


def whole_from(links: Sequence[Link], decision_id: str) -> bool:
    """Return whether a review stands as it was written, and so does all that came after it."""
    place = next((i for i, link in enumerate(links) if link.decision_id == decision_id), None)
    if place is None or links[place].state != "sealed":
        return False
    torn = torn_lines(links)
    return all(link.follows and (link.state in ("sealed", "foreign") or link.line in torn) for link in links[place:])


def chain_findings(links: Sequence[Link]) -> list[tuple[int, Finding]]:
    """Return what the chain shows, by line."""
    found: list[tuple[int, Finding]] = []
    for place, link in enumerate(links):
        if link.state == "altered":
            message = (
                f"The review {shown(link.decision_id)} is not as it was signed: its id is the hash of its content, and "
                "does not fit any more. Nothing is promoted on it."
            )
            found.append((link.line, Finding("decision_id", "problem", "altered_decision", message)))
        if not link.follows:
            before = f"line {links[place - 1].line}" if place else "no line at all"
            message = (
                f"The review does not follow {before}: what stood before it was changed, taken out or moved, or two "
                "copies of the file were merged. Nothing that was signed before it is promoted on."
            )
            found.append((link.line, Finding("previous_hash", "problem", "broken_chain", message)))
    return found


TORN = Finding(
    "", "note", "torn_earlier",
    "A crash cut this line off while it was written, so that nobody was told it was there; later reviews follow it.",
)  # fmt: skip
