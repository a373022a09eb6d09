"""The part of ``harnesskit load`` that brings a file into the workspace."""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from typing import Any

from harnesskit.harness import Harness
from harnesskit.model.errors import WorkspaceError
from harnesskit.model.text import counted
from harnesskit.terminal import tell


def import_from(harness: Harness, arguments: Namespace) -> dict[str, Any]:
    """Import the file that the arguments name, say what was read from where, and return the same as an object."""
    harness.import_samples(
        arguments.file,
        format=arguments.format,
        role=arguments.role,
        run=arguments.run,
        arm=arguments.arm,
        source=arguments.source,
        columns=columns_of(arguments.column),
        scale=scale_of(arguments.scale),
    )
    done = harness.imported
    if done is None:
        raise WorkspaceError(f"nothing is known of the import of {arguments.file}")
    if done.again:
        tell(arguments, f"{arguments.file}: imported before as {done.format}; nothing was added.")
    else:
        added = f"{counted(done.samples, 'sample')} and {counted(done.scores, 'score')} added"
        tell(arguments, f"{arguments.file}: read as {done.format}; {added}, {done.known:,} there before.")
    if done.columns:
        pairs = ", ".join(f"{ours}={_shown(theirs)}" for ours, theirs in done.columns.items())
        tell(arguments, f"columns (change one with --column): {pairs}")
    return dataclasses.asdict(done)


def columns_of(given: list[str]) -> dict[str, Any]:
    """Return the column map that is given as texts; nothing after the sign means that the column is not guessed.

    Examples
    --------
    >>> columns_of(["case_id=id", "metrics=accuracy,cost", "cluster="])
    {'case_id': 'id', 'metrics': ['accuracy', 'cost'], 'cluster': None}
    """
    pairs = [_pair(one, "--column", "OURS=THEIRS") for one in given]
    return {ours: theirs.split(",") if ours == "metrics" else theirs or None for ours, theirs in pairs}


def scale_of(given: list[str]) -> dict[str, tuple[float | None, float | None]]:
    """Return the scales that are given as texts.

    Examples
    --------
    >>> scale_of(["rating=1:5", "cost=0:"])
    {'rating': (1.0, 5.0), 'cost': (0.0, None)}
    """
    found = {}
    for one in given:
        metric, ends = _pair(one, "--scale", "METRIC=LOW:HIGH")
        low, colon, high = ends.partition(":")
        try:
            if not colon:
                raise ValueError(ends)
            found[metric] = (float(low) if low else None, float(high) if high else None)
        except ValueError:
            raise WorkspaceError(f"--scale needs METRIC=LOW:HIGH, e.g. rating=1:5; found {one!r}.") from None
    return found


def _pair(one: str, option: str, form: str) -> tuple[str, str]:
    name, sign, value = one.partition("=")
    if not sign or not name:
        raise WorkspaceError(f"{option} needs {form}; found {one!r}.")
    return name, value


def _shown(theirs: Any) -> str:
    if isinstance(theirs, dict):
        return ",".join(name if name == column else f"{name} (from {column})" for name, column in theirs.items())
    return str(theirs)
