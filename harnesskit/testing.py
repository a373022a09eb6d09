"""Conformance kits for what you write yourself, to be called in your own tests."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from harnesskit.graders.grader import Grader, as_grader
from harnesskit.graders.grading import grade
from harnesskit.model.grade import STATUSES

_STEPS = [{"tool": "find", "arguments": {"id": 7}}, {"tool": "refund", "arguments": {"id": 7, "amount": 19.0}}]
_TYPICAL: dict[str, list[Any]] = {
    "output": ["Paris", "The refund of 19.00 USD is on its way.", '{"total": 19.0}', "I cannot help with that.", ""],
    "expected": ["Paris", "19", '{"total": 19}', "yes", "no"],
    "steps": [_STEPS, _STEPS[:1], [], _STEPS * 2, [{"role": "assistant", "content": "done"}]],
    "expected_calls": [_STEPS, _STEPS, _STEPS[:1], [], _STEPS],
    "best_steps": [2, 1, 1, 3, 2],
    "duration_s": [1.5, 30.0, 0.0, 3.25, 900.0],
    "cost_usd": [0.001, 0.02, 0.0, 3.0, 0.5],
    "input_tokens": [100, 2000, 0, 10, 5],
    "output_tokens": [50, 900, 0, 1, 7],
    "status": ["scored", "inconclusive", "scored", "error", "timeout"],
    "session_id": ["s-1", "s-2", "s-3", "s-4", "s-5"],
}


def _deep(depth: int) -> str:
    return "[" * depth + "]" * depth


HOSTILE: tuple[Any, ...] = (
    None, float("nan"), pd.NaT, "", " ", "x" * 300_000, "a" * 5_000 + "!", _deep(50_000), _deep(150), '{"a": NaN}',
    "{", "\ud800", "\x00", "1e999", "٣", "🙂" * 50, "1,000.5", True, -1, 10**400, float("inf"), 3.5, [], {}, [None],
    [[1]], [1, "a", {"tool": 3}], {"tool": None}, [{"tool": "find", "arguments": "{"}], [{"tool_calls": "no"}],
    object(), b"raw",
)  # fmt: skip
"""Cells that turn up where text, a number or steps should be."""


def check_grader(
    grader: Grader | Callable[..., Any], samples: pd.DataFrame | None = None, *, deterministic: bool = True
) -> None:
    """Raise `AssertionError`, naming every fault, unless a grader keeps what graders promise.

    It has a docstring and a version; says the same when asked again, in another order and about one sample alone;
    leaves its cells as they are; stays in the range of its metric; and answers missing and hostile cells with a
    status and a reason.

    Parameters
    ----------
    grader
        A grader, or a plain function whose parameter names are columns.
    samples
        Samples that it should be able to grade without an error; made up when None.
    deterministic
        False for a judge: it need not say the same twice.

    Raises
    ------
    AssertionError
        With all the faults.

    Examples
    --------
    >>> from harnesskit.graders.grader import grader
    >>> @grader
    ... def polite(output: str) -> bool:
    ...     "Whether the answer says please."
    ...     return "please" in output.lower()
    >>> check_grader(polite)
    """
    made = as_grader(grader)
    own = samples is not None
    frame = _typical(made) if samples is None else samples.reset_index(drop=True)
    faults = [*_described(made), *_faults(made, frame, deterministic, own), *_hostile_faults(made, frame)]
    if faults:
        raise AssertionError(f"grader {made.name!r}:\n" + "\n".join(f"- {fault}" for fault in faults))


def _described(grader: Grader) -> Iterator[str]:
    words = inspect.getdoc(grader)
    if not words or not words.strip():
        yield "has no docstring: say in one sentence what 1 and 0 mean, and which columns it reads"
    if not grader.version:
        yield "has no version"


def _faults(grader: Grader, samples: pd.DataFrame, deterministic: bool, own: bool) -> Iterator[str]:
    before = copy.deepcopy(samples.to_dict("list"))
    first = _said(grader, samples)
    if repr(samples.to_dict("list")) != repr(before):
        yield "changes the cells it reads: other graders see them too"
    yield from _closed(first)
    bad = ("error", "out_of_range") if own else ("out_of_range",)
    wrong = [f"{key[0]}: {row[1]}, {row[2]}" for key, row in first.items() if row[1] in bad]
    if wrong:
        yield f"gives no usable value on the samples: {'; '.join(wrong[:3])}"
    if not deterministic:
        return
    if _said(grader, samples) != first:
        yield "does not say the same when asked again"
    if _said(grader, samples.iloc[::-1]) != first:
        yield "says something else when the samples come in another order"
    alone: dict[Any, Any] = {}
    for place in range(len(samples)):
        alone |= _said(grader, samples.iloc[[place]])
    if any(alone[key] != row for key, row in first.items() if key in alone):
        yield "says something else about a sample alone than among others"


def _hostile_faults(grader: Grader, samples: pd.DataFrame) -> Iterator[str]:
    """Put hostile cells into each column in turn, beside the good samples."""
    if samples.empty:
        return
    first = _said(grader, samples)
    for column in [name for name in samples.columns if name not in ("sample_id", "status")]:
        bad = pd.DataFrame([samples.iloc[0]] * len(HOSTILE)).reset_index(drop=True).astype(object)
        bad["sample_id"] = [f"hostile-{place}" for place in range(len(HOSTILE))]
        bad[column] = pd.Series(list(HOSTILE), dtype=object)
        both = pd.concat([samples.astype(object), bad], ignore_index=True)
        try:
            said = _said(grader, both)
        except Exception as error:
            yield f"loses all samples when a cell of {column!r} is hostile: {type(error).__name__}: {error}"
            continue
        yield from _closed(said)
        if any(said.get(key, row)[1] != row[1] for key, row in first.items()):
            yield f"says something else about the good samples beside hostile cells of {column!r}"


def _said(grader: Grader, samples: pd.DataFrame) -> dict[Any, tuple[Any, str, Any]]:
    rows = grade(samples, grader)
    keys = zip(rows["sample_id"], rows["metric"], strict=True)
    values = [None if pd.isna(value) else float(value) for value in rows["value"]]
    return dict(zip(keys, zip(values, rows["status"], rows["reason"], strict=True), strict=True))


def _closed(said: dict[Any, tuple[Any, str, Any]]) -> Iterator[str]:
    for (sample, _), (value, status, reason) in said.items():
        if status not in STATUSES or (value is None) == (status == "ok"):
            yield f"{sample}: the status {status!r} with the value {value!r}"
        elif status != "ok" and not reason:
            yield f"{sample}: {status} without a reason"


def _typical(grader: Grader) -> pd.DataFrame:
    reads = getattr(grader, "reads", grader.columns)
    columns = {name: _TYPICAL.get(name, _TYPICAL["output"]) for name in reads if name != "sample_id"}
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    if frame.empty:
        frame = pd.DataFrame(index=range(5))
    frame.insert(0, "sample_id", [f"s-{place}" for place in range(1, len(frame) + 1)])
    return frame
