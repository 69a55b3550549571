"""The indexes of a space: one for each view that was searched, caught up with the log before each answer.

An index is made when its view is first searched, from its snapshot where there is a good one, else from the log. An
answer is about the log as it was when the search began, turns of other processes included. Two views never wait for
each other.

Erasure (`before_rotation`, `after_rotation`): the erased words are removed from every index in memory; each snapshot is
unlocked while its key exists and is written again without them under the new key, or removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from muniment.governance.detection.detection import Detection
from muniment.governance.views import View
from muniment.kernel.canonical import encode_plain
from muniment.ledger.erasures import erased_turns
from muniment.ledger.ledger import Ledger
from muniment.ledger.snapshots import SnapshotKey, Snapshots
from muniment.projections.transcript import FoldDigests, Transcript
from muniment.search.index import Index
from muniment.search.index_follower import IndexFollower
from muniment.search.index_memory import IndexMemory
from muniment.search.index_status import IndexesAfterRotation, IndexStatus
from muniment.search.view_index import CaughtUpIndex, FindEmbedder, Progress, ViewIndex


class Indexes:
    """The indexes of one space. Thread-safe."""

    def __init__(
        self,
        ledger: Ledger,
        transcript: Transcript,
        detection: Detection,
        memory: IndexMemory,
        snapshots: Snapshots | None,
    ) -> None:
        self._ledger = ledger
        self._snapshots = snapshots
        self._of_views = {
            view: ViewIndex(ledger, IndexFollower(ledger, transcript, view, detection.view(view)), memory, snapshots)
            for view in View
        }

    def embed_with(self, embedder: FindEmbedder) -> None:
        """Let this embedder make all vectors from now on; those of another one are dropped."""
        for of_view in self._of_views.values():
            with of_view.lock:
                of_view.embed_with(embedder)

    @contextmanager
    def caught_up(self, view: View, progress: Progress | None = None) -> Iterator[CaughtUpIndex]:
        """Yield the present index of a view and a reader of the same state; other users of it wait meanwhile."""
        with self._of_views[view].caught_up(progress) as caught:
            yield caught

    def statuses(self) -> list[IndexStatus]:
        """Return what is in memory."""
        statuses = [of_view.status() for of_view in self._of_views.values()]
        return [status for status in statuses if status is not None]

    def views(self) -> list[View]:
        """Return the views that have an index, in memory or at rest."""
        return [view for view, of_view in self._of_views.items() if of_view.in_memory or of_view.at_rest]

    def digests(self, views: list[View], progress: Progress | None = None) -> FoldDigests:
        """Return keyed digests of the indexes of some views over the present log, by name."""
        size, digests = 0, dict[str, bytes]()
        for view in views:
            with self.caught_up(view, progress) as caught:
                size += caught.current.size
                digests[f"search {view}"] = self._digest(caught.current)
        return FoldDigests(size, digests)

    def _digest(self, index: Index) -> bytes:
        digest = b""
        for conversation in index.contents():
            digest = self._ledger.name_digest("search", digest.hex(), encode_plain(conversation).decode())
        return digest

    # --- at rest ------------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write a snapshot of each index in memory that is worth it and has none that is as new."""
        for of_view in self._of_views.values():
            with of_view.lock:
                of_view.save()

    def release(self) -> None:
        """Release the indexes in memory."""
        for of_view in self._of_views.values():
            with of_view.lock:
                of_view.release()

    def drop(self) -> None:
        """Drop everything, at rest too; the next answer is made from the log alone, and is the same."""
        self.release()
        if self._snapshots is not None:
            self._snapshots.clear()

    def before_rotation(self) -> dict[View, SnapshotKey | None]:
        """Return the keys of the snapshots, before the space key that wraps them is destroyed."""
        if self._snapshots is None:
            return {}
        return {view: self._snapshots.unlock(view) for view in View if self._snapshots.has(view)}

    def after_rotation(self, keys: dict[View, SnapshotKey | None], since: int) -> IndexesAfterRotation:
        """Remove words that were erased from a position on from every index, and seal snapshots under the new key."""
        in_memory = rewritten = 0
        erased = list(erased_turns(self._ledger, since))
        for of_view in self._of_views.values():
            with of_view.lock:
                of_view.remove_turns(erased)
                in_memory += of_view.in_memory
        for view, key in keys.items():
            of_view = self._of_views[view]
            with of_view.lock:
                rewritten += key is not None and of_view.rewrite(key)
        if self._snapshots is not None:
            self._snapshots.tidy()
        return IndexesAfterRotation(in_memory, rewritten, len(keys) - rewritten)
