"""The runs behind a promotion: two frames of scores become one row per run, its scores on the common scale.

The common scale is 1 wide and higher is better. The order of the replays is that of ``round``; control runs without
one, where the candidate's have it, are the bank: they were there before the first replay. A captured score is one run
of the control side, kept apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.evidence import scale_of
from harnesskit.measures.trials import SCORED, SKIPPED, Side, one_side
from harnesskit.model.errors import FrameError, listed
from harnesskit.model.views import CASE_SCORES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harnesskit.model.metrics import Metrics

    Floats = NDArray[np.float64]

CONTROL, CANDIDATE = 0, 1
_RUN_KEYS = ("source", "role", "run_id", "arm", "round", "trial")
_TELLS_APART = ("candidate_surfaced", "status", "reason")
_NEEDED = ("case_id", "kind", "metric", "value")


@dataclass(frozen=True)
class Runs:
    """One row per run of either side.

    Attributes
    ----------
    table
        ``case_id, kind, arm`` (0 control, 1 candidate), ``sample`` (id or number), ``round`` (missing: none),
        ``captured, early`` (ended in an error or a timeout), ``read`` (1, 0 or missing), ``tried`` (false: skipped),
        ``failed`` (counted as failed for that), ``reason`` (why it has no score); in the order of the replays, the
        bank first.
    scores
        The scores of the same rows on the common scale, a column per metric; missing where unscored.
    scale
        One row per metric: ``unit, low, high, doubt``; low and high are the ends on the common scale.
    ordered
        Whether the replays have an order (``round``); without, everything is one look.
    n_unmatched
        Rows without a case, control and candidate.
    graders
        Metrics whose graders differ between the sides, in words.
    fingerprints
        Whether both sides name fingerprints and none of them is shared.
    """

    table: pd.DataFrame
    scores: pd.DataFrame
    scale: pd.DataFrame
    ordered: bool
    n_unmatched: tuple[int, int]
    graders: dict[str, str]
    fingerprints: bool

    def score(self, metric: str) -> Floats:
        """Return the scores of one metric, run by run; missing where there is none."""
        if metric not in self.scores:
            return np.full(len(self.table), np.nan)
        return self.scores[metric].to_numpy(dtype=float)

    def flag(self, column: str) -> NDArray[np.bool_]:
        """Return a column of yes and no as an array."""
        return self.table[column].to_numpy(dtype=bool)


def promotion_runs(control: pd.DataFrame, candidate: pd.DataFrame, metrics: Metrics, *, by: str) -> Runs:
    """Return the runs of both sides.

    Parameters
    ----------
    control, candidate
        Rows of case_scores: ``case_id, kind, metric, value``, and when there ``status, reason, sample_id, trial``,
        ``round, candidate_surfaced, source, role, grader, fingerprint``.
    metrics
        Declarations; a score outside its declared range is unscored.
    by
        The public function, for errors.

    Raises
    ------
    FrameError
        A column is missing, a kind is neither win nor failure, a score is text, or one metric has two graders.

    Examples
    --------
    >>> from harnesskit.model.metrics import Metrics
    >>> before = pd.DataFrame({"case_id": ["f", "w"], "kind": ["failure", "win"], "metric": "q", "value": [0.2, 0.9]})
    >>> runs = promotion_runs(before, before.assign(value=[0.8, 0.9]), Metrics(), by="example()")
    >>> runs.table[["case_id", "arm"]].values.tolist(), runs.scores["q"].tolist(), runs.ordered
    ([['f', 0], ['w', 0], ['f', 1], ['w', 1]], [0.2, 0.9, 0.8, 0.9], False)
    """
    frames = []
    for frame, what in ((control, "as the control"), (candidate, "as the candidate")):
        CASE_SCORES.require(frame, *_NEEDED, by=by, what=what)
        frames.append(_prepared(frame))
    captured = _is_captured(frames[0])
    parts = [
        (frames[0][captured], "as the control", CONTROL),
        (frames[0][~captured], "as the control", CONTROL),
        (frames[1], "as the candidate", CANDIDATE),
    ]
    sides = [one_side(rows, metrics, by=by, what=what, keep=("trial",)) for rows, what, _ in parts]
    pieces = [_one_per_run(rows, side, arm) for (rows, _, arm), side in zip(parts, sides, strict=True)]
    table = pd.concat([piece[0] for piece in pieces], ignore_index=True)
    long = pd.concat([piece[1].assign(part=i) for i, piece in enumerate(pieces)], ignore_index=True)
    made = table.loc[table["arm"] == CANDIDATE, "round"]
    ordered = bool(made.notna().any()) or made.empty  # before the first replay every control run is of the bank
    table, values, scale = _arranged(table, long, metrics)
    table = table.assign(kind=_kinds(table), failed=False)
    return Runs(
        table, values, scale, ordered, tuple(int(f["case_id"].isna().sum()) for f in frames),  # type: ignore[arg-type]
        _graders_apart(sides[1], sides[2]), _apart(frames[0][~captured], frames[1]),
    )  # fmt: skip


def _prepared(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with ``trial`` numbering the runs, in an order that does not depend on that of the rows."""
    rows = frame.reset_index(drop=True)
    if "round" in rows:
        number = pd.to_numeric(rows["round"], errors="coerce")
        odd = rows.loc[rows["round"].notna() & number.isna(), "round"]
        if len(odd):
            raise FrameError(f"column 'round' must hold numbers; found {listed(sorted({repr(v) for v in odd}))}.")
        rows["round"] = number.astype(float)
    rows["run_key"] = _run_keys(rows)
    rows["trial"] = pd.factorize(rows["run_key"], sort=True)[0]
    return rows


