"""The indexes of a space: one for each view that was searched, caught up with the log before each answer.

An index is made when its view is first searched, from its snapshot where there is a good one, else from the log. What a
process answers is the log as it was when it was asked, turns of other processes included. A long log is read in parts,
and between two of them others may have the index or take words out of it; two views never wait for each other.

Snapshots (`sealing`) are written when the shelf is closed, when an index leaves the room for others, and now and then
while it grows. A snapshot must not bring back what others erase, so:

1. the key of the space is looked at, and nothing is written while it is being turned over;
2. then the index is caught up, and taken for what it is: an erasure that was complete before step 1 is in it, and any
   other one will destroy the key that was seen in step 1;
3. the snapshot is sealed under that key.

Erasure (`before_turning`, `after_turning`): the words leave every index in memory; each snapshot is opened while its
key is there and written again without them under the new one, or removed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from msgspec.structs import replace

from muniment.embedding.guarded import GuardedEmbedder
from muniment.errors import MunimentError
from muniment.evidence.tree import root_at
from muniment.governance.detection.detection import Detection, ViewDetection
from muniment.governance.views import View
from muniment.kernel.canonical import encode_plain
from muniment.ledger.ledger import Ledger
from muniment.log.port import Reader
from muniment.projections.conversation_catalogue import FoldDigests
from muniment.projections.transcript import Transcript
from muniment.search.folding import IndexFollower, erased
from muniment.search.index import Index
from muniment.search.index_memory import IndexMemory
from muniment.search.index_status import IndexesAfterRotation, IndexStatus, SnapshotRefusal
from muniment.search.meaning import Meaning
from muniment.search.snapshots import SnapshotBinding, SnapshotKey, SnapshotLabel, Snapshots
from muniment.search.vectors import Vectors, kept_vectors
from muniment.version import __version__

PART_EVENTS = 500  # read in one snapshot of the log; more of them fall out of the nearer caches
KEPT_DOCUMENTS_MIN = 1000  # a smaller index is made anew as fast as it is opened
KEPT_EVENTS = 20_000  # a snapshot is written anew when the log has grown by so many events, and
KEPT_SHARE = 4  # by that part of what it was
LEFT_EVENTS = 1000  # when an index is left, its snapshot may be behind by so many events
BEHIND_EVENTS_MAX = 20_000  # an index that is further behind is not caught up only to be kept
PROGRESS_STAGE = "search"

KEPT_VECTORS = 16  # when an index is left, so many vectors are worth a snapshot however small it is

Progress = Callable[[str, int, int], None]
FindEmbedder = Callable[[], GuardedEmbedder | None]


def _no_embedder() -> GuardedEmbedder | None:
    return None


class CaughtUpIndex(NamedTuple):
    """The index of exactly one state of the log, and a reader of that state."""

    found: Index
    reader: Reader


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
        self._slots = {
            view: ViewIndex(ledger, IndexFollower(ledger, transcript, view, detection.view(view)), memory, snapshots)
            for view in View
        }

    def embed_with(self, embedder: FindEmbedder) -> None:
        """Let this embedder make all vectors from now on; those of another one are dropped."""
        for slot in self._slots.values():
            with slot.lock:
                slot.embed_with(embedder)

    @contextmanager
    def caught_up(self, view: View, progress: Progress | None = None) -> Iterator[CaughtUpIndex]:
        """Give the present index of a view and a reader of the same state; who else asks for it waits meanwhile."""
        with self._slots[view].caught_up(progress) as taken:
            yield taken

    def standings(self) -> list[IndexStatus]:
        """Return what is in memory."""
        return [found for slot in self._slots.values() if (found := slot.standing()) is not None]

    def views(self) -> list[View]:
        """Return the views of which there is an index, in memory or at rest."""
        kept = self._snapshots.views() if self._snapshots is not None else []
        return [view for view, slot in self._slots.items() if slot.is_there or view in kept]

    def digests(self, views: list[View], progress: Progress | None = None) -> FoldDigests:
        """Return keyed digests of the indexes of some views over the present log, by name."""
        size, of = 0, dict[str, bytes]()
        for view in views:
            with self.caught_up(view, progress) as taken:
                size += taken.found.size
                of[f"search {view}"] = self._digest(taken.found)
        return FoldDigests(size, of)

    def _digest(self, index: Index) -> bytes:
        digest = b""
        for each in index.told():
            digest = self._ledger.name_digest("search", digest.hex(), encode_plain(each).decode())
        return digest

    # --- keeping and forgetting ---------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Write a snapshot of each index in memory that is worth it and has none that is as new."""
        for slot in self._slots.values():
            with slot.lock:
                slot.keep()

    def forget(self) -> None:
        """Forget what is in memory."""
        for slot in self._slots.values():
            with slot.lock:
                slot.forget()

    def drop(self) -> None:
        """Forget everything, at rest too; the next answer is made from the log alone, and is the same."""
        self.forget()
        if self._snapshots is not None:
            self._snapshots.clear()

    def before_turning(self) -> dict[View, SnapshotKey | None]:
        """Return what opens the snapshots that there are, before the key that they are sealed under is destroyed."""
        if self._snapshots is None:
            return {}
        return {view: self._snapshots.unlock(view) for view in self._snapshots.views()}

    def after_turning(self, locks: dict[View, SnapshotKey | None], since: int) -> IndexesAfterRotation:
        """Take words that were erased from a position on out of every index, and put snapshots under the new key."""
        in_memory = rewritten = 0
        gone = list(erased(self._ledger, since))
        for slot in self._slots.values():
            with slot.lock:
                slot.take_out(gone)
                in_memory += slot.is_there
        for view, lock in locks.items():
            slot = self._slots[view]
            with slot.lock:
                rewritten += lock is not None and slot.rewrite(lock)
        if self._snapshots is not None:
            self._snapshots.tidy()
        return IndexesAfterRotation(in_memory, rewritten, len(locks) - rewritten)


