"""Policies: the rules a decision is made by, as named presets or objects whose every field is documented."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from harnesskit.model.errors import PolicyError, nearest

_GLOBAL = 0.01
"""Default of `alpha_global`: a fifth of the default alpha."""


class RegressionPolicy(BaseModel):
    """How a regression run is judged.

    Examples
    --------
    >>> RegressionPolicy.parse("floor:0.8").floor_score
    0.8
    >>> RegressionPolicy.default().alpha
    0.05
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field("default", description="name of the preset the policy came from")
    alpha: float = Field(0.05, gt=0, lt=1, description="family-wise error over all protected wins")
    alpha_global: float = Field(
        _GLOBAL, ge=0, lt=1, description="part of alpha kept for a drop of the mean of all wins; below alpha"
    )
    alpha_suspect: float = Field(0.01, gt=0, lt=1, description="error per win at which it is marked suspect")
    min_drop: float = Field(0.05, ge=0, description="smallest drop, on the 0-to-1 scale, that is called a regression")
    tolerance: float = Field(0.10, gt=0, description="drop, on the 0-to-1 scale, that still counts as no change")
    unchanged_level: float = Field(
        0.80, gt=0.5, lt=1, description="one-sided confidence at which a drop of the tolerance must be excluded"
    )
    min_coverage: float = Field(0.90, ge=0, le=1, description="share of the protected wins that must be scored to pass")
    min_trials: int = Field(2, ge=1, description="candidate trials below which a win is never called regressed")
    trials: int | None = Field(None, ge=1, description="fixed plan: trials per case; None for no fixed plan")
    floor_score: float | None = Field(None, description="floor policy: every protected win at or above this score")
    margin: float | None = Field(None, ge=0, description="reference policy: a change of this size decides a case")
    failed_runs: Literal["fail", "unscored"] = Field(
        "fail",
        description="candidate replay that ended in an error or a timeout: fails the yes-or-no metrics of its case, or "
        "has no score; in other metrics it never has one",
    )
    test: Literal["directions", "classic"] = Field(
        "directions",
        description="adaptive run: directions over sets of metrics, or the classic z per metric and their composite",
    )
    budget_per_win: float = Field(
        2.0, ge=1, description="adaptive run: replays per protected win, control top-ups included"
    )
    width: int = Field(2, ge=1, description="adaptive run: wins replayed in one round after the first wave")
    depth: int = Field(1, ge=1, description="adaptive run: steps that each of these wins makes in a round")
    n_max: int = Field(16, ge=2, description="adaptive run: candidate and control runs after which a win is left open")
    gamma: float = Field(-2.0, description="adaptive run: shape of the Hwang-Shih-DeCani error spending")
    shares: tuple[float, float, float, float] = Field(
        (0.45, 0.30, 0.15, 0.10),
        description="adaptive run: error shares of all metrics together, single metrics, pairs and triples",
    )
    raw_z: float = Field(1.28, description="adaptive run: standard errors that the plain drop must reach")
    veto: float = Field(
        1.28, gt=0, description="adaptive run: improvement of another metric, in standard errors, that vetoes a drop"
    )
    close_bf: float = Field(1.0, gt=0, description="adaptive run: Bayes factor below which a calm win is closed")
    sentinels: int = Field(3, ge=0, description="adaptive run: banked wins replayed in control to notice a stale bank")
    fresh_controls: int = Field(
        3, ge=2, description="adaptive run: control replays per win made first when there is no valid bank"
    )

    if not TYPE_CHECKING:  # the fields stay the signature that editors and type checkers see

        def __init__(self, **fields: Any) -> None:
            """Make a policy, or raise `PolicyError` that names the field, what was found and what fits."""
            try:
                super().__init__(**fields)
            except ValidationError as error:
                raise PolicyError(explain(type(self), error)) from error

    @model_validator(mode="before")
    @classmethod
    def _keep_a_share(cls, fields: Any) -> Any:
        """Let `alpha_global`, unless it is given, follow an alpha that its default would use up."""
        alpha = fields.get("alpha") if isinstance(fields, dict) else None
        if isinstance(alpha, int | float) and 0 < alpha <= _GLOBAL and "alpha_global" not in fields:
            return {**fields, "alpha_global": alpha / 5}
        return fields

    @model_validator(mode="after")
    def _leave_something_for_cases(self) -> Self:
        if self.alpha_global >= self.alpha:
            raise ValueError(f"alpha_global ({self.alpha_global:g}) must be below alpha ({self.alpha:g})")
        return self

    @classmethod
    def default(cls) -> Self:
        """Return the default policy: an adaptive run of two replays per protected win."""
        return cls()

    @classmethod
    def thorough(cls) -> Self:
        """Return the default policy with three replays per protected win."""
        return cls(name="thorough", budget_per_win=3.0)

    @classmethod
    def classic(cls) -> Self:
        """Return the adaptive run of a z per metric and their composite, six wins a round, ten runs at most."""
        return cls(name="classic", test="classic", width=6, n_max=10, shares=(0.5, 0.5, 0.0, 0.0))

    @classmethod
    def fixed(cls, n: int) -> Self:
        """Return a policy for a run of exactly `n` trials per case."""
        return cls(name="fixed", trials=n)

    @classmethod
    def floor(cls, score: float) -> Self:
        """Return the plain rule "every protected win scores at least `score`": no statistics."""
        return cls(name="floor", floor_score=score, min_trials=1, failed_runs="unscored")

    @classmethod
    def reference(cls) -> Self:
        """Return the reference harness's rule: a change of .05 in any metric decides, one replay each."""
        return cls(name="reference", margin=0.05, min_trials=1, failed_runs="unscored")

    @classmethod
    def parse(cls, policy: str | RegressionPolicy) -> RegressionPolicy:
        """Return the policy named by `policy`, or itself.

        Names are ``default``, ``thorough``, ``classic``, ``reference``, ``fixed:3`` and ``floor:0.8``.

        Raises
        ------
        PolicyError
            The name is not known, or its number is missing or not a number.
        """
        if isinstance(policy, RegressionPolicy):
            return policy
        name, _, argument = str(policy).partition(":")
        plain = {
            "default": cls.default, "thorough": cls.thorough, "classic": cls.classic, "reference": cls.reference
        }  # fmt: skip
        if name in plain and not argument:
            return plain[name]()
        if name == "fixed" and re.fullmatch(r"[1-9]\d*", argument):
            return cls.fixed(int(argument))
        if name == "floor" and re.fullmatch(r"-?\d+(\.\d+)?", argument):
            return cls.floor(float(argument))
        known = [*plain, "fixed:3", "floor:0.8"]
        raise PolicyError(
            f"no regression policy {policy!r}{nearest(str(policy), known)}; use one of {', '.join(known)} "
            "or a RegressionPolicy object."
        )

    @property
    def label(self) -> str:
        """Short name, as `parse` takes it, followed by the fields that differ from that preset.

        Examples
        --------
        >>> RegressionPolicy.fixed(3).label, RegressionPolicy(alpha=0.1).label
        ('fixed:3', 'default, alpha=0.1')
        """
        argument = {"fixed": self.trials, "floor": self.floor_score}.get(self.name)
        text = self.name if argument is None else f"{self.name}:{argument:g}"
        try:
            preset = self.parse(text)
        except PolicyError:
            preset = self.default()
        fields = [f for f in type(self).model_fields if f != "name" and getattr(self, f) != getattr(preset, f)]
        return ", ".join([text, *(f"{f}={getattr(self, f)}" for f in fields)])

    @property
    def counts_failed(self) -> bool:
        """Whether a candidate replay that ended in an error or a timeout fails the yes-or-no metrics of its case."""
        return self.failed_runs == "fail"

    @property
    def adaptive(self) -> bool:
        """Whether a run under this policy decides after every round which win to replay next."""
        return self.trials is None and self.floor_score is None and self.margin is None

    def plain(self) -> dict[str, Any]:
        """Return the policy as plain data, for records and reports."""
        return self.model_dump(mode="json")


def explain(policy: type[BaseModel], error: ValidationError) -> str:
    """Return the first thing that is wrong with a policy: field, what was found, what it must be."""
    first = error.errors()[0]
    name = policy.__name__
    if not first["loc"]:
        return f"A {name} cannot be made: {str(first['msg']).removeprefix('Value error, ')}."
    field = str(first["loc"][0])
    known = list(policy.model_fields)
    if field not in known:
        return f"{name} has no field {field!r}{nearest(field, known)}; it has {', '.join(known)}."
    meaning = policy.model_fields[field].description
    return f"{name} {field} ({meaning}): {first['msg']}; found {first['input']!r}."
