"""The two sides of a trial of a rule as rows of scores: frozen control runs and those of the trial; candidate runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pandas as pd

from harnesskit.replays.setup import Record
from harnesskit.trials.promotion_frozen import FrozenPromotion
from harnesskit.trials.replayer import reason_code
from harnesskit.trials.win import CONTROL
from harnesskit.workspace.rows import SampleRow

COLUMNS = (
    *("case_id", "kind", "metric", "value", "status", "reason", "grader", "source", "trial", "round", "sample_id"),
    *("session_id", "candidate_surfaced"),
)
_STATED = ("error", "timeout", "skipped")


class Sides(NamedTuple):
    """Rows of both arms, as `harnesskit.promotion_evidence` takes them."""

    control: pd.DataFrame
    candidate: pd.DataFrame


def made(records: Iterable[Record]) -> list[Record]:
    """Return the attempts that came to an end, in the order of replays; interrupted ones are none."""
    ended = [one for one in records if one.sample.round is not None and reason_code(one.sample) != "interrupted"]
    return sorted(ended, key=lambda one: one.sample.round or 0)


def side_frames(frozen: FrozenPromotion, records: Iterable[Record]) -> Sides:
    """Return the rows of both arms; what has a ``round`` was replayed in the trial, the rest was there before it."""
    kinds = frozen.kinds
    before: list[tuple[Any, ...]] = []
    for case, kind in kinds.items():
        runs = frozen.controls.get(case, ())
        for place, run in enumerate(runs, 1):
            before += [
                (case, kind, metric, value, "ok", None, None, run.source, place, None, run.sample_id, None, None)
                for metric, value in run.scores.items()
            ]
    after: list[tuple[Any, ...]] = []
    for record in made(records):
        case = record.sample.case_id or ""
        if case in kinds:
            (before if record.sample.arm == CONTROL else after).extend(_rows(record, kinds[case]))
    return Sides(_frame(before), _frame(after))


def _rows(record: Record, kind: str) -> list[tuple[Any, ...]]:
    sample, scores = record
    # a control run of the trial must not share its number with a banked one
    trial = 10_000 + (sample.trial or 0) if sample.arm == CONTROL else sample.trial
    ends = ("control" if sample.arm == CONTROL else None, trial, sample.round, sample.sample_id, sample.session_id)
    if not scores or sample.status in _STATED:
        state = sample.status if sample.status in _STATED else "unscored"
        why = sample.reason or sample.status
        return [(sample.case_id, kind, None, None, state, why, None, *ends, sample.candidate_surfaced)]
    return [
        (sample.case_id, kind, one.metric, one.value, one.status, one.reason, one.grader, *ends,
         sample.candidate_surfaced)
        for one in scores
    ]  # fmt: skip


def _frame(rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    texts = ("metric", "reason", "grader", "source", "sample_id", "session_id", "candidate_surfaced")
    return frame.astype({"value": float, "round": "Int64", "trial": "Int64", **dict.fromkeys(texts, object)})


def sample_frame(records: Iterable[Record]) -> pd.DataFrame:
    """Return one row per attempt of the trial, interrupted ones too, by the columns of the table ``samples``."""
    return pd.DataFrame([one.sample for one in records], columns=list(SampleRow._fields))
