"""Which cases say the same as an older one: exact copies, and nearly the same words under the same signature."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator

import pandas as pd

from harnesskit.measures.near_duplicates import ALIKE, canonical_input, signatures, words_of
from harnesskit.model.frames import CASES

Words = frozenset[str]


def duplicate_cases(cases: pd.DataFrame) -> pd.DataFrame:
    """Return one row per case: the older case that it copies, the case most like it, and how alike (0 to 1).

    A copy has exactly the same input (JSON, whatever the order of keys) and kind. Alike: the same signature and at
    least .8 of the words in common (Jaccard), numbers counting as one word, as `near_duplicates` says for one case.

    Parameters
    ----------
    cases
        Rows of the table cases: ``case_id, replay_input``; ``kind, signature, created_at`` when there.

    Examples
    --------
    >>> text = ['{"task": "refund order 17"}', '{"task": "refund order 18"}', '{"task": "refund order 17"}']
    >>> found = duplicate_cases(pd.DataFrame({"case_id": ["a", "b", "c"], "replay_input": text}))
    >>> found["duplicate_of"].tolist(), found["similar_to"].tolist()
    ([None, None, 'a'], ['b', 'a', 'b'])
    """
    CASES.require(cases, "case_id", "replay_input", by="duplicate_cases()")
    rows = cases.reset_index(drop=True)
    ids = rows["case_id"].astype(str).tolist()
    kinds = rows["kind"].tolist() if "kind" in rows else [None] * len(rows)
    texts = [canonical_input(value) for value in rows["replay_input"]]
    labels = signatures(rows)
    order = _by_age(rows)
    copy_of: list[str | None] = [None] * len(rows)
    oldest: dict[tuple[object, str], int] = {}
    blocks: defaultdict[tuple[str, ...], defaultdict[Words, list[int]]] = defaultdict(lambda: defaultdict(list))
    words: dict[str, Words] = {}
    for at in order:
        text = texts[at]
        if text is None:
            continue
        first = oldest.setdefault((kinds[at], text), at)
        copy_of[at] = None if first == at else ids[first]
        if text not in words:
            words[text] = words_of(text)
        blocks[labels[at]][words[text]].append(at)
    like: list[tuple[str | None, float]] = [(None, float("nan"))] * len(rows)
    for block in blocks.values():
        _pair_up(block, ids, texts, like)
    names = {"case_id": ids, "duplicate_of": copy_of, "similar_to": [name for name, _ in like]}
    found = {column: pd.Series(values, dtype=object) for column, values in names.items()}
    return pd.DataFrame({**found, "similarity": pd.Series([share for _, share in like], dtype=float)})


def _by_age(rows: pd.DataFrame) -> list[int]:
    if "created_at" not in rows:
        return list(range(len(rows)))
    return [int(at) for at in rows.sort_values(["created_at", "case_id"], kind="stable").index]


def _pair_up(
    block: dict[Words, list[int]], ids: list[str], texts: list[str | None], like: list[tuple[str | None, float]]
) -> None:
    """Note for every case of one signature the case that is most like it, exact copies left out."""
    for members in block.values():
        first = members[0]
        other = next((at for at in members if texts[at] != texts[first]), None)
        for at in members:
            twin = first if texts[at] != texts[first] else other
            if twin is not None:
                like[at] = (ids[twin], 1.0)
    for one, two, share in _alike(list(block)):
        for here, there in ((one, two), (two, one)):
            for at in block[here]:
                if not like[at][1] >= share:  # also where nothing is known yet
                    like[at] = (ids[block[there][0]], share)


def _alike(sets: list[Words]) -> Iterator[tuple[Words, Words, float]]:
    """Yield the pairs of sets with at least `ALIKE` of their words in common (prefix filter, Chaudhuri et al. 2006).

    Two such sets share a word among the rarest |s| - ceil(ALIKE |s|) + 1 of each, so few pairs have to be looked at.
    """
    seen = Counter(word for one in sets for word in one)
    index: defaultdict[str, list[Words]] = defaultdict(list)
    for one in sorted(sets, key=lambda s: (len(s), sorted(s))):
        rare = sorted(one, key=lambda word: (seen[word], word))[: len(one) - math.ceil(ALIKE * len(one)) + 1]
        for two in {other for word in rare for other in index[word] if len(other) >= ALIKE * len(one)}:
            share = len(one & two) / len(one | two)
            if share >= ALIKE:
                yield one, two, share
        for word in rare:
            index[word].append(one)
