"""Which stored run is judged, and what it is held against."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harnesskit.model.errors import WorkspaceError, listed, nearest

CAPTURED = "captured"


def choose_run(runs: pd.DataFrame, run: str | None) -> str:
    """Return the id of the run to judge: the one asked for, else the newest that scored something.

    Parameters
    ----------
    runs
        Rows of ``queries/replay_runs.sql``, newest first.
    run
        A run id, or None.

    Raises
    ------
    WorkspaceError
        There is no such run, or no run at all.
    """
    known = runs["run_id"].tolist()
    if run is not None and not isinstance(run, str):
        raise WorkspaceError(f"A run is named by its id, a text; found {run!r}. There are: {listed(known)}.")
    if run is not None:
        if run not in known:
            raise WorkspaceError(f"There is no replay run {run!r}{nearest(run, known)}; there are: {listed(known)}.")
        return run
    replays = runs[runs["role"] == "replay"]
    if replays.empty:
        raise WorkspaceError(
            "The workspace holds no replay run yet: neither a regression record in journal.jsonl nor a run under "
            "harnesskit/runs. Replay the cases first, or name a run."
        )
    scored = replays[replays["n_scored"] > 0]
    return str((scored if len(scored) else replays)["run_id"].iloc[0])


def choose_baseline(runs: pd.DataFrame, run: str, baseline: str | None) -> str:
    """Return what to compare `run` with: what was asked for, else the newest control run before it, else captured.

    A run found in the journal is compared with the captured scores that the journal keeps beside it.

    Raises
    ------
    WorkspaceError
        There is no such run, or it is the run itself.
    """
    if baseline == run:
        others = [other for other in runs["run_id"] if other != run]
        raise WorkspaceError(
            f"The run {run!r} cannot be judged against itself: nothing would ever differ. Name another run or "
            f"'{CAPTURED}' as the baseline; there are: {listed([CAPTURED, *others])}."
        )
    if baseline is not None:
        if baseline != CAPTURED:
            choose_run(runs, baseline)
        return baseline
    if run.startswith("journal:"):
        return CAPTURED
    at = runs.loc[runs["run_id"] == run, "ended"].iloc[0]
    earlier = runs[(runs["role"] == "control") & (runs["run_id"] != run) & (runs["n_scored"] > 0)]
    if not pd.isna(at):
        earlier = earlier[earlier["ended"].isna() | (earlier["ended"] <= at)]
    return str(earlier["run_id"].iloc[0]) if len(earlier) else CAPTURED


def circumstances(runs: pd.DataFrame, run: str, baseline: str) -> tuple[int | None, list[str]]:
    """Return how many cases a run was asked to replay, and what has to be said of its baseline.

    Parameters
    ----------
    runs
        Rows of ``queries/replay_runs.sql``.
    run, baseline
        Their ids; the baseline may be ``captured``.
    """
    known: dict[Any, dict[Any, Any]] = runs.set_index("run_id").to_dict("index")
    asked = known[run]["n_asked"]
    said = []
    if baseline != CAPTURED:
        before = known[baseline]
        if before["role"] != "control":
            said.append(
                f"The baseline {baseline} is a {before['role']} run, not a control run: what changed between the two "
                "runs is for you to know."
            )
        ends = before["ended"], known[run]["ended"]
        if not any(pd.isna(end) for end in ends) and ends[0] > ends[1]:
            old, new = (f"{end:%Y-%m-%d %H:%M}" for end in ends)
            said.append(
                f"The baseline {baseline} is newer than the run ({old} against {new} UTC): worse and better may be "
                "the wrong way round."
            )
    return None if pd.isna(asked) else int(asked), said
