"""Worlds for the tests of contexts: one in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.worlds import World, memory_world


@pytest.fixture
def world() -> Iterator[World]:
    """Return an empty world."""
    made = memory_world()
    yield made
    made.close()
