"""A disk of its own for every test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from muniment.log.sqlite import SqliteStore
from tests.log.worlds import Disk

_numbers = count()


@pytest.fixture
def disk() -> Iterator[Disk]:
    """Return a disk that counts and breaks."""
    shim = Disk(f"disk-{next(_numbers)}")
    yield shim
    shim.broken.clear()
    shim.unregister()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where a log may be made."""
    return tmp_path / "space" / "log.db"


@pytest.fixture
def store(log: Path, disk: Disk) -> Iterator[SqliteStore]:
    """Return an empty store on that disk, with little patience."""
    opened = SqliteStore(log, patience_s=0.2, vfs=disk.name)
    yield opened
    disk.broken.clear()
    opened.close()
