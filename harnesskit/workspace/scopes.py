"""The scopes rules are filed under: scope_metadata.json, written since 0.9."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from harnesskit.workspace.documents import kind_of, read_document
from harnesskit.workspace.fields import Fields
from harnesskit.workspace.layout import SCOPES
from harnesskit.workspace.problems import Finding, Problem
from harnesskit.workspace.reading import clean_text

SOURCE = "scopes"


class Scope(NamedTuple):
    """One scope: its name, what it is for, and who described it."""

    scope: str
    description: str | None
    source: str | None


class Scopes(NamedTuple):
    """The described scopes, in order of their names, and what had to be said."""

    scopes: list[Scope]
    problems: list[Problem]


def read_scopes(path: str | Path, *, file: str = SCOPES) -> Scopes:
    """Return the scopes described in the file, one per scope; a missing file describes none.

    Examples
    --------
    >>> read_scopes("no/such/scope_metadata.json")
    Scopes(scopes=[], problems=[])
    """
    value, findings = read_document(path)
    scopes = []
    for name, raw in sorted((value or {}).items()):
        if not isinstance(raw, dict):
            message = f"A scope must be an object; found {kind_of(raw)}. It was left out."
            findings.append(Finding(clean_text(name), "problem", "wrong_type", message))
            continue
        fields = Fields(raw, f"{name}.")
        scopes.append(Scope(clean_text(name), fields.text("description"), fields.text("source")))
        findings.extend(fields.findings)
    return Scopes(scopes, [finding.at(SOURCE, file) for finding in findings])
