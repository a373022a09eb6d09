"""Which of two answers is better: asked in both orders, because judges favour a place."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from harnesskit.graders.asking import Ask, Limits
from harnesskit.graders.grader import Grader, build
from harnesskit.graders.judge import (
    LONGEST,
    asker_of,
    cache_and_trial,
    check_votes,
    signature_for,
    too_long,
    vote_identity,
)
from harnesskit.graders.keys import GraderCall
from harnesskit.graders.questions import Question, ask_about
from harnesskit.graders.scales import Scale
from harnesskit.graders.votes import Asker, Reducer, Vote, reducer_of, verdict_of
from harnesskit.model.grade import Grade
from harnesskit.model.identity import identity_of
from harnesskit.model.metrics import Metric

FIRST, SECOND, TIE = "answer_1", "answer_2", "tie"
ORDERS = ("given", "swapped")
_WORDS = f'"{FIRST}" or "{SECOND}", whichever meets the rubric better'


class Pairwise:
    """What a pairwise judge does with one pair; made by `pairwise`."""

    def __init__(
        self, asker: Asker, *, rubric: str, sides: tuple[str, str], reads: Sequence[str], votes: int,
        reduce: Reducer, quorum: int, seed: int,
    ) -> None:  # fmt: skip
        self.asker, self.rubric, self.sides, self.columns = asker, rubric, sides, (*sides, *reads)
        self.votes, self.reduce, self.quorum, self.seed = votes, reduce, quorum, seed
        self.__signature__ = signature_for(self.columns, ())
        self.__doc__ = rubric
        self.replay_identity = asker.identity

    async def __call__(self, *values: Any, call: GraderCall | None = None) -> Grade:
        """Return which side is better: 1 the first, 0 the second."""
        left, right, *context = values
        around = dict(zip(self.columns[2:], context, strict=False))
        questions = {
            "given": self._question({**around, FIRST: left, SECOND: right}),
            "swapped": self._question({**around, FIRST: right, SECOND: left}),
        }
        longest = max(len(question.text) for question in questions.values())
        if longest > LONGEST:
            return too_long(longest)
        cache, trial = cache_and_trial(call)
        votes = await asyncio.gather(
            *(
                self.asker.vote(questions[order], cache, (trial, vote, order), vote=vote, order=order)
                for vote in range(1, self.votes + 1)
                for order in ORDERS
            )
        )
        pairs = [_pair(votes[place], votes[place + 1]) for place in range(0, len(votes), 2)]
        grade = verdict_of(votes, self.reduce, self.quorum, values=[value for value in pairs if value is not None])
        return grade if grade.value is None else Grade(grade.value, self._reason(votes), None, grade.details)

    def _question(self, sample: Mapping[str, Any]) -> Question:
        return ask_about(sample, self.rubric, self.asker.scale, seed=self.seed)

    def _reason(self, votes: Sequence[Vote]) -> str:
        """Return what the two orders said, vote by vote."""
        told = []
        for given, swapped in zip(votes[::2], votes[1::2], strict=True):
            if given.value is None or swapped.value is None:
                told.append("one order without a readable reply")
            elif given.value == 1 - swapped.value:
                told.append("tie" if given.value == 0.5 else self.sides[0] if given.value == 1 else self.sides[1])
            else:
                told.append("the orders disagree")
        return f"better in both orders: {'; '.join(told)}" if "the orders disagree" not in told else "; ".join(told)


def _pair(given: Vote, swapped: Vote) -> float | None:
    """Return the value of one vote in both orders; a judge that always takes one place says nothing: one half."""
    if given.value is None or swapped.value is None:
        return None
    return statistics.fmean((given.value, 1 - swapped.value))


def pairwise(
    rubric: str,
    *,
    ask: Ask,
    sides: tuple[str, str] = ("candidate_output", "control_output"),
    reads: Sequence[str] = ("input",),
    ties: bool = True,
    metric: str | Metric | None = None,
    name: str = "pairwise_judge",
    votes: int = 1,
    reduce: str | Reducer = "mean",
    quorum: int | None = None,
    limits: Limits | None = None,
    settings: Mapping[str, Any] | None = None,
    version: str = "1",
    seed: int = 0,
) -> Grader:
    """Return a grader that asks a judge which of two answers is better, always in both orders.

    The value is 1 when the first side is better in both orders, 0 when the second is, and one half for a tie or when
    the orders disagree; `harnesskit.position_bias` says how often they do. A vote is two replies, both
    readable.

    Parameters
    ----------
    rubric
        What makes an answer better, in words.
    sides
        The columns of the two answers.
    reads
        Columns that the judge sees beside them.
    ties
        Whether the judge may call it a tie.
    ask, metric, name, votes, reduce, quorum, limits, settings, version, seed
        As for `judge`.

    Raises
    ------
    GraderError
        Something declared cannot be used.

    Examples
    --------
    >>> import json, pandas as pd
    >>> from harnesskit.graders.grading import grade
    >>> def ask(question):  # it takes whatever stands first
    ...     code = question.user.rpartition(" ")[2]
    ...     return json.dumps({"code": code, "reason": "it is first", "score": "answer_1"})
    >>> better = pairwise("The shorter answer is better.", ask=ask, reads=[], metric="preferred")
    >>> pair = pd.DataFrame({"sample_id": ["p-1"], "candidate_output": ["a"], "control_output": ["b"]})
    >>> grade(pair, better)[["value", "reason"]].values.tolist()
    [[0.5, 'the orders disagree']]
    """
    answers: list[tuple[str | int | bool, float]] = [(FIRST, 1.0), (SECOND, 0.0)]
    words = f'{_WORDS}; "{TIE}" when neither does' if ties else _WORDS
    scale = Scale((*answers, (TIE, 0.5)) if ties else tuple(answers), words=words)
    need = votes // 2 + 1 if quorum is None else quorum
    check_votes(rubric, votes, need)
    told = {
        "rubric": rubric, "ties": ties, "ask": identity_of(ask), "sides": [*sides], "reads": [*reads], "votes": votes,
        "reduce": reduce if isinstance(reduce, str) else identity_of(reduce), "quorum": need, "seed": seed,
        **(settings or {}),
    }  # fmt: skip
    asker = asker_of(ask, limits, scale, f"pairwise {version} {vote_identity(told)}")
    function = Pairwise(
        asker, rubric=rubric, sides=sides, reads=reads, votes=votes, reduce=reducer_of(reduce), quorum=need, seed=seed
    )
    return build(function, name=name, metric=metric or name, version=version, settings=told, takes_call=True)
