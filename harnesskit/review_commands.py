"""The commands of a review: promote (and back), verify."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict
from typing import Any

from harnesskit.commands import root_of
from harnesskit.harness import Harness
from harnesskit.model.config import HarnessConfig
from harnesskit.model.errors import WorkspaceError
from harnesskit.terminal import print_json, strict_code, tell
from harnesskit.workspace.layout import workspace_root


def run_promote(arguments: Namespace) -> int:
    """Promote a guard on its signed review, or take it back."""
    harness = _harness(arguments)
    if arguments.retire is not None:
        if arguments.override is not None:
            raise WorkspaceError("--override is for promoting; --retire needs none. Give one of the two.")
        change = harness.retire(arguments.guard, arguments.retire, author=arguments.author)
    else:
        change = harness.promote(arguments.guard, override=arguments.override, author=arguments.author)
    if arguments.json:
        print_json(asdict(change))
    tell(arguments, str(change))
    return strict_code(arguments, harness.problems())


def run_verify(arguments: Namespace) -> int:
    """Compute the verdict of a report again; exit 1 when it differs."""
    harness = _harness(arguments)
    found = harness.verify(arguments.report)
    if arguments.json:
        print_json({**asdict(found), "same": found.same})
    tell(arguments, str(found))
    return strict_code(arguments, harness.problems(), remind=True) or (0 if found.same else 1)


def _harness(arguments: Namespace) -> Harness:
    """Return the harness of an existing workspace, with the fingerprint of the agent when it was given."""
    from harnesskit.agent_side import Agent

    root = workspace_root(root_of(arguments))
    config = HarnessConfig.from_env(harness_root=root)
    return Harness(root, config=config, agent=Agent(fingerprint=_fingerprint(getattr(arguments, "fingerprint", None))))


def _fingerprint(text: str | None) -> Any:
    """Return a fingerprint: a JSON object as such, any other text as a version."""
    if text is None or not text.lstrip().startswith("{"):
        return text or None
    try:
        return json.loads(text)
    except ValueError as error:
        raise WorkspaceError(f"--fingerprint must be a text or a JSON object; found {text!r}: {error}.") from error
