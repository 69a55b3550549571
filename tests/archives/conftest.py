"""An archive, and a space to import it into."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.archives.documents import exported, of_subject
from tests.turns import rich_turn
from tests.worlds import FileWorld, memory_world, sqlite_world


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Write an archive of a subject: a rich turn, two plain ones (masked, erased), another conversation."""
    world = memory_world("source").with_turn(rich_turn()).with_turns(2).masked(2).erased(3).with_turns(1, "second")
    exported(world.runtime, tmp_path / "archive")
    world.close()
    return tmp_path / "archive"


@pytest.fixture
def target(tmp_path: Path) -> FileWorld:
    """Open a space that holds conversations of others, and one of the subject."""
    world = sqlite_world(tmp_path / "target").with_turns(3, "third").erased(2, "third")
    for number, subject in enumerate(["ada", "bob"]):
        world.commit(of_subject(subject, number, "shared"))
    return world
