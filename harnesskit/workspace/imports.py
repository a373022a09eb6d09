"""What was imported: ``harnesskit/imports/<key>.json``, one file per import, so that a second one adds nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harnesskit.workspace.atomic import json_file_bytes, write_atomic
from harnesskit.workspace.documents import list_documents, read_document
from harnesskit.workspace.layout import OURS
from harnesskit.workspace.problems import Problem

IMPORTS = f"{OURS}/imports"
SOURCE = "import"


def manifest_file(root: Path, key: str) -> Path:
    """Return the file that says what the import of this key did."""
    return root / IMPORTS / f"{key}.json"


def write_manifest(root: Path, key: str, record: dict[str, Any], problems: list[Problem]) -> None:
    """Write what an import did, what it refused included."""
    said = [
        {"line": p.line, "field": p.field, "severity": p.severity, "kind": p.kind, "message": p.message}
        for p in problems
    ]
    path = manifest_file(root, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json_file_bytes({"format": 1, **record, "problems": said}))


def read_import_problems(root: Path) -> list[Problem]:
    """Return what the imports of a workspace refused or read by a rule, with the file as it was called then."""
    names, problems = list_documents(root / IMPORTS, SOURCE, IMPORTS)
    for name in names:
        record, findings = read_document(root / IMPORTS / name)
        problems += [finding.at(SOURCE, f"{IMPORTS}/{name}") for finding in findings]
        said = (record or {}).get("problems")
        for one in said if isinstance(said, list) else []:
            if isinstance(one, dict):
                problems.append(_problem(str((record or {}).get("file", name)), one))
    return problems


def _problem(file: str, one: dict[str, Any]) -> Problem:
    line = one.get("line")
    severity = "note" if one.get("severity") == "note" else "problem"
    texts = (str(one.get(name, "")) for name in ("field", "kind", "message"))
    field, kind, message = texts
    return Problem(SOURCE, file, line if isinstance(line, int) else None, field, severity, kind, message)  # type: ignore[arg-type]
