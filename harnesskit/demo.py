"""The demo: the workspace of an invented support agent, in the reference harness's formats and in ours.

What is true of it is known, because it was planted: see the constants in `harnesskit.demo_world`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from harnesskit import __version__
from harnesskit.demo_world.cases import make_cases, write_cases
from harnesskit.demo_world.draws import METRICS, THRESHOLD, TIER_1, texts
from harnesskit.demo_world.journal import write_journal
from harnesskit.demo_world.mailbox import write_mailbox, write_state
from harnesskit.demo_world.replays import write_runs
from harnesskit.demo_world.rules import make_rules, write_rules
from harnesskit.demo_world.traffic import write_labels, write_traffic
from harnesskit.demo_world.trials import write_trials
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
    write_runs(path, seed, cases)
    write_labels(path, seed, words, write_traffic(path, seed, words))
    write_atomic(path / METRICS_FILE, _declarations().encode("utf-8"))
    write_trials(path, seed, cases, rules)
    return path


def demo_root() -> Path:
    """Return the folder of the demo workspace: ``data/demo`` of a checkout, else one built in the temporary folder.

    The built one is kept for the next call; it is written whole before it gets its name.
    """
    beside = Path(__file__).resolve().parents[1] / "data" / "demo"
    if beside.is_dir():
        return beside
    kept = Path(tempfile.gettempdir()) / f"harnesskit-demo-{__version__}"
    if not kept.is_dir():
        with tempfile.TemporaryDirectory(prefix="harnesskit-demo-") as folder:
            built = build_demo(Path(folder) / "demo")
            try:
                shutil.copytree(built, partial := kept.with_name(f"{kept.name}.{os.getpid()}"))
                partial.rename(kept)
            except OSError:  # another process was first
                shutil.rmtree(partial, ignore_errors=True)
    return kept


def _declarations() -> str:
    tables = [f"[metrics.{name}]\ntier = {1 if name in TIER_1 else 2}\nthreshold = {THRESHOLD}\n" for name in METRICS]
    return "\n".join(tables)
