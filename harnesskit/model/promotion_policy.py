"""How a guard is judged: the rules of promotion, as named presets or objects whose every field is documented."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harnesskit.model.errors import PolicyError, nearest
from harnesskit.model.policy import explain

_NAMED = {
    "mode": "budgeted", "design": "lean", "budget": 40, "alpha": 0.05, "beta": 0.10, "min_effect": 0.05,
    "worthwhile": 0.10, "gamma": -2.0, "guard_share": 0.25, "prior_df": 3.0, "prior_sd": None, "max_failures": 4,
    "ni_margin": 0.10, "ni_level": 0.95, "harm_bar": 12.0, "clean_bar": 0.25, "end_bar": 2.0, "min_guard_wins": 4,
    "thin_blind_spot": 0.25, "max_blind_spot": 0.25, "harmed_share": 0.10, "min_compliance": 0.30,
    "compliance_after": 6, "max_missing": 0.30, "max_missing_gap": 0.20, "certified": False, "two_people": False,
    "pass_bar": 0.80, "pass_chance": 0.90, "min_passes": 5, "max_passes": 15, "min_precision": 0.80,
    "min_recall": 0.50, "max_alarm_rate": 0.20,
}  # fmt: skip
"""What the bare names of policies stand for in labels. Labels are part of evidence hashes, so these values stay when a
default changes: a frozen policy keeps its label, and a signature on it holds; the new default is named by its fields.
"""


class PromotionPolicy(BaseModel):
    """How a candidate rule is judged from replays, and a guard of any kind from its evidence.

    Changes are on the common scale: 1 is the declared range of a metric, positive is better.

    Examples
    --------
    >>> PromotionPolicy.parse("budgeted:20").budget
    20
    >>> PromotionPolicy.open_ended().mode
    'open_ended'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field("budgeted", description="name of the preset the policy came from")
    mode: Literal["budgeted", "open_ended", "reference"] = Field(
        "budgeted", description="replay up to a budget, or until decided; locked before the first replay"
    )
    design: Literal["lean", "classic"] = Field(
        "lean", description="schedule of replays and test of harm: one replay at a time, or whole rounds"
    )
    budget: int = Field(40, ge=1, description="most replays spent on a candidate, controls included")
    alpha: float = Field(0.05, gt=0, lt=1, description="chance that a rule that does nothing is promoted")
    beta: float = Field(0.10, gt=0, lt=1, description="chance that a rule worth `worthwhile` is retired")
    min_effect: float = Field(0.05, ge=0, description="smallest mean improvement that is called a benefit")
    worthwhile: float = Field(0.10, gt=0, description="effect that is worth having: retire when it is ruled out")
    gamma: float = Field(-2.0, description="shape of the Hwang-Shih-DeCani error spending of both boundaries")
    guard_share: float = Field(0.25, ge=0, lt=1, description="part of the budget kept for replays of wins")
    prior_df: float = Field(3.0, ge=0, description="runs that the noise of other cases may count for")
    prior_sd: float | None = Field(None, gt=0, description="sd of one run taken as known; None: estimated, else 0.10")
    max_failures: int = Field(4, ge=1, description="most matching failures replayed")
    ni_margin: float = Field(0.10, gt=0, description="mean drop over the wins that must be ruled out")
    ni_level: float = Field(0.95, gt=0.5, lt=1, description="one-sided confidence at which it must be ruled out")
    harm_bar: float = Field(12.0, gt=1, description="evidence of harm (likelihood ratio) at which a rule is retired")
    clean_bar: float = Field(0.25, gt=0, lt=1, description="evidence of harm below which all wins replayed are clean")
    end_bar: float = Field(2.0, gt=0, description="evidence of harm that may be left at the end of the budget")
    min_guard_wins: int = Field(4, ge=0, description="distinct wins replayed to promote (all, where there are fewer)")
    thin_blind_spot: float = Field(
        0.25, gt=0, lt=1, description="chance that no harmed win was replayed above which a promotion is a thin guard"
    )
    max_blind_spot: float = Field(
        0.25, gt=0, le=1, description="the same chance above which the verdict is pending: thin_guard; 1: label only"
    )
    harmed_share: float = Field(0.10, gt=0, lt=1, description="share of the wins that the blind spot supposes harmed")
    min_compliance: float = Field(0.30, ge=0, le=1, description="share of candidate replays that must read the rule")
    compliance_after: int = Field(6, ge=1, description="candidate replays after which that share is asked for")
    max_missing: float = Field(0.30, ge=0, le=1, description="unscored share above which worst cases must agree")
    max_missing_gap: float = Field(0.20, ge=0, le=1, description="the same for the difference between the arms")
    certified: bool = Field(
        False, description="open ended: the sign-symmetry process, exact under every noise, instead of the t process"
    )
    two_people: bool = Field(False, description="whether author and approver of a signature must differ")
    pass_bar: float = Field(0.80, gt=0, lt=1, description="case to win: pass rate that a protected win must have")
    pass_chance: float = Field(0.90, gt=0.5, lt=1, description="case to win: chance of it at which it is protected")
    min_passes: int = Field(5, ge=1, description="case to win: fresh runs below which nothing is decided")
    max_passes: int = Field(15, ge=1, description="case to win: fresh runs after which an undecided case is rejected")
    min_precision: float = Field(0.80, gt=0, lt=1, description="check: share of its alarms that must be true")
    min_recall: float = Field(0.50, ge=0, lt=1, description="check: share of failures that it must find")
    max_alarm_rate: float = Field(0.20, gt=0, le=1, description="check: share of sessions it may stop")

    if not TYPE_CHECKING:  # the fields stay the signature that editors and type checkers see

        def __init__(self, **fields: Any) -> None:
            """Make a policy, or raise `PolicyError` that names the field, what was found and what fits."""
            try:
                super().__init__(**fields)
            except ValidationError as error:
                raise PolicyError(explain(type(self), error)) from error

    @classmethod
    def budgeted(cls, budget: int = 40) -> Self:
        """Return the default policy: at most `budget` replays, stopped early either way."""
        return cls(budget=budget)

    @classmethod
    def open_ended(cls, *, certified: bool = False) -> Self:
        """Return the policy "replay until decided": safe to look at after every replay, on any day."""
        return cls(name="open_ended", mode="open_ended", budget=240, certified=certified)

    @classmethod
    def classic(cls, budget: int = 40) -> Self:
        """Return whole rounds of replays with the same benefit test, and a z test of harm per win."""
        return cls(name="classic", design="classic", budget=budget, guard_share=0.35)

    @classmethod
    def reference(cls) -> Self:
        """Return the reference harness's rule: one replay each of 3 failures and 2 wins, a change of .05 decides."""
        return cls(name="reference", mode="reference", budget=5)

    @classmethod
    def parse(cls, policy: str | PromotionPolicy) -> PromotionPolicy:
        """Return the policy named by `policy`, or itself.

        Names are ``budgeted`` (also ``default``), ``budgeted:20``, ``open_ended``, ``certified``, ``classic``,
        ``classic:20`` and ``reference``.

        Raises
        ------
        PolicyError
            The name is not known, or its number is not a whole number above 0.
        """
        if isinstance(policy, PromotionPolicy):
            return policy
        name, _, argument = str(policy).partition(":")
        if argument and name in ("budgeted", "classic") and re.fullmatch(r"[1-9]\d{0,5}", argument):
            return cls.budgeted(int(argument)) if name == "budgeted" else cls.classic(int(argument))
        plain = {
            "budgeted": cls.budgeted, "default": cls.budgeted, "open_ended": cls.open_ended,
            "certified": lambda: cls.open_ended(certified=True), "classic": cls.classic, "reference": cls.reference,
        }  # fmt: skip
        if name in plain and not argument:
            return plain[name]()
        known = [*plain, "budgeted:20", "classic:20"]
        raise PolicyError(
            f"no promotion policy {policy!r}{nearest(str(policy), known)}; use one of {', '.join(known)} "
            "or a PromotionPolicy object."
        )

    @property
    def label(self) -> str:
        """Short name, as `parse` takes it, followed by the fields that differ from that preset.

        Examples
        --------
        >>> PromotionPolicy.budgeted(20).label, PromotionPolicy(alpha=0.1).label
        ('budgeted:20', 'budgeted, alpha=0.1')
        """
        numbered = self.name in ("budgeted", "classic") and self.budget != 40
        certified = self.name == "open_ended" and self.certified
        text = f"{self.name}:{self.budget}" if numbered else "certified" if certified else self.name
        try:
            preset = self.parse(text)
        except PolicyError:
            preset = self.budgeted()
        named = _NAMED | {f: getattr(preset, f) for f in preset.model_fields_set}
        fields = [f for f in type(self).model_fields if f != "name" and getattr(self, f) != named[f]]
        return ", ".join([text, *(f"{f}={getattr(self, f)}" for f in fields)])

    def plain(self) -> dict[str, Any]:
        """Return the policy as plain data, for records and reports."""
        return self.model_dump(mode="json")
