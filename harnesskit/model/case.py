"""An eval case as code handles it: the record in its file, with the fields that a replay function reads."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

CaseKind = Literal["failure", "win"]


class EvalCase(BaseModel):
    """A scenario worth re-running: a failure to fix or a win to protect.

    Examples
    --------
    >>> EvalCase(id="c-1", replay_input=False).replayable  # anything but null can be replayed
    True
    """

    model_config = ConfigDict(frozen=True)

    id: str = Field(min_length=1, description="identity of the case")
    created_at: str = Field("", description="when it was captured, as the file has it")
    session_id: str = Field("", description="session that it was captured from")
    kind: CaseKind = Field("failure", description="failure (to fix) or win (to protect)")
    signature: tuple[str, ...] = Field((), description="condition labels, repeats kept")
    baseline_scores: dict[str, float] = Field(default_factory=dict, description="metric to captured score")
    replay_input: Any = Field(None, description="payload for the replay function")
    notes: str = Field("", description="free text")

    @property
    def replayable(self) -> bool:
        """Whether a payload other than null is attached."""
        return self.replay_input is not None

    def record(self) -> dict[str, Any]:
        """Return the fields as they stand in the case file."""
        return {**self.model_dump(), "signature": list(self.signature)}

    def summary(self) -> dict[str, Any]:
        """Return the record without the payload, and whether there is one: what listings show."""
        record = self.record()
        del record["replay_input"]
        return {**record, "replayable": self.replayable}
