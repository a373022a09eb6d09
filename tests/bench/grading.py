"""Grading against the bare calls of the same functions, and an expression in SQL against grading row by row."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import harnesskit as hk
from tests.bench.places import Places
from tests.bench.timing import Row, interleaved, shown

SAMPLES = 100_000
MOST_TIMES_BARE = 3.0
LEAST_TIMES_FASTER = 20.0
ROWS_ONE_BY_ONE = 1_000
"""Samples of which each is asked in a query of its own; the time is scaled up."""
PLAIN = "duration_s < 9.5 AND answer LIKE '%USD%' AND length(answer) < 80"
RULE = "output ->> '$.status' = 'refunded' AND (output ->> '$.total')::DOUBLE <= 50 AND json_array_length(steps) <= 3"


def made() -> pd.DataFrame:
    """Return samples as a workspace hands them out: JSON text, with the columns that identify a sample."""
    rng = np.random.default_rng(3)
    totals = rng.integers(100, 9_999, SAMPLES) / 100
    done = rng.random(SAMPLES) < 0.8
    steps = [json.dumps([{"tool": "find", "arguments": {"id": int(n)}}] * (int(n) % 4 + 1)) for n in range(SAMPLES)]
    answers = [
        json.dumps({"status": "refunded" if ok else "open", "total": float(total), "order": f"order {n:05d}"})
        for n, (ok, total) in enumerate(zip(done, totals, strict=True))
    ]
    return pd.DataFrame({
        "sample_id": [f"s-{n:06d}" for n in range(SAMPLES)],
        "run_id": "run-1",
        "case_id": [f"c-{n // 5:05d}" for n in range(SAMPLES)],
        "session_id": [f"r-{n:06d}" for n in range(SAMPLES)],
        "trial": np.arange(SAMPLES) % 5 + 1,
        "status": "scored",
        "output": answers,
        "answer": [f"The total is {total:.2f} USD for order {n:05d}." for n, total in enumerate(totals)],
        "duration_s": rng.gamma(2.0, 3.0, SAMPLES),
        "expected": [f"{total:.2f}" for total in totals],
        "steps": steps,
    })  # fmt: skip


def graders() -> list[Any]:
    """Return five deterministic graders of the catalogue."""
    from harnesskit import graders as catalogue

    return [
        catalogue.contains(["order", "USD"], mode="all").on(output="answer"),
        catalogue.regex(r"\d+\.\d\d USD").on(output="answer"),
        catalogue.numeric(find="last", absolute=1e9).on(output="answer"),
        catalogue.token_f1().on(output="answer"),
        catalogue.edit_similarity().on(output="answer"),
    ]


def cheapest() -> list[Any]:
    """Return five graders that hardly do anything: what is left is what grading itself costs."""
    return [hk.grader(name=f"short_{n}")(_shorter(n)) for n in range(5)]


def _shorter(n: int) -> Callable[[str], bool]:
    def shorter(answer: str) -> bool:
        return len(answer) < 30 + n

    return shorter


def bare(samples: pd.DataFrame, functions: list[Any]) -> list[list[Any]]:
    """Call the functions of the graders in plain loops, and keep what they return."""
    columns = {name: samples[name].tolist() for name in ("answer", "expected")}
    found = []
    for grader in functions:
        rows = zip(*(columns[one.column] for one in grader.parameters), strict=True)
        found.append([grader.function(*row) for row in rows])
    return found


def rule(output: str, steps: str) -> bool:
    """Say in Python what `RULE` says."""
    answer = json.loads(output)
    return answer["status"] == "refunded" and answer["total"] <= 50 and len(json.loads(steps)) <= 3


def plain(duration_s: float, answer: str) -> bool:
    """Say in Python what `PLAIN` says."""
    return duration_s < 9.5 and "USD" in answer and len(answer) < 80


def row_by_row(samples: pd.DataFrame, function: Callable[..., bool], columns: list[str]) -> pd.Series:
    """Grade as one would write it first: a function over the rows of a frame."""
    return samples.apply(lambda row: float(function(*(row[name] for name in columns))), axis=1)


def one_query_each(samples: pd.DataFrame, expression: str, columns: list[str]) -> list[Any]:
    """Ask the same expression of one row after another."""
    import duckdb

    given = ", ".join(f"${place} AS {name}" for place, name in enumerate(columns, 1))
    few = samples.head(ROWS_ONE_BY_ONE)
    with duckdb.connect() as connection:
        text = f"SELECT {expression} FROM (SELECT {given})"
        return [connection.execute(text, list(row)).fetchone() for row in zip(*(few[c] for c in columns), strict=True)]


def bench_grading(places: Places) -> list[Row]:
    """Five graders against their bare calls; the SQL grader against three ways to go row by row."""
    samples, chosen, light = made(), graders(), cheapest()
    ways: list[Callable[[], Any]] = [
        lambda: hk.grade(samples, chosen),
        lambda: bare(samples, chosen),
        lambda: hk.grade(samples, light),
        lambda: bare(samples, light),
    ]
    times = interleaved(ways, repeats=3)
    size = f"{SAMPLES:,} samples x 5 graders"
    rows = []
    for way, what, bound in ((0, "of the catalogue", MOST_TIMES_BARE), (2, "that do next to nothing", None)):
        ratio, spread = times.ratios(way, way + 1)
        took = shown(times.of(way)), shown(times.of(way + 1))
        rows.append(Row(f"{size} {what}: hk.grade / bare calls", *took, "", ratio, spread, bound))
    rows += _sql(samples, "text and numbers", PLAIN, plain, ["duration_s", "answer"], LEAST_TIMES_FASTER)
    return rows + _sql(samples, "JSON", RULE, rule, ["output", "steps"], None)


def _sql(
    samples: pd.DataFrame,
    about: str,
    expression: str,
    function: Callable[..., bool],
    columns: list[str],
    bound: float | None,
) -> list[Row]:
    """Compare one rule in SQL with the same rule row by row, in Python and as a query of its own."""
    import harnesskit.graders as catalogue

    in_sql, in_python = catalogue.sql(expression, metric="rule"), hk.grader(function)
    ways: list[Callable[[], Any]] = [
        lambda: hk.grade(samples, in_sql),
        lambda: row_by_row(samples, function, columns),
        lambda: one_query_each(samples, expression, columns),
        lambda: hk.grade(samples, in_python),
    ]
    assert hk.grade(samples, in_sql)["value"].tolist() == row_by_row(samples, function, columns).tolist()
    times = interleaved(ways, repeats=3)
    rows = []
    for way, what, scale, least in (
        (1, "frame.apply over rows", 1.0, bound),
        (2, "a query per row", SAMPLES / ROWS_ONE_BY_ONE, LEAST_TIMES_FASTER),
        (3, "hk.grade with the rule in Python", 1.0, None),
    ):
        ratio, (low, high) = times.ratios(way, 0)
        took = shown(times.of(0)), shown(times.of(way) * scale)
        named = f"{SAMPLES:,} samples, a rule over {about}: {what} / SQL grader"
        rows.append(Row(named, *took, "", ratio * scale, (low * scale, high * scale), least, least=True))
    return rows
