"""Capturing into a set and finding cases in it, as the set grows."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from harnesskit.model.case import EvalCase
from harnesskit.model.config import HarnessConfig
from harnesskit.workspace.evalset_store import EvalSet
from tests.bench.made_files import METRICS
from tests.bench.places import Places
from tests.bench.timing import Row, interleaved, shown
from tests.bench.ways import read_models

SIZE, LARGE = 10_000, 20_000
REPEATS = 41
NO_CAP = HarnessConfig(eval_case_max=0)
_numbers = itertools.count()


def bench_capture(places: Places) -> list[Row]:
    """One capture, what it syncs included: into a set of 10,000 against an empty one, alone and in company."""
    roots = [_copy(places, "capture", size) for size in (0, SIZE)]
    sets = [_opened(root) for root in roots]
    alone = interleaved([lambda cases=cases: _capture(cases) for cases in sets], REPEATS)
    ratio, spread = alone.ratios(1, 0)
    rows = [
        Row(
            "capture into 10,000 / into a set that began empty",
            shown(alone.of(1)),
            shown(alone.of(0)),
            "",
            ratio,
            spread,
            3,
        )
    ]
    capped = [EvalSet(root, HarnessConfig(eval_case_max=len(cases))) for root, cases in zip(roots, sets, strict=True)]
    full = interleaved([lambda cases=cases: _capture(cases) for cases in capped], REPEATS)
    ratio, spread = full.ratios(1, 0)
    rows.append(Row("the same, one evicted each time", shown(full.of(1)), shown(full.of(0)), "", ratio, spread, 3))
    return [*rows, _in_company(roots, sets)]


def _in_company(roots: list[Path], sets: list[EvalSet]) -> Row:
    """Another process captures once before each capture, outside what is timed."""
    command = [sys.executable, "-m", "tests.bench.capturing"]
    pipe = subprocess.PIPE
    others = [subprocess.Popen([*command, str(root)], stdin=pipe, stdout=pipe, text=True) for root in roots]
    ways: list[Callable[[], object]] = []
    for cases, other in zip(sets, others, strict=True):
        ways += [lambda other=other: _ask(other), lambda cases=cases: _capture(cases)]
    times = interleaved(ways, REPEATS)
    for other in others:
        other.communicate()
    ratio, spread = times.ratios(3, 1)
    what = "the same, another process captures in between"
    return Row(what, shown(times.of(3)), shown(times.of(1)), "", ratio, spread, 3)


def bench_matching(places: Places) -> list[Row]:
    """Finding cases by label in 20,000 against parsing the folder, for a rare label and for one of a fifth of all.

    What is found is the caller's own, made when it is first read. So the cost is told three times: to find the cases,
    to choose among them by their plain fields, and to read the payload and the scores of every one. To make thousands
    of payloads costs by their number and their length in any parser, which is why the last has no target.
    """
    root = _copy(places, "matching", LARGE)
    cases = _opened(root)
    for number in range(200):
        _capture(cases, f"breach:rare-{number % 2}")
    rows = []
    for label in ("breach:rare-1", f"breach:{METRICS[1]}"):
        found = cases.matching((label,))
        ways: dict[str, Callable[[], object]] = {
            f"matching() of {len(found):,}": lambda label=label: cases.matching((label,)),
            "the same, id and replayable of all": lambda label=label: _chosen(cases.matching((label,))),
            "the same, payload and scores of all": lambda label=label: _read(cases.matching((label,))),
        }
        times = interleaved([*ways.values(), lambda: read_models(root), lambda: _parse(root)])
        for naive, name in ((3, "json.loads + pydantic"), (4, "json.loads alone")):
            for way, (what, bound) in enumerate(zip(ways, (50, 50, None), strict=True)):
                ratio, spread = times.ratios(naive, way)
                measured, parsed = shown(times.of(way)), shown(times.of(naive))
                rows.append(Row(f"{name} of 20,000 / {what}", measured, parsed, "", ratio, spread, bound, least=True))
    return rows


def _chosen(found: list[EvalCase]) -> list[EvalCase]:
    """Touch what validation chooses by."""
    for case in found:
        _ = case.id, case.replayable
    return found


def _read(found: list[EvalCase]) -> list[EvalCase]:
    """Read what is decoded late, and keep it as a caller does."""
    for case in found:
        _ = case.replay_input, case.baseline_scores
    return found


def _copy(places: Places, name: str, size: int) -> Path:
    """A copy of a made workspace, so that the others keep theirs as it is."""
    return Path(shutil.copytree(places.cases(size), places.folder / f"{name}-{size}"))


def _opened(root: Path) -> EvalSet:
    cases = EvalSet(root, NO_CAP)
    cases.cases()
    return cases


def _capture(cases: EvalSet, label: str = "breach:coherence") -> None:
    cases.capture(
        session_id=f"{label}-{next(_numbers)}",
        kind="failure",
        signature=(label,),
        baseline_scores={"coherence": 0.3},
        replay_input={"task": "refund order 1017", "messages": ["x" * 200] * 3},
        notes="coherence=0.30 [breach, threshold 0.50]",
    )


def _ask(other: subprocess.Popen[str]) -> None:
    assert other.stdin
    assert other.stdout
    other.stdin.write("\n")
    other.stdin.flush()
    other.stdout.readline()


def _parse(root: Path) -> list[object]:
    return [json.loads(path.read_bytes()) for path in (root / "evalset").iterdir()]


def main(root: str) -> None:
    """Capture once for every line of the input."""
    cases = _opened(Path(root))
    for number, _ in enumerate(sys.stdin):
        _capture(cases, f"breach:other-{number}")
        print(flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
