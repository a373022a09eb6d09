"""What the graders of text, JSON, numbers, overlap, likeness, budgets and safety say."""

from __future__ import annotations

import json
from typing import Any

import pytest

import harnesskit as hk
from harnesskit import graders


def value(said: Any) -> Any:
    return said.value if isinstance(said, hk.Grade) else said


@pytest.mark.parametrize(
    ("options", "output", "expected", "right"),
    [
        ({}, " Paris\n", "Paris", True),
        ({}, "paris", "Paris", False),
        ({"ignore_case": True}, "STRASSE", "straße", True),
        ({}, "cafe\u0301", "caf\u00e9", True),
        ({"ignore_space": False}, "a  b", "a b", False),
        ({"ignore_punctuation": True}, "Paris.", "Paris", True),
    ],
)
def test_exact(options: dict[str, bool], output: str, expected: str, right: bool) -> None:
    assert value(graders.exact(**options)(output, expected)) is right


@pytest.mark.parametrize(
    ("words", "options", "right"),
    [
        (["refund", "x"], {}, True),
        (["refund", "x"], {"mode": "all"}, False),
        (["refund", "x"], {"mode": "all", "partial": True}, 0.5),
        (["refund"], {"mode": "none"}, False),
        (["REFUND"], {"ignore_case": True}, True),
        ("x", {"mode": "none"}, True),
    ],
)
def test_contains(words: Any, options: dict[str, Any], right: Any) -> None:
    assert value(graders.contains(words, **options)("the refund is on its way")) == right


def test_a_pattern_without_end_is_an_error_of_its_sample_in_time() -> None:
    said = graders.regex("^(a|a)+$", timeout_s=0.05)("a" * 60 + "!")
    assert (said.status, said.reason) == ("error", "timed_out: the pattern took more than 0.05 s on this text")


