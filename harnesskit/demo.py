"""The demo: the workspace of an invented support agent, in the reference harness's formats and in ours.

What is true of it is known, because it was planted: see the constants in `harnesskit.demo_world`.
"""

from __future__ import annotations

from pathlib import Path

from harnesskit.demo_world.cases import make_cases, write_cases
from harnesskit.demo_world.draws import METRICS, THRESHOLD, TIER_1, texts
from harnesskit.demo_world.journal import write_journal
from harnesskit.demo_world.mailbox import write_mailbox, write_state
from harnesskit.demo_world.replays import write_runs
from harnesskit.demo_world.rules import make_rules, write_rules
from harnesskit.demo_world.traffic import write_labels, write_traffic
from harnesskit.model.errors import WorkspaceError
from harnesskit.workspace.atomic import write_atomic
from harnesskit.workspace.layout import METRICS as METRICS_FILE

SEED = 2026


def build_demo(root: str | Path, *, seed: int = SEED) -> Path:
    """Write the demo workspace into the folder `root` and return its absolute path.

    The same seed gives the same files. Parquet files have the same names and rows; their bytes depend on the version of
    pyarrow.

    Parameters
    ----------
    root
        A folder that is not there yet, or is empty.
    seed
        Seed of everything that is drawn. The planted effects hold for every seed, what is seen of them differs.

    Raises
    ------
    WorkspaceError
        The folder holds something already.
    """
    path = Path(root).expanduser().absolute()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise WorkspaceError(f"The demo needs an empty folder; {path} holds something already. Give another one.")
    path.mkdir(parents=True, exist_ok=True)
    words = texts()
    cases = make_cases(seed, words)
    rules = make_rules(seed, words, cases)
    write_cases(path, cases)
    write_rules(path, rules)
    write_journal(path, seed, cases, rules)
    write_mailbox(path, cases, rules)
    write_state(path, seed, cases)
    write_runs(path, seed, cases, rules)
    write_labels(path, seed, words, write_traffic(path, seed, words))
    write_atomic(path / METRICS_FILE, _declarations().encode("utf-8"))
    return path


def _declarations() -> str:
    tables = [f"[metrics.{name}]\ntier = {1 if name in TIER_1 else 2}\nthreshold = {THRESHOLD}\n" for name in METRICS]
    return "\n".join(tables)
