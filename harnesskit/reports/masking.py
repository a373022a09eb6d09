"""Credentials, masked before a report shortens, escapes or draws anything. The workspace itself stays unmasked.

The rule, in this order; what is masked becomes ``[masked]`` as a whole, no part of it stays:

1. *By key name*, in objects, JSON text, ``key=value`` and ``key: value``: the last words of the name are ``password,
   passwd, passphrase, pwd, secret, credential, authorization, auth, cookie, token, api key, access key, access key id,
   secret key, private key, signing key, encryption key, account key, shared key, subscription key, connection string``
   (any case, ``camelCase``, ``-`` and ``_``). Only the last words count, so ``monkey``, ``keynote``, ``tokens_used``
   and ``password_policy`` stay, as do tokens of text (``eos_token``, ``next_page_token``, ...). Under such a key text
   is masked; numbers stay, except whole ones of four or more digits under a password, passphrase or secret. After a
   bare colon the topics ``auth, token, cookie, credential`` need a long or mixed value: ``auth:login-2`` stays.
2. *By pattern*: ``Bearer`` and ``Basic`` credentials, ``user:password@`` in addresses, JSON web tokens, private key
   blocks, keys with a maker's prefix (``sk-``, ``AKIA``, ``ghp_``, ``xoxb-``, ``AIza``, ``hf_``, ...), and what follows
   the words key, token, secret or password when it is long and mixes letters and digits.
3. *By value*: the values of this process's environment variables whose name falls under 1 (eight or more characters),
   except ``PWD`` and files and folders that are there: where one stands is no secret.

Ordinary words, status codes, numbers, ids and hashes stay.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.model.decision import Decision

MASK = "[masked]"
_DEEPEST = 200

_ENDINGS = (
    "password", "passwords", "passwd", "passphrase", "pwd", "secret", "secrets", "credential", "credentials",
    "authorization", "auth", "cookie", "cookies", "token", "apikey", "apikeys", "api key", "api keys", "accesskey",
    "access key", "access key id", "secretkey", "secret key", "privatekey", "private key", "signing key",
    "encryption key", "account key", "shared key", "subscription key", "connection string",
)  # fmt: skip
_NUMERIC_TOO = ("password", "passwd", "passphrase", "pwd", "secret")
_TOPICS = ("auth", "token", "cookie", "cookies", "credential", "credentials")
_TEXT_TOKENS = frozenset(
    ("eos", "bos", "pad", "unk", "sep", "cls", "mask", "stop", "special", "start", "end", "first", "last", "next",
     "page", "per", "sync")
)  # fmt: skip
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Every repetition before a condition is bounded: a hostile text must not take quadratic time.
_MIX = re.compile(r"\d[A-Za-z]\d|[A-Za-z]\d[A-Za-z]")
_MIXED = r"(?=\S{0,200}(?:\d[A-Za-z]\d|[A-Za-z]\d[A-Za-z]))"

_WHOLE = [
    re.compile(
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL
    ),
    re.compile(r"eyJ[A-Za-z0-9_-]{6,600}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?"),
    re.compile(r"(?:AKIA|ASIA|AGPA|AROA|AIDA)[A-Z0-9]{12,}"),
    re.compile(r"(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|npm_|pypi-|hf_|shpat_|dop_v1_|dapi)[A-Za-z0-9_-]{16,}"),
    re.compile(r"sk-(?:[a-z]{2,8}-){0,3}(?=[A-Za-z0-9]{0,100}\d)[A-Za-z0-9]{16,}[A-Za-z0-9_-]*"),  # also inside a word
    re.compile(r"\b(?:sk|pk|rk)[-_](?=[A-Za-z0-9_-]{0,100}\d)[A-Za-z0-9_-]{14,}"),
    re.compile(r"(?:AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}|SG\.[A-Za-z0-9_-]{16,}[.A-Za-z0-9_-]*)"),
]
_AFTER = [
    re.compile(r"(?i)(\bbearer\s+)(?=\S{0,200}\d|\S{24})[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"(?i)(\bbasic\s+)(?=\S{0,200}[\d=+/])[A-Za-z0-9+/=]{12,}"),
    re.compile(r"(?i)(\bcookie:\s*)[^\s=;]+=[^\r\n\"]+"),
    re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]{0,20}://)[^\s/@:]{0,200}:[^\s/@]{1,300}(?=@)"),
    re.compile(rf"(?i)(\b(?:key|token|secret|password|credential)s?[\s\"':=]+){_MIXED}[A-Za-z0-9._~+/=-]{{16,}}"),
]
_PAIR = re.compile(
    r"""(?<![\w.-])(?P<key>[A-Za-z][\w.-]{1,200})(?P<sep>\\?["']?\s*(?:=|:|=>)\s*)"""
    r"""(?P<value>\\?"(?:[^"\\]|\\.)*\\?"|'[^']*'|(?:(?:Bearer|Basic|Token|Digest)\s+)?[^\s&,;"'<>}\]]+)"""
)


def is_secret_name(name: str) -> bool:
    """Whether a key called `name` holds a credential by its last words.

    Examples
    --------
    >>> [is_secret_name(n) for n in ("X-Api-Key", "clientSecret", "GITHUB_TOKEN", "Authorization")]
    [True, True, True, True]
    >>> [is_secret_name(n) for n in ("monkey", "keynote", "tokens_used", "password_policy", "eos_token", "key")]
    [False, False, False, False, False, False]
    """
    words = [word.lower() for word in _WORDS.findall(name)]
    spaced = " ".join(words)
    if len(words) > 1 and words[-1] == "token" and words[-2] in _TEXT_TOKENS:
        return False
    return any(spaced == ending or spaced.endswith(f" {ending}") for ending in _ENDINGS)


def mask_text(text: str) -> str:
    """Return `text` with its credentials masked by the rule of this module.

    Examples
    --------
    >>> mask_text("POST https://bot:pw@host/x?token=abc123&page=2 failed with 401")
    'POST https://[masked]@host/x?token=[masked]&page=2 failed with 401'
    >>> mask_text('{"api_key": "k", "tokens_used": 1234}')
    '{"api_key": "[masked]", "tokens_used": 1234}'
    """
    if text.startswith(("{", "[")):
        text = _mask_json(text)
    for value in _environment_secrets():
        text = text.replace(value, MASK)
    for pattern in _WHOLE:
        text = pattern.sub(MASK, text)
    for pattern in _AFTER:
        text = pattern.sub(rf"\1{MASK}", text)
    return _PAIR.sub(_mask_pair, text)


def mask_value(value: Any, key: str = "", depth: int = 0) -> Any:
    """Return `value` (text, number, list or object) with its credentials masked; `key` is its name.

    Raises
    ------
    RecursionError
        The value is nested more than 200 levels deep.
    """
    if depth > _DEEPEST:
        raise RecursionError("a value is nested too deep to mask")
    if isinstance(value, str):
        return MASK if value and is_secret_name(key) else mask_text(value)
    if isinstance(value, dict):
        return {mask_text(str(k)): mask_value(v, str(k), depth + 1) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [mask_value(v, key, depth + 1) for v in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 999 and is_secret_name(key):
        return MASK if key.lower().endswith(_NUMERIC_TOO) else value
    return value


def mask_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a copy of `frame` with the credentials in its texts, lists, objects and column names masked."""
    masked = frame.copy()
    for position, column in enumerate(frame.columns):
        if frame.dtypes.iloc[position].kind in "biufcmM":
            continue
        seen: dict[str, Any] = {}
        before = frame.iloc[:, position].tolist()
        after = [_mask_once(value, str(column), seen) for value in before]
        if any(new is not old for new, old in zip(after, before, strict=True)):
            column_after = pd.Series(after, index=frame.index, dtype=object)
            masked.isetitem(position, column_after)  # type: ignore[arg-type]  # the stubs know no Series here
    masked.columns = pd.Index([mask_text(c) if isinstance(c, str) else c for c in frame.columns])
    return masked


def mask_decision(decision: Decision) -> Decision:
    """Return `decision` with the credentials in its texts and its checks masked."""
    return replace(
        decision,
        subject=mask_text(decision.subject),
        reason=mask_text(decision.reason),
        detail=mask_text(decision.detail),
        reasons=[mask_text(reason) for reason in decision.reasons],
        policy=mask_value(decision.policy),
        checks=mask_frame(decision.checks),
    )


def _mask_once(value: Any, column: str, seen: dict[str, Any]) -> Any:
    if not isinstance(value, str):
        try:
            return mask_value(value, column)
        except RecursionError:
            return f"[{type(value).__name__} nested too deep to show]"
    if value not in seen:
        masked = mask_value(value, column)
        seen[value] = value if masked == value else masked
    return value if seen[value] == value else seen[value]


def _mask_pair(found: re.Match[str]) -> str:
    key, value = found["key"], found["value"]
    if not is_secret_name(key.rsplit(".", 1)[-1]) or value.strip("\\\"'") in (
        "",
        MASK,
        MASK[:-1],
        "null",
        "true",
        "false",
    ):
        return found[0]
    bare = value.strip("\\\"'")
    if bare.isdigit() and (len(bare) < 4 or not key.lower().endswith(_NUMERIC_TOO)):
        return found[0]
    quoted, assigned = value[:1] in "\\\"'", "=" in found["sep"]
    if not (quoted or assigned) and key.lower().endswith(_TOPICS) and len(bare) < 16 and not _MIX.search(bare):
        return found[0]  # "auth: login" in a sentence or a name
    edge = '\\"' if value.startswith('\\"') else value[:1] if value[:1] in "\"'" else ""
    return f"{key}{found['sep']}{edge}{MASK}{edge}"


def _mask_json(text: str) -> str:
    try:
        value = json.loads(text)
        masked = mask_value(value)
        return text if masked == value else json.dumps(masked, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _environment_secrets() -> tuple[str, ...]:
    return _secrets_among(tuple(os.environ.items()))


def _is_place(name: str, value: str) -> bool:
    """Whether a variable says where something lies: PWD is the folder one stands in, not a password."""
    return name in ("PWD", "OLDPWD") or (Path(value).is_absolute() and _exists(Path(value)))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a path, or not allowed to look
        return False


@lru_cache(maxsize=2)
def _secrets_among(variables: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    found = {
        value for name, value in variables if len(value) >= 8 and is_secret_name(name) and not _is_place(name, value)
    }
    telling = [value for value in found if not value.isalpha() or len(value) >= 16]
    return tuple(sorted(telling, key=lambda value: (-len(value), value)))  # longest first: one may hold another
