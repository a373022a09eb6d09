"""The appendix of the promotion report: pairs in full, every run, every win, every look, and what came before."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from harnesskit.model.decision import Decision
from harnesskit.plots.labels import label_keys
from harnesskit.plots.promotion_guard import plot_compliance, plot_guard_wins
from harnesskit.plots.trials import plot_trials
from harnesskit.reports.cells import Column, as_text, missing, number
from harnesskit.reports.document import Block, Chart, Code, Prose, Table
from harnesskit.reports.masking import mask_frame, mask_text
from harnesskit.reports.promotion_columns import LEDGER, LINEAGE, PAIRS, PATH, REVIEWS, WINS
from harnesskit.reports.promotion_findings import compliance_finding, trials_finding, wins_finding
from harnesskit.reports.promotion_words import policy_table

_BESIDE = (
    "Runs of one case without and with the guard, side by side. Pairs are for reading; the verdict rests on all "
    "runs of both arms."
)
_POLICY = (Column("field", "Field", "text"), Column("value", "Value", "text"), Column("meaning", "Meaning", "text"))


def appendix(
    evidence: pd.DataFrame,
    decision: Decision,
    *,
    path: pd.DataFrame | None,
    wins: pd.DataFrame | None,
    pairs: pd.DataFrame | None,
    ledger: pd.DataFrame | None,
    trials: pd.DataFrame | None,
    lineage: pd.DataFrame | None,
    reviews: pd.DataFrame | None,
) -> list[tuple[str, list[Block]]]:
    """Return the sections of the appendix; those without anything to show are empty."""
    return [
        ("Appendix: the worst and the best pair", _pairs(pairs)),
        ("Appendix: every run of the failing cases", _strips(trials)),
        ("Appendix: all protected wins", _wins(wins)),
        ("Appendix: was it read?", _compliance(evidence)),
        ("Appendix: how the evidence came in", _path(path)),
        ("Appendix: what became of every run", _table("ledger", "Per side, kind and metric", ledger, LEDGER)),
        ("Appendix: earlier trials", _table("lineage", "Earlier trials, one row per trial", lineage, LINEAGE)),
        ("Appendix: reviews", _table("reviews", "What was signed and done, one row per record", reviews, REVIEWS)),
        ("Appendix: policy", _table("policy", "Every field of the policy", policy_table(decision.policy), _POLICY)),
    ]


def _table(name: str, caption: str, frame: pd.DataFrame | None, columns: tuple[Column, ...]) -> list[Block]:
    return [] if frame is None or frame.empty else [Table(name, caption, frame, columns, open_rows=0)]


def _pairs(pairs: pd.DataFrame | None) -> list[Block]:
    """Return the pair that lost most and the one that gained most with what went in and came out, then all of them."""
    if pairs is None or pairs.empty:
        return []
    order = pairs["delta"].astype(float).sort_values(kind="stable").index
    blocks: list[Block] = [
        Prose((_BESIDE,))
    ]  # fmt: skip
    picked = [("Worst", order[0])] + ([("Best", order[-1])] if len(order) > 1 else [])
    for word, place in picked:
        blocks += _pair(word, pairs.loc[place].to_dict())
    return [*blocks, Table("pairs", "All pairs, failing cases first, the worst on top", pairs, PAIRS, open_rows=0)]


def _pair(word: str, row: dict[Any, Any]) -> list[Block]:
    scores = f"{number(float(row['control']))} without, {number(float(row['candidate']))} with the guard"
    read = "" if missing(row.get("read")) else " (read)" if bool(row["read"]) else " (not read)"
    said = f"{word}: {row['kind']} {row['case_id']} in {row['metric']}: {scores}{read}."
    shown = [
        ("What was asked", row.get("input")),
        ("Answer without the guard", row.get("control_output")),
        ("Answer with the guard", row.get("candidate_output")),
    ]
    parts = [f"{name}:\n{_full(value)}" for name, value in shown if not missing(value)]
    return [Prose((said,)), *([Code("\n\n".join(parts))] if parts else [])]


def _full(value: Any) -> str:
    """Return an input or an output in full: text as it is, anything else as indented JSON, credentials masked."""
    text = mask_text(as_text(value))  # before it is laid out: masking reads JSON by its keys
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, indent=2)


def _strips(trials: pd.DataFrame | None) -> list[Block]:
    if trials is None or trials.empty:
        return []
    cases = trials["case_id"].nunique()
    title = "Every run of the failing cases: without the guard above, with it below"
    return [Chart(plot_trials, trials, title, trials_finding(trials), 2 * min(cases, 20) + 1)]


def _wins(wins: pd.DataFrame | None) -> list[Block]:
    if wins is None or wins.empty:
        return []
    replayed = wins["replayed"].fillna(False).to_numpy(dtype=bool)
    blocks: list[Block] = []
    if replayed.any():
        rows = min(int(replayed.sum()), 30) + 2
        blocks.append(Chart(plot_guard_wins, wins, "Change of each protected win", wins_finding(wins), rows))
        keys = label_keys(mask_frame(wins[replayed].head(30))["case_id"])
        if len(keys):
            columns = (Column("key", "Key", "text"), Column("text", "Stands for", "text"))
            blocks.append(Table("keys_wins", "Names behind the keys in the chart", keys, columns))
    return [*blocks, Table("wins", "Protected wins, one row per win", wins, WINS, open_rows=0)]


def _compliance(evidence: pd.DataFrame) -> list[Block]:
    rows = evidence[evidence["check"].isin(["benefit", "effect_when_read", "compliance"]).to_numpy(dtype=bool)]
    own = rows[(rows["check"] == "effect_when_read").to_numpy(dtype=bool)]
    if own.empty or own["estimate"].isna().all():
        return []
    title = "Effect on all replays, and on those in which the guard was read"
    return [Chart(plot_compliance, rows, title, compliance_finding(rows), 3)]


def _path(path: pd.DataFrame | None) -> list[Block]:
    return _table("path", "Every look, one row per check and look", path, PATH)
