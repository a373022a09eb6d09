"""What a reader has to know about the scores behind a verdict: left out, averaged, copied, lost, on one side only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from harnesskit.decisions.wording import NAME_LIMIT, REASON_LIMIT, and_more, counted, name
from harnesskit.model.errors import listed
from harnesskit.model.results import ONLY_BASELINE, ONLY_CANDIDATE
from harnesskit.model.text import shorten, visible

if TYPE_CHECKING:
    from harnesskit.model.policy import RegressionPolicy

_MOST_NOTES = 5
_FEW = 3


def one_sided_reasons(rows: pd.DataFrame) -> list[str]:
    """Return the cases that only one side has, a sentence per side."""
    said = []
    for reason, side in ((ONLY_BASELINE, "baseline"), (ONLY_CANDIDATE, "candidate")):
        alone = rows["reason"] == reason
        if not alone.any():
            continue
        whole = alone.groupby(rows["case_id"], observed=True).transform("all")
        cases = [name(case) for case in rows.loc[alone & whole, "case_id"].drop_duplicates()]
        pairs = rows.loc[alone & ~whole, ["case_id", "metric"]].itertuples(index=False)
        names = [*cases, *(f"{name(case)} in {name(metric)}" for case, metric in pairs)]
        said.append(f"In the {side} only, compared with nothing: {listed(names)}.")
    return said


def notes(rows: pd.DataFrame) -> list[str]:
    """Return what the frames of scores were found to hold: notes of cases, averaged rows, copies, rows without a case.

    `rows` are complete: they have ``note, n_copies, n_averaged, n_unmatched``.
    """
    said = [
        f"{_start(text)} ({_each(str(text), group)})"
        for text, group in rows[rows["note"].notna()].groupby("note", observed=True)
    ]
    out = and_more(said[:_MOST_NOTES], len(said), "note")
    averaged, copies = (rows[rows[column] > 0] for column in ("n_averaged", "n_copies"))
    if len(averaged):
        n = int(averaged["n_averaged"].sum())
        was = "was" if n == 1 else "were"
        out.append(f"{counted(n, 'row')} {was} averaged with others of the same trial ({_cases(averaged)}).")
    if len(copies):
        n = int(copies["n_copies"].sum())
        what = "row is an exact copy of another" if n == 1 else "rows are exact copies of others"
        out.append(f"{n} {what}; without a trial each counts as one.")
    left = int(rows["n_unmatched"].max()) if len(rows) else 0
    if left:
        out.append(f"{counted(left, 'row')} without a case {'was' if left == 1 else 'were'} left out.")
    return out


def scale_note(policy: RegressionPolicy) -> list[str]:
    """Return a warning when the floor lies outside the scale that every metric is put on."""
    floor = policy.floor_score
    if floor is None or 0 <= floor <= 1:
        return []
    what = "nothing can reach it" if floor > 1 else "everything lies above it"
    scale = "0 to 1, the scale that every metric is put on"
    return [
        f"The floor of {floor:g} lies outside {scale}, so {what}; give a share of the metric's range, e.g. floor:0.8."
    ]


def _cases(rows: pd.DataFrame) -> str:
    """Return the cases of some rows: up to three by name, else their number."""
    cases = rows["case_id"].drop_duplicates()
    if len(cases) > _FEW:
        return counted(len(cases), "case")
    return ", ".join(shorten(visible(str(case)), NAME_LIMIT) for case in cases)


def _each(note: str, rows: pd.DataFrame) -> str:
    """Return the cases of a note; its count, if it has one, is that of each case and not of all."""
    many = rows["case_id"].nunique() > _FEW
    return f"each of {_cases(rows)}" if many and note[:1].isdigit() else _cases(rows)


def _start(note: object) -> str:
    text = shorten(visible(str(note)), REASON_LIMIT)
    return text[:1].upper() + text[1:]
