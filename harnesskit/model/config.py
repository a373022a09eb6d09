"""The configuration of a harness: the reference's own fields, defaults and environment variables (0.9)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harnesskit.model.errors import PolicyError, nearest

_TRUE = ("1", "true", "yes", "on")
_WITHOUT_VARIABLE = frozenset({
    "trace_metrics_tier1", "trace_metrics_tier2", "trace_metrics_tier3", "trace_list_limit", "gate_target",
    "gate_gain", "gate_drop", "outcome_threshold", "thresholds", "repair_temperature",
})  # fmt: skip
"""Fields that the reference reads from no environment variable."""


class HarnessConfig(BaseModel):
    """Settings of a harness; every field has the reference's name, default and meaning.

    Examples
    --------
    >>> HarnessConfig.from_env({"HARNESS_GATE_WINDOW": "10"}, capture_eval_cases=True).gate_window
    10
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    harness_root: Path = Path("/harness")
    cli_binary: str = "pandaprobe"
    cli_timeout_s: float = 30.0
    poll_interval_s: float = 1.0
    poll_max_attempts: int = 20
    eval_retry_attempts: int = 3
    eval_retry_backoff_s: float = 1.0
    drain_timeout_s: float = 15.0
    barrier_timeout_s: float = 180.0
    trace_metrics_tier1: tuple[str, ...] = ("task_completion", "coherence")
    trace_metrics_tier2: tuple[str, ...] = ("tool_correctness", "argument_correctness")
    trace_metrics_tier3: tuple[str, ...] = ("plan_adherence", "plan_quality", "step_efficiency")
    enable_tier3: bool = False
    trace_list_limit: int = 50
    gate_window: int = 5
    gate_target: float = 0.5
    gate_gain: float = 0.02
    gate_drop: float = 0.15
    outcome_threshold: float = 0.9
    thresholds: dict[str, float] = Field(default_factory=dict)
    alert_cooldown_turns: int = 0
    enrich_flagged_traces: bool = False
    observe_only: bool = False
    circuit_breaker_max_notices: int = 5
    circuit_breaker_window_s: float = 600.0
    eval_sample_every: int = 1
    session_min_eval_interval_s: float = 0.0
    max_concurrent_evals: int = 4
    max_evals_per_run: int = 0
    max_active_rules: int = 0
    sanitize_max_len: int = 2000
    repair_model: str | None = None
    repair_timeout_s: float = 60.0
    repair_max_turns: int = 6
    repair_max_tokens: int = 4096
    repair_temperature: float | None = None
    repair_reasoning_effort: str = "none"
    trace_repair_agent: bool = False
    domain_policy: str | None = None
    rule_validation: bool = True
    rule_trial_min_sessions: int = 5
    rule_promote_margin: float = 0.05
    rule_regress_margin: float = 0.05
    replay_timeout_s: float = 300.0
    replay_env_wait_timeout_s: float = 0.0
    validation_round_budget_s: float = 0.0
    capture_eval_cases: bool = False
    eval_case_max: int = 200
    regression_sample: int = 0
    rule_retrieval: bool = True
    rules_context_topk: int = 8
    health_check: bool = True

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> Self:
        """Return the configuration of the environment; `overrides` win over it.

        A boolean is true for 1, true, yes, on (any case), else false.

        Raises
        ------
        PolicyError
            A variable cannot be read (the message names it), or an override is no field.
        """
        found = os.environ if environ is None else environ
        values: dict[str, Any] = {}
        for name, field in cls.model_fields.items():
            variable = "HARNESS_ROOT" if name == "harness_root" else f"HARNESS_{name.upper()}"
            if name in _WITHOUT_VARIABLE or variable not in found or name in overrides:
                continue
            text = found[variable]
            values[name] = text.strip().lower() in _TRUE if field.annotation is bool else text
        try:
            return cls(**{**values, **overrides})
        except ValidationError as error:
            raise PolicyError(_explain(error, values)) from error


def _explain(error: ValidationError, from_environment: dict[str, Any]) -> str:
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    if name in from_environment:
        name = "HARNESS_ROOT" if name == "harness_root" else f"HARNESS_{name.upper()}"
    hint = nearest(name, list(HarnessConfig.model_fields)) if first["type"] == "extra_forbidden" else ""
    return f"The setting {name} cannot be used{hint}: {first['msg']}; found {first['input']!r}."
