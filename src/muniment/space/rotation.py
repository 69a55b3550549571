"""Rotating the key of a space: every key bundle is rewrapped, then the older versions are destroyed.

A plan may run with a rotation, in the same write transaction, before the bundles are rewrapped: what it destroys exists
nowhere under the new key. So every erasure is a rotation.

1. The new version is made durable (`crypto.keyring`).
2. In one transaction: the plan, the event `key.rotated`, the rewrapping.
3. The write-ahead log is emptied, the older versions are destroyed, the indexes at rest are written again.

An erasure that finds the disk full gives up the reserve of the log and rewraps in several transactions (decision 0123);
the plan may then run a second time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from muniment.crypto.cell import NONCE_BYTES, SpaceKey, rewrap_bundles
from muniment.errors import StoreFull
from muniment.events.records import EventKind, KeyRotated, RotationCause
from muniment.governance.views import View
from muniment.kernel.locks import new_lock
from muniment.kernel.sources import Clock
from muniment.ledger.ledger import Change, Ledger, Writer
from muniment.ledger.packing import placed_bundles
from muniment.log.port import ScrubReport, Store
from muniment.search.index_status import IndexesAfterRotation

Outcome = TypeVar("Outcome")

REWRAP_BATCH = 1000
FROM_THE_FIRST: int | None = -1
TIGHT_BATCH = 250  # bundles rewrapped in one transaction while the disk is full


class Rotation(Struct, Generic[Outcome], frozen=True, kw_only=True):
    """What a rotation did, what its plan returned, and what became of the indexes and their snapshots."""

    outcome: Outcome
    version: int
    bundles_rewrapped: int
    versions_destroyed: int
    scrub: ScrubReport
    indexes: IndexesAfterRotation


class RotatingIndexes(Protocol):
    """Indexes whose snapshots are sealed under the key that is rotated."""

    def before_rotation(self) -> dict[View, Any]:
        """Return what opens the snapshots that there are."""
        ...

    def after_rotation(self, keys: dict[View, Any], since: int) -> IndexesAfterRotation:
        """Take out what was erased from a position on, and write the snapshots again."""
        ...


class RotatingCatalogue(Protocol):
    """A catalogue whose snapshot is sealed under the key that is rotated."""

    def before_rotation(self) -> Any:
        """Return what opens the snapshot, if there is one and it will be needed."""
        ...

    def after_rotation(self, key: Any) -> None:
        """Remove the snapshot, of which nothing but that key opens anything any more."""
        ...


class Rotator:
    """Rotates the key of one space, one rotation at a time."""

    def __init__(
        self, ledger: Ledger, clock: Clock, indexes: Callable[[], RotatingIndexes | None], catalogue: RotatingCatalogue
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._indexes = indexes
        self._catalogue = catalogue
        self._lock = new_lock()

    def rotate(self, cause: RotationCause, plan: Callable[[Writer], Outcome]) -> Rotation[Outcome]:
        """Rotate the key, with a plan in the same transaction."""
        store, keys = self._ledger.store, self._ledger.keys
        may_use_reserve = cause is RotationCause.ERASURE
        attempt = partial(with_reserve, store) if may_use_reserve else _once
        with self._lock:
            indexes = self._indexes()
            snapshots = indexes.before_rotation() if indexes is not None else {}
            kept = self._catalogue.before_rotation()
            with self._ledger.reader() as reader:
                since = reader.frontier().size
            new = attempt(keys.begin_rotation)
            recorded = partial(self._record, new, cause, plan)
            try:
                outcome, rewrapped = self._ledger.transact(
                    lambda writer: (recorded(writer), self._rewrap_all(writer, new))
                )
            except StoreFull:
                if not may_use_reserve or not released_reserve(store):
                    raise
                outcome = self._ledger.transact(recorded)
                rewrapped = self._rewrap_in_parts(new)
            scrub = attempt(store.scrub)
            destroyed = attempt(partial(keys.finish_rotation, new.version))
            self._catalogue.after_rotation(kept)
            carried = indexes.after_rotation(snapshots, since) if indexes is not None else IndexesAfterRotation()
        return Rotation(
            outcome=outcome,
            version=new.version,
            bundles_rewrapped=rewrapped,
            versions_destroyed=destroyed,
            scrub=scrub,
            indexes=carried,
        )

    def _record(
        self, new: SpaceKey, cause: RotationCause, plan: Callable[[Writer], Outcome], writer: Writer
    ) -> Outcome:
        """Run the plan and append the event; no bundle is rewrapped yet."""
        outcome = plan(writer)
        body = KeyRotated(version=new.version)
        writer.change(Change(EventKind.KEY_ROTATED, self._clock.now_ms(), body, reason=cause))
        writer.flush()
        return outcome

    def _rewrap_all(self, writer: Writer, new: SpaceKey) -> int:
        rewrapped, last = 0, FROM_THE_FIRST
        while last is not None:
            count, last = self._rewrap(new, last, REWRAP_BATCH, writer)
            rewrapped += count
        return rewrapped

    def _rewrap_in_parts(self, new: SpaceKey) -> int:
        """Rewrap all bundles, a few in each transaction; the write-ahead log is emptied before each."""
        rewrapped, last = 0, FROM_THE_FIRST
        while last is not None:
            self._ledger.store.scrub()
            count, last = self._ledger.transact(partial(self._rewrap, new, last, TIGHT_BATCH))
            rewrapped += count
        return rewrapped

    def _rewrap(self, new: SpaceKey, after: int, limit: int, writer: Writer) -> tuple[int, int | None]:
        """Rewrap the next bundles; return how many there were under another key, and the position of the last one."""
        rows = writer.tx.bundles(after, limit)
        if not rows:
            return 0, None
        drawn = self._ledger.entropy.take(NONCE_BYTES * len(rows))
        nonces = [drawn[at : at + NONCE_BYTES] for at in range(0, len(drawn), NONCE_BYTES)]
        bundles = rewrap_bundles(self._ledger.keys, new, zip(nonces, placed_bundles(rows), strict=True))
        writer.tx.put_bundles(bundles)
        return len(bundles), rows[-1].position


def nothing_else(_writer: Writer) -> None:
    """Do nothing beside the rotation."""


def with_reserve(store: Store, work: Callable[[], Outcome]) -> Outcome:
    """Return what a part of an erasure returns; on a full disk, run it again on the reserve for erasures."""
    try:
        return work()
    except StoreFull:
        if not released_reserve(store):
            raise
    return work()


def released_reserve(store: Store) -> bool:
    """Give up the reserve for erasures; return whether there was any."""
    released = store.release_reserve()
    if released:
        store.scrub()  # the write-ahead log takes disk space, too
    return released


def _once(work: Callable[[], Outcome]) -> Outcome:
    return work()
