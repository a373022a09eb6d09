"""Read bytes and JSON from files that may be anything: strict about values, forgiving about neighbours.

One rule for every file of a workspace: UTF-8 with or without a byte-order mark, standard JSON, no key twice, at most
`MAX_DEPTH` levels, numbers exact. NaN and Infinity, which some writers produce, are reported and become null.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
from typing import Any

import msgspec

from harnesskit.model.text import visible
from harnesskit.workspace.problems import Finding, UnreadableError, shown

MAX_DEPTH = 100
"""Deepest nesting accepted, in levels; DuckDB's own JSON functions stop at 128."""

MAX_FILE_BYTES = 256 * 1024 * 1024
"""Largest file read as one JSON value."""

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_BOM = b"\xef\xbb\xbf"
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]+|[\]}]+', re.DOTALL)
"""A text (skipped: brackets in it open nothing), or a run of brackets that open or that close."""
_decode = msgspec.json.Decoder().decode
encode = msgspec.json.Encoder().encode


Stamp = tuple[int, int, int, int]
"""What tells that a file changed: size, modification time in ns, inode, and the time in ns at which the system noted a
change of content, name or permissions (which nobody can set back)."""

UNREAD: Stamp = (-2, -2, -2, -2)
"""The stamp of what could not be read and is tried again at every look."""

NOWHERE: Stamp = (-1, -1, -1, -1)
"""The stamp of a link to nothing, or to itself."""


def stamp_of(info: os.stat_result) -> Stamp:
    """Return the stamp of a file from what the system says about it."""
    return info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns


def read_file(path: str, *, dir_fd: int | None = None) -> tuple[bytes, Stamp]:
    """Return the bytes of a regular file and its stamp.

    A FIFO, a device, a directory, a symbolic link loop or a file over `MAX_FILE_BYTES` is refused without blocking.

    Raises
    ------
    UnreadableError
        The file cannot be read; its finding says why.
    """
    fd, info = open_regular(path, dir_fd=dir_fd)
    try:
        if info.st_size > MAX_FILE_BYTES:
            size = f"{info.st_size / 1e6:,.0f} MB"
            raise UnreadableError(
                "too_large", f"The file has {size}; at most {MAX_FILE_BYTES / 1e6:,.0f} MB are read as one JSON value."
            )
        data = os.read(fd, info.st_size + 1)
        while len(data) < info.st_size:
            more = os.read(fd, info.st_size + 1 - len(data))
            if not more:
                break
            data += more
    except OSError as error:
        raise UnreadableError("unreadable", _os_message(error)) from error
    finally:
        os.close(fd)
    return data, stamp_of(info)


def open_regular(path: str, *, dir_fd: int | None = None) -> tuple[int, os.stat_result]:
    """Return an open descriptor of a regular file, which the caller closes, and what it was when opened.

    Raises
    ------
    UnreadableError
        It cannot be opened, or is no regular file; nothing blocks, and nothing is left open.
    """
    try:
        fd = os.open(path, _OPEN, dir_fd=dir_fd)
    except OSError as error:
        raise UnreadableError("unreadable", _os_message(error)) from error
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise UnreadableError("not_a_file", f"This is {_kind_of(info.st_mode)}, not a file; it was left alone.")
    except OSError as error:
        os.close(fd)
        raise UnreadableError("unreadable", _os_message(error)) from error
    except UnreadableError:
        os.close(fd)
        raise
    return fd, info


