"""The verbs of a forward trial: which arm a live session is in, and what its sessions say of the rule so far."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from harnesskit.agent_side import AgentSide
from harnesskit.model.errors import PolicyError, WorkspaceError
from harnesskit.model.promotion_policy import PromotionPolicy
from harnesskit.store.database import script
from harnesskit.stored_runs import StoredRuns
from harnesskit.workspace.assignments import TrialStart, assign, read_forward
from harnesskit.workspace.clock import utc_now

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd

    from harnesskit.promotion import PromotionResult

BEFORE = timedelta(days=90)
"""How far back sessions say how much scores scatter."""


class ForwardVerbs(StoredRuns):
    """Forward trials of rules: sessions are assigned as they start, and weighed whenever that is asked for."""

    _side: AgentSide

    def trial_arm(
        self,
        rule_id: str,
        cluster: str,
        *,
        session_id: str,
        metric: str | None = None,
        policy: str | PromotionPolicy = "open_ended",
    ) -> str:
        """Return ``candidate`` (show the rule) or ``control`` for a session that starts now, and write it down.

        Arms come in permuted blocks of four over the clusters of the trial (see `harnesskit.trial_arm`); a cluster
        keeps its arm. The first call begins the trial and fixes its target metric, its policy and the scatter of
        earlier sessions; a rule whose text changed begins a new one. Call it for every session, and score the session
        afterwards as any other.

        Parameters
        ----------
        rule_id
            A candidate rule.
        cluster
            What must be treated alike, e.g. the user; the session id for sessions that stand alone.
        session_id
            The session that starts.
        metric
            Target of the trial when this call begins it; the rule's own when None.
        policy
            ``open_ended``, or ``budgeted:80`` for a promised number of clusters, when this call begins it.

        Raises
        ------
        WorkspaceError
            There is no such rule, or the file cannot be written.
        PolicyError
            The trial has no target metric, or the policy does not fit.
        """
        from harnesskit.promotion_run import rule_of
        from harnesskit.trials.promotion_frozen import text_hash
        from harnesskit.trials.trial_arm import trial_arm

        rule, now = rule_of(self._side, rule_id), utc_now()
        digest = text_hash(rule.rule)

        def begin() -> TrialStart:
            rules = PromotionPolicy.parse(policy)
            target = metric or rule.metric
            if target is None or rules.mode == "reference":
                what = "the policy cannot be 'reference'" if target else "it needs a target; the rule names no metric"
                raise PolicyError(f"the forward trial of {rule_id!r} cannot begin: {what}.")
            sd, n = self._scatter(target, now)
            return TrialStart(now, rule_id, digest, target, rules.plain(), sd, n)

        return assign(
            self.root, rule_id, digest, cluster=str(cluster), session_id=str(session_id), at=now, begin=begin,
            draw=lambda position: trial_arm(f"{rule_id}:{digest[:16]}", str(cluster), position=position),
        )  # fmt: skip

    def forward_trial(self, rule_id: str) -> PromotionResult:
        """Return what the sessions of a rule's forward trial say so far; safe to look at whenever you like.

        Reads the online samples of the workspace: refresh, or import them, first. Sessions that were assigned and have
        no score are counted, and not healthy.

        Raises
        ------
        WorkspaceError
            There is no such rule, or no forward trial of its present text.
        """
        return self._weighed(rule_id)

    def forward_trial_of(
        self, rule_id: str, *, rule_hash: str, sessions: Collection[str], samples: Collection[str]
    ) -> PromotionResult:
        """Return what `forward_trial` said of the text with this hash, when there were these sessions and samples only.

        Raises
        ------
        WorkspaceError
            There is no such trial, or one of them is not there any more.
        """
        return self._weighed(rule_id, rule_hash, sessions, samples)

    def _weighed(
        self,
        rule_id: str,
        rule_hash: str | None = None,
        wanted: Collection[str] | None = None,
        samples: Collection[str] | None = None,
    ) -> PromotionResult:
        from harnesskit.decisions.forward_promotion import decide_forward
        from harnesskit.measures.forward_trial import forward_path, forward_trial
        from harnesskit.promotion import PromotionResult, looks_of
        from harnesskit.promotion_run import rule_of
        from harnesskit.regression_evidence import only_samples
        from harnesskit.trials.promotion_frozen import rule_record, text_hash

        rule = rule_of(self._side, rule_id)
        start, sessions = read_forward(self.root, rule_id, rule_hash or text_hash(rule.rule))
        if start is None or start.metric is None:
            raise WorkspaceError(
                f"Rule {rule_id!r} has no forward trial with its present text; harness.trial_arm({rule_id!r}, cluster, "
                "session_id=...) begins one."
            )
        rules = PromotionPolicy.model_validate(start.policy)
        assigned = _only(_frame(sessions), wanted, rule_id)
        scores = self.sql(script("queries/forward_scores.sql"), sessions=assigned["session_id"].tolist())
        scores = only_samples(scores, samples, f"the forward trial of {rule_id!r}")
        rows = assigned.merge(scores, how="left", on="session_id")
        rows["metric"] = rows["metric"].where(rows["metric"].notna(), start.metric)
        if not (rows["metric"] == start.metric).any():
            rows.loc[rows.index[:1], ["metric", "value"]] = [start.metric, None]
        how: dict[str, Any] = {"metric": start.metric, "policy": rules, "sd": start.sd, "metrics": self.metrics}
        evidence = forward_trial(rows, **how)
        frozen = {
            "rule": rule_record(rule), "policy": rules.plain(), "target": start.metric, "prior_sd": start.sd,
            "noise": f"{start.n_history or 0} sessions before the trial" if start.sd else "assumed",
            "mode": "forward", "begun": None if start.at is None else start.at.isoformat(),
        }  # fmt: skip
        return PromotionResult(
            rule_id, "rule", decide_forward(evidence, policy=rules, subject=rule_id), evidence,
            path=forward_path(rows, **how), frozen=frozen, looks=looks_of(self.root, rule_id),
            root=self.given or str(self.root), candidate=rows,
        )  # fmt: skip

    def _scatter(self, metric: str, now: Any) -> tuple[float | None, int]:
        """Return the standard deviation of a session before the trial on the common scale, and sessions behind it."""
        from harnesskit.measures.trial_history import expected
        from harnesskit.measures.trial_units import sessions_of

        rows = self.sql(script("queries/forward_history.sql"), metric=metric, until=now, since=now - BEFORE)
        if rows.empty or self.metrics[metric].unit is None:
            return None, 0
        past = sessions_of(
            rows, {metric: self.metrics[metric]}, arm=None, cluster="cluster", stratum=None, by="trial_arm()"
        )  # fmt: skip
        known = expected(past, metric, sd=None)
        return (known.sd, known.n) if known.source == "history" else (None, 0)


def _only(assigned: pd.DataFrame, wanted: Collection[str] | None, rule_id: str) -> pd.DataFrame:
    """Return the sessions that are named; all of them when None."""
    if wanted is None:
        return assigned
    named, here = set(wanted), set(assigned["session_id"].astype(str))
    if named - here:
        gone = len(named - here)
        raise WorkspaceError(f"{gone} of the {len(named)} sessions of the forward trial of {rule_id!r} are not there.")
    return assigned[assigned["session_id"].astype(str).isin(named)].reset_index(drop=True)


def _frame(sessions: Any) -> pd.DataFrame:
    """Return the sessions of a trial, the first line of each session."""
    import pandas as pd

    frame = pd.DataFrame(
        {
            "session_id": [one.session_id for one in sessions],
            "cluster": [one.cluster for one in sessions],
            "arm": [one.arm for one in sessions],
            "occurred_at": pd.to_datetime([one.at for one in sessions], utc=True),
        }
    )
    return frame.drop_duplicates("session_id")
