"""Worlds for the tests of the front door: one in memory, one in a directory, and both in turn."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.errors import Corrupt
from tests.worlds import FileWorld, World, memory_world, sqlite_world


@pytest.fixture(params=["memory", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Return an empty world over each store."""
    made = memory_world() if request.param == "memory" else sqlite_world(tmp_path)
    yield made
    made.close()


@pytest.fixture
def lasting(tmp_path: Path) -> Iterator[FileWorld]:
    """Return an empty world that can be come back to."""
    made = sqlite_world(tmp_path)
    yield made
    with contextlib.suppress(Corrupt):  # closing tells what was edited under the open store, too
        made.close()
