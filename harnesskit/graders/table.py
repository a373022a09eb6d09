"""The frame that grading hands out: one row per sample, metric and grader, in the order of the samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harnesskit.graders.grader import Grader
from harnesskit.graders.verdicts import Failed, verdict
from harnesskit.model.grade import GRADES, IDENTITY, STATUSES
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.workspace.problems import shown

_CODE = {status: code for code, status in enumerate(STATUSES)}
_PLAIN = {bool, float, int}


class Block(NamedTuple):
    """What one grader says of one metric, sample by sample; `status` is a place in `STATUSES`."""

    metric: str
    grader: str
    version: str
    value: NDArray[np.float64]
    status: NDArray[np.int8]
    reason: NDArray[np.object_]
    details: NDArray[np.object_]


def block_of_array(grader: Grader, metric: Metric, value: NDArray[np.float64], without: str) -> Block:
    """Return the block of finished numbers; NaN stands for no value, for which the reason is `without`."""
    block = _block(grader, metric, value)
    empty = np.isnan(value)
    block.status[empty], block.reason[empty] = _CODE["unscored"], without
    return block


def blocks_of(grader: Grader, results: list[Any], metrics: Metrics) -> list[Block]:
    """Return one block per metric that `grader` has declared or named, from its results sample by sample."""
    ranges = {metric.name: metric for metric in grader.metrics} | metrics.by_name
    by_mapping = any(issubclass(kind, Mapping) for kind in set(map(type, results)))
    named = [metric.name for metric in grader.metrics]
    if by_mapping:
        results = [_named(result) if isinstance(result, Mapping) else result for result in results]
        named += [name for result in results if isinstance(result, dict) for name in result]
        if any(not isinstance(result, (Mapping, Failed)) and result is not None for result in results):
            named.append(grader.default_metric)
    blocks = []
    for name in dict.fromkeys(named or [grader.default_metric]):
        metric = ranges.get(name) or Metrics()[name]
        mine = [_part(result, name, grader) for result in results] if by_mapping else results
        blocks.append(_block(grader, metric, mine))
    return blocks


def _named(result: Mapping[Any, Any]) -> dict[str, Any] | Failed:
    odd = [name for name in result if not isinstance(name, str) or not name]
    if odd:
        return Failed("error", f"a metric must be named by text; the grader named one {shown(odd[0])}")
    return dict(result)


def _part(result: Any, name: str, grader: Grader) -> Any:
    """Return what a result says of one of several metrics."""
    if isinstance(result, dict):
        return result[name] if name in result else Failed("unscored", f"the grader gave no {shown(name)} here")
    if result is None or isinstance(result, Failed) or name == grader.default_metric:
        return result
    return Failed("unscored", f"the grader gave no {shown(name)} here")


def _block(grader: Grader, metric: Metric, results: list[Any] | NDArray[np.float64]) -> Block:
    n = len(results)
    status = np.zeros(n, dtype=np.int8)
    reason, details = np.full(n, None, dtype=object), np.full(n, None, dtype=object)
    value, odd = _numbers(results, metric)
    for place in odd:
        told = verdict(results[place], metric)
        value[place] = np.nan if told.value is None else told.value
        status[place] = _CODE[told.status]  # type: ignore[index]
        reason[place], details[place] = told.reason, told.details
    return Block(metric.name, grader.name, grader.version, value, status, reason, details)


def _numbers(results: list[Any] | NDArray[np.float64], metric: Metric) -> tuple[NDArray[np.float64], list[int]]:
    """Return the results as numbers, and the places of those that need a closer look."""
    odd: list[int] = []
    if isinstance(results, np.ndarray):
        value = results.astype(float)
    else:
        if not set(map(type, results)) <= _PLAIN:
            odd = [place for place, result in enumerate(results) if type(result) not in _PLAIN]
            results = [0.0 if type(result) not in _PLAIN else result for result in results]
        try:
            value = np.array(results, dtype=float)
        except OverflowError:  # an integer that no float holds
            return np.full(len(results), np.nan), list(range(len(results)))
    slack = 1e-9 * (metric.span or 1.0)
    inside = np.isfinite(value)
    if metric.low is not None:
        inside &= value >= metric.low - slack
    if metric.high is not None:
        inside &= value <= metric.high + slack
    if isinstance(results, np.ndarray):
        inside |= np.isnan(value)
    return value, odd if inside.all() else sorted({*odd, *np.flatnonzero(~inside).tolist()})


def grades_frame(samples: pd.DataFrame, blocks: Sequence[Block]) -> pd.DataFrame:
    """Return the rows of all blocks, sample by sample, with what identifies the sample (`GRADES`)."""
    n, size = len(samples), len(blocks)
    place, block = np.repeat(np.arange(n), size), np.tile(np.arange(size), n)
    columns: dict[str, Any] = {
        name: samples[name].take(place).reset_index(drop=True) if size != 1 else samples[name]
        for name in IDENTITY
        if name in samples
    }
    for name in ("metric", "grader", "version"):  # plain object columns: taking pointers costs least
        told = np.array([getattr(one, name) for one in blocks], dtype=object)
        columns["grader_version" if name == "version" else name] = pd.Series(told[block], dtype=object)
    columns["value"] = _interleaved([one.value for one in blocks], np.dtype(float))
    codes = _interleaved([one.status for one in blocks], np.dtype(np.int8))
    columns["status"] = pd.Series(np.array(STATUSES, dtype=object)[codes], dtype=object)
    for name in ("reason", "details"):
        told = _interleaved([getattr(one, name) for one in blocks], np.dtype(object))
        columns[name] = pd.Series(told, dtype=object)
    return GRADES.order(pd.DataFrame(columns))


def _interleaved(arrays: Sequence[NDArray[Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.array(arrays, dtype=dtype).T.ravel() if arrays else np.empty(0, dtype=dtype)
