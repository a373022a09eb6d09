"""Import one file into a workspace, once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harnesskit.importers.flat import FLAT, FlatFile, unreadable_rows
from harnesskit.importers.formats import FORMATS, format_of
from harnesskit.importers.landing import Landed, land_online, land_run
from harnesskit.importers.opening import digest_of, first_bytes
from harnesskit.importers.rows import row_batches
from harnesskit.importers.staging import LISTED, Draft, draft
from harnesskit.model.errors import WorkspaceError, nearest
from harnesskit.workspace.documents import read_document
from harnesskit.workspace.imports import IMPORTS, SOURCE, manifest_file, write_manifest
from harnesskit.workspace.locking import hold
from harnesskit.workspace.problems import Problem
from harnesskit.workspace.reading import to_json
from harnesskit.workspace.rows import RunRow
from harnesskit.workspace.run_records import ROLES

FAILED_ROWS = "the row cannot be read ({}); it was left out."


@dataclass(frozen=True)
class Order:
    """What is asked for: a file, and what its samples are to be.

    Attributes
    ----------
    path, format
        The file, and its format or ``auto``.
    role
        ``online``, or ``control``, ``candidate``, ``replay``: those go to the run `run`.
    run, arm, source
        Names; `source` tells production's sources apart.
    columns
        Column map of a flat file, see `harnesskit.importers.columns.map_columns`.
    """

    path: Path
    format: str = "auto"
    role: str = "online"
    run: str | None = None
    arm: str | None = None
    source: str | None = None
    columns: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Imported:
    """What an import did.

    Attributes
    ----------
    format, source
        What the file was read as, and under which name.
    samples, scores
        How many were added.
    known
        Samples that were there already.
    again
        True when this very import was made before, so that nothing was read.
    columns
        The column map of a flat file.
    """

    format: str
    source: str
    samples: int = 0
    scores: int = 0
    known: int = 0
    again: bool = False
    columns: dict[str, Any] = field(default_factory=dict)


def import_file(root: Path, order: Order) -> Imported:
    """Read a file into the workspace at `root`; the same import a second time adds nothing.

    Raises
    ------
    WorkspaceError
        The file, its format, a column or the role cannot be used; nothing was imported then.
    """
    roles = [role for role in ROLES if role != "captured"]
    if order.role not in roles:
        raise WorkspaceError(
            f"role= must be one of {', '.join(roles)}; found {order.role!r}{nearest(order.role, roles)}."
        )
    if order.role == "online" and order.run is not None:
        raise WorkspaceError("run= is for samples of a run; production samples (role='online') have a source= instead.")
    first_bytes(order.path)
    form = format_of(order.path, order.format)
    if order.columns and form not in FLAT:
        raise WorkspaceError(f"columns= is for {', '.join(FLAT)}; {order.path} is a file of {form}.")
    source = order.source or (order.path.stem if form in FLAT else form)
    digest = digest_of(order.path)
    key = _key(order, form, source, digest)
    with hold(root / IMPORTS / "lock", "import samples"):
        manifest = manifest_file(root, key)
        if manifest.exists():
            columns = (read_document(manifest).value or {}).get("columns")
            return Imported(form, source, again=True, columns=columns if isinstance(columns, dict) else {})
        return _import(root, order, form, source, digest, key)


def _import(root: Path, order: Order, form: str, source: str, digest: str, key: str) -> Imported:
    run = f"online:{source}" if order.role == "online" else order.run or f"{source}-{digest[:8]}"
    prefix = source if order.role == "online" else run
    with draft(root, key) as staged:
        names = {"prefix": prefix, "run": run, "source": source, "arm": order.arm}
        columns, problems = _stage(staged, order, form, names)
        problems += staged.problems(order.path.name)
        landed = _land(root, staged, order, run, source, key)
    if landed.known:
        message = f"{landed.known:,} of its samples were imported before; they were left as they are."
        problems.append(Problem(SOURCE, order.path.name, None, "", "note", "already_imported", message))
    record = {"file": order.path.name, "sha256": digest, "source": source, "role": order.role, "run": run}
    counts = {"samples": landed.samples, "scores": landed.scores, "known": landed.known}
    write_manifest(root, key, {**record, **counts, "reader": form, "columns": columns}, problems)
    return Imported(form, source, landed.samples, landed.scores, landed.known, columns=columns)


def _land(root: Path, staged: Draft, order: Order, run: str, source: str, key: str) -> Landed:
    if order.role == "online":
        return land_online(root, staged, source, key)
    label = f"imported from {order.path.name}"
    return land_run(root, staged, RunRow(run, order.role, label, parameters=to_json({"source": source})))


def _stage(staged: Draft, order: Order, form: str, names: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Write the draft, and return the column map and what reading the file already said."""
    if form not in FLAT:
        staged.write_batches(row_batches(FORMATS[form].read(order.path), **names), order.path)
        return {}, []
    flat = FlatFile(order.path, form, order.columns, online=order.role == "online")
    for dedupe in (False, True):  # telling rows apart costs a sort, which few files need
        flat.prepare(staged.connection)
        query = flat.query(dedupe=dedupe)
        staged.write(query.text(), query.parameters(**names), order.path)
        if query.dedupe or not staged.repeats():
            break
        staged.clear()
    file = order.path.name
    said = [Problem(SOURCE, file, None, "", "note", "read_by_rule", f"{note}.") for note in flat.columns.notes]
    said += [
        Problem(SOURCE, file, line, column, "problem", "bad_row", FAILED_ROWS.format(message))
        for line, column, message in unreadable_rows(staged.connection, LISTED)
    ]
    return flat.columns.shown(), said


def _key(order: Order, form: str, source: str, digest: str) -> str:
    asked = [digest, form, order.role, order.run, order.arm, source, dict(order.columns or {})]
    return hashlib.sha256(to_json(asked).encode("utf-8")).hexdigest()[:24]