def _run_keys(rows: pd.DataFrame) -> list[str]:
    """Return a text per row that names its run: the sample, else what numbers the trial, else the rank among equals."""
    case = _texts(rows["case_id"])
    sample = _texts(rows["sample_id"]) if "sample_id" in rows else [""] * len(rows)
    parts = [_texts(rows[column]) if column in rows else [""] * len(rows) for column in _RUN_KEYS]
    keys = ["\x1f".join(own) for own in zip(case, *parts, strict=True)]
    numbered = parts[_RUN_KEYS.index("trial")]
    value = pd.to_numeric(rows["value"], errors="coerce").fillna(np.inf).to_numpy(dtype=float)
    bare = [at for at in range(len(rows)) if not sample[at] and not numbered[at]]
    metric = _texts(rows["metric"])
    told = [_texts(rows[column]) for column in _TELLS_APART if column in rows]
    rest = list(zip(*told, strict=True)) if told else [()] * len(rows)
    seen: dict[tuple[str, str], int] = {}
    for at in sorted(bare, key=lambda at: (keys[at], metric[at], value[at], rest[at])):
        rank = seen.get((keys[at], metric[at]), 0)
        seen[keys[at], metric[at]] = rank + 1
        lost = "" if metric[at] else "lost "  # a row without a metric is a run of its own, none of those with scores
        keys[at] = f"{keys[at]}\x1e{lost}{rank:06d}"
    return [f"{case[at]}\x1d{sample[at]}" if sample[at] else keys[at] for at in range(len(rows))]


def _texts(column: pd.Series[Any]) -> list[str]:
    """Return a column as texts, empty where missing; a number that is whole is written without a point."""
    return ["" if pd.isna(v) else str(int(v)) if isinstance(v, float) and v == int(v) else str(v) for v in column]


def _is_captured(rows: pd.DataFrame) -> NDArray[np.bool_]:
    for column in ("source", "role"):
        if column in rows:
            return (rows[column] == "captured").fillna(False).to_numpy(dtype=bool)
    return np.zeros(len(rows), dtype=bool)


