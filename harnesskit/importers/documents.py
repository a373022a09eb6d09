"""Whole JSON files and lines of JSON, read strictly and within limits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harnesskit.importers.lines import line_batches
from harnesskit.importers.opening import refuse
from harnesskit.importers.shape import Refused
from harnesskit.workspace.problems import UnreadableError
from harnesskit.workspace.reading import parse_json, read_file


def whole(path: Path) -> Any:
    """Return the JSON value in a file.

    Raises
    ------
    WorkspaceError
        It is too large for one value, cut off, or no JSON.
    """
    try:
        data, _ = read_file(str(path))
        return parse_json(data)[0]
    except UnreadableError as error:
        raise refuse(path, error.finding.message) from error


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]] | Refused]:
    """Yield the objects in a file of lines with their line numbers, and what is no object as refused."""
    for batch in line_batches(path):
        for number, raw in zip(batch.column("line").to_pylist(), batch.column("raw").to_pylist(), strict=True):
            if not raw.strip():
                continue
            try:
                value, findings = parse_json(raw.encode("utf-8"))
            except UnreadableError as error:
                yield Refused(number, error.finding.field, error.finding.kind, error.finding.message)
                continue
            yield from (Refused(number, f.field, f.kind, f.message, f.severity) for f in findings)
            if isinstance(value, dict):
                yield number, value
            else:
                yield Refused(number, "", "not_an_object", "the line must hold a JSON object; it was left out.")


def records(path: Path, values: Any) -> Iterator[tuple[int, dict[str, Any]] | Refused]:
    """Yield the objects of a list with their places, from 1, and what is no object as refused."""
    if not isinstance(values, list):
        raise refuse(path, "the list of its results is missing.")
    for place, value in enumerate(values, start=1):
        if isinstance(value, dict):
            yield place, value
        else:
            yield Refused(place, "", "not_an_object", "the item must be a JSON object; it was left out.")
