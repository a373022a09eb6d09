"""Every grader of the catalogue keeps what graders promise: the published conformance kit, and hostile samples."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from harnesskit import graders
from harnesskit.graders.grader import Grader
from harnesskit.testing import check_grader

NO_CATALOGUE = ("harnesskit.graders.judge", "harnesskit.graders.pairwise", "harnesskit.graders.openai_endpoint",
                "harnesskit.graders.scales", "harnesskit.graders.asking", "harnesskit.workspace.")  # fmt: skip
TOTAL = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}
CALLS = ["find", {"tool": "refund", "arguments": {"amount": 19}}]


def letters(text: str) -> list[float]:
    """Return a made-up embedding."""
    return [float(text.count(one)) for one in "aeiou"]


def scorer(session_id: str) -> dict[str, float | None]:
    """Return the scores of a session."""
    return {"quality": 0.5, "tone": None}


CATALOGUE: dict[str, list[Grader]] = {
    "exact": [graders.exact(), graders.exact(ignore_case=True, ignore_punctuation=True)],
    "contains": [graders.contains("refund"), graders.contains(["a", "b"], mode="all", partial=True)],
    "regex": [graders.regex("[0-9]+"), graders.regex("(a+)+$", mode="fullmatch", timeout_s=0.02)],
    "one_of": [graders.one_of(["yes", "no"])],
    "json_equal": [graders.json_equal(), graders.json_equal(partial=True, any_order=["*"], fenced=True)],
    "json_schema": [graders.json_schema(TOTAL)],
    "numeric": [graders.numeric(), graders.numeric(find="last", thousands=",", units=["USD"], relative=0.01)],
    "set_precision": [graders.set_precision()],
    "set_recall": [graders.set_recall()],
    "set_f1": [graders.set_f1()],
    "token_f1": [graders.token_f1(), graders.token_f1(characters=True)],
    "edit_similarity": [graders.edit_similarity()],
    "rouge": [graders.rouge("rouge1"), graders.rouge()],
    "chrf": [graders.chrf(max_chars=5_000)],
    "embedding_similarity": [graders.embedding_similarity(letters)],
    "latency_within": [graders.latency_within(10), graders.latency_within(10, zero_at=20)],
    "cost_within": [graders.cost_within(0.01)],
    "tokens_within": [graders.tokens_within(1000)],
    "steps_within": [graders.steps_within(3)],
    "finished": [graders.finished()],
    "refusal": [graders.refusal(), graders.refusal(expect=True)],
    "no_leak": [graders.no_leak(["private_key", "credential", "token", "bearer", "email", "card"])],
    "tool_correctness": [
        graders.tool_correctness(mode=mode, partial=True) for mode in ("exact", "in_order", "any_order", "subset")
    ] + [graders.tool_correctness(CALLS, mode="superset", repeats="collapse")],
    "argument_correctness": [
        graders.argument_correctness(mode=mode) for mode in ("exact", "in_order", "any_order", "subset")
    ] + [graders.argument_correctness(CALLS, arguments={"amount": {"tolerance": 0.01}, "id": "ignore"})],
    "no_repeated_calls": [graders.no_repeated_calls(), graders.no_repeated_calls(partial=True)],
    "step_efficiency": [graders.step_efficiency(), graders.step_efficiency(2, count="steps")],
    "plan_adherence": [graders.plan_adherence([("find", "refund")], required=["find"])],
    "weighted": [graders.weighted({graders.exact(): 1, graders.token_f1(): 2})],
    "all_of": [graders.all_of(graders.exact(), graders.contains("a"))],
    "any_of": [graders.any_of(graders.exact(), graders.finished(), graders.embedding_similarity(letters))],
    "first_that_can_say": [graders.first_that_can_say(graders.exact(), graders.token_f1())],
    "by_metric": [graders.by_metric({"right": graders.exact(), "cheap": graders.cost_within(1)})],
    "sql": [graders.sql("length(output) < 10", metric="brief"), graders.sql("duration_s / 1000", metric="slow")],
    "from_scorer": [graders.from_scorer(scorer)],
}  # fmt: skip
ALL = [pytest.param(one, id=f"{name}-{n}") for name, made in CATALOGUE.items() for n, one in enumerate(made)]


def test_the_whole_catalogue_is_here() -> None:
    made = {name for name, home in graders._HOME.items() if not home.startswith(NO_CATALOGUE)}
    assert set(CATALOGUE) == made


@pytest.mark.parametrize("made", ALL)
def test_it_keeps_what_graders_promise(made: Grader) -> None:
    check_grader(made)


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_its_factory_says_what_the_value_means_and_shows_it(name: str) -> None:
    words = inspect.getdoc(getattr(graders, name)) or ""
    assert words.splitlines()[0].startswith("Return a grader")
    assert ">>>" in words


@pytest.mark.parametrize("name", [name for name, made in CATALOGUE.items() if len(made) > 1])
def test_other_settings_are_another_version(name: str) -> None:
    versions: list[Any] = [made.version for made in CATALOGUE[name]]
    assert len(set(versions)) == len(versions)
