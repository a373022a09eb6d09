"""The verb on the health of the eval set: what each case is worth, and which traffic has none."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pandas as pd

from harnesskit.store.database import script
from harnesskit.tables import Tables, as_utc

if TYPE_CHECKING:
    from harnesskit.reports.model import Report


@dataclass(frozen=True)
class HealthResult:
    """What is known of the eval set as a whole.

    Attributes
    ----------
    cases
        `harnesskit.corpus_health`: one row per case.
    timeline
        `harnesskit.case_timeline`: one row per case, run and arm.
    coverage
        `harnesskit.coverage`: traffic by signature and slice; empty without online samples.
    """

    cases: pd.DataFrame = field(repr=False)
    timeline: pd.DataFrame = field(repr=False)
    coverage: pd.DataFrame = field(repr=False)
    reproduce: str = ""

    def report(self, *, title: str = "Is the eval set in order?") -> Report:
        """Return the report on the eval set."""
        from harnesskit.reports.health import health_report

        return health_report(self.cases, self.timeline, self.coverage, title=title, reproduce=self.reproduce)


class HealthVerbs(Tables):
    """What stored runs and the traffic say about the cases."""

    def health(
        self,
        *,
        pass_at: float | Mapping[str, float] | None = None,
        slices: Sequence[str] | None = None,
        as_of: datetime | str | None = None,
        stale_days: int = 90,
    ) -> HealthResult:
        """Return what to do with each case, and which traffic has no case; nothing is replayed.

        Parameters
        ----------
        pass_at
            Score from which a trial passes; None takes the declared thresholds.
        slices
            Columns of online_samples, or keys of their ``attributes``; None takes the keys that labels of cases name
            (``topic`` for ``topic:refunds``).
        as_of
            Time that ages count to; the time looked back to, else the newest one among cases and runs.
        stale_days
            Days after which a run or baseline is old.
        """
        from harnesskit.measures.case_timeline import case_timeline
        from harnesskit.measures.corpus_health import corpus_health
        from harnesskit.measures.coverage import coverage, session_signatures

        cases = self.table("cases")
        rows = self.sql(script("queries/health_scores.sql"))
        bars: dict[str, Any] = {"metrics": self.metrics, "pass_at": pass_at}
        now = as_utc(as_of, "as_of") or self.as_of
        online = self.table("online_samples")
        named = self._label_slices(cases, online) if slices is None else list(slices)
        traffic = session_signatures(online, slices=named, **bars)
        return HealthResult(
            corpus_health(cases, rows, as_of=now, stale_days=stale_days, **bars),
            case_timeline(rows, **bars),
            coverage(cases, traffic, slices=named) if len(traffic) else coverage(cases, traffic).head(0),
            self._health_line(pass_at, slices, as_of, stale_days),
        )

    def _health_line(self, pass_at: object, slices: Sequence[str] | None, as_of: object, stale_days: int) -> str:
        """Return the command that makes this table again; a mapping of bars has no option and is left out."""
        words = ["harnesskit", "health", "--root", str(getattr(self, "given", self.root))]
        words += ["--pass-at", str(pass_at)] if isinstance(pass_at, int | float) else []
        for name in slices or ():
            words += ["--slice", name]
        words += ["--as-of", str(as_of)] if as_of is not None else []
        return shlex.join([*words, "--stale-days", str(stale_days)])

    def _label_slices(self, cases: pd.DataFrame, online: pd.DataFrame) -> list[str]:
        """Return the keys of the attributes of online samples that are prefixes of labels of cases."""
        prefixes = {label.split(":")[0] for labels in cases["signature"] for label in labels if ":" in label}
        texts = online["attributes"].dropna().drop_duplicates().head(1000)
        keys = {key for text in texts for key in json.loads(text)}
        return sorted(prefixes & keys)
