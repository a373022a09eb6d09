"""The evidence about a guard look by look: how it came to where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harnesskit.measures.promotion_benefit import Benefit, benefit_of
from harnesskit.measures.promotion_guard import Guard, guard_of
from harnesskit.measures.promotion_stage import harm_scale
from harnesskit.measures.promotion_trial import Trial, trial_of
from harnesskit.model.metrics import Metric
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.model.promotion_results import EVIDENCE_PATH

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COUNTS = ("look", "replays", "n_control", "n_candidate")
_NUMBERS = ("estimate", "evidence", "bound")


def evidence_path(
    control: pd.DataFrame,
    candidate: pd.DataFrame,
    *,
    target_metric: str,
    policy: str | PromotionPolicy = "budgeted",
    metrics: Iterable[Metric] | None = None,
    failures: Sequence[str] | None = None,
    wins: Sequence[str] | None = None,
    n_wins: int | None = None,
    guard_metrics: Sequence[str] | None = None,
    prior_sd: float | None = None,
) -> pd.DataFrame:
    """Follow the evidence about a guard: one row per check and look.

    Parameters
    ----------
    control, candidate, target_metric, policy, metrics, failures, wins, n_wins, guard_metrics, prior_sd
        As for `harnesskit.promotion_evidence`.

    Returns
    -------
    DataFrame
        By the contract ``evidence path``: ``benefit`` and ``futility`` up to the look that decided, ``harm`` after each
        replay of a win; no row of a check that was not looked at.

    Raises
    ------
    FrameError, PolicyError
        As for `harnesskit.promotion_evidence`.

    Examples
    --------
    >>> before = pd.DataFrame({"case_id": ["f"] * 3, "kind": "failure", "metric": "q", "value": [0.3, 0.4, 0.35]})
    >>> after = before.assign(value=[0.5, 0.4, 0.6], round=[1, 2, 3])
    >>> path = evidence_path(before, after, target_metric="q")
    >>> path.loc[path["check"] == "benefit", ["look", "n_candidate"]].values.tolist()
    [[1, 1], [2, 2], [3, 3]]
    """
    trial = trial_of(
        control, candidate, target_metric=target_metric, policy=policy, metrics=metrics, failures=failures, wins=wins,
        n_wins=n_wins, guard_metrics=guard_metrics, prior_sd=prior_sd, by="evidence_path()",
    )  # fmt: skip
    return path_of(trial)


def path_of(trial: Trial) -> pd.DataFrame:
    """Return the evidence path of a trial."""
    benefit = benefit_of(trial)
    guard = guard_of(trial, benefit)
    rows = [*_benefit(trial, benefit), *_harm(trial, guard)]
    frame = pd.DataFrame(rows, columns=list(EVIDENCE_PATH.columns))
    return frame.astype({**dict.fromkeys(_COUNTS, "Int64"), **dict.fromkeys(_NUMBERS, float), "decided": bool})


def _benefit(trial: Trial, benefit: Benefit) -> list[dict[str, Any]]:
    looks = benefit.looks
    spent = _spent(trial, benefit.replays.row)
    rows: list[dict[str, Any]] = []
    for check, evidence, bound, verdicts in (
        ("benefit", looks.evidence, looks.bound, ("efficacy",)),
        ("futility", looks.against, looks.bound_against, ("futility", "harmful")),
    ):
        for at, replay in enumerate(looks.replays.tolist()):
            rows.append(
                {
                    "check": check, "look": at + 1, "replays": spent[replay - 1] if replay else 0,
                    "n_control": looks.n_control[at], "n_candidate": looks.n_candidate[at],
                    "estimate": looks.delta[at], "scale": looks.scale, "evidence": evidence[at], "bound": bound[at],
                    "decided": looks.verdict in verdicts and at == len(looks.replays) - 1,
                }
            )  # fmt: skip
    return rows


def _harm(trial: Trial, guard: Guard | None) -> list[dict[str, Any]]:
    if guard is None or not len(guard.replays.row):
        return []
    spent = _spent(trial, guard.replays.row)
    (scale, bound), decided = harm_scale(trial.policy), guard.verdict != "open"
    if guard.path is None:
        here = np.isfinite(guard.look.delta)
        return [
            {
                "check": "harm", "look": 1, "replays": spent[-1], "n_control": int(guard.look.n_control[here].sum()),
                "n_candidate": int(guard.look.n_candidate.sum()), "estimate": guard.look.estimate, "scale": scale,
                "evidence": guard.look.evidence, "bound": bound, "decided": decided,
            }
        ]  # fmt: skip
    path = guard.path
    return [
        {
            "check": "harm", "look": at + 1, "replays": spent[replay - 1], "n_control": path.n_control[at],
            "n_candidate": path.n_candidate[at], "estimate": path.estimate[at], "scale": scale,
            "evidence": path.evidence[at], "bound": bound, "decided": decided and at == len(path.replays) - 1,
        }
        for at, replay in enumerate(path.replays.tolist())
    ]  # fmt: skip


def _spent(trial: Trial, rows: NDArray[np.int64]) -> list[int]:
    """Return the replays of the whole trial made by the time of each of these."""
    runs = trial.runs
    replayed = runs.flag("tried") & ~runs.flag("captured") & ~trial.banked
    return [int(n) for n in np.cumsum(replayed)[rows]]
