"""Does the bank of a trial still hold? Control runs made along with it, held against it."""

from __future__ import annotations

from collections.abc import Iterable

from harnesskit.replays.setup import Record
from harnesskit.trials.frozen import ControlRun
from harnesskit.trials.promotion_frozen import FrozenPromotion
from harnesskit.trials.replayer import scored_values
from harnesskit.trials.sentinel import bank_is_stale
from harnesskit.trials.win import CONTROL


def stale_bank(frozen: FrozenPromotion, records: Iterable[Record]) -> bool:
    """Return whether the control runs of a trial differ from its bank by more than 3 moderated standard errors.

    Only cases with two or more banked runs tell; without any, False.
    """
    bank = banked_cases(frozen)
    fresh: dict[str, list[ControlRun]] = {}
    for sample, scores in records:
        values = scored_values(scores)
        if sample.arm == CONTROL and sample.case_id in bank and sample.status == "scored" and values:
            fresh.setdefault(sample.case_id or "", []).append(ControlRun(sample.sample_id, values))
    return bool(fresh) and bank_is_stale(bank, fresh, list(bank), frozen.metrics)


def banked_cases(frozen: FrozenPromotion) -> dict[str, list[ControlRun]]:
    """Return the cases that have two or more banked control runs, and these."""
    known = {case: [run for run in frozen.controls.get(case, ()) if run.source == CONTROL] for case in frozen.kinds}
    return {case: runs for case, runs in known.items() if len(runs) > 1}
