"""The catalogue of a space: which conversations there are, how large and how recent they are, and when they were busy.

A fold of the log in memory, made when it is first asked for and caught up before each answer: what a process answers is
the log as it was when it was asked, turns of other processes included, and a query costs the events that are new.
A large one is kept at rest, sealed (`projections.kept_catalogue`), and a process begins with that. `release` forgets
what is in memory, `drop` what is at rest as well; the next answer is then made from the log alone, and is the same
(`digest` tells). An erasure removes the snapshot; it is written again, under the new key, when the space is closed.

1. Events are taken in the order of their positions, none may be missing, and each is opened, so that its columns are
   proved.
2. When the log is read to its end, the heads of the conversations that were touched are proved and compared with what
   was taken. Where steps were taken, the phases are folded again (`Transcript.changes`: one fold for all readers).
3. What was touched is put into its places (`projections.conversation_list`).

Derived references are folded on the way (`projections.evidence_links`).

A long log is read in parts, each a snapshot of its own, so that an erasure never waits for a reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from muniment.errors import Corrupt, MunimentError
from muniment.events.changes import Custody
from muniment.events.records import EventKind
from muniment.events.references import RefDerived
from muniment.governance.phases import runs
from muniment.kernel.canonical import encode_plain
from muniment.kernel.locks import new_lock
from muniment.ledger.ledger import Ledger
from muniment.ledger.snapshots import SnapshotKey, Snapshots
from muniment.log.port import Reader, SealedRow
from muniment.projections.conversation_list import ConversationList
from muniment.projections.evidence_links import Links
from muniment.projections.kept_catalogue import KeptCatalogue
from muniment.projections.transcript import FoldDigests, Transcript

CUSTODY = frozenset(Custody)
PART_EVENTS = 2000  # read in one snapshot
PROGRESS_STAGE = "catalogue"


class CaughtUpCatalogue(NamedTuple):
    """The listing and the links of exactly one state of the log, and a reader of that state."""

    listing: ConversationList
    links: Links
    reader: Reader


class Catalogue:
    """The conversations of one space, folded from its ledger. Thread-safe."""

    def __init__(self, ledger: Ledger, transcript: Transcript, snapshots: Snapshots | None = None) -> None:
        self._ledger = ledger
        self._kept = KeptCatalogue(ledger, snapshots)
        self._is_begun = False  # with what was kept, or without it
        self._transcript = transcript
        self._lock = new_lock()
        self._listing = ConversationList()
        self._life = ""
        self._links = Links()

    def release(self) -> None:
        """Forget what is in memory; the next answer begins with what is kept at rest."""
        with self._lock:
            self._listing, self._links, self._is_begun = ConversationList(), Links(), False

    def drop(self) -> None:
        """Forget everything, at rest too; the next answer is made from the log alone."""
        with self._lock:
            self._listing, self._links, self._is_begun = ConversationList(), Links(), True
            self._kept.remove()

    # --- at rest ------------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write a snapshot, unless there is one that is nearly as new, or the catalogue is small or out of use."""
        with self._lock:
            if self._is_begun and self._listing.size and self._kept.left(self._listing.size):
                self._rewrite()

    def before_rotation(self) -> SnapshotKey | None:
        """Return the key of a snapshot that is not in memory, before the space key that wraps it is destroyed."""
        return None if self._is_begun else self._kept.unlocked()

    def after_rotation(self, key: SnapshotKey | None) -> None:
        """Remove the snapshot, which opens for nobody now. What a key opens of it is taken into memory first.

        It is written again when the space is closed, and not now: an erasure would wait for the disk once more. Who
        reads the catalogue in this moment is not waited for.
        """
        if key is not None and self._lock.acquire(blocking=False):
            try:
                if not self._is_begun and (restored := self._kept.opened(key)) is not None:
                    self._listing, self._links, self._life = restored
                    self._is_begun = True
            finally:
                self._lock.release()
        self._kept.retire()

    def _rewrite(self) -> None:
        """Write what is in memory, caught up with the log."""
        try:
            while True:
                with self._ledger.reader() as reader:
                    if self._follow(reader):
                        self._kept.write(self._listing, self._links, reader)
                        return
        except MunimentError:  # whoever reads next gets it
            self._listing, self._links = ConversationList(), Links()

    # --- answering ----------------------------------------------------------------------------------------------------

    def digest(self) -> bytes:
        """Return a keyed digest of all that the catalogue knows of the present log, row by row."""
        return self.digests().of["catalogue"]

    def digests(self, progress: Callable[[str, int, int], None] | None = None) -> FoldDigests:
        """Return keyed digests of everything that is folded from the log: listing, links and the changes of streams."""
        with self.caught_up(progress) as caught:
            changes = b""
            for stream in caught.listing.streams():
                known = self._transcript.changes(caught.reader, self._transcript.head(caught.reader, stream))
                changes = self._of("changes", [changes.hex(), stream, known.rows()])
            found = {
                "catalogue": self._of("catalogue", caught.listing.rows()),
                "changes": changes,
                "links": self._of("links", caught.links.rows()),
            }
            return FoldDigests(caught.listing.size, found)

    def _of(self, name: str, rows: list[object]) -> bytes:
        return self._ledger.name_digest(name, encode_plain(rows).decode())

    @contextmanager
    def caught_up(self, progress: Callable[[str, int, int], None] | None = None) -> Iterator[CaughtUpCatalogue]:
        """Give the present listing and a reader of the same state; who else asks waits meanwhile."""
        with self._lock:
            if not self._is_begun:
                self._begin()
            while True:
                with self._ledger.reader() as reader:
                    if self._follow(reader):
                        yield CaughtUpCatalogue(self._listing, self._links, reader)
                        if self._kept.grown(self._listing.size):
                            self._kept.write(self._listing, self._links, reader)
                        return
                    size = reader.frontier().size
                if progress is not None:
                    progress(PROGRESS_STAGE, self._listing.size, size)

    def _begin(self) -> None:
        """Begin with what was kept, where there is something of use."""
        restored = self._kept.restored()
        if restored is not None:
            self._listing, self._links, self._life = restored
        self._is_begun = True

    def _follow(self, reader: Reader) -> bool:
        """Take the next part of the log; return whether that was the last one."""
        size, life = reader.frontier().size, self._ledger.life(reader)
        if life != self._life:  # it was restored
            self._listing, self._links, self._life = ConversationList(), Links(), life
        self._read(reader, min(size, self._listing.size + PART_EVENTS))
        if self._listing.size < size:
            return False
        self._settle(reader)
        return True

    def _read(self, reader: Reader, size: int) -> None:
        """Take the events up to a size."""
        listing = self._listing
        for row in reader.sealed_events(listing.size, size - 1):
            if row.position != listing.size:
                break
            meta = self._ledger.open(row).meta
            if isinstance(meta, RefDerived):
                self._links.take(row, self._ledger.header(row)[0].about, meta)
            listing.take(row, meta, ranks=self._ranks(row))
        if listing.size != size:
            raise Corrupt(at="events", problem="rows_missing", limit=size, found=listing.size)

    def _ranks(self, row: SealedRow) -> bool:
        """Tell whether an event can change phases, for all that its kind says."""
        return row.kind != EventKind.TURN_LIFECYCLE or self._ledger.header(row)[0].reason not in CUSTODY

    def _settle(self, reader: Reader) -> None:
        """Bring everything that was touched into its place."""
        listing = self._listing
        for stream in sorted(listing.touched):
            conversation, head = listing.conversation(stream), self._transcript.head(reader, stream)
            turns = len(conversation.observed)
            if (head.seq, head.turns, head.leaf) != (conversation.revision, turns, conversation.leaf):
                raise Corrupt(at=f"stream {stream}", problem="turns_missing", limit=head.turns, found=turns)
            stepped = stream in listing.stepped
            listing.settle(stream, runs(turns, self._transcript.changes(reader, head).steps) if stepped else None)
