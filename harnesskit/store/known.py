"""Names that a question uses, held against those that the workspace has: a misspelt one is no empty answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb

from harnesskit.model.contract import KINDS
from harnesskit.model.errors import QueryError, listed, nearest
from harnesskit.store.database import query
from harnesskit.workspace.run_records import ROLES

_FIXED = {"kind": KINDS, "role": ROLES}
_WHERE = {
    "run": "SELECT run_id AS name FROM runs",
    "arm": "SELECT arm AS name FROM samples",
    "case": "SELECT case_id AS name FROM cases UNION SELECT case_id FROM samples",
    "metric": "SELECT metric AS name FROM scores UNION SELECT metric FROM baselines UNION SELECT metric FROM metrics",
}


def known_names(connection: duckdb.DuckDBPyConnection, what: str, given: str | Iterable[str] | None) -> Any:
    """Return the names asked for as a list, None when any will do.

    Parameters
    ----------
    what
        ``run, role, arm, case, kind`` or ``metric``. Kinds and roles are a closed set; of the others the workspace
        must have something.
    given
        A name or several.

    Raises
    ------
    QueryError
        There is nothing of that name; the message has the nearest.
    """
    if given is None:
        return None
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Iterable):
        raise QueryError(f"{what}= needs a name or a list of names; found {given!r}.")
    names = list(given)
    have = _FIXED.get(what) or _names(connection, what)
    for name in names:
        if name not in have:
            owned = listed(list(have)) or "none at all"
            close = nearest(str(name), tuple(have))
            if what in _FIXED:
                raise QueryError(f"{what} must be one of {owned}; found {name!r}{close}.")
            raise QueryError(f"The workspace has no {what} {name!r}{close}; it has {owned}.")
    return names


def _names(connection: duckdb.DuckDBPyConnection, what: str) -> list[str]:
    found = query(connection, f"SELECT DISTINCT name FROM ({_WHERE[what]}) WHERE name IS NOT NULL ORDER BY name")  # noqa: S608 - own
    return [str(name) for name in found["name"]]
