"""Four read-only tools through which a replayed agent finds the rules that it may see."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from harnesskit.model.errors import listed, nearest
from harnesskit.model.records import RuleRecord
from harnesskit.model.text import shorten
from harnesskit.replays.tool_specs import DEFAULT_LIMIT, MOST, TOOLS, Style, ToolAnswer, tool_specs

SNIPPET = 240
_ALIASES = {"harness_rules_status": "harness_rule_status"}
_KNOWN = (*TOOLS, *_ALIASES)


class _BadArgumentError(Exception):
    """An argument cannot be used; the text is for the agent."""


class RuleTools:
    r"""Read-only tools over the visible rules: the active ones and, of the candidates, only the one under test.

    Parameters
    ----------
    rules
        Rules of a workspace, of any status.
    candidate_id
        The candidate that may be found too.

    Attributes
    ----------
    rules : tuple of RuleRecord
        The visible rules; reading this is no reading through a tool.
    surfaced : set of str
        Ids of the rules that were read, found by a search or asked for by status; listing shows no rule.

    Examples
    --------
    >>> rules = [
    ...     RuleRecord(rule_id="r-1", status="active", rule="Confirm the amount."),
    ...     RuleRecord(rule_id="r-2", status="candidate", rule="Look up the order first."),
    ...     RuleRecord(rule_id="r-3", status="candidate", rule="Never refund twice."),
    ... ]
    >>> tools = RuleTools(rules, candidate_id="r-2")
    >>> [rule["id"] for rule in json.loads(tools.call("harness_rules_search", {"query": "order"}))["rules"]]
    ['r-2', 'r-1']
    >>> sorted(tools.surfaced)
    ['r-1', 'r-2']
    >>> tools.call("harness_rule_status", {"rule_id": "r-3"})
    '{"error": "there is no rule \'r-3\'", "ok": false}'
    """

    def __init__(self, rules: Iterable[RuleRecord], *, candidate_id: str | None = None) -> None:
        self.rules = visible_rules(rules, candidate_id)
        self.surfaced: set[str] = set()
        self._answers: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "harness_rules_list": self._list,
            "harness_rules_read": self._read,
            "harness_rules_search": self._search,
            "harness_rule_status": self._status,
        }

    def specs(self, style: Style = "anthropic") -> list[Any]:
        """Return the four tools in the shape that a style of tool calling takes.

        Parameters
        ----------
        style
            ``anthropic`` (name, description, input_schema), ``openai`` (type and function), or ``langchain``: the
            keyword arguments of a ``StructuredTool``, with ``func`` and ``coroutine``.

        Raises
        ------
        ValueError
            There is no such style.
        """
        return tool_specs(self.call, style)

    def call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> ToolAnswer:
        """Return the answer of the tool `name` as JSON text; awaited, as an object. It never raises.

        Parameters
        ----------
        name
            One of the four tools.
        arguments
            Its arguments, as a mapping or as JSON text; keys that the tool does not take are passed over.
        """
        try:
            answer = {"ok": True, **self._tool(name)(_mapping(arguments))}
        except _BadArgumentError as error:
            answer = {"ok": False, "error": str(error)}
        return ToolAnswer(json.dumps(answer, sort_keys=True))

    def _tool(self, name: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        found = self._answers.get(_ALIASES.get(name, name)) if isinstance(name, str) else None
        if found is None:
            raise _BadArgumentError(f"there is no tool {name!r}{nearest(str(name), _KNOWN)}")
        return found

    def _list(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        rules = self._of_status(arguments)
        scopes = [
            {
                "scope": scope,
                "active": sum(rule.scope == scope and rule.status == "active" for rule in rules),
                "provisional": sum(rule.scope == scope and rule.status == "candidate" for rule in rules),
            }
            for scope in sorted({rule.scope for rule in rules})
        ]
        names = [f"- {one['scope']}: {one['active']} active, {one['provisional']} on trial" for one in scopes]
        return {"scopes": scopes, "content": "\n".join(names) if names else "There are no rules."}

    def _read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if arguments.get("rule_id") is not None:
            rule = self._one(arguments)
            return self._shown([rule], rule.scope)
        scope = _text(arguments, "scope", "global")
        rules = [rule for rule in self.rules if rule.scope == scope]
        if not rules and scope != "global":
            scopes = sorted({rule.scope for rule in self.rules})
            there = f"the scopes are {listed(scopes)}" if scopes else "there are no rules"
            raise _BadArgumentError(f"there is no scope {scope!r}; {there}")
        return self._shown(rules, scope)

    def _shown(self, rules: list[RuleRecord], scope: str) -> dict[str, Any]:
        self.surfaced.update(rule.rule_id for rule in rules)
        parts = [f"# Rules: {scope}"]
        parts += [f"- [{rule.rule_id}] ({rule.status}) {rule.rule or ''}".rstrip() for rule in rules]
        return {"scope": scope, "content": "\n".join(parts), "rules": [_record(rule) for rule in rules]}

    def _search(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        wanted = set(_words(_text(arguments, "query")))
        limit = arguments.get("limit", DEFAULT_LIMIT)
        if isinstance(limit, bool) or not isinstance(limit, int):
            raise _BadArgumentError(f"limit must be a whole number from 1 to {MOST}; found {limit!r}")
        scored = [(_score(rule, wanted), rule) for rule in self._of_status(arguments)]
        scored.sort(key=lambda one: (-one[0], one[1].rule_id))
        found = scored[: min(max(limit, 1), MOST)]
        self.surfaced.update(rule.rule_id for _, rule in found)
        rules = [
            {**_record(rule), "score": round(score, 4), "snippet": shorten(rule.rule or "", SNIPPET)}
            for score, rule in found
        ]
        return {"rules": rules}

    def _status(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        rule = self._one(arguments)
        self.surfaced.add(rule.rule_id)
        trial = {
            "status": rule.status,
            "sessions_observed": len(rule.observed_sessions),
            "sessions_breached": len(set(rule.breached_sessions)),
            "replay_attempts": rule.replay_attempts,
            "verdict": rule.trial_verdict,
        }
        return {"rule": _record(rule), "lifecycle": trial}

    def _one(self, arguments: Mapping[str, Any]) -> RuleRecord:
        rule_id = _text(arguments, "rule_id")
        found = next((rule for rule in self.rules if rule.rule_id == rule_id), None)
        if found is None:
            raise _BadArgumentError(f"there is no rule {rule_id!r}")
        return found

    def _of_status(self, arguments: Mapping[str, Any]) -> list[RuleRecord]:
        status = arguments.get("status")
        return [rule for rule in self.rules if status not in ("active", "candidate") or rule.status == status]


def visible_rules(rules: Iterable[RuleRecord], candidate_id: str | None) -> tuple[RuleRecord, ...]:
    """Return the rules that a replay may see: every active one, and the candidate under test."""
    return tuple(
        rule
        for rule in rules
        if rule.status == "active" or (rule.status == "candidate" and rule.rule_id == candidate_id)
    )


def _mapping(arguments: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise _BadArgumentError("the arguments are not JSON") from None
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise _BadArgumentError(f"the arguments must be an object; found {type(arguments).__name__}")
    return arguments


def _text(arguments: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = arguments.get(name)
    value = default if value is None else value
    if not isinstance(value, str):
        found = "it is missing" if value is None else f"found {type(value).__name__}"
        raise _BadArgumentError(f"{name} must be text; {found}")
    return value


def _record(rule: RuleRecord) -> dict[str, Any]:
    shown = ("status", "metric", "scope", "rule", "rationale")
    return {"id": rule.rule_id, **{name: getattr(rule, name) for name in shown}, "tags": list(rule.tags)}


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _score(rule: RuleRecord, wanted: set[str]) -> float:
    """Return the share of the wanted words that stand in the rule, its reason, its tags or its scope."""
    has = set(_words(" ".join((rule.rule or "", rule.rationale or "", rule.scope, *rule.tags))))
    return len(wanted & has) / len(wanted) if wanted else 0.0
