"""The indexes of a space: one for each view that was searched, caught up with the log before each answer.

Made when a view is first searched. What a process answers is the log as it was when it was asked, turns of other
processes included. `drop` forgets all of it; the next answer is then made from the log alone, and is the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from muniment.embedding.trust import Trusted
from muniment.governance.detection.policy import Lookout
from muniment.governance.views import View
from muniment.log.ledger import Ledger
from muniment.log.port import Reader
from muniment.projections.search.folding import Following
from muniment.projections.search.index import Index
from muniment.projections.search.meaning import Meaning
from muniment.projections.transcript import Transcript

PART_EVENTS = 2000  # read in one snapshot
PROGRESS_STAGE = "search"


class Taken(NamedTuple):
    """The index of exactly one state of the log, and a reader of that state."""

    found: Index
    reader: Reader


class Shelf:
    """The indexes of one space. Thread-safe."""

    def __init__(
        self, ledger: Ledger, transcript: Transcript, lookout: Lookout, embedder: Trusted | None = None
    ) -> None:
        self._ledger = ledger
        self._embedder = embedder
        self._transcript = transcript
        self._lookout = lookout
        self._lock = threading.Lock()
        self._indexes: dict[View, Index] = {}
        self._life = ""

    def drop(self) -> None:
        """Forget everything; the next answer is made from the log alone."""
        with self._lock:
            self._indexes.clear()

    def embed_with(self, embedder: Trusted | None) -> None:
        """Let this embedder make all vectors from now on; those of another one are dropped."""
        with self._lock:
            self._embedder = embedder
            for index in self._indexes.values():
                index.vectors = None if embedder is None else Meaning(embedder)

    @contextmanager
    def caught_up(self, view: View, progress: Callable[[str, int, int], None] | None = None) -> Iterator[Taken]:
        """Give the present index of a view and a reader of the same state; who else asks waits meanwhile."""
        following = Following(self._ledger, self._transcript, view, self._lookout.view(view))
        with self._lock:
            while True:
                with self._ledger.reader() as reader:
                    size, life = reader.frontier().size, self._ledger.life(reader)
                    if life != self._life:  # it was restored
                        self._indexes.clear()
                        self._life = life
                    index = self._indexes.setdefault(view, self._empty())
                    following.follow(index, reader, min(size, index.size + PART_EVENTS))
                    if index.size == size:
                        yield Taken(index, reader)
                        return
                if progress is not None:
                    progress(PROGRESS_STAGE, index.size, size)

    def _empty(self) -> Index:
        made = Index()
        if self._embedder is not None:
            made.vectors = Meaning(self._embedder)
        return made
