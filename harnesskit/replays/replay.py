"""The public verb: replay cases through a function, keep what ended, and return one row per attempt."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from harnesskit.model.case import EvalCase
from harnesskit.model.records import RuleRecord
from harnesskit.replays.engine import areplay_cases, check_counts, replay_cases
from harnesskit.replays.frames import samples_frame
from harnesskit.replays.inputs import eval_cases
from harnesskit.replays.run_store import Fingerprint, OpenRun, open_run, rules_of
from harnesskit.replays.scoring import Scorer, Verifier
from harnesskit.replays.setup import ReplayFunction, Setup


def replay(
    cases: Any,
    replay: ReplayFunction | None,
    *,
    trials: int = 1,
    role: str = "replay",
    arm: str | None = None,
    rule: str | None = None,
    rules: Iterable[RuleRecord] | None = None,
    scorer: Scorer | None = None,
    verifier: Verifier | None = None,
    concurrency: int = 1,
    timeout_s: float = 300.0,
    env_wait_s: float = 0.0,
    scoring_timeout_s: float = 300.0,
    retries: int = 0,
    resume: str | None = None,
    run: str | None = None,
    root: str | Path | None = None,
    seed: int = 0,
    progress: bool = True,
    fingerprint: Fingerprint = None,
    label: str | None = None,
) -> pd.DataFrame:
    """Re-run cases through your agent and return one row per attempt (`SAMPLES`, and ``role, kind, scores``).

    Works in a script, in a notebook cell and in a thread. Replays run in worker threads: a function that blocks, or
    swallows its cancellation, still ends at its time limit. An error or a timeout is a row with its reason and never
    stops the run.

    Parameters
    ----------
    cases
        A cases frame, a list of `EvalCase`, or an `EvalSet`.
    replay
        Takes ``(case, context)`` or ``(case)``, sync or async, and returns the id of its new session or a
        `ReplayResult`. None skips every case, with one warning.
    trials
        Independent repeats of each case.
    role
        What the run is evidence for: ``replay``, ``control`` or ``candidate``.
    arm
        Condition inside the run.
    rule
        Candidate rule that the replays may find; of the candidates only this one.
    rules
        The rules that there are; those of `root` when None.
    scorer
        Takes a session id and returns ``{metric: value or None}``; sync or async.
    verifier
        Takes ``(case, session_id)``, ``(session_id, payload)`` or ``(payload)`` and returns whether the outcome was
        correct, or None; sync or async.
    concurrency
        Replays at work at once, 1 to 256. Above 1 each runs on an event loop of its own: make async clients inside
        the function, or use `areplay`.
    timeout_s
        Seconds for one replay.
    env_wait_s
        Seconds for its environment, until the replay calls ``context.mark_execution_started()``; then `timeout_s`
        begins. 0 charges the wait to `timeout_s`.
    scoring_timeout_s
        Seconds for the scorer, and for the verifier, of one replay.
    retries
        Further attempts of a trial that ended in an error or a timeout.
    resume
        Id of a run under `root`: only trials without a finished attempt are run.
    run
        Id of the new run; made up when None.
    root
        Workspace to write the run to, each attempt as it ends; nothing is written when None.
    seed
        Draws ``context.seed``, the same for a case and trial in every run of this seed.
    progress
        Show a progress bar where there is a terminal or a notebook.
    fingerprint
        What produces the samples (agent, prompt, model, tools): a mapping, or the name of the agent's version.
    label
        Name of the run for people.

    Raises
    ------
    ReplayError
        The cases or a setting cannot be used; or `resume` meets another function, input, grader or setting.
    WorkspaceError
        The run folder cannot be written or read.
    KeyboardInterrupt
        The run was stopped; everything that had ended is kept, and `resume` goes on from there.

    Examples
    --------
    >>> cases = pd.DataFrame({"case_id": ["c-1"], "replay_input": ['{"task": "refund"}']})
    >>> samples = replay(cases, lambda case: f"again-{case.id}", scorer=lambda session: {"quality": 0.9})
    >>> samples[["case_id", "session_id", "status"]].to_dict("records")
    [{'case_id': 'c-1', 'session_id': 'again-c-1', 'status': 'scored'}]
    """
    found = eval_cases(cases, by="replay()")
    counts = {"trials": trials, "concurrency": concurrency, "retries": retries}
    common: dict[str, Any] = {
        "arm": arm, "rule": rule, "rules": rules_of(root) if rules is None else list(rules), "scorer": scorer,
        "verifier": verifier, "timeout_s": timeout_s, "env_wait_s": env_wait_s,
        "scoring_timeout_s": scoring_timeout_s, "seed": seed,
    }  # fmt: skip
    kept = {"role": role, "root": root, "run": run, "resume": resume, "fingerprint": fingerprint, "label": label}
    opened = _open(found, replay, counts, common, kept)
    made = replay_cases(
        found,
        replay,
        run_id=opened.run_id,
        earlier=opened.rows,
        sink=opened.keep,
        progress=progress,
        **counts,
        **common,
    )
    opened.finish()
    return samples_frame([*opened.earlier, *made], found, role)


async def areplay(
    cases: Any,
    replay: ReplayFunction | None,
    *,
    trials: int = 1,
    role: str = "replay",
    arm: str | None = None,
    rule: str | None = None,
    rules: Iterable[RuleRecord] | None = None,
    scorer: Scorer | None = None,
    verifier: Verifier | None = None,
    concurrency: int = 1,
    timeout_s: float = 300.0,
    env_wait_s: float = 0.0,
    scoring_timeout_s: float = 300.0,
    retries: int = 0,
    resume: str | None = None,
    run: str | None = None,
    root: str | Path | None = None,
    seed: int = 0,
    progress: bool = True,
    fingerprint: Fingerprint = None,
    label: str | None = None,
) -> pd.DataFrame:
    """Re-run cases on the event loop that is running and return one row per attempt; parameters as `replay`.

    An async replay function, scorer or verifier runs on the caller's own loop, with its clients and locks, and is
    bounded as long as it awaits: what blocks inside it blocks the loop. Any other function goes to a worker thread.

    Raises
    ------
    ReplayError, WorkspaceError
        As `replay`.

    Examples
    --------
    >>> import asyncio
    >>> cases = pd.DataFrame({"case_id": ["c-1"], "replay_input": ['{"task": "refund"}']})
    >>> async def again(case, context):
    ...     return "s-2"
    >>> asyncio.run(areplay(cases, again))["reason"].tolist()
    ['no_scores']
    """
    found = eval_cases(cases, by="areplay()")
    counts = {"trials": trials, "concurrency": concurrency, "retries": retries}
    common: dict[str, Any] = {
        "arm": arm, "rule": rule, "rules": rules_of(root) if rules is None else list(rules), "scorer": scorer,
        "verifier": verifier, "timeout_s": timeout_s, "env_wait_s": env_wait_s,
        "scoring_timeout_s": scoring_timeout_s, "seed": seed,
    }  # fmt: skip
    kept = {"role": role, "root": root, "run": run, "resume": resume, "fingerprint": fingerprint, "label": label}
    opened = _open(found, replay, counts, common, kept)
    made = await areplay_cases(
        found,
        replay,
        run_id=opened.run_id,
        earlier=opened.rows,
        sink=opened.keep,
        progress=progress,
        **counts,
        **common,
    )
    opened.finish()
    return samples_frame([*opened.earlier, *made], found, role)


def _open(
    cases: list[EvalCase],
    replay: ReplayFunction | None,
    counts: dict[str, int],
    common: dict[str, Any],
    kept: dict[str, Any],
) -> OpenRun:
    """Check everything before a folder is made."""
    check_counts(**counts)
    return open_run(cases, Setup(run_id="", replay=replay, **common), counts=counts, **kept)
