"""The page on a guard: what its result says, and what the workspace knows besides."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Protocol

import pandas as pd

from harnesskit.measures.arms import arm_costs, arm_ledger, case_effects
from harnesskit.model.decision import Decision
from harnesskit.model.errors import WorkspaceError
from harnesskit.promotion_binding import JudgedGuard, promotion_binding
from harnesskit.promotion_context import PromotionContext
from harnesskit.reports.cells import missing, utc
from harnesskit.reports.model import Report
from harnesskit.reports.promotion import promotion_report

CHANGED = "; its text was changed since the trial: that is another rule"
_FRAMES = ("path", "wins", "ledger", "lineage", "looks")


class GuardResult(JudgedGuard, Protocol):
    """What is read of a result of promotion; the frames of `_FRAMES` besides."""

    @property
    def guard_id(self) -> str: ...  # noqa: D102
    @property
    def guard_kind(self) -> str: ...  # noqa: D102
    @property
    def decision(self) -> Decision: ...  # noqa: D102
    @property
    def evidence(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def pairs(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def control(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def candidate(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def root(self) -> str: ...  # noqa: D102


def page_of(result: GuardResult, title: str | None = None) -> Report:
    """Return the report on a guard, with what its workspace knows: reviews, other rules, runs of the bank.

    A result without a workspace, or whose workspace is gone, gives the report on the evidence alone.
    """
    known = _context(result)
    frozen = dict(result.frozen)
    samples = _samples(result, known)
    run_id = result.run_ids[0] if result.run_ids else None
    return promotion_report(
        result.evidence,
        result.decision,
        guard=_guard(result, known),
        frozen=frozen | {"started_at": None if known is None else known.started(run_id)} if frozen else {},
        effects=_effects(result, known),
        arms=_arms(result),
        costs=_costs(result, samples, run_id),
        pairs=_with_outputs(result.pairs, samples),
        trials=_trials(result),
        reviews=None if known is None else known.reviews(result.guard_id, result.guard_kind),
        others=None if known is None else known.others(result.guard_id),
        tried=None if known is None or result.guard_kind != "rule" else known.tried(),
        agreement=None if known is None else known.agreement(_target(result)),
        title=title,
        rollback=_command(result, ["promote", result.guard_id, "--retire", "why"]),
        reproduce=_reproduce(result),
        binding=promotion_binding(result),
        **{name: getattr(result, name) for name in _FRAMES},
    )


def _context(result: GuardResult) -> PromotionContext | None:
    try:
        return PromotionContext(result.root) if result.root else None
    except WorkspaceError:
        return None


def _samples(result: GuardResult, known: PromotionContext | None) -> pd.DataFrame | None:
    """Return the attempts of the trial and those that its bank came from."""
    own = result.samples
    if "sample_id" not in own or own.empty:
        return None
    if known is None or "sample_id" not in result.control:
        return own
    banked = sorted({str(one) for one in result.control["sample_id"].dropna()} - set(own["sample_id"]))
    more = known.samples(banked)
    columns = [name for name in own.columns if name in more]
    return pd.concat([part[columns].astype(object) for part in (own, more)], ignore_index=True)


def _arms(result: GuardResult) -> pd.DataFrame | None:
    if not {"sample_id", "case_id", "arm", "status"} <= set(result.samples.columns) or result.samples.empty:
        return None
    kinds: dict[str, str] = {}
    for side in (result.control, result.candidate):
        if {"case_id", "kind"} <= set(side.columns):
            kinds |= dict(zip(side["case_id"], side["kind"], strict=True))
    made = result.samples.assign(kind=result.samples["case_id"].map(kinds))
    return arm_ledger(made, result.control if result.guard_kind == "rule" and len(result.control) else None)


def _costs(result: GuardResult, samples: pd.DataFrame | None, run_id: str | None) -> pd.DataFrame | None:
    if samples is None or result.guard_kind != "rule":
        return None
    scored = samples[(samples["status"] == "scored").to_numpy(dtype=bool)]
    with_rule = (scored["run_id"] == run_id) & (scored["arm"] == "candidate")
    chosen = with_rule.fillna(False).to_numpy(dtype=bool)
    return arm_costs(scored[~chosen], scored[chosen])


def _with_outputs(pairs: pd.DataFrame, samples: pd.DataFrame | None) -> pd.DataFrame:
    """Add the answers of banked control runs, which are not among the attempts of the trial."""
    if samples is None or pairs.empty or "output" not in samples:
        return pairs
    outputs = samples.drop_duplicates("sample_id").set_index("sample_id")["output"]
    found = pairs["control_sample"].map(outputs).astype(object)
    kept = pairs["control_output"].astype(object)
    return pairs.assign(control_output=kept.where(kept.notna(), found.where(found.notna(), None)))


def _effects(result: GuardResult, known: PromotionContext | None) -> pd.DataFrame | None:
    metric = _target(result)
    if metric is None or result.control.empty or result.candidate.empty:
        return None
    found = case_effects(result.control, result.candidate, metric=metric, sources=result.frozen.get("sources", ()))
    replayed = result.candidate.loc[(result.candidate["kind"] == "failure").to_numpy(dtype=bool), "case_id"]
    found = found[found["case_id"].isin({*replayed, *result.frozen.get("failures", ())})]
    return found if known is None else found.merge(known.cases(), on="case_id", how="left", validate="one_to_one")


def _target(result: GuardResult) -> str | None:
    metric = result.frozen.get("target")
    if metric is None and "metric" in result.evidence:
        named = result.evidence.loc[(result.evidence["check"] == "benefit").to_numpy(dtype=bool), "metric"].dropna()
        metric = named.iloc[0] if len(named) else None
    return None if metric is None else str(metric)


def _trials(result: GuardResult) -> pd.DataFrame | None:
    metric = _target(result)
    if metric is None or result.control.empty or result.candidate.empty:
        return None
    sides = pd.concat([result.control.assign(side="baseline"), result.candidate.assign(side="candidate")])
    wanted = (sides["kind"] == "failure") & (sides["metric"] == metric)
    return sides[wanted.fillna(False).to_numpy(dtype=bool)].reset_index(drop=True)


def _guard(result: GuardResult, known: PromotionContext | None) -> dict[str, Any]:
    """Return what the workspace and the frozen record say of a guard, in words."""
    agent = ", ".join(f"{name} {value}" for name, value in result.fingerprint.items()) or "not known"
    if result.guard_kind == "rule":
        return {**_rule(result, known), "Agent": agent}
    if result.guard_kind == "case" and known is not None:
        return {**_case(known.case(result.guard_id)), "Agent": agent}
    return _check(result.frozen.get("check") or {})


def _check(check: Mapping[str, Any]) -> dict[str, Any]:
    if not check:
        return {}
    side = "below" if check.get("higher_is_better") is not False else "above"
    words = {"Metric": check.get("metric"), "Grader": check.get("grader")}
    return {"text": f"Stop a session whose {check.get('metric')} is {side} {check.get('bar')}.", **words}


def _rule(result: GuardResult, known: PromotionContext | None) -> dict[str, Any]:
    frozen: Mapping[str, Any] = result.frozen.get("rule") or {}
    now = (None if known is None else known.rule(result.guard_id)) or {}

    def told(name: str, stored: str | None = None) -> Any:
        value = frozen.get(name)
        value = now.get(stored or name) if value is None else value
        return None if isinstance(value, float) and missing(value) else value

    source, created = told("source_notice_id"), told("created_at")
    by = f"by the harness, from notice {source}" if source else "author not recorded"
    changed = bool(frozen) and bool(now) and now.get("rule") != frozen.get("text")
    labels = told("failure_signatures")
    return {
        "text": told("text", "rule"),
        "Now": f"{now.get('status')}{CHANGED if changed else ''}" if now else None,
        "Metric": ", ".join(str(one) for one in (told("metric"), f"scope {told('scope') or 'global'}") if one),
        "Labels": ", ".join(map(str, labels)) if labels is not None else None,
        "Written": by if created is None or missing(created) else f"{utc(created)[:10]}, {by}",
        "Why": told("rationale"),
        "Text hash": str(frozen["sha256"])[:16] if frozen.get("sha256") else None,
    }


def _case(case: Mapping[str, Any] | None) -> dict[str, Any]:
    if case is None:
        return {}
    created = case.get("created_at")
    day = "" if created is None or missing(created) else f"{utc(created)[:10]}, "
    return {
        "text": case.get("replay_input"),
        "Now": case.get("kind"),
        "Labels": ", ".join(map(str, case["signature"])),
        "Captured": f"{day}from session {case.get('session_id')}",
        "Why": case.get("notes"),
    }


def _command(result: GuardResult, words: list[str]) -> str:
    return shlex.join(["harnesskit", *words, *(["--root", result.root] if result.root else [])])


def _reproduce(result: GuardResult) -> list[str]:
    check = result.frozen.get("check")
    if check:
        named = "".join(f", {name}={check[name]!r}" for name in ("grader", "bar") if check.get(name) is not None)
        return [f"harnesskit.open({result.root!r}).check({check['metric']!r}{named}).report().save('page.html')"]
    words = ["report", "--guard", result.guard_id, "--out"]
    pages = [_command(result, [*words, f"page.{form}"]) for form in ("html", "json")]
    return [*pages, _command(result, ["verify", "page.json"])]
