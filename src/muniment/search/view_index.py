"""The index of one view: opened from its snapshot or made from the log, caught up before use, saved and released.

A long log is read in parts; between two of them others may use the index or remove erased words from it.

Snapshots (`snapshots`) are written when the space is closed, when an index is evicted, and now and then while it grows.
A snapshot must not bring back what others erase, so:

1. the key of the space is read, and nothing is written while it is being rotated;
2. then the index is caught up: an erasure that was complete before step 1 is in it, and any later one will destroy the
   key that was read in step 1;
3. the snapshot is sealed under that key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from msgspec.structs import replace

from muniment.embedding.guarded import GuardedEmbedder
from muniment.errors import MunimentError
from muniment.evidence.tree import root_at
from muniment.kernel.canonical import encode_plain
from muniment.kernel.locks import new_lock
from muniment.ledger.ledger import Ledger
from muniment.ledger.snapshots import SnapshotBinding, SnapshotKey, SnapshotLabel, SnapshotRefusal, Snapshots
from muniment.log.port import Reader
from muniment.ranking.columns import Rows
from muniment.search.index import Index
from muniment.search.index_follower import IndexFollower, follow, passage_texts
from muniment.search.index_memory import IndexMemory
from muniment.search.index_status import IndexStatus
from muniment.search.meaning import Meaning
from muniment.version import __version__

PART_EVENTS = 500  # read in one snapshot of the log; more of them fall out of the nearer caches
SAVED_DOCUMENTS_MIN = 1000  # a smaller index is made from the log as fast as it is opened
SAVED_EVENTS = 20_000  # a snapshot is written again when the log has grown by so many events, and
SAVED_SHARE = 4  # by that part of what it was
EVICTED_EVENTS = 1000  # when an index is evicted or closed, its snapshot may be behind by so many events
BEHIND_EVENTS_MAX = 20_000  # an index that is further behind is not caught up only to be saved
SAVED_VECTORS = 16  # when an index is evicted or closed, so many new vectors are worth a snapshot however small it is
PROGRESS_STAGE = "search"

Progress = Callable[[str, int, int], None]
FindEmbedder = Callable[[], GuardedEmbedder | None]


class CaughtUpIndex(NamedTuple):
    """The index of exactly one state of the log, and a reader of that state."""

    current: Index
    reader: Reader


class ViewIndex:
    """The index of one view. Whoever uses more than `caught_up` and `evict` holds the lock."""

    def __init__(
        self, ledger: Ledger, follower: IndexFollower, memory: IndexMemory, snapshots: Snapshots | None
    ) -> None:
        self.lock = new_lock()
        self._ledger = ledger
        self._follower = follower
        self._memory = memory
        self._snapshots = snapshots
        self._index: Index | None = None
        self._epoch = ""
        self._saved_size = 0  # of the newest snapshot
        self._tried_size = 0  # of the index when one was to be written
        self._saved_vectors = 0  # in the newest snapshot
        self._embedder: FindEmbedder = lambda: None
        self._from_snapshot = False
        self._refused: SnapshotRefusal | None = None

    @property
    def name(self) -> str:
        """The name of the index, and of its snapshot."""
        return self._follower.name

    @property
    def at_rest(self) -> bool:
        """Whether there is a snapshot."""
        return self._snapshots is not None and self._snapshots.has(self.name)

    @property
    def in_memory(self) -> bool:
        """Whether the index is in memory."""
        return self._index is not None

    def status(self) -> IndexStatus | None:
        """Return what is in memory, without waiting for anybody."""
        index = self._index
        if index is None:
            return None
        return IndexStatus(
            name=self.name,
            view=self._follower.view,
            events=index.size,
            memory_bytes=index.memory_bytes,
            from_snapshot=self._from_snapshot,
            snapshot_events=self._saved_size,
            refused=self._refused,
        )

    def texts(self, caught: CaughtUpIndex, passages: Rows) -> list[str]:
        """Return the text of each of these passages, read again from the log."""
        return passage_texts(self._follower, caught.current, caught.reader, passages)

    @contextmanager
    def caught_up(self, progress: Progress | None) -> Iterator[CaughtUpIndex]:
        """Yield the present index and a reader of the same state."""
        while True:
            with self.lock:
                index = self._index if self._index is not None else self._opened()
                with self._ledger.reader() as reader:
                    size = reader.frontier().size
                    index = self._of_epoch(index, reader)
                    follow(self._follower, self._ledger, index, reader, min(size, index.size + PART_EVENTS))
                    is_caught_up = index.size == size
                    if is_caught_up:
                        index.settle()
                        yield CaughtUpIndex(index, reader)
                if is_caught_up:
                    self._memory.use(self, index.memory_bytes)
                    self._save_if_grown(max(SAVED_EVENTS, self._tried_size // SAVED_SHARE))
                    return
                index.settle_much()
            if progress is not None:
                progress(PROGRESS_STAGE, index.size, size)

    def evict(self) -> bool:
        """Give up the memory, unless somebody uses the index now."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            self.save()
            self._index = None
        finally:
            self.lock.release()
        return True

    def release(self) -> None:
        """Release the index from memory."""
        self._index = None
        self._saved_size = self._tried_size = 0
        self._memory.remove(self)

    def embed_with(self, embedder: FindEmbedder) -> None:
        """Let this embedder make all vectors from now on."""
        self._embedder = embedder
        if self._index is not None:
            self._index.meaning = Meaning(embedder())

    def _with_vectors(self, index: Index, sections: Mapping[str, bytes]) -> Index:
        index.meaning = Meaning.of_sections(self._embedder(), sections)
        return index

    def remove_turns(self, erased: list[tuple[int, int, int]]) -> bool:
        """Remove turns that were erased at positions that the index has not reached; return whether it is in memory."""
        index = self._index
        if index is None:
            return False
        index.remove([(stream, turn) for position, stream, turn in erased if position >= index.size])
        index.purge()
        return True

    # --- snapshots ----------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write a snapshot of an index that is about to leave memory, unless there is one that is nearly as new."""
        index = self._index
        made = 0 if index is None else len(index.meaning) - self._saved_vectors
        if made >= SAVED_VECTORS and index is not None and self._snapshots is not None:
            self._save(index, self._snapshots)
        else:
            self._save_if_grown(EVICTED_EVENTS if self._tried_size else 0)

    def _save_if_grown(self, events: int) -> None:
        index, snapshots = self._index, self._snapshots
        if index is None or snapshots is None or len(index) < SAVED_DOCUMENTS_MIN:
            return
        if index.size - self._tried_size >= events:
            self._tried_size = index.size
            self._save(index, snapshots)

    def rewrite(self, key: SnapshotKey) -> bool:
        """Write a snapshot again under the present space key, caught up; remove it and return False when that fails."""
        assert self._snapshots is not None, "it was unlocked"
        index = self._index if self._index is not None else self._restored(key)
        done = index is not None and self._save(index, self._snapshots)
        if not done:
            self._snapshots.remove(self.name)
            self._saved_size = 0
        return done

    def _save(self, index: Index, snapshots: Snapshots) -> bool:
        keys, follower = self._ledger.keys, self._follower
        try:
            keys.refresh()
            if len(keys.versions) > 1:
                return False
            key, root = keys.current, b""
            while not root:
                with self._ledger.reader() as reader:
                    size = reader.frontier().size
                    if self._ledger.life(reader) != self._epoch or size - index.size > BEHIND_EVENTS_MAX:
                        return False
                    follow(follower, self._ledger, index, reader, min(size, index.size + PART_EVENTS))
                    root = reader.frontier().root() if index.size == size else b""
        except MunimentError:  # whoever reads next gets it
            return False
        binding = replace(self._expected(self._epoch), size=index.size, root=root.hex())
        done = snapshots.write(binding, key, index.sections())
        if done:
            self._saved_size, self._saved_vectors = index.size, len(index.meaning)
        return done

    def _opened(self) -> Index:
        """Return the index of the snapshot, when it is what it must be, or an empty one."""
        self._from_snapshot, self._refused, self._saved_size, self._tried_size = False, None, 0, 0
        index, snapshots, name = None, self._snapshots, self.name
        if snapshots is not None and snapshots.has(name):
            key = snapshots.unlock(name)
            if key is None:
                self._refused = SnapshotRefusal.KEY_RETIRED
            elif not self._is_ours(key.label):
                self._refused = SnapshotRefusal.OTHER
            else:
                index = self._restored(key)
                self._refused = None if index is not None else SnapshotRefusal.DAMAGED
            if index is None:
                snapshots.remove(name)
            else:
                self._from_snapshot, self._saved_size, self._tried_size = True, index.size, index.size
        if index is None:
            index = self._with_vectors(Index(linked=self._follower.linked), {})
        self._saved_vectors = len(index.meaning)
        self._index = index
        return index

    def _restored(self, key: SnapshotKey) -> Index | None:
        assert self._snapshots is not None, "it was unlocked"
        sections = self._snapshots.read(self.name, key)
        if sections is None or not self._is_ours(key.label):
            return None
        self._epoch = key.label.life
        return self._with_vectors(Index.of_sections(sections, linked=self._follower.linked), sections)

    def _is_ours(self, label: SnapshotLabel) -> bool:
        """Tell whether a snapshot is of this log as it is, and was made as it would be made now."""
        with self._ledger.reader() as reader:
            if label.size > reader.frontier().size:
                return False
            expected = self._expected(self._ledger.life(reader))
            return label.binding == replace(expected, size=label.size, root=root_at(reader, label.size).hex())

    def _expected(self, epoch: str) -> SnapshotBinding:
        detection = self._follower.detection
        types = [[coverage.type, coverage.detectors] for coverage in detection.coverage]
        detected = encode_plain([types, detection.turn_names, sorted(detection.names)]).decode()
        return SnapshotBinding(
            log=self._ledger.log,
            life=epoch,
            name=self.name,
            size=0,
            root="",
            release=__version__,
            detection=self._ledger.name_digest("detection", detected).hex(),
        )

    def _of_epoch(self, index: Index, reader: Reader) -> Index:
        """Return the index, or an empty one when the log was restored and began another epoch."""
        epoch = self._ledger.life(reader)
        if epoch != self._epoch:
            self._epoch, self._saved_size, self._tried_size = epoch, 0, 0
            if index.size:
                self._index = index = self._with_vectors(Index(linked=self._follower.linked), {})
                self._saved_vectors = 0
        return index
