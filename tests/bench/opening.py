"""Opening and refreshing a folder of case files."""

from __future__ import annotations

from harnesskit.harness import open_workspace
from tests.bench.places import Places
from tests.bench.timing import Row, interleaved, shown
from tests.bench.ways import look_at, read_bytes, read_models

SIZES = (1_000, 10_000, 100_000)


def bench_open(places: Places) -> list[Row]:
    """Opening 20,000 cases against reading their bytes, and against the standard parser with a model."""
    root = places.cases(20_000)
    times = interleaved([lambda: read_bytes(root), lambda: open_workspace(root), lambda: read_models(root)])
    limit, ours, naive = times.of(0), times.of(1), times.of(2)
    least, spread = times.ratios(1, 0)
    most, other = times.ratios(1, 2)
    return [
        Row("open 20,000 cases / reading their bytes", shown(ours), "", shown(limit), least, spread, 3),
        Row("open 20,000 cases / json.loads + pydantic", shown(ours), shown(naive), "", most, other, 0.75),
    ]


def bench_refresh(places: Places) -> list[Row]:
    """A refresh with nothing changed against a look at every file."""
    root = places.cases(20_000)
    harness = open_workspace(root)
    times = interleaved([lambda: look_at(root), harness.refresh])
    ratio, spread = times.ratios(1, 0)
    return [
        Row("refresh 20,000 unchanged / scandir + stat", shown(times.of(1)), "", shown(times.of(0)), ratio, spread, 1.3)
    ]


def bench_growth(places: Places) -> list[Row]:
    """Cost per file as the folder grows, without what an empty workspace costs."""
    empty = places.cases(0)
    roots = [places.cases(size) for size in SIZES]
    times = interleaved([lambda root=root: open_workspace(root) for root in (empty, *roots)])
    fixed = times.of(0)
    each = [(times.of(place) - fixed) / size for place, size in enumerate(SIZES, start=1)]
    rows = [Row("open an empty workspace", shown(fixed))]
    rows += [
        Row(f"open {size:,} cases", shown(times.of(place)), "", f"{shown(cost)} a file")
        for place, (size, cost) in enumerate(zip(SIZES, each, strict=True), start=1)
    ]
    ratio = max(each) / min(each)
    rows.append(Row("dearest / cheapest file of these sizes", shown(max(each)), "", shown(min(each)), ratio, None, 1.6))
    return rows
