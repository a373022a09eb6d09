"""The promotion report: may this guard be trusted, how do we know, and what is signed when it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pandas as pd

from harnesskit.model.decision import Decision
from harnesskit.model.promotion_results import PROMOTION_EVIDENCE
from harnesskit.model.text import counted
from harnesskit.reports.document import Block, Code, Prose, Section, Table
from harnesskit.reports.model import Report
from harnesskit.reports.promotion_appendix import appendix
from harnesskit.reports.promotion_columns import ARMS, COSTS, EFFECTS, FACTS, LOOKS, OTHERS, WINS
from harnesskit.reports.promotion_findings import effect_words, guard_words, is_forward, overturn_words
from harnesskit.reports.promotion_sections import facts, path_chart, rule_text
from harnesskit.reports.promotion_words import policy_words, review_by_words, useless_words


def promotion_report(
    evidence: pd.DataFrame,
    decision: Decision,
    *,
    guard: Mapping[str, Any] | None = None,
    frozen: Mapping[str, Any] | None = None,
    path: pd.DataFrame | None = None,
    effects: pd.DataFrame | None = None,
    wins: pd.DataFrame | None = None,
    arms: pd.DataFrame | None = None,
    costs: pd.DataFrame | None = None,
    pairs: pd.DataFrame | None = None,
    ledger: pd.DataFrame | None = None,
    trials: pd.DataFrame | None = None,
    lineage: pd.DataFrame | None = None,
    looks: pd.DataFrame | None = None,
    reviews: pd.DataFrame | None = None,
    others: pd.DataFrame | None = None,
    tried: tuple[int, int] | None = None,
    agreement: str | None = None,
    title: str | None = None,
    reproduce: str | Sequence[str] | None = None,
    rollback: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    created_at: datetime | None = None,
    binding: Mapping[str, Any] | None = None,
) -> Report:
    """Arrange the evidence about a guard as the page that is signed: the first part to decide by, then an appendix.

    Parameters
    ----------
    evidence, decision
        Evidence about the guard, one row per check, and the verdict on it.
    guard
        The guard in words: ``text``, and facts to list, in order, under names of their own.
    frozen
        What was fixed before the first replay: ``policy, target, seed, noise, prior_sd, started_at, held_out, …``.
    path
        Evidence path (`harnesskit.evidence_path`).
    effects
        What each failing case did, those that gave rise to the guard first; ``signature`` and ``notes`` when there.
    wins
        Guard wins, the most harmed first (`harnesskit.guard_wins`).
    arms, costs
        What was run in each arm, and what a run costs without and with the guard.
    pairs
        Control and candidate runs side by side (`harnesskit.replay_pairs`); the worst and the best are shown in full.
    ledger, trials
        What became of every case and run; scores of both sides with a column ``side``, for the chart of all runs.
    lineage, looks
        Earlier trials of the guard; policies asked for after the evidence was there.
    reviews
        Rows of ``decisions`` about the guard, with ``status`` and ``action``.
    others
        Other guards in force: ``id, text, promoted_at, since`` (promoted since the last regression run).
    tried
        How many guards were tried in this workspace, and how many of them have the verdict promote.
    agreement
        How far the judge agrees with people on the metric, in words; "not known" when None.
    title, reproduce, rollback, metadata, created_at
        Heading; command lines that make this report again, and that take the guard back; facts for the foot; when the
        report was made, left out when None.
    binding
        What ``harnesskit verify`` needs to compute the verdict again (`Report.evidence`).

    Returns
    -------
    Report
        ``.save("page.html")``, ``.md`` or ``.json``.

    Raises
    ------
    FrameError
        The evidence lacks a column.

    Examples
    --------
    >>> rows = pd.DataFrame({"check": ["benefit"], "state": ["unknown"], "estimate": [None], "reason": [None]})
    >>> decision = Decision("r-1", "rule", "pending", "insufficient_evidence", "", ["Never tried."], rows, 9, {}, "")
    >>> promotion_report(rows, decision).render(".md").decode().splitlines()[0]
    '# PENDING: Promotion of rule r-1'
    """
    PROMOTION_EVIDENCE.require(evidence, "check", "state", "estimate", by="promotion_report()")
    rows = {str(row["check"]): {str(k): v for k, v in row.items()} for row in evidence.to_dict("records")}
    known, fixed = dict(guard or {}), dict(frozen or {})
    sections: list[tuple[str, list[Block]]] = [
        ("The guard", [*rule_text(known), _facts(decision, known, lineage, reviews)]),
        ("Live sessions" if is_forward(rows) else "Its failing cases", _target(rows, decision, path, effects, fixed)),
        ("Protected wins", _wins(rows, decision, wins, path)),
        ("What was run, and what it costs", _spent(arms, costs)),
        ("The rules of this decision", _rules(decision, rows, fixed, looks, arms)),
        ("Beside this guard", _beside(decision, others, tried, agreement)),
        ("What would overturn this", _overturn(decision, rows, fixed, wins, reviews, rollback, reproduce)),
        *appendix(
            evidence, decision, path=path, wins=wins, pairs=pairs, ledger=ledger, trials=trials, lineage=lineage,
            reviews=reviews,
        ),
    ]  # fmt: skip
    made = tuple(Section(heading, tuple(blocks)) for heading, blocks in sections if blocks)
    heading = title or f"Promotion of {decision.guard_kind or 'guard'} {decision.subject}"
    return Report(heading, decision, made, created_at, dict(metadata or {}), dict(binding or {}))


def _facts(
    decision: Decision, guard: Mapping[str, Any], lineage: pd.DataFrame | None, reviews: pd.DataFrame | None
) -> Table:
    rows = facts(decision, guard, lineage, reviews)
    return Table("guard", "What is to be signed", pd.DataFrame(rows, columns=["what", "value"], dtype=object), FACTS)


def _target(
    rows: Mapping[str, Mapping[str, Any]],
    decision: Decision,
    path: pd.DataFrame | None,
    effects: pd.DataFrame | None,
    frozen: Mapping[str, Any],
) -> list[Block]:
    if decision.guard_kind not in ("rule", None) or "benefit" not in rows:
        return []
    blocks: list[Block] = [Prose(tuple(effect_words(rows, decision, effects, frozen)), listed=True)]
    each = "session" if is_forward(rows) else "replay of a failing case"
    title, unit = f"Evidence after each {each}, against its boundaries", "session" if is_forward(rows) else "replay"
    blocks += path_chart(path, ("z", "e"), title, unit=unit)
    if effects is not None and len(effects):
        caption = "What each failing case did, one row per case; those that gave rise to the guard come first"
        blocks.append(Table("effects", caption, effects, EFFECTS))
    return blocks


def _wins(
    rows: Mapping[str, Mapping[str, Any]], decision: Decision, wins: pd.DataFrame | None, path: pd.DataFrame | None
) -> list[Block]:
    said = guard_words(rows, decision)
    blocks: list[Block] = [Prose(tuple(said), listed=True)] if said else []
    if wins is not None and len(wins):
        replayed = wins[wins["replayed"].fillna(False).to_numpy(dtype=bool)].head(3)
        if len(replayed):
            caption = "The worst three of the wins replayed, the likeliest harmed first"
            blocks.append(Table("worst_wins", caption, replayed, WINS))
    title = "Evidence of harm after each replay of a win; beyond the boundary the guard is retired"
    blocks += path_chart(path, ("lambda", "share"), title)
    return blocks


def _spent(arms: pd.DataFrame | None, costs: pd.DataFrame | None) -> list[Block]:
    blocks: list[Block] = []
    if arms is not None and len(arms):
        blocks.append(Table("arms", "Runs behind the verdict, one row per arm and kind of case", arms, ARMS))
    if costs is not None and len(costs):
        caption = "What a run takes without and with the guard, over cases run both ways"
        blocks.append(Table("costs", caption, costs, COSTS))
    elif blocks:
        blocks.append(Prose(("Cost, time and tokens of a run are not known.",)))
    return blocks


def _rules(
    decision: Decision,
    rows: Mapping[str, Mapping[str, Any]],
    frozen: Mapping[str, Any],
    looks: pd.DataFrame | None,
    arms: pd.DataFrame | None,
) -> list[Block]:
    if not decision.policy:
        return []
    words = list(policy_words(decision.policy, "forward" if is_forward(rows) else decision.guard_kind))
    if frozen.get("started_at"):
        fixed = [f"Fixed before the first replay, {frozen['started_at']}: text, policy, cases, control runs"]
        if frozen.get("prior_sd"):
            source = {"measured": "measured here", "given": "given"}.get(str(frozen.get("noise")), "assumed")
            fixed.append(f"the noise of one run ({float(frozen['prior_sd']):.3f}, {source})")
        if frozen.get("seed") is not None:
            fixed.append(f"the seed ({frozen['seed']})")
        words.append(f"{', '.join(fixed[:-1])} and {fixed[-1]}." if len(fixed) > 1 else f"{fixed[0]}.")
    elif is_forward(rows):
        words.append("Arms, metric and policy were fixed when the first session was assigned.")
    elif not frozen and arms is None:
        words.append("Nothing is fixed yet: that happens before the first replay of a trial.")
    elif not frozen:
        words.append("Nothing was fixed beforehand: the policy was chosen with the evidence there.")
    words += [str(note) for note in frozen.get("notes", ())]
    blocks: list[Block] = [Prose(tuple(words), listed=True)]
    if looks is not None and len(looks):
        blocks.append(
            Table("looks", "Policies asked for after the evidence was there; they decide nothing", looks, LOOKS)
        )
    return blocks


def _beside(
    decision: Decision,
    others: pd.DataFrame | None,
    tried: tuple[int, int] | None,
    agreement: str | None,
) -> list[Block]:
    said: list[str] = []
    if others is not None and decision.guard_kind == "rule":
        since = int(others["since"].fillna(False).astype(bool).sum()) if "since" in others else 0
        are = "is" if len(others) == 1 else "are"
        said.append(
            f"{counted(len(others), 'other rule')} {are} active, {since} of them promoted since the last regression "
            "run. Each is tested alone and all are deployed together: after a promotion a regression run of the new "
            "active set is due."
        )
    if tried is not None:
        alpha = float(decision.policy.get("alpha") or 0.05)
        said += useless_words(alpha, *tried)
    said.append(f"Agreement of the judge with people on this metric: {agreement or 'not known'}.")
    blocks: list[Block] = [Prose(tuple(said), listed=True)]
    if others is not None and len(others) and decision.guard_kind == "rule":
        blocks.append(Table("others", "Other active rules", others, OTHERS, open_rows=0))
    return blocks


def _overturn(
    decision: Decision,
    rows: Mapping[str, Mapping[str, Any]],
    frozen: Mapping[str, Any],
    wins: pd.DataFrame | None,
    reviews: pd.DataFrame | None,
    rollback: str | None,
    reproduce: str | Sequence[str] | None,
) -> list[Block]:
    blocks: list[Block] = [Prose(tuple(overturn_words(decision, rows, frozen, wins)), listed=True)]
    blocks.append(Prose((f"To be reviewed by: {review_by_words(reviews)}.",)))
    if rollback:
        blocks += [Prose(("The way back after a promotion:",)), Code(rollback)]
    if reproduce:
        lines = reproduce if isinstance(reproduce, str) else "\n".join(reproduce)
        blocks += [Prose(("This page again, and its verdict computed again:",)), Code(lines)]
    return blocks
