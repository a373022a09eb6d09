"""Replay functions for teams without a harness: around a plain function, around a command."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from harnesskit.model.case import EvalCase
from harnesskit.model.errors import nearest
from harnesskit.model.identity import identity_of
from harnesskit.model.replay import ReplayError, ReplayResult
from harnesskit.replays.bounded import awaits
from harnesskit.replays.child_process import answer_of
from harnesskit.replays.context import ReplayContext
from harnesskit.workspace.reading import to_json

Agent = Callable[..., Any]
"""Takes a replay input and returns an output, or a `ReplayResult`; sync or async."""


def fresh_session() -> str:
    """Return a session id that nobody has used."""
    return f"replay-{uuid.uuid4().hex}"


def from_agent(fn: Agent, *, session: Callable[[], str] = fresh_session) -> Callable[..., Any]:
    """Return a replay function around ``fn(replay_input) -> output``.

    Every replay gets a session id of its own; the output is kept with the sample for graders to look at.

    Parameters
    ----------
    fn
        Takes the replay input of a case; what it returns is the output. It may return a `ReplayResult` instead, to
        report scores, tokens and cost; an empty session id in it is filled. Sync or async.
    session
        Makes the session ids.

    Raises
    ------
    ReplayError
        `fn` cannot be called.

    Examples
    --------
    >>> replay = from_agent(lambda task: task["n"] * 2)
    >>> replay(EvalCase(id="c-1", replay_input={"n": 21})).output
    42
    """
    if not callable(fn):
        raise ReplayError(f"from_agent() needs a function of the replay input; found {type(fn).__name__}.")

    def result(output: Any) -> ReplayResult:
        if isinstance(output, ReplayResult):
            return output if output.session_id else ReplayResult(**{**vars(output), "session_id": session()})
        return ReplayResult(session(), output=output)

    if awaits(fn):

        async def replay_async(case: EvalCase) -> ReplayResult:
            return result(await fn(case.replay_input))

        return _same_as(replay_async, fn)

    def replay(case: EvalCase) -> Any:
        output = fn(case.replay_input)
        return _later(output) if inspect.isawaitable(output) else result(output)

    async def _later(output: Any) -> ReplayResult:
        return result(await output)

    return _same_as(replay, fn)


def _same_as(replay: Callable[..., Any], fn: Agent) -> Callable[..., Any]:
    replay.replay_identity = f"from_agent {identity_of(fn)}"  # type: ignore[attr-defined]
    return replay


class CommandAgent:
    """A replay function that runs one process per replay; made by `from_command`."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str] | None, cwd: str | None) -> None:
        self._command = list(command)
        self._environment = environment
        self._cwd = cwd
        self.replay_identity = f"from_command {to_json(self._command)}"

    async def __call__(self, case: EvalCase, context: ReplayContext) -> ReplayResult:
        """Send the case, read the answer."""
        session = fresh_session()
        asked = {
            "case": {
                "id": case.id,
                "kind": case.kind,
                "session_id": case.session_id,
                "replay_input": case.replay_input,
            },
            "session_id": session,
            "trial": context.trial,
            "seed": context.seed,
            "preamble": str(context),
            "rules": [
                {"id": rule.rule_id, "scope": rule.scope, "status": rule.status, "rule": rule.rule}
                for rule in context.task_tools.rules
            ],
        }
        answer = await answer_of(self._command, asked, environment=self._environment, cwd=self._cwd)
        for rule_id in answer.pop("rules_read", None) or ():
            context.task_tools.call("harness_rules_read", {"rule_id": rule_id})
        known = [one.name for one in fields(ReplayResult)]
        strange = [name for name in answer if name not in known]
        if strange:
            said = f"{strange[0]!r}{nearest(strange[0], known)}"
            raise ReplayError(f"the answer of {self._command[0]!r} has a key that is not known: {said}.")
        return ReplayResult(**{"session_id": session, **answer})


def from_command(
    command: Sequence[str], *, environment: Mapping[str, str] | None = None, cwd: str | None = None
) -> CommandAgent:
    """Return a replay function that runs a command, in any language, once per replay.

    The command reads one JSON object from its standard input: ``case`` (``id, kind, session_id, replay_input``),
    ``session_id`` (a new one, to be used), ``trial``, ``seed``, ``preamble``, and ``rules`` (those the replay may see:
    ``id, scope, status, rule``). It writes one JSON object to its standard output, with any of ``session_id, output,
    steps, scores, input_tokens, output_tokens, cost_usd`` and ``rules_read``, the ids of the rules it made use of.
    Another exit status than 0 is an error, with the end of its standard error. At the time limit the process and its
    children are killed.

    Parameters
    ----------
    command
        Program and arguments; no shell is involved.
    environment
        Variables set besides those of this process.
    cwd
        Working folder of the process.

    Raises
    ------
    ReplayError
        The command is empty, or a single text (a shell line).

    Examples
    --------
    >>> from_command(["node", "agent.js"]).replay_identity
    'from_command ["node","agent.js"]'
    """
    if isinstance(command, str) or not command or not all(isinstance(part, str) for part in command):
        raise ReplayError(f"from_command() needs a list: program and arguments, each a text; found {command!r}.")
    return CommandAgent(command, environment=environment, cwd=cwd)
