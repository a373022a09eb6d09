"""Any OpenAI-compatible endpoint as a judge, through the openai client (the extra ``judge``)."""

from __future__ import annotations

import asyncio
import json
import os
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from harnesskit.graders.asking import AskError, Gate, Limits, Reply
from harnesskit.graders.questions import Question
from harnesskit.model.errors import GraderError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Structured = Literal["json_schema", "json_object", "none"]
_FORMS: tuple[Structured, ...] = ("json_schema", "json_object", "none")
_MILLION = 1_000_000
_MISSING = (
    "openai_endpoint() needs the package openai, which is not installed: pip install 'harnesskit[judge]', "
    "or give judge() a function of your own as ask=."
)
_LONGEST = 300
_WORTH_ANOTHER_TRY = (408, 409, 425)


class Endpoint:
    """One model at one address, asked through chat completions; made by `openai_endpoint`.

    Attributes
    ----------
    gate
        Its limits, shared by all judges that ask it.
    replay_identity
        What decides about its replies: address, model, settings; never the key.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None,
        structured: Structured,
        settings: Mapping[str, Any],
        price: tuple[float, float] | None,
        gate: Gate,
    ) -> None:
        self.base_url, self.model, self.structured = base_url, model, structured
        self.settings, self.price, self.gate = dict(settings), price, gate
        self._api_key = api_key
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncOpenAI] = weakref.WeakKeyDictionary()
        told = {"base_url": base_url, "model": model, "structured": structured, "settings": self.settings}
        self.replay_identity = json.dumps(told, sort_keys=True, default=repr)

    def __repr__(self) -> str:
        return f"<endpoint {self.model} at {self.base_url}>"

    async def __call__(self, question: Question) -> Reply:
        """Return the reply to a question; one call, no retries of its own."""
        import openai

        try:
            messages: Any = question.messages
            answer = await self._client().chat.completions.create(
                model=self.model, messages=messages, **self._form(question), **self.settings
            )
        except openai.APIError as error:
            raise _ask_error(error) from error
        except (ValueError, UnicodeDecodeError) as error:  # a body that is no JSON
            raise AskError(f"the endpoint sent no JSON ({str(error)[:_LONGEST]})") from error
        return self._reply(answer)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _client(self) -> AsyncOpenAI:
        """Return the client of the running event loop, to which its connections are bound."""
        from openai import AsyncOpenAI, Omit

        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            headers: Any = {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}  # not from the environment
            self._clients[loop] = AsyncOpenAI(
                base_url=self.base_url, api_key=self._api_key or "none", organization="", project="",
                default_headers=headers, max_retries=0, timeout=self.gate.limits.timeout_s,
            )  # fmt: skip
        return self._clients[loop]

    def _form(self, question: Question) -> dict[str, Any]:
        if self.structured == "none":
            return {}
        if self.structured == "json_object":
            return {"response_format": {"type": "json_object"}}
        schema = {"name": "verdict", "strict": True, "schema": dict(question.schema)}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}

    def _reply(self, answer: Any) -> Reply:
        """Return the first choice of an answer; whatever of it may be missing is looked at with care."""
        choices = getattr(answer, "choices", None)
        if not choices or getattr(choices[0], "message", None) is None:
            raise AskError("the endpoint sent an answer without a choice")
        message, finish = choices[0].message, getattr(choices[0], "finish_reason", None)
        refusal = getattr(message, "refusal", None)
        if refusal is None and finish == "content_filter":
            refusal = "stopped by a content filter"
        if refusal is None and finish == "length":
            refusal = "cut off: the reply reached the limit of tokens"
        usage = getattr(answer, "usage", None)
        read, written = (_count(usage, name) for name in ("prompt_tokens", "completion_tokens"))
        cost = None
        if self.price is not None and read is not None and written is not None:
            cost = (read * self.price[0] + written * self.price[1]) / _MILLION
        content = getattr(message, "content", None)
        return Reply(content if isinstance(content, str) else "", refusal, read, written, cost)


def openai_endpoint(
    model: str,
    *,
    base_url: str,
    api_key: str | None = None,
    api_key_from: str | None = None,
    structured: Structured = "json_schema",
    settings: Mapping[str, Any] | None = None,
    price: tuple[float, float] | None = None,
    limits: Limits | None = None,
) -> Endpoint:
    """Return a model behind an OpenAI-compatible address, as the `ask` of a judge.

    Nothing is sent before a judge asks, and nothing to any other address. Keys are taken from no place that is not
    named here, and stand in no version, cache, message or repr.

    Parameters
    ----------
    model
        Name of the model, as the endpoint knows it.
    base_url
        Where it is, e.g. ``http://127.0.0.1:8000/v1``.
    api_key, api_key_from
        The key, or the environment variable that holds it; neither for an endpoint that wants none.
    structured
        How the form of the reply is demanded: by JSON Schema, as any JSON object, or by the words of the question
        alone. The reply is read as strictly in any case.
    settings
        Further arguments of a chat completion, e.g. ``{"temperature": 0}``; part of the judge's version.
    price
        US dollars per million tokens, read and written, for the ledger.
    limits
        How hard it may be asked, by all judges together.

    Raises
    ------
    GraderError
        The package is not installed, the address is none, or the variable is not set.

    Examples
    --------
    >>> openai_endpoint("judge-small", base_url="http://127.0.0.1:8000/v1")  # doctest: +SKIP
    <endpoint judge-small at http://127.0.0.1:8000/v1>
    """
    try:
        import openai  # noqa: F401 - said now, not at the first sample
    except ImportError as error:
        raise GraderError(_MISSING) from error
    if not base_url.startswith(("http://", "https://")):
        raise GraderError(f"openai_endpoint() needs base_url as an http(s) address; found {base_url!r}.")
    if structured not in _FORMS:
        raise GraderError(f"openai_endpoint() needs structured as one of {', '.join(_FORMS)}; found {structured!r}.")
    if api_key_from is not None:
        api_key = os.environ.get(api_key_from)
        if not api_key:
            raise GraderError(
                f"openai_endpoint() looks for its key in the environment variable {api_key_from}, which is not set."
            )
    return Endpoint(
        base_url, model, api_key=api_key, structured=structured, settings=settings or {}, price=price,
        gate=Gate(limits or Limits()),
    )  # fmt: skip


def _ask_error(error: Any) -> AskError:
    """Return what an error of the client means for another try."""
    import openai

    text = str(getattr(error, "message", error))[:_LONGEST]
    if isinstance(error, openai.APITimeoutError):
        return AskError(text, outcome="timed_out")
    if isinstance(error, openai.APIConnectionError):
        return AskError(f"{text} {error.__cause__ or ''}".strip()[:_LONGEST], outcome="unreachable")
    if isinstance(error, openai.APIResponseValidationError):
        return AskError(f"the endpoint sent no answer that can be read ({text})")
    if not isinstance(error, openai.APIStatusError):
        return AskError(text, outcome="failed", transient=False)
    wait = _seconds(error.response.headers.get("retry-after"))
    status = f"HTTP {error.status_code}: {text}"
    if error.status_code == 429:
        spent = error.code == "insufficient_quota"  # no waiting helps against an empty account
        return AskError(status, outcome="failed" if spent else "rate_limited", transient=not spent, retry_after_s=wait)
    if error.status_code >= 500 or error.status_code in _WORTH_ANOTHER_TRY:
        return AskError(status, outcome="server_error", retry_after_s=wait)
    return AskError(status, outcome="failed", transient=False)


def _seconds(header: str | None) -> float | None:
    try:
        return None if header is None else max(float(header), 0.0)
    except ValueError:  # a date; the usual wait does
        return None


def _count(usage: Any, name: str) -> int | None:
    value = getattr(usage, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
