"""Worlds in which every index is worth a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.search import view_index
from tests.worlds import FileWorld, sqlite_world


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileWorld]:
    """Return an empty world in a directory whose smallest indexes are kept at rest, and read in small parts."""
    monkeypatch.setattr(view_index, "SAVED_DOCUMENTS_MIN", 1)
    monkeypatch.setattr(view_index, "EVICTED_EVENTS", 1)
    monkeypatch.setattr(view_index, "PART_EVENTS", 5)
    made = sqlite_world(tmp_path)
    yield made
    made.close()
