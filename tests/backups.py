"""Backups to test with: taken from a world, put back in another store."""

from __future__ import annotations

from pathlib import Path

import muniment
from muniment.evidence.pin import FilePin
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.turns import TALK
from tests.worlds import PINS, FileWorld, key_of, root_key


def backed_up(world: FileWorld, name: str = "backup") -> Path:
    """Back the space of a world up and return where."""
    world.runtime.spaces.backup(str(world.home / name))
    return world.home / name


def elsewhere(home: Path, seed: str = "elsewhere", root: str = "root") -> Runtime:
    """Open another store, on another machine as it were, without a space."""
    options = Options(sources=seeded_sources(seed), pin=FilePin(home / f"{seed} pins"))
    return muniment.open_store(home / seed, keys=root_key(root), options=options)


def entered(home: Path, seed: str = "elsewhere", root: str = "root") -> Runtime:
    """Open the default space of another store."""
    options = Options(sources=seeded_sources(f"{seed} again"), pin=FilePin(home / f"{seed} pins"))
    return muniment.open(home / seed, keys=root_key(root), options=options)


def words(runtime: Runtime, conversation: str = TALK) -> list[object]:
    """Return what every view shows of a conversation."""
    return [runtime.transcripts.replay(key_of(conversation), view, 500) for view in View]


def root_of(runtime: Runtime) -> tuple[int, bytes]:
    """Return size and root of the log of a runtime."""
    with runtime._session.inspected.ledger.reader() as reader:
        head = reader.frontier()
    return head.size, head.root()


def without_space(world: FileWorld, seed: str = "bare") -> Runtime:
    """Open the store of a closed world, or make it again, with no space open."""
    options = Options(sources=seeded_sources(seed), pin=FilePin(world.home / PINS))
    return muniment.open_store(world.store, keys=root_key(), options=options)