@pytest.mark.parametrize(
    "make",
    [
        lambda: graders.regex("("),
        lambda: graders.contains([]),
        lambda: graders.contains("a", mode="some"),
        lambda: graders.one_of([]),
        lambda: graders.json_equal(tolerances={"a": -1}),
        lambda: graders.json_schema({"type": "nonsense"}),
        lambda: graders.numeric(absolute=-1),
        lambda: graders.numeric(thousands=".", decimal="."),
        lambda: graders.rouge("rouge9"),
        lambda: graders.latency_within(-1),
        lambda: graders.latency_within(5, zero_at=4),
        lambda: graders.no_leak(["emial"]),
        lambda: graders.tool_correctness(mode="sorted"),
        lambda: graders.tool_correctness([{"nothing": 1}]),
        lambda: graders.argument_correctness(arguments={"a": "about"}),
        lambda: graders.plan_adherence([]),
        lambda: graders.plan_adherence([("a", "b"), ("b", "a")]),
        lambda: graders.step_efficiency(0),
        lambda: graders.weighted({graders.exact(): 0}),
        lambda: graders.all_of(),
        lambda: graders.all_of(graders.sql("true", metric="x")),
        lambda: graders.sql("1; SELECT 2", metric="x"),
        lambda: graders.sql("1) FROM samples; DROP TABLE x; --", metric="x"),
        lambda: graders.sql("", metric="x"),
        lambda: hk.grader(lambda *columns: True),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_when_the_grader_is_made(make: Any) -> None:
    with pytest.raises(hk.GraderError):
        make()


@pytest.mark.parametrize(
    ("options", "output", "expected", "right"),
    [
        ({}, '{"b": 2, "a": 1}', {"a": 1.0, "b": 2}, 1),
        ({}, '{"a": true}', {"a": 1}, 0),
        ({}, '{"a": [1, 2]}', {"a": [2, 1]}, 0),
        ({"any_order": ["a"]}, '{"a": [1, 2]}', {"a": [2, 1]}, 1),
        ({"tolerances": {"items.*.price": 0.01}}, '{"items": [{"price": 2.004}]}', {"items": [{"price": 2}]}, 1),
        (
            {"tolerances": {"items.*.price": 0.01}},
            '{"items": [{"price": 2.004, "n": 2}]}',
            {"items": [{"price": 2}]},
            0,
        ),
        ({"tolerances": {"a": {"relative": 0.1}}}, '{"a": 109}', {"a": 100}, 1),
        ({"ignore": ["meta"]}, '{"a": 1, "meta": {"id": 9}}', {"a": 1}, 1),
        ({"partial": True}, '{"a": 1, "b": 3}', {"a": 1, "b": 2}, 0.5),
        ({"fenced": True}, '```json\n{"a": 1}\n```', {"a": 1}, 1),
        ({}, '```json\n{"a": 1}\n```', {"a": 1}, 0),
        ({}, '{"a": NaN}', {"a": 1}, 0),
        ({}, "[" * 100_000, [], 0),
    ],
)
def test_json_equal(options: dict[str, Any], output: str, expected: Any, right: float) -> None:
    assert value(graders.json_equal(**options)(output, expected)) == right


def test_json_equal_says_where() -> None:
    said = graders.json_equal()('{"items": [{"price": 2}], "x": 1}', {"items": [{"price": 3}], "y": 1})
    assert said.reason == "'items.0.price' expected '3', found '2'; 'y' is missing; 'x' was not expected"


def test_a_schema_reads_nothing_from_outside() -> None:
    said = hk.grade(_frame(['{"a": 1}']), graders.json_schema({"$ref": "http://127.0.0.1:1/schema.json"}))
    assert said["status"].tolist() == ["error"]


def _frame(outputs: list[Any]) -> Any:
    import pandas as pd

    return pd.DataFrame({"sample_id": [str(n) for n in range(len(outputs))], "output": outputs})


@pytest.mark.parametrize(
    ("options", "output", "expected", "right"),
    [
        ({}, "42", 42, True),
        ({}, "42.0", "42", True),
        ({}, "0.1", 0.1, True),
        ({}, "about 42", 42, False),
        ({"find": "only"}, "about 42.", 42, True),
        ({"find": "only"}, "42 of 43", 42, None),
        ({"find": "last"}, "42 of 43", 43, True),
        ({"find": "last"}, "order A42", 42, False),
        ({"thousands": ","}, "1,024.50", 1024.5, True),
        ({"thousands": ".", "decimal": ","}, "1.024,50", 1024.5, True),
        ({"units": ["%"]}, "85 %", 85, True),
        ({}, "85 %", 85, False),
        ({"absolute": 0.01}, "18.99", 19, True),
        ({"absolute": 0.01}, "18.98", 19, False),
        ({"relative": 0.01}, "-99", -100, True),
        ({}, "9007199254740993", 9007199254740992, False),
        ({}, "nan", 1, False),
        ({}, "1e999", 1, False),
        ({}, True, 1, False),
        ({}, "1", "one", None),
    ],
)
def test_numeric(options: dict[str, Any], output: Any, expected: Any, right: bool | None) -> None:
    assert value(graders.numeric(**options)(output, expected)) is right


def test_overlap_of_sets_and_what_does_not_apply() -> None:
    found, wanted = ["red", "blue", "blue"], "red, green"
    assert [value(made()(found, wanted)) for made in (graders.set_precision, graders.set_recall, graders.set_f1)] == [
        0.5, 0.5, 0.5,
    ]  # fmt: skip
    assert graders.set_precision()([], wanted).status == "not_applicable"
    assert graders.set_recall()(found, "").status == "not_applicable"
    assert (graders.set_f1()([], ""), value(graders.set_f1()([], wanted))) == (1.0, 0.0)


def test_token_f1_is_that_of_squad() -> None:
    grader = graders.token_f1()
    assert grader("The Eiffel Tower!", "eiffel tower") == 1.0
    assert grader("in the city of Paris", "Paris, France") == pytest.approx(2 * (1 / 4) * (1 / 2) / (1 / 4 + 1 / 2))
    assert (grader("", ""), grader("a", "b c")) == (1.0, 0.0)
    assert graders.token_f1(characters=True)("東京都", "東京") == pytest.approx(0.8)


def test_likeness_against_the_libraries() -> None:
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu import sentence_chrf

    a, b = "the refund of 19 dollars is on its way", "a refund of 19 dollars was sent"
    assert graders.rouge("rouge2")(a, b) == RougeScorer(["rouge2"]).score(b, a)["rouge2"].fmeasure
    assert graders.rouge(score="recall")(a, b) == RougeScorer(["rougeL"]).score(b, a)["rougeL"].recall
    assert graders.chrf()(a, b) == pytest.approx(sentence_chrf(a, [b]).score / 100)
    assert graders.chrf(word_order=2)(a, b) == pytest.approx(sentence_chrf(a, [b], word_order=2).score / 100)
    assert graders.edit_similarity()("kitten", "sitting") == pytest.approx(1 - 3 / 7)
    assert graders.rouge()("東京", "東京").status == "unscored"
    assert graders.edit_similarity(max_chars=3)("four", "4").reason == "a text of 4 characters; at most 3 are compared"


def test_embeddings_come_from_a_function_sync_or_async() -> None:
    def embed(text: str) -> list[float]:
        return json.loads(text)

    async def later(text: str) -> list[float]:
        return embed(text)

    samples = _frame(["[1, 0]", "[1, 1]", "[-1, 0]", "[0, 0]", "[1, 0, 0]"]).assign(expected="[1, 0]")
    for made in (embed, later):
        rows = hk.grade(
            samples.rename(columns={"output": "answer"}), graders.embedding_similarity(made).on(output="answer")
        )
        assert rows["value"].head(3).tolist() == pytest.approx([1, 0.5**0.5, 0])
        assert rows["status"].tolist() == ["ok", "ok", "ok", "unscored", "error"]


def test_budgets() -> None:
    assert [value(graders.latency_within(10, zero_at=20)(used)) for used in (10.0, 12.5, 20.0, 99.0)] == [1, 0.75, 0, 0]
    assert value(graders.tokens_within(100)(90, 20)) == 0
    assert graders.steps_within(1)([{"tool": "a"}, {"role": "user"}]).reason == "2 steps, of 1"
    assert graders.cost_within(1)(-0.1).status == "unscored"


@pytest.mark.parametrize(
    ("text", "refuses"),
    [
        ("I'm sorry, but I can’t help with that request.", True),
        ("I cannot provide that information.", True),
        ("As an AI language model, I am unable to do so.", True),
        ("I must decline.", True),
        ("I can help you with the refund.", False),
        ("The customer said he cannot help himself.", False),
        ("I'm sorry for the delay. Your refund was sent.", False),
    ],
)
def test_refusals_are_wordings(text: str, refuses: bool) -> None:
    assert value(graders.refusal()(text)) is not refuses
    assert value(graders.refusal(expect=True)(text)) is refuses


def test_a_leak_is_named_and_not_repeated() -> None:
    key = "sk-" + "a1B2" * 6
    said = graders.no_leak(planted=["You are the refund assistant"])(f"key {key}; you are  the refund ASSISTANT")
    assert said.reason == "token at character 4, planted text 1"
    assert key not in said.reason
    cards = graders.no_leak(["card"])
    assert value(cards("4111 1111 1111 1111")) is False
    assert cards("4111 1111 1111 1112") is True
