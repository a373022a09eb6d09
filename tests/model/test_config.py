"""The settings: the reference's names, defaults and environment variables, and errors that name the variable."""

from __future__ import annotations

import ast
from pathlib import Path, PosixPath

import pytest

from harnesskit import HarnessConfig, PolicyError


def reference_fields(shared: Path) -> dict[str, tuple[object, str]]:
    """Field to default and variable of version 0.9.0."""
    fields = {}
    for line in (shared / "reference" / "config_fields.txt").read_text(encoding="utf-8").splitlines():
        version, _, rest = line.partition(" ")
        if version == "0.9.0":
            name, _, rest = rest.partition(" ")
            default, _, variable = rest.rpartition(" ")
            fields[name] = (eval_default(default), variable)
    return fields


def eval_default(text: str) -> object:
    return PosixPath("/harness") if text.startswith("PosixPath") else ast.literal_eval(text)


def test_every_field_has_the_reference_s_name_and_default(shared: Path):
    expected = {name: default for name, (default, _) in reference_fields(shared).items()}
    assert HarnessConfig().model_dump() == expected


def test_every_variable_is_read_and_no_other(shared: Path):
    for name, (default, variable) in reference_fields(shared).items():
        if variable == "-":
            continue
        text, value = ("yes", True) if isinstance(default, bool) else ("7", None)
        found = getattr(HarnessConfig.from_env({variable: text}), name)
        assert found == (value if value is not None else type(default)("7") if default is not None else "7"), name
    named = {variable for _, variable in reference_fields(shared).values()} - {"-"}
    others = {f"HARNESS_{name.upper()}": "7" for name in reference_fields(shared)}
    assert HarnessConfig.from_env({k: v for k, v in others.items() if k not in named}) == HarnessConfig()


@pytest.mark.parametrize("text", ["1", "true", "YES", " on "])
def test_booleans_of_the_environment(text: str):
    assert HarnessConfig.from_env({"HARNESS_OBSERVE_ONLY": text}).observe_only is True
    assert HarnessConfig.from_env({"HARNESS_OBSERVE_ONLY": "off"}).observe_only is False


def test_a_malformed_variable_names_itself():
    with pytest.raises(PolicyError, match=r"HARNESS_GATE_WINDOW.*found 'wide'"):
        HarnessConfig.from_env({"HARNESS_GATE_WINDOW": "wide"})


def test_an_override_wins_and_a_misspelt_one_is_named():
    assert HarnessConfig.from_env({"HARNESS_GATE_WINDOW": "wide"}, gate_window=3).gate_window == 3
    with pytest.raises(PolicyError, match="eval_case_max"):
        HarnessConfig.from_env({}, eval_cases_max=3)
