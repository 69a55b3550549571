"""Rotating the key of a space: touched segments get fresh keys, then the older versions are destroyed.

A plan runs before a rotation. What it destroys was sealed under the keys of the segments that it touched, and no
version of the space key that is left seals these. So every erasure is a rotation, and costs as much as the envelopes of
the touched segments, whatever the length of the log (decision 0142).

1. In one transaction: the plan; the touched segments get fresh keys; a new version of the space key is made durable
   (`crypto.keyring`) and seals every row of segment keys; the event `key.rotated`.
2. Attachments of what the plan destroyed are removed, the write-ahead log is emptied, the older versions are
   destroyed, the indexes at rest are written again.

Where more than `SEGMENTS_AT_ONCE` segments are touched, the first transaction only runs the plan and notes the others
(`ledger.owed`); those that follow replace some keys each, so that other writers wait for none of them for long. The
last one replaces the key of the space. What a crash interrupts is completed by the next opening.

An erasure that finds the disk full gives up the reserve of the log and replaces the keys one by one (decision 0123);
the plan may then run a second time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from muniment.errors import StoreFull
from muniment.events.records import EventKind, KeyRotated, RotationCause
from muniment.kernel.locks import new_lock
from muniment.kernel.sources import Clock
from muniment.kernel.weak_calls import WeakCalls
from muniment.ledger.attached_files import ERASED_BEFORE_MS, UPLOAD_MS_MAX, drop_all, drop_loose, is_anything_loose
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Ledger, Writer
from muniment.log.port import ScrubReport, Store
from muniment.search.index_status import IndexesAfterRotation

Outcome = TypeVar("Outcome")

SEGMENTS_AT_ONCE = 16  # get fresh keys in one transaction: about 100 ms of work


class Rotation(Struct, Generic[Outcome], frozen=True, kw_only=True):
    """What a rotation did, what its plan returned, and what became of attachments, indexes and their snapshots."""

    outcome: Outcome
    version: int
    segments_rekeyed: int
    versions_destroyed: int
    chunks_removed: int
    scrub: ScrubReport
    indexes: IndexesAfterRotation


class Part(NamedTuple):
    """A transaction of a rotation: how many segments got fresh keys, and with the last one the new version."""

    rekeyed: int
    version: int | None


class RotatingIndexes(Protocol):
    """Indexes whose snapshots are sealed under the key that is rotated."""

    def before_rotation(self) -> dict[str, Any]:
        """Return what opens the snapshots that there are."""
        ...

    def after_rotation(self, keys: dict[str, Any], since: int) -> IndexesAfterRotation:
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
        self.forgetting = WeakCalls()  # of whoever keeps in memory what was read; called when content was erased

    def is_due(self) -> bool:
        """Tell whether a rotation has begun that did not end."""
        with self._ledger.reader() as reader:
            return len(self._ledger.keys.versions) > 1 or any(self._ledger.segments.owed.of(reader))

    def drop_uploads(self) -> None:
        """Remove the attachments that no turn took over within a day, and what an erasure left behind."""
        if is_anything_loose(self._ledger):  # the clock of a test counts its readings
            drop_loose(self._ledger, self._clock.now_ms() - UPLOAD_MS_MAX)

    def drop_all_files(self) -> int:
        """Remove the attachments of a log that has ended; return how many chunks those were."""
        return with_reserve(self._ledger.store, partial(drop_all, self._ledger.store))

    def rotate(
        self, cause: RotationCause, plan: Callable[[Writer], Outcome], since: int | None = None
    ) -> Rotation[Outcome]:
        """Rotate the key, with a plan before it. What was erased from the position `since` on leaves the indexes."""
        store, keys = self._ledger.store, self._ledger.keys
        attempt = partial(with_reserve, store) if cause is RotationCause.ERASURE else _once
        with self._lock:
            indexes = self._indexes()
            snapshots = indexes.before_rotation() if indexes is not None else {}
            kept = self._catalogue.before_rotation()
            if since is None:
                with self._ledger.reader() as reader:
                    since = reader.frontier().size
            outcome, rekeyed, version = self._replace(cause, plan)
            chunks = attempt(partial(drop_loose, self._ledger, ERASED_BEFORE_MS))
            scrub = attempt(store.scrub)
            destroyed = attempt(partial(keys.finish_rotation, version))
            self._ledger.segments.forget()
            self._catalogue.after_rotation(kept)
            carried = indexes.after_rotation(snapshots, since) if indexes is not None else IndexesAfterRotation()
        if cause is RotationCause.ERASURE:
            self.forgetting()
        return Rotation(
            outcome=outcome,
            version=version,
            segments_rekeyed=rekeyed,
            versions_destroyed=destroyed,
            chunks_removed=chunks,
            scrub=scrub,
            indexes=carried,
        )

    def _replace(self, cause: RotationCause, plan: Callable[[Writer], Outcome]) -> tuple[Outcome, int, int]:
        """Run the plan and replace keys; return how many segments got fresh ones, and the version of the space key."""
        store, limit = self._ledger.store, None if cause is RotationCause.RESTORE else SEGMENTS_AT_ONCE

        def first(limit: int | None, writer: Writer) -> tuple[Outcome, Part]:
            outcome = plan(writer)
            return outcome, self._part(cause, limit, writer)

        is_tight = False
        try:
            outcome, part = self._ledger.transact(partial(first, limit))
        except StoreFull:
            if cause is not RotationCause.ERASURE or not released_reserve(store):
                raise
            is_tight, limit = True, 1
            outcome, part = self._ledger.transact(partial(first, 0))
        rekeyed = part.rekeyed
        while part.version is None:
            if is_tight:
                store.scrub()  # the write-ahead log takes disk space, too
            part = self._ledger.transact(partial(self._part, cause, limit))
            rekeyed += part.rekeyed
        return outcome, rekeyed, part.version

    def _part(self, cause: RotationCause, limit: int | None, writer: Writer) -> Part:
        """Replace the keys of the next segments, and with the last of them the key of the space.

        The segment that grows is the last of all, so that its key is only ever replaced together with that of the
        space (`ledger.segments`).
        """
        writer.flush()
        noted = self._ledger.segments.owed.of(writer.tx)
        due = sorted({*noted.segments, *writer.touched})
        now, later = (due, []) if limit is None else (due[:limit], due[limit:])
        if tuple(later) != noted.segments:
            self._ledger.segments.owed.put(writer.tx, noted._replace(segments=tuple(later)))
        if later:
            writer.rekey(writer.space_key, now, every_row=False)
            return Part(len(now), None)
        new = self._ledger.keys.begin_rotation()
        body = KeyRotated(version=new.version)
        writer.change(Change(EventKind.KEY_ROTATED, self._clock.now_ms(), body, reason=cause))
        writer.rekey(new, now, every_row=True)
        return Part(len(now), new.version)


def nothing_else(_writer: Writer) -> None:
    """Do nothing beside the rotation."""


def everything(writer: Writer) -> None:
    """Let all segments get fresh keys: nobody who knew a former key opens what is there from now on."""
    writer.touch_all()


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
