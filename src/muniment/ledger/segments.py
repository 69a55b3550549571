"""The segment keys of a log: made when a segment begins, found when an envelope is opened, replaced by an erasure.

Reading: the key of an event is kept in memory by the number of its segment. An envelope names the key that it is under;
if that is another one, the row of segment keys is read again, in the state of the log that this thread reads.

Appending: only the newest segment grows. Its key is remembered together with the version of the space key. Whoever
replaces the key of a segment that grows adds a version first, in the same write transaction, so a remembered key is
never stale. The key of a segment that does not grow any more may be replaced under any version.

Replacing: all envelopes of a segment are sealed again under a fresh key, in one write transaction. The former key is
then in former rows of segment keys only, and all of those are sealed under former versions of the space key. Which
segments are still to be replaced is kept with the log (`ledger.owed`).
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from muniment.crypto.cell import (
    OpenEnvelope,
    envelope_key_id,
    open_envelope,
    open_envelopes,
    reseal_envelopes,
    seal_envelope,
)
from muniment.crypto.segment import (
    NONCE_BYTES,
    SEGMENT_BITS,
    SEGMENT_ENTROPY_BYTES,
    SEGMENT_EVENTS,
    SEGMENTS_IN_ROW,
    SegmentKey,
    SpaceKey,
    SpaceKeyring,
    open_segments,
    seal_segments,
)
from muniment.errors import Corrupt, KeyMissing
from muniment.kernel.sources import Entropy
from muniment.ledger.owed import OwedWork
from muniment.ledger.packing import place_of, placed_envelopes
from muniment.log.port import EnvelopeRow, EventRow, Reader, SegmentsRow, Store, Transaction

if TYPE_CHECKING:
    from muniment.ledger.name_buckets import Names


class SegmentTable:
    """Segment keys by the number of their segment, as they were met last."""

    def __init__(self, keyring: SpaceKeyring) -> None:
        self._keyring = keyring
        self._keys: dict[int, SegmentKey] = {}

    def learn(self, row: SegmentsRow) -> None:
        """Take in a row; raises `Corrupt` or `KeyMissing`."""
        self._keys.update((key.number, key) for key in open_segments(self._keyring, row.row, row.sealed))

    def open(self, row: EnvelopeRow) -> OpenEnvelope:
        """Return what the envelope of a row holds, having proved its leaf and every column.

        Raises `Corrupt` or `KeyMissing`, this also for a row without an envelope.
        """
        envelope, key = row.envelope, self._keys.get(row.position >> SEGMENT_BITS)
        try:
            if envelope is not None and key is not None and envelope.startswith(key.head):
                return open_envelope(key, envelope, row.leaf, place_of(row))
            if envelope is not None:
                envelope_key_id(envelope)  # what is no envelope at all is damage, whatever key it would be under
        except Corrupt as corrupt:
            raise Corrupt(at=f"position {row.position}", problem=corrupt.problem) from None
        raise KeyMissing(at=f"position {row.position}")

    def open_each(self, rows: Sequence[EnvelopeRow]) -> list[OpenEnvelope]:
        """Return what the envelopes of rows hold; raises `Corrupt` unless all of them open with keys that were met."""
        opened = open_envelopes(self._keys, placed_envelopes(rows))
        if len(opened) != len(rows):
            raise Corrupt(at="envelope", problem="missing")
        return opened

    def clear(self) -> None:
        """Forget all keys."""
        self._keys.clear()


class SegmentKeys:
    """The segment keys of one log, in the memory of this process. Thread-safe as its store is."""

    def __init__(self, store: Store, keys: SpaceKeyring, entropy: Entropy, names: Names) -> None:
        self.owed = OwedWork(names)
        self._store = store
        self._keys = keys
        self._entropy = entropy
        self._table = SegmentTable(keys)
        self._state = threading.local()
        self._growing: tuple[int, SegmentKey] | None = None  # with the version of the space key

    # --- reading ------------------------------------------------------------------------------------------------------

    def open(self, row: EnvelopeRow) -> OpenEnvelope:
        """Return what the envelope of a row holds, as `SegmentTable.open`; a key that was not met yet is read.

        It is read in the state that this thread reads, and where that does not have it, in the present log.
        """
        try:
            return self._table.open(row)
        except KeyMissing:
            own: Reader | None = getattr(self._state, "own", None)
        if own is not None:
            with suppress(KeyMissing):
                self._learn(own, row.position)
                return self._table.open(row)
        with self._store.reader() as present:
            self._learn(present, row.position)
        return self._table.open(row)

    def open_each(self, rows: Sequence[EnvelopeRow]) -> list[OpenEnvelope]:
        """Return what the envelopes of rows hold, as `SegmentTable.open_each`."""
        return self._table.open_each(rows)

    def _learn(self, reader: Reader, position: int) -> None:
        number = row_of(position)
        sealed = reader.segments(number)
        if sealed is not None:
            try:
                self._table.learn(SegmentsRow(row=number, sealed=sealed))
            except Corrupt as corrupt:
                raise Corrupt(at=f"position {position}", problem=corrupt.problem) from None

    def read_in(self, own: Reader | None) -> Reader | None:
        """Read segment keys in the state that this thread reads its rows in; return the state before, None for none.

        An erasure may replace keys meanwhile: what was sealed under the former ones opens in the states that have them.
        """
        before: Reader | None = getattr(self._state, "own", None)
        self._state.own = own
        return before

    def forget(self) -> None:
        """Forget the keys that were met: some of them may have been replaced."""
        self._table.clear()

    # --- sealing ------------------------------------------------------------------------------------------------------

    def growing(self, version: int, segment: int) -> SegmentKey | None:
        """Return the key of the segment that grows, if it is remembered since this version of the space key."""
        known = self._growing
        return known[1] if known is not None and (known[0], known[1].number) == (version, segment) else None

    def remember(self, version: int, key: SegmentKey) -> None:
        """Remember the key of the segment that grows, as a committed transaction saw it under this version."""
        self._growing = version, key

    def sealing(self, tx: Transaction, segment: int) -> SegmentKey:
        """Return the key that seals the envelopes of a segment that has begun; raises `Corrupt` or `KeyMissing`."""
        row, place = divmod(segment, SEGMENTS_IN_ROW)
        sealed = tx.segments(row)
        keys = [] if sealed is None else open_segments(self._keys, row, sealed)
        if place >= len(keys):
            raise KeyMissing(at=f"segment {segment}")
        return keys[place]

    def begin(self, tx: Transaction, space_key: SpaceKey, segment: int) -> SegmentKey:
        """Make the key of the next segment and return it; raises `Corrupt` where others are missing before it."""
        row, place = divmod(segment, SEGMENTS_IN_ROW)
        sealed = tx.segments(row)
        keys = [] if sealed is None else open_segments(self._keys, row, sealed)
        if place != len(keys):
            raise Corrupt(at=f"segment {segment}", problem="rows_missing", limit=place, found=len(keys))
        keys.append(self._fresh(segment))
        tx.put_segments(row, self._sealed(space_key, row, keys))
        return keys[-1]

    def seal(self, key: SegmentKey, row: EventRow, opened: OpenEnvelope) -> bytes:
        """Return what an envelope holds, sealed for a row under the key of its segment."""
        return seal_envelope(key, self._entropy.take(NONCE_BYTES), opened, row.leaf, place_of(row))

    def replace(self, tx: Transaction, space_key: SpaceKey, segments: Collection[int], *, every_row: bool) -> None:
        """Replace the keys of segments and seal their rows, or every row, under a version of the space key.

        Raises `Corrupt` for an envelope or a row that does not open, so that nothing readable is lost with a key.
        """
        due = set(segments)
        for row in tx.segment_rows():
            first = row.row * SEGMENTS_IN_ROW
            here = due.intersection(range(first, first + SEGMENTS_IN_ROW))
            if not here and not every_row:
                continue
            keys = open_segments(self._keys, row.row, row.sealed)
            fresh = [self._replaced(tx, key) if key.number in here else key for key in keys]
            tx.put_segments(row.row, self._sealed(space_key, row.row, fresh))
            due.difference_update([key.number for key in keys])
        if due:
            raise KeyMissing(at=f"segment {min(due)}")

    def _replaced(self, tx: Transaction, former: SegmentKey) -> SegmentKey:
        first = former.number << SEGMENT_BITS
        fresh, rows = self._fresh(former.number), tx.envelopes(first, first + SEGMENT_EVENTS - 1)
        drawn = self._entropy.take(NONCE_BYTES * len(rows))
        nonces = [drawn[at : at + NONCE_BYTES] for at in range(0, len(drawn), NONCE_BYTES)]
        tx.put_envelopes(reseal_envelopes(former, fresh, zip(nonces, placed_envelopes(rows), strict=True)))
        return fresh

    def _fresh(self, segment: int) -> SegmentKey:
        return SegmentKey(segment, self._entropy.take(SEGMENT_ENTROPY_BYTES))

    def _sealed(self, space_key: SpaceKey, row: int, keys: list[SegmentKey]) -> bytes:
        return seal_segments(space_key, self._entropy.take(NONCE_BYTES), row, keys)


def segment_of(position: int) -> int:
    """Return the number of the segment of a position."""
    return position >> SEGMENT_BITS


def begins_segment(position: int) -> bool:
    """Tell whether a position is the first of its segment."""
    return position % SEGMENT_EVENTS == 0


def row_of(position: int) -> int:
    """Return the number of the row that holds the segment key of a position."""
    return position // (SEGMENT_EVENTS * SEGMENTS_IN_ROW)