def _one_per_run(rows: pd.DataFrame, side: Side, arm: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return one row per run of a side, and its scores in rows of run and metric."""
    trials = side.trials.assign(**{c: side.trials[c].astype(object) for c in ("case_id", "metric", "state", "reason")})
    grouped = trials.assign(skipped=(trials["state"] == SKIPPED).to_numpy(dtype=bool)).groupby("trial", sort=True)
    runs = grouped[["case_id", "captured"]].first().join(grouped["early"].any()).join(grouped["skipped"].all())
    lost = trials[trials["state"] != SCORED].sort_values(["trial", "reason"]).drop_duplicates("trial")
    table = runs.assign(reason=lost.set_index("trial")["reason"], arm=arm)
    matched = rows[rows["case_id"].notna()]
    firsts = matched.drop_duplicates("trial").set_index("trial")
    kinds = matched[matched["kind"].notna() & (matched["kind"] != "")].sort_values(["trial", "kind"], ascending=False)
    table["kind"] = kinds.drop_duplicates("trial").set_index("trial")["kind"].reindex(table.index)
    table["sample"] = (firsts["sample_id"] if "sample_id" in firsts else firsts["run_key"]).reindex(table.index)
    table["sample"] = table["sample"].where(table["sample"].notna(), firsts["run_key"].reindex(table.index)).astype(str)
    for column, source in (("round", "round"), ("read", "candidate_surfaced")):
        table[column] = _numbers(matched, source).groupby(matched["trial"]).max().reindex(table.index)
    table["tried"] = ~table.pop("skipped").astype(bool)
    return table.reset_index(), trials[["trial", "metric", "value"]]


def _numbers(rows: pd.DataFrame, column: str) -> pd.Series[Any]:
    if column not in rows:
        return pd.Series(np.nan, index=rows.index)
    return pd.Series([np.nan if pd.isna(v) else float(v) for v in rows[column]], index=rows.index, dtype=float)


def _arranged(
    table: pd.DataFrame, long: pd.DataFrame, metrics: Metrics
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return the runs in the order of the replays, their scores on the common scale, and the scales."""
    part = np.select([table["captured"].astype(bool), table["arm"] == CONTROL], [0, 1], 2)
    table = table.assign(part=part, at=table["round"].fillna(-np.inf))
    table = table.sort_values(["at", "part", "case_id", "trial"], kind="stable", ignore_index=True)
    named = long[long["metric"].notna()]
    key = pd.MultiIndex.from_frame(table[["part", "trial"]])
    wide = named.pivot_table(index=["part", "trial"], columns="metric", values="value", dropna=False, sort=True)
    wide = wide.reindex(key).reset_index(drop=True)
    wide.columns = [str(c) for c in wide.columns]
    scale = {}
    for name in wide.columns:
        known = wide[name].dropna()
        found = scale_of(metrics[name], [float(known.min()), float(known.max())] if len(known) else [])
        scale[name] = _ends(found)
        wide[name] = _common(wide[name].to_numpy(dtype=float), found)
    frame = pd.DataFrame.from_dict(scale, orient="index", columns=["unit", "low", "high", "doubt"])
    return table.drop(columns=["part", "at", "trial"]), wide.astype(float), frame


def _common(value: Floats, scale: dict[str, Any]) -> Floats:
    """Return scores on the common scale: from 0 to 1 where the range has both ends; missing without a scale."""
    if scale["unit"] is None:
        return np.full(len(value), np.nan)
    higher, low, high = scale["higher_is_better"], scale["range_low"], scale["range_high"]
    start = (low if higher else high) if low is not None and high is not None else 0.0
    return np.asarray((1.0 if higher else -1.0) * (value - start) / scale["unit"] + 0.0, dtype=float)


def _ends(scale: dict[str, Any]) -> tuple[Any, float, float, Any]:
    """Return unit, ends on the common scale (infinite where open) and doubt."""
    if scale["unit"] is None:
        return None, np.nan, np.nan, scale["doubt"]
    higher, low, high = scale["higher_is_better"], scale["range_low"], scale["range_high"]
    if low is not None and high is not None:
        return scale["unit"], 0.0, 1.0, None
    worst, best = (low, high) if higher else (high, low)
    sign = 1.0 if higher else -1.0
    ends = (
        -np.inf if worst is None else sign * worst / scale["unit"],
        np.inf if best is None else sign * best / scale["unit"],
    )
    return scale["unit"], *ends, None


def _kinds(table: pd.DataFrame) -> pd.Series[Any]:
    """Return the kind of each run's case: a win if any row says so, or if none says anything."""
    wins = set(table.loc[table["kind"] == "win", "case_id"])
    failures = set(table.loc[table["kind"] == "failure", "case_id"]) - wins
    return pd.Series(np.where(table["case_id"].isin(failures), "failure", "win"), index=table.index)


def _graders_apart(before: Side, after: Side) -> dict[str, str]:
    both = sorted(set(before.graders) & set(after.graders))
    return {
        metric: f"the control was scored by {before.graders[metric]!r}, the candidate by {after.graders[metric]!r}"
        for metric in both
        if before.graders[metric] != after.graders[metric]
    }


def _apart(before: pd.DataFrame, after: pd.DataFrame) -> bool:
    if "fingerprint" not in before or "fingerprint" not in after:
        return False
    known = [set(frame["fingerprint"].dropna().astype(str)) for frame in (before, after)]
    return bool(known[0]) and bool(known[1]) and not known[0] & known[1]
