"""An open space: its ledger, its transcript, its notary; opening it, rotating its key, closing it.

Opening, in this order: the log is attested (`ledger.attest`); erasures that were interrupted between two steps are
completed; an interrupted rotation of the space key is completed; every content key that the log calls erased is
destroyed again, so that a keyring restored from an old backup heals itself. A log that is behind its pin, or that does
not account for itself, is open for inspection only: `fault` says why, reading and writing raise it, audit and health
still answer.

Opening needs no disk space and no right to write: what was interrupted then waits for an opening that has both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from muniment.crypto.cursor_key import cursors_of
from muniment.crypto.keyring import SpaceKeys
from muniment.errors import (
    Corrupt,
    KeyMissing,
    LimitExceeded,
    MunimentError,
    RolledBack,
    SignerUnavailable,
    SpaceErased,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
)
from muniment.events.records import EventKind, RotationCause, SpaceOpened
from muniment.kernel.one_process import NeverPickled
from muniment.ledger.attest import Notary, SignedCheckpoint
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import EPOCH, VKEY, Ledger, Writer
from muniment.ledger.sampling import Sample, sample_of
from muniment.log.port import Reader, ScrubReport, Store
from muniment.space.denials import Denials
from muniment.space.healing import Healing
from muniment.space.options import Options, detection_of, limits_of
from muniment.space.read_models import IndexSetup, ReadModels
from muniment.space.rotation import Rotation, Rotator, nothing_else, with_reserve

if TYPE_CHECKING:
    from muniment.search.indexes import Indexes

Outcome = TypeVar("Outcome")

Resume = Callable[["Space", int], object]  # goes on with the erasure whose first event is at a position

UNWRITABLE = (StoreFull, StoreReadOnly, StoreNewer)  # nothing can be written now: no reason not to read


class Space(NeverPickled):
    """One space, open. Thread-safe; several processes may have the same space open."""

    def __init__(
        self,
        store: Store,
        keys: SpaceKeys,
        options: Options,
        indexes: IndexSetup,
        *,
        is_bare: bool = False,
        resume: Resume | None = None,
    ) -> None:
        self.store = store
        self.keys = keys
        self._resume = resume
        self.sources = options.sources
        self.limits = limits_of(options)
        self.detection = detection_of(options)
        self.notary = Notary(keys, options.pin, options.signer, options.pin_interval_s)
        self.ledger = Ledger(store, keys, options.sources.entropy, self.notary, is_bare=is_bare)
        self._models = ReadModels(self.ledger, self.detection, indexes)
        self.transcript = self._models.transcript
        self.notebooks = self._models.notebooks
        self.catalogue = self._models.catalogue
        self.lazy_indexes = self._models.lazy_indexes
        self.tables = self._models.tables
        self.cursors = cursors_of(keys.index_key)
        self.commits = 0  # transactions of this process
        self._listeners: list[Callable[[], object]] = []
        self.ledger.grown = self._tell
        self.denials = Denials(self.ledger, options.sources)
        self.fault: MunimentError | None = None
        self.sample = Sample()  # what was read whole when the space was opened
        self._rotator = Rotator(self.ledger, options.sources.clock, self.lazy_indexes.existing, self.catalogue)
        self.forgetting = self._rotator.forgetting

    @property
    def name(self) -> str:
        """The name of the space."""
        return self.keys.name

    @property
    def indexes(self) -> Indexes:
        """The indexes of the space."""
        return self.lazy_indexes.opened

    @cached_property
    def opening(self) -> str:
        """An id of this opened space: what was opened with other options, or by another process, has another one."""
        return self.sources.ids.new_id()

    def epoch(self, reader: Reader) -> str:
        """Return the epoch of the log; cursors are bound to it."""
        return self.ledger.life(reader)

    def begin_epoch(self, writer: Writer) -> None:
        """Begin another epoch of the log: it was restored, and every cursor from before ends."""
        writer.tx.put_meta(EPOCH, self.sources.ids.new_id().encode())

    def require_sound(self) -> None:
        """Raise the fault that this space was opened with, if there is one."""
        if self.fault is not None:
            raise self.fault

    def checkpoint(self) -> SignedCheckpoint:
        """Sign the head, unless it is signed, and pin it."""
        return self.notary.checkpoint(self.ledger)

    @contextlib.contextmanager
    def heard(self, listener: Callable[[], object]) -> Iterator[None]:
        """Call a listener after each transaction of this process, in its thread, for as long as the block runs.

        It is quick and raises nothing.
        """
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def _tell(self) -> None:
        self.commits += 1
        for listener in list(self._listeners):
            listener()

    # --- opening and closing ------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Bring a space that was just opened into a state that may be trusted, or find its fault."""
        try:
            with self.ledger.store.reader() as reader:
                is_new = reader.frontier().size == 0
        except Corrupt as fault:
            self.fault = fault
            return
        if is_new and not self.keys.begun and self.ledger.transact(self._genesis):
            self.checkpoint()
        if is_new and self.keys.begun and self.notary.pinned() is None:
            self.fault = Corrupt(at="log", problem="log_lost")
            return
        try:
            self.recover()
        except (*UNWRITABLE, LimitExceeded):  # what was interrupted, or came back, waits for the next opening
            self.store.keep_reserve()

    def _genesis(self, writer: Writer) -> bool:
        """Write position 0, unless it is there or the pin remembers that it was."""
        if writer.tx.frontier().size or writer.tx.count() or self.notary.pinned() is not None:
            return False
        body = SpaceOpened(name=self.name)
        writer.change(Change(EventKind.SPACE_OPENED, self.sources.clock.now_ms(), body), stream=None)
        writer.tx.put_meta(VKEY, str(self.notary.key).encode())
        return True

    def recover(self) -> int:
        """Attest the log, complete what was interrupted, destroy again what is erased; return how much came back."""
        self.fault = None
        self._models.release()
        try:
            self._finish_erasure()
            with contextlib.suppress(*UNWRITABLE):
                self.notary.settle(self.ledger)
            self.notary.attest_again(self.ledger)
            self._complete_steps()
            if self.is_rotation_due:
                self.rotate(RotationCause.REQUESTED, nothing_else)
            self.store.keep_reserve()
            healed = self._heal()
            self._rotator.drop_uploads()
            self.sample = sample_of(self.ledger)
        except (RolledBack, Corrupt, KeyMissing) as fault:
            self.fault = fault
            return 0
        except SpaceErased as erased:
            self.fault = erased
            raise
        return healed

    def _finish_erasure(self) -> None:
        """Complete the erasure of the whole space when its log has ended; raises `SpaceErased` then."""
        if self.notary.has_ended(self.ledger):
            with contextlib.suppress(*UNWRITABLE):
                self.destroy_keys()
            raise SpaceErased

    def _complete_steps(self) -> None:
        """Go on with the erasures that were interrupted between two of their steps."""
        if self._resume is None:
            return
        with self.ledger.reader() as reader:
            interrupted = self.ledger.segments.owed.of(reader).erasures
        for position in interrupted:
            self._resume(self, position)

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

    def close(self) -> None:
        """Hand on what was only counted and pin the head; then give back memory and files, whatever became of that."""
        try:
            if self.fault is None:
                self.denials.settle()
                with contextlib.suppress(*UNWRITABLE, SignerUnavailable):  # the next opening accounts for the rest
                    self._sign_head()
                self._models.save()
        finally:
            self._models.release()
            self.store.close()

    def _sign_head(self) -> None:
        with self.ledger.reader() as reader:
            kept, size = reader.latest_checkpoint(), reader.frontier().size
        if kept is None or kept.size < size:
            self.checkpoint()

    # --- keys ---------------------------------------------------------------------------------------------------------

    def rotate(
        self, cause: RotationCause, plan: Callable[[Writer], Outcome], since: int | None = None
    ) -> Rotation[Outcome]:
        """Rotate the space key, with a plan in the same transaction; see `space.rotation`."""
        rotation = self._rotator.rotate(cause, plan, since)
        if cause is RotationCause.ERASURE:
            self.tables.release()
        return rotation

    @property
    def is_rotation_due(self) -> bool:
        """Whether a rotation has begun that did not end."""
        return self._rotator.is_due()

    def with_reserve(self, work: Callable[[], Outcome]) -> Outcome:
        """Return what a part of an erasure returns; on a full disk, run it again on the reserve for erasures."""
        return with_reserve(self.store, work)

    def destroy_keys(self) -> tuple[int, ScrubReport]:
        """Destroy the keys of a space whose log has ended; every later use raises `SpaceErased`.

        The chunks of its attachments go before, because nobody comes back for them: after a crash the next opening goes
        on. Returns how many chunks those were.
        """
        self.fault = SpaceErased()
        chunks = 0
        with contextlib.suppress(MunimentError):  # the keys wait for nothing that is damaged, and for no disk
            chunks = self._rotator.drop_all_files()
        try:
            return chunks, self.store.scrub()
        finally:  # the keys do not wait for somebody who reads an old snapshot
            self.keys.destroy()
            self._models.destroy()
            self.forgetting()
