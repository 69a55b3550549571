"""An open space: its ledger, its transcript, its notary; opening it, turning its key over, closing it.

Opening, in this order: the log is attested (`ledger.attest`); an interrupted rotation of the space key is completed;
every content key that the log calls erased is destroyed again, so that a keyring restored from an old backup heals
itself. A log that is behind its pin, or that does not account for itself, is open for inspection only: `fault` says
why, reading and writing raise it, audit and health still answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from muniment.crypto.cell import NONCE_BYTES, SpaceKey, rewrap_bundle
from muniment.crypto.cursor_key import CursorKey
from muniment.crypto.keyring import SpaceKeys
from muniment.errors import (
    Corrupt,
    KeyMissing,
    ModelInvalid,
    ModelUnavailable,
    MunimentError,
    RolledBack,
    SpaceErased,
    StoreFull,
)
from muniment.events.records import EventKind, KeyRotated, RotationCause, SpaceOpened, SpaceRestored
from muniment.governance.detection.detection import detection_for
from muniment.kernel.cursor import Cursors
from muniment.ledger.attest import Notary, SignedCheckpoint
from muniment.ledger.ledger import EPOCH, ERASED, SPACE_STREAM, Ledger, Writer, draft, is_rewrapped, place_of
from muniment.log.port import BundleRow, Reader, ScrubReport, Store
from muniment.projections.conversation_catalogue import Catalogue
from muniment.projections.transcript import Transcript
from muniment.search.index_memory import IndexMemory
from muniment.search.snapshots import IndexesAfterRotation, IndexStatus, Snapshots
from muniment.space.denials import Denials
from muniment.space.embedders import Embedders
from muniment.space.healing import Healing
from muniment.space.options import Options

if TYPE_CHECKING:
    from muniment.embedding.guarded import GuardedEmbedder
    from muniment.search.indexes import Indexes

T = TypeVar("T")

ErasePlan = Callable[[Writer], object]  # what is done in the transaction that turns the key over

REWRAP_BATCH = 1000
TIGHT_BATCH = 250  # bundles that are wrapped anew in one transaction while the disk is full
RESTORES_BATCH = 500
VKEY = "vkey"


class Rotation(Struct, frozen=True, kw_only=True):
    """What a rotation of the space key did, and what became of the indexes and their snapshots."""

    version: int
    bundles_rewrapped: int
    versions_destroyed: int
    scrub: ScrubReport
    indexes: IndexesAfterRotation


class Space:
    """One space, open. Thread-safe; several processes may have the same space open.

    Indexes share the room that is given; their snapshots are kept in the directory that is given, else nowhere.
    """

    def __init__(
        self,
        store: Store,
        keys: SpaceKeys,
        options: Options,
        *,
        memory: IndexMemory | None = None,
        at_rest: Path | None = None,
        embedders: Embedders | None = None,
    ) -> None:
        self.store = store
        self.keys = keys
        self.sources = options.sources
        self.limits = options.limits
        self.detection = detection_for(options.detect)
        self.notary = Notary(keys, options.pin)
        self.ledger = Ledger(store, keys, options.sources.entropy, self.notary)
        self.transcript = Transcript(self.ledger)
        self.catalogue = Catalogue(self.ledger, self.transcript)
        self._memory = memory or IndexMemory(options.index_bytes_max)
        self._snapshots = Snapshots(at_rest, keys, options.sources.entropy) if at_rest is not None else None
        self._indexes: Indexes | None = None
        self._embedders = embedders
        self.embedder_fault: MunimentError | None = None  # why there is none although one is wanted
        self.cursors = Cursors(CursorKey(keys.index_key))
        self.denials = Denials(self.ledger, options.sources)
        self.fault: MunimentError | None = None
        self._rotating = threading.Lock()
        self._opening = threading.Lock()

    @property
    def indexes(self) -> Indexes:
        """The indexes of the space."""
        with self._opening:
            if self._indexes is None:
                from muniment.search.indexes import Indexes  # noqa: PLC0415  # numpy is imported by who searches

                self._indexes = Indexes(self.ledger, self.transcript, self.detection, self._memory, self._snapshots)
                self._indexes.embed_with(self._embedder)
            return self._indexes

    def _embedder(self) -> GuardedEmbedder | None:
        self.embedder_fault = None
        try:
            return None if self._embedders is None else self._embedders.of(self.name)
        except (ModelInvalid, ModelUnavailable) as fault:
            self.embedder_fault = fault
            return None

    def embed_anew(self) -> None:
        """Take the embedder that the store has now; vectors of another one are dropped."""
        with self._opening:
            if self._indexes is not None:
                self._indexes.embed_with(self._embedder)

    @property
    def existing_indexes(self) -> Indexes | None:
        """The indexes of the space, where there is any, in memory or at rest."""
        is_kept = self._snapshots is not None and bool(self._snapshots.views())
        return self.indexes if self._indexes is not None or is_kept else None

    def index_statuses(self) -> list[IndexStatus]:
        """Return the indexes that are in memory."""
        return [] if self._indexes is None else self._indexes.statuses()

    @property
    def name(self) -> str:
        """The name of the space."""
        return self.keys.name

    def begin(self) -> None:
        """Bring a space that was just opened into a state that may be trusted, or find its fault."""
        try:
            with self.ledger.reader() as reader:
                is_new = reader.frontier().size == 0
        except Corrupt as fault:
            self.fault = fault
            return
        if is_new and self.ledger.transact(self._genesis):
            self.checkpoint()
        self.recover()

    def checkpoint(self) -> SignedCheckpoint:
        """Sign the head, unless it is signed, and pin it."""
        return self.notary.checkpoint(self.ledger)

    def recover(self) -> int:
        """Attest the log, complete what was interrupted, destroy again what is erased; return how much came back."""
        self.fault = None
        self.catalogue.drop()
        if self._indexes is not None:
            self._indexes.release()
        self.transcript.drop()
        try:
            self._finish_erasure()
            former = self._attested()
            if former is not None:
                self.notary.repin(self.ledger, former)
            if len(self.keys.versions) > 1:
                self.rotate(RotationCause.REQUESTED)
            self.store.keep_reserve()
            return self._heal()
        except (RolledBack, Corrupt, KeyMissing) as fault:
            self.fault = fault
            return 0
        except SpaceErased as erased:
            self.fault = erased
            raise

    def _finish_erasure(self) -> None:
        """Complete the erasure of the whole space when its log says that it was erased; raises `SpaceErased` then."""
        with self.ledger.reader() as reader:
            last = reader.of_kind(EventKind.SPACE_ERASED, -1, 1)
            kept, is_ended = reader.latest_checkpoint(), reader.meta(ERASED) is not None
        if last and last[0].bundle is not None:
            self.ledger.keys_of(last[0])  # only a holder of the keys can have written it
            assert kept is not None, "it was signed with the event"
            self.notary.remember(kept.note)
            self.destroy_keys()
            raise SpaceErased
        if last or is_ended:
            raise Corrupt(at="log", problem="ended")

    def destroy_keys(self) -> ScrubReport:
        """Destroy the keys of a space whose log has ended; whatever is asked from now on raises `SpaceErased`."""
        try:
            return self.store.scrub()
        finally:  # the keys do not wait for somebody who reads an old snapshot
            self.keys.destroy()
            self.fault = SpaceErased()
            if (indexes := self.existing_indexes) is not None:
                indexes.drop()

    def _attested(self) -> str | None:
        """Attest the log; return the note at the pin when a restore has abandoned it (decision 0091)."""
        pinned, note = self.notary.pinned(), self.notary.pinned_note()
        with self.ledger.reader() as reader:
            abandoned = note is not None and note in self._abandoned(reader)
            self.notary.attest(self.ledger, reader, None if abandoned else pinned)
        return note if abandoned else None

    def _abandoned(self, reader: Reader) -> Iterator[str]:
        """Yield the signed checkpoints that the log grew to before it was restored."""
        after = -1
        while rows := reader.of_kind(EventKind.SPACE_RESTORED, after, RESTORES_BATCH):
            after = rows[-1].position
            for row in rows:
                meta = self.ledger.open(row).meta
                if isinstance(meta, SpaceRestored) and meta.restore.former is not None:
                    yield meta.restore.former

    def epoch(self, reader: Reader) -> str:
        """Return which life of the log this is; cursors are bound to it."""
        return self.ledger.life(reader)

    def begin_epoch(self, writer: Writer) -> None:
        """Begin another life of the log: it was restored, and every cursor from before ends."""
        writer.tx.put_meta(EPOCH, self.sources.ids.new_id().encode())

    def require_sound(self) -> None:
        """Raise the fault that this space was opened with, if there is one."""
        if self.fault is not None:
            raise self.fault

    def _genesis(self, writer: Writer) -> bool:
        """Write position 0, unless it is there or the pin remembers that it was."""
        if writer.tx.frontier().size or writer.tx.count() or self.notary.pinned() is not None:
            return False
        opened = draft(
            self.sources.entropy, EventKind.SPACE_OPENED, self.sources.clock.now_ms(), SpaceOpened(name=self.name)
        )
        writer.append(opened, stream=None)
        writer.tx.put_meta(VKEY, str(self.notary.key).encode())
        return True

    def close(self) -> None:
        """Hand on what was only counted, pin the head, then close the store, whatever became of the rest."""
        try:
            if self.fault is None:
                self.denials.settle()
                with self.ledger.reader() as reader:
                    kept, size = reader.latest_checkpoint(), reader.frontier().size
                if kept is None or kept.size < size:
                    self.checkpoint()
                if self._indexes is not None:
                    self._indexes.save()
        finally:
            self.store.close()

    # --- keys ---------------------------------------------------------------------------------------------------------

    def rotate(self, cause: RotationCause, erase: ErasePlan | None = None) -> Rotation:
        """Turn the space key over: every bundle is wrapped anew, then the older versions are destroyed.

        `erase` runs in the same write transaction, before the bundles are wrapped: what it destroys exists nowhere
        under the new key. An erasure that finds the disk full takes the room that was kept back for it, and wraps the
        bundles in several transactions (decision 0123); `erase` may be run a second time then.
        """
        with_reserve = self.with_reserve if cause is RotationCause.ERASURE else _at_once
        with self._rotating:
            indexes = self.existing_indexes
            snapshot_keys = indexes.before_rotation() if indexes is not None else {}
            with self.ledger.reader() as reader:
                since = reader.frontier().size
            new = with_reserve(self.keys.begin_rotation)
            turn = partial(self._turn, new, cause, erase)
            try:
                rewrapped = self.ledger.transact(lambda writer: turn(writer) + self._rewrap(writer, new))
            except StoreFull:
                if with_reserve is _at_once or not self._released_reserve():
                    raise
                self.ledger.transact(turn)
                rewrapped = self._rewrapped_in_parts(new)
            scrub = with_reserve(self.store.scrub)
            destroyed = with_reserve(partial(self.keys.finish_rotation, new.version))
            carried = indexes.after_rotation(snapshot_keys, since) if indexes is not None else IndexesAfterRotation()
        return Rotation(
            version=new.version,
            bundles_rewrapped=rewrapped,
            versions_destroyed=destroyed,
            scrub=scrub,
            indexes=carried,
        )

    def with_reserve(self, work: Callable[[], T]) -> T:
        """Return what a part of an erasure returns; on a full disk, with the room that was kept back for erasures."""
        try:
            return work()
        except StoreFull:
            if not self._released_reserve():
                raise
        return work()

    def _released_reserve(self) -> bool:
        released = self.store.release_reserve()
        if released:
            self.store.scrub()  # the write-ahead log takes room, too
        return released

    def _turn(self, new: SpaceKey, cause: RotationCause, erase: ErasePlan | None, writer: Writer) -> int:
        """Erase, and say that the key is turned over; nothing is wrapped anew yet."""
        if erase is not None:
            erase(writer)
        event = draft(
            self.sources.entropy,
            EventKind.KEY_ROTATED,
            self.sources.clock.now_ms(),
            KeyRotated(version=new.version),
            reason=cause,
        )
        writer.append(event, stream=SPACE_STREAM)
        writer.flush()
        return 0

    def _rewrapped_in_parts(self, new: SpaceKey) -> int:
        """Wrap all bundles anew, a few in each transaction, and empty the write-ahead log before each."""
        rewrapped, after = 0, -1

        def part(writer: Writer) -> tuple[int, int | None]:
            rows = writer.tx.bundles(after, TIGHT_BATCH)
            return self._rewrap_some(new, rows, writer), rows[-1].position if rows else None

        while True:
            self.store.scrub()
            wrapped, last = self.ledger.transact(part)
            if last is None:
                return rewrapped
            rewrapped, after = rewrapped + wrapped, last

    def _rewrap(self, writer: Writer, new: SpaceKey) -> int:
        rewrapped, after = 0, -1
        while rows := writer.tx.bundles(after, REWRAP_BATCH):
            after = rows[-1].position
            rewrapped += self._rewrap_some(new, rows, writer)
        return rewrapped

    def _rewrap_some(self, new: SpaceKey, rows: Sequence[BundleRow], writer: Writer) -> int:
        rewrapped = 0
        chance = self.sources.entropy.take(NONCE_BYTES * len(rows))
        for place, row in enumerate(rows):
            if row.bundle is not None and not is_rewrapped(row.bundle, new):
                nonce = chance[place * NONCE_BYTES : (place + 1) * NONCE_BYTES]
                writer.tx.put_bundle(row.position, self._rewrapped(row, row.bundle, new, nonce))
                rewrapped += 1
        return rewrapped

    def _rewrapped(self, row: BundleRow, bundle: bytes, new: SpaceKey, nonce: bytes) -> bytes:
        try:
            return rewrap_bundle(self.keys, new, nonce, bundle, row.leaf, place_of(row))
        except Corrupt as corrupt:
            raise Corrupt(at=f"position {row.position}", problem=corrupt.problem) from None

    # --- erasures are kept --------------------------------------------------------------------------------------------

    def _heal(self) -> int:
        """Destroy again whatever the log calls erased; return how many contents had come back."""
        healing = Healing(self.ledger, self.transcript)
        with self.ledger.reader() as reader:
            returned = healing.returned(reader)
        if returned:

            def plan(writer: Writer) -> None:
                self.begin_epoch(writer)
                healing.destroy(writer, returned)

            self.rotate(RotationCause.ERASURE, plan)
        return len(returned)


def _at_once(work: Callable[[], T]) -> T:
    return work()
