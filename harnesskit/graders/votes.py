"""One vote of a judge, kept or asked for, and the rules that make several votes one verdict."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from harnesskit.graders.asking import Ask, Asked, Gate, Reply
from harnesskit.graders.judge_reply import read_reply
from harnesskit.graders.questions import Question
from harnesskit.graders.scales import Scale
from harnesskit.model.errors import GraderError
from harnesskit.model.grade import Grade

VoteStatus = Literal["ok", "unreadable", "refused", "error"]
Reducer = Callable[[Sequence[float]], float | None]


class Vote(NamedTuple):
    """How one vote ended; only ``ok`` has a value."""

    status: VoteStatus
    value: float | None
    reason: str
    record: dict[str, Any]
    """What is kept of it in the details of the grade."""


@dataclass(frozen=True)
class Asker:
    """Who is asked, through which gate, on which scale; and what decides about the replies, for the key of a vote."""

    ask: Ask
    gate: Gate
    scale: Scale
    identity: str

    async def vote(
        self, question: Question, cache: MutableMapping[str, str] | None, told: Sequence[Any], **more: Any
    ) -> Vote:
        """Return one vote: the kept one, else asked for and kept if it could be read.

        Parameters
        ----------
        told
            What tells this vote from others on the same question: the trial and the number of the vote.
        more
            What to write down about it.
        """
        key = self._key(question, told)
        if cache is not None and (kept := cache.get(key)) is not None:
            vote = self._heard(question, _kept(kept), {**more, "kept": True})
            if vote is not None and vote.status == "ok":
                return vote
        asked = await self.gate.ask(self.ask, question)
        calls = {"calls": list(asked.calls), "seconds": round(asked.seconds, 3)}
        if asked.reply is None:
            return Vote("error", None, asked.reason, {**more, "status": "error", "reason": asked.reason, **calls})
        vote = self._heard(question, asked.reply, {**more, **calls})
        assert vote is not None
        if vote.status == "ok" and cache is not None:
            text = _text(asked)
            first = cache.setdefault(key, text)
            if first != text:  # the same vote was asked for twice at once: all use the first answer
                return self._heard(question, _kept(first), {**more, **calls}) or vote
        return vote

    def _key(self, question: Question, told: Sequence[Any]) -> str:
        text = json.dumps([self.identity, question.system, question.user, list(told)], default=repr)
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()

    def _heard(self, question: Question, reply: Reply | None, record: dict[str, Any]) -> Vote | None:
        """Return the vote that a reply gives; None for a kept reply that is none."""
        if reply is None:
            return None
        record |= {
            "reply": reply.text, "input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens,
            "cost_usd": reply.cost_usd,
        }  # fmt: skip
        if reply.refusal is not None:
            return Vote("refused", None, reply.refusal, {**record, "status": "refused", "reason": reply.refusal})
        read = read_reply(reply.text, self.scale, code=question.code)
        if read.value is None:
            return Vote("unreadable", None, read.reason, {**record, "status": "unreadable", "reason": read.reason})
        said = {"status": "ok", "value": read.value, "answer": read.answer, "reason": read.reason}
        return Vote("ok", read.value, read.reason, {**record, **said})


def _text(asked: Asked) -> str:
    reply = asked.reply
    assert reply is not None
    kept = [reply.text, reply.input_tokens, reply.output_tokens, reply.cost_usd]
    return json.dumps(kept, separators=(",", ":"))


def _kept(text: str) -> Reply | None:
    """Return a kept reply; None for a record that is not one."""
    try:
        reply, read, written, cost = json.loads(text)
    except (ValueError, TypeError):
        return None
    return Reply(reply, None, read, written, cost) if isinstance(reply, str) else None


def majority(values: Sequence[float]) -> float | None:
    """Return the value that most votes gave; None when two share the first place.

    Examples
    --------
    >>> majority([1.0, 0.0, 1.0]), majority([1.0, 0.0])
    (1.0, None)
    """
    first = statistics.multimode(values)
    return first[0] if len(first) == 1 else None


REDUCERS: Mapping[str, Reducer] = {"mean": statistics.fmean, "median": statistics.median, "majority": majority}


def reducer_of(given: str | Reducer) -> Reducer:
    """Return a reducer by its name, or the function itself."""
    found = REDUCERS.get(given) if isinstance(given, str) else given
    if found is None or not callable(found):
        raise GraderError(f"a judge reduces votes by {', '.join(REDUCERS)} or a function; found {given!r}.")
    return found


def verdict_of(votes: Sequence[Vote], reduce: Reducer, quorum: int, *, values: Sequence[float] | None = None) -> Grade:
    """Return the grade that votes make: their reduced value, or why there is none.

    Fewer readable votes than `quorum` give no value: ``error`` when a vote could not be asked for (grading again may
    help), else ``unscored``. The reason is that of the vote next to the value.

    Parameters
    ----------
    values
        Values of the votes that count, where they are not those of the votes one by one.
    """
    details = {"votes": [vote.record for vote in votes]}
    counted = [vote.value for vote in votes if vote.value is not None] if values is None else list(values)
    lost = [vote for vote in votes if vote.value is None]
    if len(counted) < quorum:
        worst = next((vote for vote in lost if vote.status == "error"), lost[0] if lost else None)
        why = (
            "no vote"
            if worst is None
            else f"{worst.status}: {worst.reason}"
            if worst.status != "error"
            else worst.reason
        )
        reason = why if len(votes) == 1 else f"{len(votes) - len(lost)} of {len(votes)} replies could be used; {why}"
        if worst is not None and worst.status == "error":
            return Grade.error(reason, details)
        return Grade.unscored(reason, details)
    value = reduce(counted)
    if value is None:
        return Grade.unscored(f"the votes are tied: {', '.join(f'{one:g}' for one in counted)}", details)
    heard = [vote for vote in votes if vote.value is not None]
    nearest = min(heard, key=lambda vote: abs((vote.value or 0.0) - value))
    note = f" ({len(heard)} of {len(votes)} replies)" if lost else ""
    return Grade(value, f"{nearest.reason}{note}" or None, None, details)
