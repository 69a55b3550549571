"""Where benchmarks happen: a scratch directory, words, and a store that grows from study to study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from muniment.runtime.runtime import Runtime
from replay.bench.contestants import CONVERSATION
from replay.bench.figures import Figure
from replay.stores import opened
from replay.words import Words

GROW_THREADS = 16
GROW_BATCH = 2000


class Measured(NamedTuple):
    """A figure, and the code path to profile when it misses its target (run at once, while everything is open)."""

    figure: Figure
    path: Callable[[], object] | None = None


Measuring = Iterator[Measured]


class Scene:
    """What a benchmark needs: where to write, what to write, and how much of it."""

    def __init__(self, directory: Path, *, quick: bool = False, peers: bool = False, million: bool = False) -> None:
        self.directory = directory
        self.quick = quick
        self.peers = peers
        self.million = million
        self.words = Words(small=quick)

    def fresh(self, name: str) -> Path:
        """Return a new directory."""
        path = self.directory / name
        path.mkdir(parents=True)
        return path


class Grown:
    """One conversation that grows; at each size it is studied, then it goes on growing."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.directory = scene.fresh("grown")
        self.words = Words(small=scene.quick)  # from the beginning, so that the same turns can be had again
        self.turns = 0
        self.runtime: Runtime = opened(self.directory)

    def grow(self, turns: int) -> None:
        """Commit turns until there are so many."""
        with ThreadPoolExecutor(GROW_THREADS) as callers:
            while self.turns < turns:
                count = min(GROW_BATCH, turns - self.turns)
                batch = self.words.turns(CONVERSATION, self.turns + 1, count)
                list(callers.map(self.runtime.transcripts.commit, batch))
                self.turns += count

    def close(self) -> None:
        """Close the store."""
        self.runtime.close()
