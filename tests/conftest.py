"""Fixtures that every test may use."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SHARED = HERE.parent.parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference workspaces and field reports that lies beside the project."""
    if not SHARED.is_dir():
        pytest.skip("the reference material is not beside this checkout (../shared)")
    return SHARED


@pytest.fixture(scope="session")
def demo_root() -> Path:
    """The demo workspace of the project; read only."""
    return HERE.parent / "data" / "demo"


@pytest.fixture
def workspace_copy(shared: Path, tmp_path: Path):
    """A function that copies a reference workspace, writable, and returns its root."""

    def copy(name: str) -> Path:
        target = tmp_path / name.replace("/", "_")
        shutil.copytree(shared / "reference" / "workspaces" / name, target, symlinks=True)
        for path in [target, *target.rglob("*")]:
            path.chmod(path.stat().st_mode | 0o700 if path.is_dir() else path.stat().st_mode | 0o600)
        return target

    return copy
