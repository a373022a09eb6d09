"""One part of a composed grader: asked about one sample, and answering with a verdict whatever happens inside it."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from harnesskit.graders.calling import in_thread
from harnesskit.graders.grader import Grader
from harnesskit.graders.keys import GraderCall, remembering
from harnesskit.graders.reading import cell_reader, decoded, is_missing
from harnesskit.graders.signature import WHOLE, Parameter
from harnesskit.graders.verdicts import Failed, Verdict, failed, verdict
from harnesskit.graders.work import ENDED_BADLY, no_sample
from harnesskit.model.metrics import Metric, Metrics

Sample = Mapping[str, Any]


class Part:
    """A grader inside another one.

    Parameters
    ----------
    grader
        What is asked; it gives one value.
    """

    def __init__(self, grader: Grader) -> None:
        self.grader = grader
        self.metric: Metric = grader.metrics[0] if grader.metrics else Metrics()[grader.name]

    @property
    def name(self) -> str:
        """Who says it."""
        return self.grader.name

    @property
    def waits(self) -> bool:
        """Whether it is async, or waits for something outside."""
        return self.grader.awaits or self.grader.blocking

    def now(self, sample: Sample, call: GraderCall | None) -> Verdict:
        """Return what the part says of a sample."""
        given = self._arguments(sample)
        if isinstance(given, Failed):
            return verdict(given, self.metric)
        try:
            return self._verdict(self._function(call)(*given))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return verdict(failed(error), self.metric)

    async def later(self, sample: Sample, call: GraderCall | None) -> Verdict:
        """Return the same of a part that waits."""
        given = self._arguments(sample)
        if isinstance(given, Failed):
            return verdict(given, self.metric)
        function = self._function(call)
        try:
            blocks = self.grader.blocking and not self.grader.awaits
            result = await in_thread(function, given) if blocks else function(*given)
            return self._verdict(await result if inspect.isawaitable(result) else result)
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise
        except BaseException as error:
            return verdict(failed(error), self.metric)

    def _function(self, call: GraderCall | None) -> Callable[..., Any]:
        """Return what to call: verdicts of a part are kept as those of the part alone would be."""
        function = self.grader.function
        if self.grader.takes_call:
            return functools.partial(function, call=call)
        if call is None or call.cache is None:
            return function
        return functools.partial(remembering(function, self.grader, call.cache, awaits=self.grader.awaits), call.trial)

    def _verdict(self, result: Any) -> Verdict:
        if isinstance(result, Mapping):
            names = ", ".join(map(str, list(result)[:5]))
            return verdict(Failed("error", f"gives several metrics ({names}); a part must give one"), self.metric)
        return verdict(result, self.metric)

    def _arguments(self, sample: Sample) -> tuple[Any, ...] | Failed:
        """Return what the part is called with, by the rules of `harnesskit.graders.work`."""
        if not self.grader.sees_failures and sample.get("status") in ENDED_BADLY:
            return no_sample(sample["status"], sample.get("reason"))
        if self.grader.parts:
            return (sample,)
        values = [_argument(one, sample) for one in self.grader.parameters]
        lacking = [value for value in values if isinstance(value, Failed)]
        return lacking[0] if lacking else tuple(values)


def _argument(one: Parameter, sample: Sample) -> Any:
    if one.column == WHOLE and WHOLE not in sample:
        return {name: decoded(value) for name, value in sample.items()}
    if is_missing(sample.get(one.column)):
        if one.nullable and one.column in sample:
            return None
        return Failed("unscored", f"{one.column} is missing") if one.required else one.default
    read = cell_reader(one.column, one.reading)
    return sample[one.column] if read is None else read(sample[one.column])
