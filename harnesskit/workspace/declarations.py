"""The file ``harnesskit/metrics.toml``: metrics and named policies, declared once for a workspace."""

from __future__ import annotations

import tomllib
from pathlib import Path
from sys import float_info
from typing import Any, NamedTuple

from pydantic import ValidationError

from harnesskit.model.errors import PolicyError, nearest
from harnesskit.model.metrics import Metric
from harnesskit.model.policy import RegressionPolicy
from harnesskit.workspace.layout import METRICS
from harnesskit.workspace.problems import Finding, Problem, UnreadableError, shown
from harnesskit.workspace.reading import read_file

SOURCE = "metrics"
_LARGEST = float_info.max
_NUMBERS = ("low", "high", "threshold", "tolerance")
_FIELDS = (*_NUMBERS, "higher_is_better", "tier")


class Declarations(NamedTuple):
    """What a workspace declares, and what was wrong in the file."""

    metrics: list[Metric]
    policies: dict[str, RegressionPolicy]
    problems: list[Problem]


def read_declarations(root: Path) -> Declarations:
    """Return the metrics and policies that a workspace declares; none when it has no such file.

    A metric is a table ``[metrics.<name>]`` with ``low``, ``high`` (``"unbounded"`` for no limit), ``threshold``,
    ``tolerance``, ``higher_is_better`` (``"unknown"`` for no direction) and ``tier``; what is left out has the default
    of `harnesskit.model.metrics.Metric`. A policy is a table ``[policies.<name>]`` with fields of
    `harnesskit.model.policy.RegressionPolicy`. A declaration that cannot be used costs only itself.
    """
    path = root / METRICS
    if not path.exists():
        return Declarations([], {}, [])
    try:
        data, _ = read_file(str(path))
        document = tomllib.loads(data.decode("utf-8-sig"))
    except UnreadableError as error:
        return Declarations([], {}, [error.finding.at(SOURCE, METRICS)])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"Not TOML: {error}; nothing in it was used."
        return Declarations([], {}, [Finding("", "problem", "not_toml", message).at(SOURCE, METRICS)])
    said: list[Finding] = []
    metrics = [m for name, body in _tables(document, "metrics", said) if (m := _metric(name, body, said))]
    policies = {name: p for name, body in _tables(document, "policies", said) if (p := _policy(name, body, said))}
    for name in document:
        if name not in ("metrics", "policies"):
            message = f"[{name}] is not known{nearest(name, ('metrics', 'policies'))}; it was not used."
            said.append(Finding(name, "problem", "unknown_field", message))
    return Declarations(metrics, policies, [finding.at(SOURCE, METRICS) for finding in said])


def _tables(document: dict[str, Any], name: str, said: list[Finding]) -> list[tuple[str, dict[str, Any]]]:
    found = document.get(name, {})
    if not isinstance(found, dict):
        said.append(Finding(name, "problem", "not_a_table", f"{name} must be tables [{name}.<name>]; it was not used."))
        return []
    tables = []
    for key, body in found.items():
        if isinstance(body, dict):
            tables.append((key, body))
        else:
            message = f"{name}.{key} is {shown(body)}, not a table; write [{name}.{key}] with fields below it."
            said.append(Finding(f"{name}.{key}", "problem", "not_a_table", message))
    return tables


def _metric(name: str, body: dict[str, Any], said: list[Finding]) -> Metric | None:
    field = f"metrics.{name}"
    values: dict[str, Any] = {}
    for key, raw in body.items():
        if key not in _FIELDS:
            message = f"{key!r} is not a field of a metric{nearest(key, _FIELDS)}; the metric was not used."
            said.append(Finding(f"{field}.{key}", "problem", "unknown_field", message))
            return None
        wanted, value = _value(key, raw)
        if value is None and raw not in ("unbounded", "unknown"):
            message = f"{field}.{key} is {shown(raw)}; it must be {wanted}. The metric was not used."
            said.append(Finding(f"{field}.{key}", "problem", "bad_value", message))
            return None
        values[key] = value
    try:
        return Metric(name, **values)
    except PolicyError as error:
        said.append(Finding(field, "problem", "bad_value", f"{error}. The metric was not used."))
        return None


def _value(key: str, raw: object) -> tuple[str, bool | int | float | None]:
    """Return what a field of a metric must be, in words, and its value; None when it is something else."""
    if key == "higher_is_better":
        return "true or false", raw if isinstance(raw, bool) else None
    if key == "tier":
        good = isinstance(raw, int) and not isinstance(raw, bool) and 0 <= raw <= 3
        return "a whole number from 0 to 3", raw if good and isinstance(raw, int) else None
    if isinstance(raw, (int, float)) and not isinstance(raw, bool) and abs(raw) <= _LARGEST:
        return "a number", float(raw)
    return "a finite number", None


def _policy(name: str, body: dict[str, Any], said: list[Finding]) -> RegressionPolicy | None:
    try:
        return RegressionPolicy(**{**body, "name": name})
    except PolicyError as error:
        cause = error.__cause__
        first = cause.errors()[0] if isinstance(cause, ValidationError) else None
        if first is None or not first["loc"]:
            said.append(
                Finding(f"policies.{name}", "problem", "bad_value", f"policies.{name}: {error} It was not used.")
            )
            return None
        key = ".".join(str(part) for part in first["loc"])
        hint = nearest(key, tuple(RegressionPolicy.model_fields))
        message = f"policies.{name}.{key}: {first['msg']}{hint}; found {shown(first['input'])}. It was not used."
        said.append(Finding(f"policies.{name}.{key}", "problem", "bad_value", message))
        return None