def _os_message(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "This is a symbolic link that leads to itself; it was left alone."
    if error.errno == errno.ENOENT:
        return "The file is gone, or is a symbolic link to nothing; it was left alone."
    return f"The file cannot be read ({error.strerror or error}); check its permissions."


def _kind_of(mode: int) -> str:
    names = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    return names.get(stat.S_IFMT(mode), "a device")


def parse_json(data: bytes) -> tuple[Any, list[Finding]]:
    """Return the JSON value in `data` and what had to be said about it.

    Integers are exact whatever their size; ``1`` and ``1.0`` stay apart. NaN and infinities become None, each with a
    finding; a lone surrogate stays in the text, with a finding.

    Raises
    ------
    UnreadableError
        Not UTF-8, not JSON, a key twice in one object, or nested deeper than `MAX_DEPTH`.

    Examples
    --------
    >>> parse_json(b'{"a": 123456789012345678901234567890}')
    ({'a': 123456789012345678901234567890}, [])
    >>> value, findings = parse_json(b'{"a": NaN}')
    >>> value, findings[0].kind
    ({'a': None}, 'not_a_number')
    """
    value = parse_fast(data)
    return (value, []) if value is not UNSURE else parse_carefully(data)


UNSURE = object()
"""Returned by `parse_fast` for bytes that need a careful look."""


def parse_fast(data: bytes) -> Any:
    """Return the JSON value in `data`, or `UNSURE` when it needs `parse_carefully`.

    A key given twice leaves fewer colons after writing the value out again (strings keep theirs); escapes that could
    hide or add a colon, and nesting that might be too deep, are left to the careful way.
    """
    try:
        value = _decode(data)
        # an escaped colon ("\u003a") is the only thing that could balance the count
        sure = b"\\u003" not in data and data.count(b":") == encode(value).count(b":")
    except (msgspec.MsgspecError, RecursionError, ValueError):  # ValueError: a lone surrogate or a huge number
        return UNSURE
    shallow = data.count(b"{") + data.count(b"[") <= MAX_DEPTH
    return value if sure and (shallow or depth(value) <= MAX_DEPTH) else UNSURE


def parse_carefully(data: bytes) -> tuple[Any, list[Finding]]:
    """Return what `parse_json` returns, the slow way that can say what is wrong."""
    if data.startswith(_BOM):
        data = data[3:]
    if not data.strip():
        raise UnreadableError("empty", "There is nothing in it; it was left out.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = data[error.start]
        raise UnreadableError(
            "encoding", f"Byte {error.start} is 0x{byte:02x}, which is not UTF-8; save it as UTF-8. It was left out."
        ) from error
    _check_depth(text)
    findings: list[Finding] = []
    try:
        value = json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=float)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise UnreadableError("not_json", f"Not JSON: {error.msg} ({where}); it was left out.") from error
    except (ValueError, RecursionError) as error:  # an integer of over 4,300 digits
        raise UnreadableError("not_json", f"Not usable as JSON: {error}; it was left out.") from error
    return _strict(value, "", findings), findings


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise UnreadableError(
            "duplicate_key", f"The key {shown(twice)} is given twice; which one holds is not known. It was left out."
        )
    return found


def _check_depth(text: str) -> None:
    """Refuse text nested deeper than `MAX_DEPTH` before a recursive parser sees it."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for mark in _BRACKETS.finditer(text):
        first = mark[0][0]
        if first in "[{":
            depth += len(mark[0])
            if depth > MAX_DEPTH:
                raise UnreadableError(
                    "too_deep", f"It is nested deeper than {MAX_DEPTH} levels; flatten the payload. It was left out."
                )
        elif first != '"':
            depth -= len(mark[0])


def depth(value: Any) -> int:
    """Return the number of levels of objects and lists in a value; 0 for a text, a number, a boolean or null."""
    level, here = 0, [value]
    while here:
        containers = [item for item in here if isinstance(item, (dict, list))]
        here = [child for item in containers for child in (item.values() if isinstance(item, dict) else item)]
        level += bool(containers)
    return level


def _strict(value: Any, field: str, findings: list[Finding]) -> Any:
    """Return `value` with every NaN or infinity replaced by None and every lone surrogate reported."""
    if isinstance(value, float) and not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        kind = "not_a_number" if math.isnan(value) else "infinite"
        message = f"{visible(field) or 'the value'} is {name}, which JSON does not have; it is read as null."
        findings.append(Finding(field, "problem", kind, message))
        return None
    if isinstance(value, str) and not _encodable(value):
        where = visible(field) or "the value"
        message = f"{where} holds half of a surrogate pair; shown as a \\u escape in text columns."
        findings.append(Finding(field, "problem", "lone_surrogate", message))
        return value
    if isinstance(value, dict):
        return {k: _strict(v, f"{field}.{k}" if field else k, findings) for k, v in value.items()}
    if isinstance(value, list):
        return [_strict(v, f"{field}[{i}]", findings) for i, v in enumerate(value)]
    return value


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def clean_text(text: str) -> str:
    r"""Return `text` as valid UTF-8: half surrogate pairs are written as ``\udXXX`` escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def to_json(value: Any) -> str:
    r"""Return compact JSON text of a value that `parse_json` returned; strict, integers exact.

    Half a surrogate pair, which is no text, is written as the six characters of its escape.

    Examples
    --------
    >>> to_json({"n": 9007199254740993, "x": 1.0})
    '{"n":9007199254740993,"x":1.0}'
    """
    try:
        return encode(value).decode("utf-8")
    except (UnicodeEncodeError, ValueError):  # half a surrogate pair, which DuckDB refuses in any spelling
        return json.dumps(_clean(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _clean(value: Any) -> Any:
    """Return a JSON value with every text in it as `clean_text` gives it."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value
