"""What a grader is: a plain function, its metric, and a version that changes with its settings."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, overload

from harnesskit.graders.settings import plain_function, settings_digest, words_of
from harnesskit.graders.signature import WHOLE, Parameter, awaits, moved, parameters_of
from harnesskit.model.errors import GraderError, listed, nearest
from harnesskit.model.identity import identity_of
from harnesskit.model.metrics import Metric, Metrics


class Grader:
    """A function over sample columns, with the name, metric and version its scores are kept under.

    Calling it calls the function, so a grader is tested like one. Made by `harnesskit.grader`; never changed: every
    method returns another grader.

    Attributes
    ----------
    name
        Who scores: the column ``grader``.
    metrics
        What is scored; empty when the function itself names metrics, by returning a mapping.
    version
        ``<version>+<digest of the settings>``: the column ``grader_version``.
    parameters
        The columns that are read, and how.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str,
        metrics: tuple[Metric, ...],
        parameters: tuple[Parameter, ...],
        release: str,
        settings: Mapping[str, Any],
        unset: tuple[str, ...] = (),
        blocking: bool = False,
        takes_call: bool = False,
        parts: tuple[Grader, ...] = (),
    ) -> None:
        self.function = function
        self.name = name
        self.metrics = metrics
        self.parameters = parameters
        self.release = release
        self.settings = dict(settings)
        self.unset = unset
        self.blocking = blocking
        self.takes_call = takes_call
        self.parts = parts
        self.awaits = awaits(function)
        self.version = f"{release}+{settings_digest(self.settings)}" if settings else release
        self.__doc__ = words_of(plain_function(function))
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        metrics = listed([metric.name for metric in self.metrics]) or "told by the function"
        return f"<grader {self.name!r} {self.version}: {metrics}; reads {listed(list(self.columns)) or 'no column'}>"

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a samples frame must have."""
        own = [one.column for one in self.parameters if one.required and not (self.parts and one.column == WHOLE)]
        return tuple(dict.fromkeys([*own, *(column for part in self.parts for column in part.columns)]))

    @property
    def sees_failures(self) -> bool:
        """Whether it is called for samples that ended in an error, too: it reads what says so."""
        own = {one.column for one in self.parameters}
        return bool(own & {"status", "error"}) or any(part.sees_failures for part in self.parts)

    @property
    def default_metric(self) -> str:
        """Name of the metric of a single value."""
        return self.metrics[0].name if self.metrics else self.name

    @property
    def identity(self) -> str:
        """What decides about a verdict besides the sample: name, version, settings and code."""
        return f"{self.name} {self.version} {identity_of(plain_function(self.function))}"

    def on(self, **columns: str) -> Grader:
        """Return the grader reading other columns, by parameter.

        Examples
        --------
        >>> @grader
        ... def short(output: str) -> bool:
        ...     return len(output) < 80
        >>> short.on(output="answer").columns
        ('answer',)
        """
        return self._with(parameters=moved(self.parameters, columns, self.name))

    def named(self, name: str, *, metric: str | Metric | None = None) -> Grader:
        """Return the grader under another name, and for another metric when one is given.

        Examples
        --------
        >>> @grader
        ... def short(output: str) -> bool:
        ...     return len(output) < 80
        >>> short.named("brief", metric="brevity")
        <grader 'brief' 1: brevity; reads output>
        """
        return self._with(name=name, metrics=self.metrics if metric is None else metrics_of(metric))

    def configured(self, **settings: Any) -> Grader:
        """Return the grader with settings: keyword-only parameters of its function. They are part of the version.

        Examples
        --------
        >>> @grader
        ... def short(output: str, *, limit: int) -> bool:
        ...     return len(output) < limit
        >>> short.configured(limit=80)("too short to tell")
        True
        """
        known = [*self.unset, *self.settings]
        wrong = [name for name in settings if name not in known]
        if wrong:
            raise GraderError(
                f"grader {self.name!r} has the settings {listed(known) or 'none'}; found {wrong[0]!r}"
                f"{nearest(wrong[0], known)}."
            )
        return self._with(
            function=functools.partial(self.function, **settings),
            settings={**self.settings, **settings},
            unset=tuple(name for name in self.unset if name not in settings),
        )

    def _with(self, **changes: Any) -> Grader:
        kept = ("name", "metrics", "parameters", "release", "settings", "unset", "blocking", "takes_call", "parts")
        now = {name: getattr(self, name) for name in kept} | {"function": self.function} | changes
        return Grader(now.pop("function"), **now)


def metrics_of(metric: str | Metric | Iterable[str | Metric] | None) -> tuple[Metric, ...]:
    """Return what a grader says it measures as metrics; a name is that of a known metric, or 0 to 1."""
    if metric is None:
        return ()
    given = (metric,) if isinstance(metric, (str, Metric)) else tuple(metric)
    return tuple(one if isinstance(one, Metric) else Metrics()[one] for one in given)


def build(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    metric: str | Metric | Iterable[str | Metric] | None = None,
    version: str = "1",
    settings: Mapping[str, Any] | None = None,
    blocking: bool = False,
    takes_call: bool = False,
    parts: tuple[Grader, ...] = (),
) -> Grader:
    """Return a grader of `function`; `settings` are those of a factory that has put them into the function.

    Raises
    ------
    GraderError
        The function cannot be a grader.
    """
    if not callable(function):
        raise GraderError(f"a grader needs a function; found a value of type {type(function).__name__}.")
    called = name or _name(function)
    parameters, own = parameters_of(function, called)
    if takes_call:
        own.pop("call", None)
        parameters = tuple(one for one in parameters if one.name != "call")
    return Grader(
        function,
        name=called,
        metrics=metrics_of(metric),
        parameters=parameters,
        release=version,
        settings={**_defaults(function, own), **(settings or {})},
        unset=tuple(setting for setting, needed in own.items() if needed),
        blocking=blocking,
        takes_call=takes_call,
        parts=parts,
    )


@overload
def grader(function: Callable[..., Any], /) -> Grader: ...
@overload
def grader(
    *,
    metric: str | Metric | Iterable[str | Metric] | None = None,
    name: str | None = None,
    version: str = "1",
    blocking: bool = False,
) -> Callable[[Callable[..., Any]], Grader]: ...
def grader(
    function: Callable[..., Any] | None = None,
    /,
    *,
    metric: str | Metric | Iterable[str | Metric] | None = None,
    name: str | None = None,
    version: str = "1",
    blocking: bool = False,
) -> Any:
    """Make a function a grader: its parameter names are the sample columns it needs.

    The function, sync or async, returns True or False, a number in the metric's range, a `Grade`, None for "cannot
    say", or a mapping of metric to any of these. Keyword-only parameters are settings (`Grader.configured`). It is
    not called for a sample whose cell is missing, unless the parameter has a default or is annotated ``… | None``.

    Parameters
    ----------
    metric
        Name or `Metric` (with its range) of what is measured; the name of the function when None. Several for a
        function that returns a mapping.
    name
        Who scores; the name of the function when None.
    version
        To be raised when the function's verdicts change; a digest of the settings is added.
    blocking
        True when the function waits for something outside: calls then run in threads, as many as `concurrency` says.

    Raises
    ------
    GraderError
        The function cannot be a grader.

    Examples
    --------
    >>> @grader(metric="cites_policy")
    ... def cites(output: str, expected: list) -> float | None:
    ...     "Share of the expected clauses that the answer cites."
    ...     return sum(clause in output for clause in expected) / len(expected) if expected else None
    >>> cites("see clause 4", ["clause 4", "clause 7"])
    0.5
    """
    if function is None:
        return functools.partial(build, metric=metric, name=name, version=version, blocking=blocking)
    return build(function)


def as_grader(given: Any) -> Grader:
    """Return `given` when it is a grader, else a grader of the function."""
    if isinstance(given, Grader):
        return given
    made = build(given)
    if not made.parameters:
        raise GraderError(
            f"{made.name!r} reads no sample column, so it is no grader; if it makes one, call it: {made.name}(…)."
        )
    return made


def _name(function: Any) -> str:
    inner = plain_function(function)
    name = str(getattr(inner, "__name__", None) or type(inner).__name__)
    return "grader" if name == "<lambda>" else name


def _defaults(function: Any, settings: Mapping[str, bool]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    return {name: parameters[name].default for name, needed in settings.items() if not needed}
