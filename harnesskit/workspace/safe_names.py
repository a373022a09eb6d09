"""File and folder names for ids, which are data and may be anything."""

from __future__ import annotations

import hashlib
import re

_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,128}")
_KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789._-")
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_ESCAPE = re.compile(rb"%([0-9a-f]{2})")
LONGEST = 180
"""Longest name that `safe_name` returns; file systems allow 255 bytes, a draft's suffix needs some of them."""


def safe_name(name: str) -> str:
    r"""Return a file name for the id `name`: the same id the same name, two ids two names, nothing outside the folder.

    An id of 1 to 128 letters, digits, ``.``, ``_`` and ``-`` stays as it is. In any other one, every byte of its UTF-8
    form that is not a lower-case letter, a digit or one of ``._-`` becomes ``%`` and two hex digits, so that encoded
    names stay apart where upper and lower case are the same. So do the first character of ``.``, ``..`` and of names
    that Windows reserves, and a last dot. An encoded name over `LONGEST` characters is cut and ends in its SHA-256.

    Examples
    --------
    >>> safe_name("run-7.a"), safe_name("../run"), safe_name(".."), safe_name("nul.json"), safe_name("")
    ('run-7.a', '..%2frun', '%2e%2e', '%6eul.json', '%')
    """
    plain = _PLAIN.fullmatch(name) is not None
    raw = name.encode("utf-8", "surrogatepass")
    escaped = name if plain else "".join(chr(b) if b in _KEPT else f"%{b:02x}" for b in raw)
    if name in {".", ".."} or escaped.split(".")[0].casefold() in _RESERVED:
        escaped = f"%{ord(escaped[0]):02x}{escaped[1:]}"
    if escaped.endswith("."):
        escaped = escaped[:-1] + "%2e"
    if len(escaped) > LONGEST or (not plain and "%" not in escaped and escaped):
        return f"{escaped[:40]}%~{hashlib.sha256(raw).hexdigest()}"
    return escaped or "%"


def id_of(safe: str) -> str:
    """Return the id that `safe_name` encoded as `safe`; a cut name, or one it never makes, is returned as it is.

    Examples
    --------
    >>> id_of(safe_name("../run")), id_of("run-7.a")
    ('../run', 'run-7.a')
    """
    raw = _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), safe.encode("utf-8", "surrogateescape"))
    name = "" if safe == "%" else raw.decode("utf-8", "replace")
    return name if safe_name(name) == safe else safe
