"""The indexes of a space, caught up with the log before each answer.

A view has two: one of messages and one of memory items. An index is made when it is first searched, from its snapshot
where there is a good one, else from the log. An answer is about the log as it was when the search began, events of
other processes included. Two views never wait for each other.

Erasure (`before_rotation`, `after_rotation`): the erased words are removed from every index in memory; each snapshot is
unlocked while its key exists and is written again without them under the new key, or removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from muniment.governance.detection.detection import Detection
from muniment.governance.views import View
from muniment.kernel.canonical import encode_plain
from muniment.ledger.erasures import erased_turns
from muniment.ledger.ledger import Ledger
from muniment.ledger.snapshots import SnapshotKey, Snapshots
from muniment.projections.notebooks import Notebooks
from muniment.projections.transcript import FoldDigests
from muniment.ranking.columns import Rows
from muniment.search.index import Index
from muniment.search.index_memory import IndexMemory
from muniment.search.index_status import Indexed, IndexesAfterRotation, IndexStatus, index_name
from muniment.search.item_follower import ItemFollower
from muniment.search.turn_follower import TurnFollower
from muniment.search.view_index import CaughtUpIndex, FindEmbedder, Progress, ViewIndex


class Indexes:
    """The indexes of one space. Thread-safe."""

    def __init__(
        self,
        ledger: Ledger,
        notebooks: Notebooks,
        detection: Detection,
        memory: IndexMemory,
        snapshots: Snapshots | None,
    ) -> None:
        self._ledger = ledger
        self._snapshots = snapshots
        followers = [
            follower
            for view in View
            for follower in (
                TurnFollower(notebooks.transcript, view, detection.view(view)),
                ItemFollower(notebooks, view, detection.view(view)),
            )
        ]
        self._by_name = {each.name: ViewIndex(ledger, each, memory, snapshots) for each in followers}

    def texts(self, name: str, caught: CaughtUpIndex, passages: Rows) -> list[str]:
        """Return the text of each of these passages of an index, read again from the log."""
        return self._by_name[name].texts(caught, passages)

    def embed_with(self, embedder: FindEmbedder) -> None:
        """Let this embedder make all vectors from now on; those of another one are dropped."""
        for index in self._by_name.values():
            with index.lock:
                index.embed_with(embedder)

    @contextmanager
    def caught_up(
        self, view: View, progress: Progress | None = None, of: Indexed = Indexed.MESSAGES
    ) -> Iterator[CaughtUpIndex]:
        """Yield the present index of a view and a reader of the same state; other users of it wait meanwhile."""
        with self._by_name[index_name(view, of)].caught_up(progress) as caught:
            yield caught

    def statuses(self) -> list[IndexStatus]:
        """Return what is in memory."""
        statuses = [index.status() for index in self._by_name.values()]
        return [status for status in statuses if status is not None]

    def names(self) -> list[str]:
        """Return the names of the indexes that there are, in memory or at rest."""
        return [name for name, index in self._by_name.items() if index.in_memory or index.at_rest]

    def digests(self, names: Iterable[str], progress: Progress | None = None) -> FoldDigests:
        """Return keyed digests of some indexes over the present log, by name."""
        size, digests = 0, dict[str, bytes]()
        for name in names:
            with self._by_name[name].caught_up(progress) as caught:
                size += caught.current.size
                digests[f"search {name}"] = self._digest(caught.current)
        return FoldDigests(size, digests)

    def _digest(self, index: Index) -> bytes:
        digest = b""
        for conversation in index.contents():
            digest = self._ledger.name_digest("search", digest.hex(), encode_plain(conversation).decode())
        return digest

    # --- at rest ------------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write a snapshot of each index in memory that is worth it and has none that is as new."""
        for index in self._by_name.values():
            with index.lock:
                index.save()

    def release(self) -> None:
        """Release the indexes in memory."""
        for index in self._by_name.values():
            with index.lock:
                index.release()

    def drop(self) -> None:
        """Drop everything, at rest too; the next answer is made from the log alone, and is the same."""
        self.release()
        if self._snapshots is not None:
            self._snapshots.clear()

    def before_rotation(self) -> dict[str, SnapshotKey | None]:
        """Return the keys of the snapshots, before the space key that wraps them is destroyed."""
        if self._snapshots is None:
            return {}
        names = self._snapshots.names()
        return {name: self._snapshots.unlock(name) for name in self._by_name if name in names}

    def after_rotation(self, keys: dict[str, SnapshotKey | None], since: int) -> IndexesAfterRotation:
        """Remove words that were erased from a position on from every index, and seal snapshots under the new key."""
        in_memory = rewritten = 0
        erased = list(erased_turns(self._ledger, since))
        for index in self._by_name.values():
            with index.lock:
                in_memory += index.remove_turns(erased)
        for name, key in keys.items():
            index = self._by_name[name]
            with index.lock:
                rewritten += key is not None and index.rewrite(key)
        if self._snapshots is not None:
            self._snapshots.tidy()
        return IndexesAfterRotation(in_memory, rewritten, len(keys) - rewritten)