class ViewIndex:
    """The place of one index on the shelf. Whoever uses more than `caught_up` and `leave` holds the lock."""

    def __init__(
        self, ledger: Ledger, following: IndexFollower, memory: IndexMemory, snapshots: Snapshots | None
    ) -> None:
        self.lock = threading.Lock()
        self._ledger = ledger
        self._following = following
        self._memory = memory
        self._snapshots = snapshots
        self._index: Index | None = None
        self._life = ""
        self._kept = 0  # the size of the newest snapshot
        self._tried = 0  # that of the index when one was to be written
        self._kept_vectors = 0  # in the newest snapshot
        self._embedder: FindEmbedder = _no_embedder
        self._from_snapshot = False
        self._refused: SnapshotRefusal | None = None

    @property
    def is_there(self) -> bool:
        """Whether there is an index in memory."""
        return self._index is not None

    def standing(self) -> IndexStatus | None:
        """Return what is in memory, by a look that waits for nobody."""
        index = self._index
        if index is None:
            return None
        return IndexStatus(
            view=self._following.view,
            events=index.size,
            memory_bytes=index.memory_bytes,
            from_snapshot=self._from_snapshot,
            snapshot_events=self._kept,
            refused=self._refused,
        )

    @contextmanager
    def caught_up(self, progress: Progress | None) -> Iterator[CaughtUpIndex]:
        """Give the present index and a reader of the same state."""
        while True:
            with self.lock:
                index = self._index if self._index is not None else self._opened()
                with self._ledger.reader() as reader:
                    size = reader.frontier().size
                    index = self._of_this_life(index, reader)
                    self._following.follow(index, reader, min(size, index.size + PART_EVENTS))
                    is_caught_up = index.size == size
                    if is_caught_up:
                        index.settle()
                        yield CaughtUpIndex(index, reader)
                if is_caught_up:
                    self._memory.enter(self, index.memory_bytes)
                    self.keep_at_times()
                    return
                index.relieve()
            if progress is not None:
                progress(PROGRESS_STAGE, index.size, size)

    def leave(self) -> bool:
        """Give up the memory, unless somebody uses it now."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            self.keep()
            self._index = None
        finally:
            self.lock.release()
        return True

    def forget(self) -> None:
        """Forget what is in memory."""
        self._index = None
        self._kept = self._tried = 0
        self._memory.left(self)

    def embed_with(self, embedder: FindEmbedder) -> None:
        """Let this embedder make all vectors from now on."""
        self._embedder = embedder
        if self._index is not None:
            self._index.vectors = None
            self._with_vectors(self._index, {})

    def _with_vectors(self, index: Index, sections: Mapping[str, bytes]) -> Index:
        """Give an index its place for vectors, and those of a snapshot that the present embedder made.

        Without an embedder those of a snapshot are kept as they are, for whoever has it.
        """
        embedder = self._embedder()
        if embedder is not None:
            index.vectors = meaning = Meaning(embedder)
            meaning.restore(sections)
        else:
            index.vectors = kept_vectors(sections)
        return index

    def take_out(self, gone: list[tuple[int, int, int]]) -> None:
        """Take out turns that were erased at positions that the index has not come to."""
        index = self._index
        if index is not None:
            index.remove([(stream, turn) for position, stream, turn in gone if position >= index.size])
            index.purge()

    # --- snapshots ----------------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Write a snapshot of what will be in memory no longer, unless there is one that is nearly as new."""
        index = self._index
        made = 0 if index is None else vectors_of(index) - self._kept_vectors
        if made >= KEPT_VECTORS and index is not None and self._snapshots is not None:
            self._keep(index, self._snapshots)
        else:
            self._keep_from(LEFT_EVENTS if self._tried else 0)

    def keep_at_times(self) -> None:
        """Write a snapshot when the log has grown much since the last one."""
        self._keep_from(max(KEPT_EVENTS, self._tried // KEPT_SHARE))

    def _keep_from(self, grown: int) -> None:
        index, snapshots = self._index, self._snapshots
        if index is None or snapshots is None or len(index) < KEPT_DOCUMENTS_MIN:
            return
        if index.size - self._tried >= grown:
            self._tried = index.size
            self._keep(index, snapshots)

    def rewrite(self, lock: SnapshotKey) -> bool:
        """Write a snapshot again under the present key, caught up; remove it and return False when that fails."""
        assert self._snapshots is not None, "it was unlocked"
        index = self._index if self._index is not None else self._restored(lock)
        done = index is not None and self._keep(index, self._snapshots)
        if not done:
            self._snapshots.remove(self._following.view)
            self._kept = 0
        return done

    def _keep(self, index: Index, snapshots: Snapshots) -> bool:
        keys, following = self._ledger.keys, self._following
        try:
            keys.refresh()
            if len(keys.versions) > 1:
                return False
            key, root = keys.current, b""
            while not root:
                with self._ledger.reader() as reader:
                    size = reader.frontier().size
                    if self._ledger.life(reader) != self._life or size - index.size > BEHIND_EVENTS_MAX:
                        return False
                    following.follow(index, reader, min(size, index.size + PART_EVENTS))
                    root = reader.frontier().root() if index.size == size else b""
        except MunimentError:  # whoever reads next is told
            return False
        binding = replace(self._expected(self._life), size=index.size, root=root.hex())
        done = snapshots.write(binding, key, index.sections())
        if done:
            self._kept = index.size
            self._kept_vectors = vectors_of(index)
        return done

    def _opened(self) -> Index:
        """Return the index of the snapshot, when it is what it must be, or an empty one."""
        self._from_snapshot, self._refused, self._kept, self._tried = False, None, 0, 0
        index, snapshots, view = None, self._snapshots, self._following.view
        if snapshots is not None and view in snapshots.views():
            lock = snapshots.unlock(view)
            if lock is None:
                self._refused = SnapshotRefusal.KEY_RETIRED
            elif not self._is_ours(lock.label):
                self._refused = SnapshotRefusal.OTHER
            else:
                index = self._restored(lock)
                self._refused = None if index is not None else SnapshotRefusal.DAMAGED
            if index is None:
                snapshots.remove(view)
            else:
                self._from_snapshot, self._kept, self._tried = True, index.size, index.size
        if index is None:
            index = self._with_vectors(Index(), {})
        self._kept_vectors = vectors_of(index)
        self._index = index
        return index

    def _restored(self, lock: SnapshotKey) -> Index | None:
        assert self._snapshots is not None, "it was unlocked"
        sections = self._snapshots.read(self._following.view, lock)
        if sections is None or not self._is_ours(lock.label):
            return None
        self._life = lock.label.life
        return self._with_vectors(Index.of_sections(sections), sections)

    def _is_ours(self, label: SnapshotLabel) -> bool:
        """Tell whether a snapshot is of this log as it is, and was made as it would be made now."""
        with self._ledger.reader() as reader:
            if label.size > reader.frontier().size:
                return False
            expected = self._expected(self._ledger.life(reader))
            return label.binding == replace(expected, size=label.size, root=root_at(reader, label.size).hex())

    def _expected(self, life: str) -> SnapshotBinding:
        return SnapshotBinding(
            log=self._ledger.log,
            life=life,
            view=self._following.view,
            size=0,
            root="",
            release=__version__,
            detection=self._ledger.name_digest("detection", told_of(self._following.detection)).hex(),
        )

    def _of_this_life(self, index: Index, reader: Reader) -> Index:
        life = self._ledger.life(reader)
        if life != self._life:  # it was restored
            self._life, self._kept, self._tried = life, 0, 0
            if index.size:
                self._index = index = self._with_vectors(Index(), {})
                self._kept_vectors = 0
        return index


def vectors_of(index: Index) -> int:
    """Return how many vectors an index has."""
    return len(index.vectors) if isinstance(index.vectors, Meaning | Vectors) else 0


def told_of(detection: ViewDetection) -> str:
    """Return what is looked for, as text."""
    types = [[one.type, one.detectors] for one in detection.coverage]
    return encode_plain([types, detection.turn_names, sorted(detection.names)]).decode()
