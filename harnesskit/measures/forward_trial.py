"""A forward trial: live sessions with and without a rule, drawn at random, as evidence about the rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harnesskit.measures.evidence import scale_of
from harnesskit.measures.evidence_rows import evidence_frame
from harnesskit.measures.forward_rows import Trial, checks
from harnesskit.measures.trial_evidence import pair_units, path_of, units_of
from harnesskit.measures.trial_history import expected
from harnesskit.measures.trial_units import PERIODS, TREATED, Sessions, sessions_of
from harnesskit.model.errors import FrameError, PolicyError, listed
from harnesskit.model.metrics import Metric, Metrics
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.promotion_results import EVIDENCE_PATH
from harnesskit.model.sessions import SESSIONS

_BY = "forward_trial()"


def forward_trial(
    sessions: pd.DataFrame,
    *,
    metric: str,
    arm: str = "arm",
    cluster: str = "cluster",
    policy: str | PromotionPolicy = "open_ended",
    observational: bool = False,
    history: pd.DataFrame | None = None,
    stratum: str | None = None,
    sd: float | None = None,
    guardrails: Iterable[str] | None = None,
    metrics: Iterable[Metric] | None = None,
) -> pd.DataFrame:
    """Weigh live sessions with a rule against sessions without it: one row per check.

    The unit is the cluster that the arm was drawn for (see `harnesskit.trial_arm`): traces are averaged per session,
    sessions per cluster and arm. Successive units with and without the rule form pairs; under "the rule does nothing"
    the difference of a pair is symmetric, whatever the noise and whatever drifts in the calendar meanwhile, and the
    e-process of its sign symmetry may be looked at after every pair (METHODS 4.2 and 5: Koning 2023). It promotes at
    1/alpha; the same process on `worthwhile` - D retires at 1/beta, and rests on the weaker assumption that an effect
    only shifts the difference. Once decided, later sessions change neither. A cluster that comes back changes its mean:
    the e-value then holds at each look, and over looks only about.

    Under a budgeted policy the budget is the promised number of units: a Welch t with Hwang-Shih-DeCani bounds, looks
    after every pair from five units per arm; from 40 units on (with 20 its error is .064).

    Parameters
    ----------
    sessions
        Long form: ``session_id, metric, value`` and `arm`; wide form: ``session_id``, a column named `metric`, and
        `arm`. Reads ``occurred_at`` (else the order of the rows counts), ``status`` and `cluster` when there. Every
        session of the trial belongs in it, healthy or not, scored or not: those without a score are counted, and
        are not healthy.
    metric
        The target, chosen before the trial.
    arm
        Column with ``candidate`` (or treatment) and ``control``; sessions without one took no part.
    cluster
        Column of what the arm was drawn for; a session without one stands alone.
    observational
        Nothing was drawn: ``before`` and ``after`` are arms too, and the evidence may retire a rule, never promote it.
    history
        Sessions before the trial, in the same form, without arm: they fix the scatter that is bet on, and what to
        expect of a stratum and of a cluster, which is subtracted (CUPED; up to 4 times fewer sessions).
    stratum
        Column of the task type or the like. With `history` its mean is subtracted, else pairs are formed inside it.
    sd
        Standard deviation of a session mean on the common scale, fixed beforehand; else from `history`, else .20.
    guardrails
        Metrics that must not get worse, each by a two-sided e-process at .01; by default all others of the long form.
    metrics
        Declarations: range, direction, threshold (for the rates of breaches, which decide nothing).

    Raises
    ------
    FrameError
        A column is missing, a session has two arms, an arm or a score cannot be read, or a session of the trial is in
        the history.
    PolicyError
        The policy is the reference's.

    Examples
    --------
    >>> block = ["candidate", "control", "control", "candidate"]
    >>> scores = [0.9, 0.5, 0.6, 0.8] * 5
    >>> trial = pd.DataFrame({"session_id": range(20), "arm": block * 5, "metric": "q", "value": scores})
    >>> evidence = forward_trial(trial, metric="q")
    >>> evidence.set_index("check")["state"][["randomised", "benefit", "futility"]].tolist()
    ['met', 'met', 'met']
    """
    trial = _trial(sessions, metric, arm, cluster, policy, observational, history, stratum, sd, guardrails, metrics)
    return evidence_frame(checks(trial), trial.rules.label)


def forward_path(
    sessions: pd.DataFrame,
    *,
    metric: str,
    arm: str = "arm",
    cluster: str = "cluster",
    policy: str | PromotionPolicy = "open_ended",
    observational: bool = False,
    history: pd.DataFrame | None = None,
    stratum: str | None = None,
    sd: float | None = None,
    metrics: Iterable[Metric] | None = None,
) -> pd.DataFrame:
    """Return where the evidence of a forward trial stood at each look: one row per check and look (`EVIDENCE_PATH`).

    It ends with the look that decided. Takes what `harnesskit.forward_trial` takes; a replay is a session here.

    Examples
    --------
    >>> block = ["candidate", "control", "control", "candidate"]
    >>> trial = pd.DataFrame({"session_id": range(20), "arm": block * 5, "q": [0.9, 0.5, 0.6, 0.8] * 5})
    >>> path = forward_path(trial, metric="q")
    >>> path.loc[path["decided"], ["check", "look"]].to_numpy().tolist()
    [['benefit', 7]]
    """
    trial = _trial(sessions, metric, arm, cluster, policy, observational, history, stratum, sd, (), metrics)
    path = trial.path
    if path is None:
        return pd.DataFrame(columns=list(EVIDENCE_PATH.columns))
    looks = np.arange(path.first_pair, path.first_pair + len(path.estimate))
    spent = np.cumsum(trial.units.table["n_sessions"].to_numpy(dtype=np.int64))[trial.pairs.closed[looks]]
    parts = [
        pd.DataFrame({
            "check": check, "look": np.arange(1, len(spent) + 1), "replays": spent, "n_control": path.n_control,
            "n_candidate": path.n_treated, "estimate": path.estimate,
            "scale": "e" if trial.rules.mode == "open_ended" else "z", "evidence": evidence, "bound": bound,
            "decided": (np.arange(len(spent)) == path.decided) & (path.verdict == verdict),
        })
        for check, verdict, evidence, bound in (
            ("benefit", "promote", path.promote, path.promote_bound),
            ("futility", "retire", path.retire, path.retire_bound),
            ("harm", "", path.harm, path.harm_bound),
        )
    ]  # fmt: skip
    frame = pd.concat(parts, ignore_index=True)
    return frame[frame["look"] <= path.last + 1].reset_index(drop=True)


@dataclass(frozen=True)
class _Asked:
    """The metrics of a trial."""

    target: Metric
    others: dict[str, Metric]

    @property
    def every(self) -> dict[str, Metric]:
        return {self.target.name: self.target, **self.others}


def _trial(
    frame: pd.DataFrame,
    metric: str,
    arm: str,
    cluster: str,
    policy: str | PromotionPolicy,
    observational: bool,
    history: pd.DataFrame | None,
    stratum: str | None,
    sd: float | None,
    guardrails: Iterable[str] | None,
    metrics: Iterable[Metric] | None,
) -> Trial:
    rules = PromotionPolicy.parse(policy)
    if rules.mode == "reference":
        raise PolicyError(f"{_BY} has no policy 'reference': use open_ended, or budgeted:80 for a promised horizon.")
    if sd is not None and not sd > 0:
        raise PolicyError(f"{_BY}: sd must be above 0 on the common scale; found {sd!r}.")
    asked = _asked(frame, metric, arm, guardrails, Metrics.of(metrics))
    read: dict[str, Any] = {"cluster": cluster, "stratum": stratum, "by": _BY}
    live = sessions_of(frame, asked.every, arm=arm, arms=PERIODS if observational else TREATED, **read)
    past = None
    if history is not None:
        past = sessions_of(history, {n: m for n, m in asked.every.items() if _has(history, n)}, arm=None, **read)
        _refuse_overlap(live, past)
    doubts = {name: _doubt(one, live.scores[name]) for name, one in asked.every.items()}
    known = {n: expected(past if past is not None and n in past.scores else None, n, sd=sd) for n in asked.every}
    units = units_of(live, metric, known[metric])
    pairs = pair_units(units, live, by_stratum=stratum is not None and past is None)
    path = None if doubts[metric] else path_of(units, pairs, known[metric], rules)
    return Trial(
        rules=rules, sessions=live, target=asked.target, others=asked.others, known=known, doubts=doubts, units=units,
        pairs=pairs, path=path, observational=observational, by_stratum=stratum is not None and past is None,
    )  # fmt: skip


def _asked(frame: pd.DataFrame, metric: str, arm: str, guardrails: Iterable[str] | None, known: Metrics) -> _Asked:
    long, seen = hasattr(frame, "columns") and "value" in frame, list[str]()
    if long:
        SESSIONS.require(frame, "session_id", "metric", "value", arm, by=_BY)
        seen = sorted({str(name) for name in frame["metric"].dropna().unique()})
        if metric not in seen:
            raise FrameError(
                f"{_BY}: no session has the metric {metric!r}; the sessions have {listed(seen) or 'none'}."
            )
    names = [n for n in seen if n != metric] if guardrails is None and long else list(guardrails or ())
    missing = [name for name in names if long and name not in seen]
    if missing:
        raise FrameError(f"{_BY}: no session has the metric {listed(missing)}; the sessions have {listed(seen)}.")
    return _Asked(known[metric], {name: known[name] for name in names if name != metric})


def _has(frame: pd.DataFrame, name: str) -> bool:
    return name in frame if "value" not in frame else bool((frame["metric"] == name).any())


def _refuse_overlap(live: Sessions, past: Sessions) -> None:
    both = sorted(set(live.names) & set(past.names))
    if both:
        some = listed([repr(name) for name in both])
        raise FrameError(f"{_BY}: the history must be sessions before the trial; found in both: {some}.")


def _doubt(metric: Metric, values: pd.Series[Any]) -> str | None:
    """Return why no verdict is possible on a metric, if so."""
    sign = -1.0 if metric.higher_is_better is False else 1.0
    own = values.dropna().to_numpy(dtype=float) * sign * float(metric.unit or 1.0)
    found = scale_of(metric, [float(own.min()), float(own.max())] if len(own) else [])["doubt"]
    return None if found is None else str(found)
