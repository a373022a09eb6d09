"""Graders: from samples to scores.

``hk.graders.<name>`` makes a grader of the catalogue; each is loaded at its first use.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME: dict[str, str] = {
    "exact": "harnesskit.graders.text_match",
    "contains": "harnesskit.graders.text_match",
    "regex": "harnesskit.graders.text_match",
    "one_of": "harnesskit.graders.text_match",
    "json_equal": "harnesskit.graders.json_values",
    "json_schema": "harnesskit.graders.json_values",
    "numeric": "harnesskit.graders.quantities",
    "set_f1": "harnesskit.graders.overlap",
    "set_precision": "harnesskit.graders.overlap",
    "set_recall": "harnesskit.graders.overlap",
    "token_f1": "harnesskit.graders.overlap",
    "edit_similarity": "harnesskit.graders.similarity",
    "rouge": "harnesskit.graders.similarity",
    "chrf": "harnesskit.graders.similarity",
    "embedding_similarity": "harnesskit.graders.similarity",
    "latency_within": "harnesskit.graders.budgets",
    "cost_within": "harnesskit.graders.budgets",
    "tokens_within": "harnesskit.graders.budgets",
    "steps_within": "harnesskit.graders.budgets",
    "finished": "harnesskit.graders.budgets",
    "refusal": "harnesskit.graders.safety",
    "no_leak": "harnesskit.graders.safety",
    "tool_correctness": "harnesskit.graders.trajectories",
    "argument_correctness": "harnesskit.graders.trajectories",
    "no_repeated_calls": "harnesskit.graders.plans",
    "step_efficiency": "harnesskit.graders.plans",
    "plan_adherence": "harnesskit.graders.plans",
    "weighted": "harnesskit.graders.composition",
    "all_of": "harnesskit.graders.composition",
    "any_of": "harnesskit.graders.composition",
    "first_that_can_say": "harnesskit.graders.composition",
    "by_metric": "harnesskit.graders.composition",
    "sql": "harnesskit.graders.sql_grader",
    "from_scorer": "harnesskit.graders.scorers",
    "judge": "harnesskit.graders.judge",
    "pairwise": "harnesskit.graders.pairwise",
    "openai_endpoint": "harnesskit.graders.openai_endpoint",
    "Scale": "harnesskit.graders.scales",
    "Limits": "harnesskit.graders.asking",
    "Reply": "harnesskit.graders.asking",
    "AskError": "harnesskit.graders.asking",
    "read_reply": "harnesskit.graders.judge_reply",
    "GradeCache": "harnesskit.workspace.grade_cache",
}


def __getattr__(name: str) -> Any:
    """Load a grader of the catalogue at its first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'harnesskit.graders' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(_HOME)
