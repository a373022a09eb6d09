"""What judges were asked, what they replied and what it cost, read from the details of graded samples."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.model.grade import GRADES
from harnesskit.model.grader_trust import JUDGE_LEDGER, JUDGE_VOTES

_WHO = ["metric", "grader", "grader_version"]
_OUTCOMES = ("answered", "rate_limited", "server_error", "timed_out", "unreachable", "failed")
_TOKENS = ("input_tokens", "output_tokens", "cost_usd")


def judge_votes(grades: pd.DataFrame) -> pd.DataFrame:
    """Return one row per reply of a judge, in the order of the samples; graders that are no judges have none.

    Parameters
    ----------
    grades
        What `harnesskit.grade` returned; reads ``sample_id, metric, details``.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> details = '{"votes": [{"vote": 1, "status": "ok", "value": 1.0, "answer": true, "calls": ["answered"]}]}'
    >>> rows = pd.DataFrame({"sample_id": ["s-1"], "metric": "correct", "grader": "judge", "details": [details]})
    >>> judge_votes(rows)[["sample_id", "vote", "status", "answer", "outcomes"]].values.tolist()
    [['s-1', 1, 'ok', 'true', 'answered']]
    """
    GRADES.require(grades, "sample_id", "metric", "details", by="judge_votes()")
    kept = [name for name in ("sample_id", "case_id", "trial", *_WHO) if name in grades]
    found: list[dict[str, Any]] = []
    for row in grades[[*kept, "details"]].to_dict("records"):
        who = {name: row[name] for name in kept}
        found += [{**who, **_vote(vote)} for vote in _votes(row["details"])]
    frame = pd.DataFrame(found, columns=list(JUDGE_VOTES.columns))
    whole = {"vote": "Int64", "input_tokens": "Int64", "output_tokens": "Int64"}
    numbers = dict.fromkeys(("value", "seconds", "cost_usd"), "float64")
    return frame.astype({**whole, **numbers, "kept": "bool"})


def judge_ledger(grades: pd.DataFrame) -> pd.DataFrame:
    """Return what judging took: one row per metric and judge, sums over samples; see the contract for what adds up.

    Parameters
    ----------
    grades
        What `harnesskit.grade` returned; reads ``sample_id, metric, status, details``, ``grader`` and
        ``grader_version`` when there.

    Raises
    ------
    FrameError
        A column is missing.

    Examples
    --------
    >>> vote = {"vote": 1, "status": "ok", "calls": ["rate_limited", "answered"], "input_tokens": 90}
    >>> rows = pd.DataFrame({"sample_id": ["s-1"], "metric": "correct", "grader": "judge", "status": "ok"})
    >>> ledger = judge_ledger(rows.assign(details=json.dumps({"votes": [vote]}))).iloc[0]
    >>> [int(ledger[name]) for name in ("n_calls", "answered", "rate_limited", "input_tokens")]
    [2, 1, 1, 90]
    """
    GRADES.require(grades, "sample_id", "metric", "status", "details", by="judge_ledger()")
    rows = grades.assign(**{name: None for name in _WHO if name not in grades})
    votes = judge_votes(rows)
    judged = rows[[bool(_votes(details)) for details in rows["details"]]]
    by_judge = dict(iter(votes.groupby(_WHO, dropna=False)))
    found = []
    for who, samples in judged.groupby(_WHO, dropna=False, sort=True):
        own = next(group for key, group in by_judge.items() if _same(key, who))
        found.append({**dict(zip(_WHO, who, strict=True)), **_samples(samples), **_replies(own), **_costs(own)})
    frame = pd.DataFrame(found, columns=list(JUDGE_LEDGER.columns))
    usd = [name for name in frame if str(name).endswith("cost_usd")]
    counts = [name for name in frame if name not in (*_WHO, *usd)]
    return frame.astype({**dict.fromkeys(counts, "Int64"), **dict.fromkeys(usd, "float64")})


def _votes(details: object) -> list[dict[str, Any]]:
    """Return the votes that a grade was made of; other details have none."""
    if not isinstance(details, str):
        return []
    try:
        found = json.loads(details)
    except ValueError:
        return []
    votes = found.get("votes") if isinstance(found, dict) else None
    return [vote for vote in votes if isinstance(vote, dict)] if isinstance(votes, list) else []


def _vote(vote: dict[str, Any]) -> dict[str, Any]:
    answer = vote.get("answer")
    plain = ("vote", "order", "status", "value", "reason", "reply", "seconds", *_TOKENS)
    return {
        **{name: vote.get(name) for name in plain},
        "answer": answer if answer is None or isinstance(answer, str) else json.dumps(answer),
        "kept": bool(vote.get("kept")),
        "outcomes": " ".join(str(call) for call in vote.get("calls") or ()),
    }


def _samples(samples: pd.DataFrame) -> dict[str, Any]:
    status = samples["status"]
    n, scored, failed = len(samples), int((status == "ok").sum()), int((status == "error").sum())
    return {"n_judgments": n, "n_scored": scored, "n_unscored": n - scored - failed, "n_errors": failed}


def _replies(votes: pd.DataFrame) -> dict[str, Any]:
    asked = votes.loc[~votes["kept"], "status"]
    calls = [call for text in votes["outcomes"] for call in str(text).split()]
    return {
        "n_votes": len(votes), "n_kept": int(votes["kept"].sum()), "n_readable": int((asked == "ok").sum()),
        "n_unreadable": int((asked == "unreadable").sum()), "n_refused": int((asked == "refused").sum()),
        "n_lost": int((asked == "error").sum()), "n_calls": len(calls),
        **{outcome: calls.count(outcome) for outcome in _OUTCOMES},
    }  # fmt: skip


def _costs(votes: pd.DataFrame) -> dict[str, Any]:
    paid, kept = votes[~votes["kept"]], votes[votes["kept"]]
    heard = paid[paid["status"] != "error"]
    return {
        **{name: _sum(paid[name]) for name in _TOKENS},
        **{f"kept_{name}": _sum(kept[name]) for name in _TOKENS},
        "n_uncounted": int((heard["input_tokens"].isna() | heard["output_tokens"].isna()).sum()),
    }


def _sum(column: pd.Series[Any]) -> Any:
    if column.name == "cost_usd":
        return float(column.sum()) if column.notna().any() else np.nan
    return int(column.fillna(0).sum())


def _same(left: Any, right: Any) -> bool:
    return all(a == b or (pd.isna(a) and pd.isna(b)) for a, b in zip(left, right, strict=True))
