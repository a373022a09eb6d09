"""What to know of a metric before its threshold is used, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harnesskit.model.text import counted

if TYPE_CHECKING:
    from harnesskit.measures.session_scores import SessionScores

_FEWEST = 10
_GATED = 2
"""First tier whose scores exist only where the tier before it fired."""


def warning_of(one: SessionScores, row: dict[str, Any], *, lost: bool) -> str:
    """Return the warnings of one metric as sentences; empty when there is nothing to say."""
    metric, said = one.metric, []
    if metric.higher_is_better is None:
        said.append("Which way is better is not declared, so there is no breach to judge.")
    elif lost:
        said.append(
            f"{counted(one.out_of_range, 'score')} outside 0 to 1, and the metric is not declared: declare its range "
            "and direction (hk.Metric) first."
        )
    elif one.out_of_range:
        said.append(f"{counted(one.out_of_range, 'score')} outside the declared range: not used.")
    if (metric.tier or 0) >= _GATED:
        said.append(
            f"Tier {metric.tier} scores exist only where the gate of the tier before it fired (and in captured "
            "sessions): every rate is conditional on that, and says nothing of sessions that it let pass."
        )
    if metric.threshold is None and row["state"] != "no scale":
        said.append("No threshold is configured.")
    if row["state"] == "unlabelled":
        said.append("No labelled session has a score of this metric: the distribution is all there is.")
    if row["state"] == "not calibrated":
        good = row["n_labelled"] - row["n_failed"]
        said.append(f"Only {row['n_failed']} failed and {good} good sessions have a label; it takes {_FEWEST} of each.")
    if row["n_label_only"] > 0 and row["n_labelled"]:
        said.append(f"{counted(row['n_label_only'], 'labelled session')} without a score of this metric: in no rate.")
    if row["n_disputed"]:
        said.append(f"{counted(row['n_disputed'], 'session')} whose raters are evenly split: not labelled.")
    return " ".join(said)
