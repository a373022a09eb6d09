"""Judges: graders that ask a model, or anything else, with a declared rubric, scale and form of the reply."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from harnesskit.graders.asking import Ask, Gate, Limits
from harnesskit.graders.grader import Grader, build
from harnesskit.graders.keys import GraderCall
from harnesskit.graders.questions import ask_about
from harnesskit.graders.scales import Scale, scale_of
from harnesskit.graders.settings import settings_digest
from harnesskit.graders.votes import Asker, Reducer, reducer_of, verdict_of
from harnesskit.model.errors import GraderError
from harnesskit.model.grade import Grade
from harnesskit.model.identity import identity_of
from harnesskit.model.metrics import Metric
from harnesskit.workspace.reading import clean_text

LONGEST = 200_000
"""Characters of a question that are sent; a longer sample is unscored and never cut."""

ScaleLike = Scale | Mapping[str, float] | tuple[float, float] | str


class Judge:
    """What a judge does with one sample; made by `judge`."""

    def __init__(
        self,
        asker: Asker,
        *,
        rubric: str,
        reads: Sequence[str],
        optional: Sequence[str],
        votes: int,
        reduce: Reducer,
        quorum: int,
        seed: int,
    ) -> None:
        self.asker, self.rubric, self.columns = asker, rubric, (*reads, *optional)
        self.votes, self.reduce, self.quorum, self.seed = votes, reduce, quorum, seed
        self.__signature__ = signature_for(reads, optional)
        self.__doc__ = rubric
        self.replay_identity = asker.identity

    async def __call__(self, *values: Any, call: GraderCall | None = None) -> Grade:
        """Return the verdict on one sample."""
        sample = {name: value for name, value in zip(self.columns, values, strict=False) if value is not None}
        question = ask_about(sample, self.rubric, self.asker.scale, seed=self.seed)
        if len(question.text) > LONGEST:
            return too_long(len(question.text))
        cache, trial = cache_and_trial(call)
        votes = await asyncio.gather(
            *(self.asker.vote(question, cache, (trial, vote), vote=vote) for vote in range(1, self.votes + 1))
        )
        return verdict_of(votes, self.reduce, self.quorum)


def judge(
    rubric: str,
    *,
    ask: Ask,
    scale: ScaleLike = "pass_fail",
    metric: str | Metric | None = None,
    name: str = "judge",
    reads: Sequence[str] = ("input", "output"),
    optional: Sequence[str] = (),
    votes: int = 1,
    reduce: str | Reducer = "mean",
    quorum: int | None = None,
    limits: Limits | None = None,
    settings: Mapping[str, Any] | None = None,
    version: str = "1",
    seed: int = 0,
) -> Grader:
    """Return a grader that asks a judge about each sample and takes nothing but a strict, structured reply.

    The judge is asked for a JSON object with the score, the reason, and a code that only the question holds; what the
    sample says cannot pass for it. Any other reply is ``unscored``, the raw reply kept in `details`; a judge that
    cannot be reached is an ``error``. With a cache, each vote is kept as it ends and never asked for again; failures
    are not kept. The value is 0 to 1, as the scale maps it.

    Parameters
    ----------
    rubric
        What a good sample is, in words.
    ask
        Who is asked: any function of a `Question` (its ``system``, ``user``, ``messages``, ``schema``), sync or async,
        that returns the reply as text or as a `Reply`; or an `openai_endpoint`.
    scale
        ``"pass_fail"``, words with their values (``{"wrong": 0, "right": 1}``), whole points ``(1, 5)``, numbers
        ``(0.0, 1.0)``, or a `Scale`.
    metric
        What is measured; the name of the grader when None.
    reads, optional
        Columns that the judge sees. A sample without one of `reads` is unscored.
    votes
        How often each sample is asked about, independently.
    reduce
        What the votes become: ``mean``, ``median``, ``majority``, or a function of their values.
    quorum
        Votes that must be readable; more than half when None.
    limits
        Of asking; those of the endpoint, else `Limits()`, when None.
    settings
        What else decides about a verdict, e.g. ``{"model": "small"}`` of a function; part of the version.
    seed
        Of the codes in the question.

    Raises
    ------
    GraderError
        Something declared cannot be used.

    Examples
    --------
    >>> import json, pandas as pd
    >>> from harnesskit.graders.grading import grade
    >>> def ask(question):
    ...     code = question.user.rpartition(" ")[2]
    ...     return json.dumps({"code": code, "reason": "it names the city", "score": "Paris" in question.user})
    >>> names_city = judge("The answer names the capital.", ask=ask, metric="correct", reads=["output"])
    >>> samples = pd.DataFrame({"sample_id": ["s-1", "s-2"], "output": ["Paris", "Lyon"]})
    >>> grade(samples, names_city)["value"].tolist()
    [1.0, 0.0]
    """
    chosen, how = scale_of(scale), reducer_of(reduce)
    need = votes // 2 + 1 if quorum is None else quorum
    check_votes(rubric, votes, need)
    told = {
        "rubric": rubric, "scale": [chosen.answers, chosen.low, chosen.high, chosen.in_words], "ask": identity_of(ask),
        "reads": [*reads], "optional": [*optional], "votes": votes,
        "reduce": reduce if isinstance(reduce, str) else identity_of(reduce), "quorum": need, "seed": seed,
        **(settings or {}),
    }  # fmt: skip
    asker = asker_of(ask, limits, chosen, f"judge {version} {vote_identity(told)}")
    function = Judge(
        asker, rubric=rubric, reads=reads, optional=optional, votes=votes, reduce=how, quorum=need, seed=seed
    )
    return build(function, name=name, metric=metric or name, version=version, settings=told, takes_call=True)


def vote_identity(told: Mapping[str, Any]) -> str:
    """Return what decides about a single vote: asking for more of them, or reducing them otherwise, changes none."""
    return settings_digest({name: value for name, value in told.items() if name not in ("votes", "reduce", "quorum")})


def asker_of(ask: Ask, limits: Limits | None, scale: Scale, identity: str) -> Asker:
    """Return who is asked: through the gate that `ask` brings along, or one of its own."""
    if not callable(ask):
        raise GraderError(f"a judge needs a function or an endpoint as ask=; found {ask!r}.")
    gate = getattr(ask, "gate", None)
    return Asker(ask, gate if limits is None and isinstance(gate, Gate) else Gate(limits or Limits()), scale, identity)


def check_votes(rubric: str, votes: int, quorum: int) -> None:
    """Refuse what no sample could be judged by."""
    if not isinstance(rubric, str) or not rubric.strip():
        raise GraderError(f"a judge needs a rubric, in words; found {rubric!r}.")
    if isinstance(votes, bool) or not isinstance(votes, int) or votes < 1:
        raise GraderError(f"a judge needs votes as a whole number from 1; found {votes!r}.")
    if not 1 <= quorum <= votes:
        raise GraderError(f"a judge needs a quorum from 1 to its {votes} votes; found {quorum!r}.")


def cache_and_trial(call: GraderCall | None) -> tuple[Any, Any]:
    """Return the cache, and what keeps the votes of repeats apart: the trial, else the sample."""
    if call is None:
        return None, None
    return call.cache, call.sample_id if call.trial is None else call.trial


def signature_for(reads: Sequence[str], optional: Sequence[str]) -> inspect.Signature:
    """Return the signature that declares the columns of a judge."""
    wrong = [one for one in (*reads, *optional) if not (isinstance(one, str) and one.isidentifier()) or one == "call"]
    if isinstance(reads, str) or isinstance(optional, str) or wrong or not (reads or optional):
        raise GraderError(
            f"a judge reads columns, as a list of their names, e.g. reads=['input', 'output']; found "
            f"{wrong[0] if wrong else reads!r}. For another column name use .on(output='my column')."
        )
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            *(inspect.Parameter(name, plain) for name in reads),
            *(inspect.Parameter(name, plain, default=None) for name in optional),
            inspect.Parameter("call", inspect.Parameter.KEYWORD_ONLY, default=None),
        ]
    )


def too_long(characters: int) -> Grade:
    """Return what is said of a sample that is not sent."""
    return Grade.unscored(clean_text(f"the question has {characters:,} characters; at most {LONGEST:,} are sent"))
