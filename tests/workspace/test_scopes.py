"""Scope descriptions."""

from __future__ import annotations

import json

from harnesskit.workspace.scopes import Scope, read_scopes


def test_scopes_come_in_order_and_odd_ones_are_said(tmp_path):
    path = tmp_path / "scope_metadata.json"
    path.write_text(json.dumps({"b": {"description": "B", "source": "host"}, "a": {"description": 3}, "c": []}))
    found = read_scopes(path)
    assert found.scopes == [Scope("a", "3", None), Scope("b", "B", "host")]
    assert [(p.field, p.kind) for p in found.problems] == [("a.description", "not_text"), ("c", "wrong_type")]
