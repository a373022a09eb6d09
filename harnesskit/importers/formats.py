"""The formats that can be imported, and how a file is told to be one of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from harnesskit.importers.braintrust import read_braintrust
from harnesskit.importers.deepeval import read_deepeval
from harnesskit.importers.flat import FLAT
from harnesskit.importers.inspect_log import read_inspect
from harnesskit.importers.langfuse import read_langfuse
from harnesskit.importers.langsmith import read_langsmith
from harnesskit.importers.lm_eval import read_lm_eval
from harnesskit.importers.mlflow import read_mlflow
from harnesskit.importers.opening import first_bytes, refuse
from harnesskit.importers.otlp import read_otlp
from harnesskit.importers.phoenix import read_phoenix
from harnesskit.importers.promptfoo import read_promptfoo
from harnesskit.importers.shape import Reader
from harnesskit.model.errors import WorkspaceError, nearest


class Format(NamedTuple):
    """One tool's format: its reader, and whether the first bytes of a JSON file look like it."""

    read: Reader
    looks_like: Callable[[bytes], bool]


def _has(*keys: str) -> Callable[[bytes], bool]:
    """Return a test for the presence of every key in the first bytes."""
    patterns = [re.compile(rb'"' + re.escape(key.encode()) + rb'"\s*:') for key in keys]
    return lambda head: all(pattern.search(head) for pattern in patterns)


FORMATS: dict[str, Format] = {
    "inspect": Format(read_inspect, _has("version", "status", "eval", "eval_id")),
    "promptfoo": Format(
        read_promptfoo, lambda head: _has("evalId", "results")(head) or _has("failureReason", "promptIdx")(head)
    ),
    "langsmith": Format(read_langsmith, _has("run", "run_type", "inputs")),
    "mlflow": Format(read_mlflow, _has("info", "trace_id", "trace_metadata")),
    "otlp": Format(read_otlp, lambda head: _has("resourceSpans")(head) or _has("resource_spans")(head)),
    "phoenix": Format(read_phoenix, _has("example_id", "repetition_number", "annotations")),
    "langfuse": Format(read_langfuse, _has("item_results", "run_name")),
    "deepeval": Format(read_deepeval, _has("testCases", "metricsData")),
    "lm-eval": Format(read_lm_eval, _has("doc_id", "filtered_resps", "metrics")),
    "braintrust": Format(read_braintrust, _has("input", "output", "expected", "scores")),
}
"""Format to its reader; the flat formats (`FLAT`) are read by a column map."""


def known_formats() -> list[str]:
    """Return the names for ``format=``."""
    return ["auto", *FLAT, *FORMATS]


def format_of(path: Path, named: str) -> str:
    """Return the format of a file: the one named, or what its first bytes say.

    Raises
    ------
    WorkspaceError
        The format is not known, or the file is none that can be told.
    """
    if named != "auto":
        if named not in known_formats():
            raise WorkspaceError(
                f"format= knows no {named!r}{nearest(named, known_formats())}; there are {', '.join(known_formats())}."
            )
        return named
    head, suffix = first_bytes(path), path.suffix.lower()
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04") or suffix == ".eval":
        return "inspect"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return _json_format(path, head, suffix)
    if b"\0" in head:
        raise refuse(
            path, "it holds zero bytes, so it is neither text nor a format that is known; name it with format=."
        )
    if suffix in (".csv", ".tsv", ".txt", ""):
        return "csv"
    raise refuse(path, f"its format cannot be told; name it with format=, one of {', '.join(known_formats())}.")


def _json_format(path: Path, head: bytes, suffix: str) -> str:
    for name, one in FORMATS.items():
        if one.looks_like(head):
            return name
    first = head.lstrip(b"\xef\xbb\xbf").splitlines()[0]
    if suffix in (".jsonl", ".ndjson") or _is_object(first):
        return "jsonl"
    raise refuse(
        path, f"it is JSON of no format that is known; name it with format=, one of {', '.join(known_formats())}."
    )


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
