"""An inspection of a space or of one conversation: event by event, in snapshots that are soon given back.

1. Every event is looked at by itself (`rows`), as a member of its stream (`streams`), for what it names (`targets`),
   and as an attribute or memory item (`attributes`, `items`).
2. After the last one, the heads are compared with what was seen, in the same snapshot, and the slots of notebooks with
   their items (`slots`); for a whole space the tree, the checkpoints, the pin and the counts too (`whole`).

It reads the log alone, with a transcript of its own, so that nothing which a process keeps in memory is believed. It
reads a log that does not account for itself, too: where a batch of rows cannot be read, they are read one by one, and a
row that cannot is an issue. Memory grows with the number of conversations and notebooks, not with
their length, but for the slots of one notebook at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from muniment.errors import Corrupt, KeyMissing, StoreNewer
from muniment.events.identity import ConversationKey
from muniment.events.records import ConversationOpened, EventKind
from muniment.ledger.attest import Notary
from muniment.ledger.ledger import Ledger
from muniment.log.port import Reader, SealedRow
from muniment.projections.inspection.attribute_checks import AttributeChecks
from muniment.projections.inspection.event_checks import EventChecks
from muniment.projections.inspection.findings import Finding, FindingKind, Findings
from muniment.projections.inspection.item_checks import ItemChecks
from muniment.projections.inspection.log_checks import LogChecks
from muniment.projections.inspection.reference_checks import ReferenceChecks
from muniment.projections.inspection.slot_checks import SlotChecks
from muniment.projections.inspection.stream_checks import StreamChecks
from muniment.projections.transcript import Transcript

PART_EVENTS = 1000  # looked at in one snapshot
MISSING_MAX = 100_000  # positions without an event that are looked for behind the last one

Progress = Callable[[int, int], None]


class Inspection:
    """One inspection on its way."""

    def __init__(self, ledger: Ledger, space: str, findings: Findings, told: Progress) -> None:
        self._ledger = ledger
        self._findings = findings
        self._told = told
        self._transcript = Transcript(ledger)
        self._rows = EventChecks(ledger, self._transcript, findings)
        self._streams = StreamChecks(ledger, self._transcript, findings)
        self._attributes = AttributeChecks(ledger, findings)
        self._items = ItemChecks(ledger, self._transcript, findings, space)
        self._slots = SlotChecks(ledger, self._transcript, findings)
        self._targets = ReferenceChecks(ledger, self._transcript, self._rows, findings, space)

    # --- a space ------------------------------------------------------------------------------------------------------

    def space(self, notary: Notary) -> None:
        """Look at everything."""
        whole, done = LogChecks(self._ledger, notary, self._findings), 0
        while True:
            pinned = whole.pinned()
            with self._ledger.store.reader() as reader:
                size = _size(reader)
                last = min(size, done + PART_EVENTS)
                rows = [self._found(position, row) for position, row in _rows(reader, done, last - 1)]
                whole.take(reader, rows)
                for row in rows:
                    if row is not None:
                        self._take(reader, row)
                done = last
                self._told(done, size)
                if done == size:
                    self._finish(reader)
                    whole.finish(reader, pinned, len(self._streams.tails))
                    return

    def _found(self, position: int, row: SealedRow | FindingKind) -> SealedRow | None:
        if isinstance(row, FindingKind):
            self._findings.add(Finding(kind=row, position=position))
            self._findings.unread += 1
            return None
        return row

    # --- a conversation -----------------------------------------------------------------------------------------------

    def conversation(self, key: ConversationKey) -> bool:
        """Look at one conversation; return whether there is one of this name."""
        with self._ledger.store.reader() as reader:
            stream = self._stream(reader, key)
        if stream is None:
            return False
        done = 0
        while True:
            with self._ledger.store.reader() as reader:
                head = reader.stream_head(stream)
                if head is None:
                    self._without_head(reader, stream)
                    return True
                last = min(head.seq, done + PART_EVENTS)
                for row in reader.in_stream(stream, done + 1, last):
                    self._take(reader, row)
                done = last
                self._told(done, head.seq)
                if done == head.seq:
                    self._finish(reader)
                    return True

    def _stream(self, reader: Reader, key: ConversationKey) -> int | None:
        """Return the stream of a conversation, found by its name or, where that leads nowhere, by its first event."""
        try:
            found = self._transcript.stream_of(reader, key)
            if found is not None and self._opens(reader.sealed(found), key):
                return found
        except (Corrupt, KeyMissing, StoreNewer):
            pass
        openings = reader.of_kind(EventKind.CONVERSATION_OPENED)
        return next((row.stream for row in openings if self._opens(row, key)), None)

    def _opens(self, row: SealedRow | None, key: ConversationKey) -> bool:
        try:
            meta = None if row is None else self._ledger.open(row).meta
        except (Corrupt, KeyMissing, StoreNewer):
            return False
        return meta == ConversationOpened(channel=key.channel, conversation=key.conversation)

    def _without_head(self, reader: Reader, stream: int) -> None:
        """Look at a conversation whose head is gone: its events are picked from all."""
        for _, row in _rows(reader, stream, _size(reader) - 1):
            if isinstance(row, SealedRow) and row.stream == stream:
                self._take(reader, row)
        self._finish(reader)

    def _finish(self, reader: Reader) -> None:
        self._streams.finish(reader)
        self._slots.finish(reader, self._streams.tails.values())
        self._rows.count_erased(reader, self._streams.tails.values())
        self._rows.finish()

    # --- an event -----------------------------------------------------------------------------------------------------

    def _take(self, reader: Reader, row: SealedRow) -> None:
        try:
            seen = self._rows.look(reader, row)
            tail = self._streams.take(reader, seen)
            self._targets.take(reader, seen, tail)
            self._items.take(reader, seen, tail)
            self._targets.exports(seen, self._streams.tails)
            self._attributes.take(seen)
        except Corrupt as corrupt:  # something beside the event, such as the table of names, cannot be read
            self._findings.of(row, FindingKind.EVENT_UNREADABLE, corrupt.problem)


def _size(reader: Reader) -> int:
    """Return how many positions there are to look at: what the tree counts, or (where that is damaged) the rows."""
    rows = reader.count()
    try:
        return min(reader.frontier().size, rows + MISSING_MAX)
    except Corrupt:
        return rows


def _rows(reader: Reader, first: int, last: int) -> Iterator[tuple[int, SealedRow | FindingKind]]:
    """Yield every position of a range with its row, or with the issue that there is none that can be read."""
    position = first
    try:
        for row in reader.sealed_events(first, last):
            for missing in range(position, row.position):
                yield missing, FindingKind.EVENT_MISSING
            yield row.position, row
            position = row.position + 1
    except Corrupt:  # a row that cannot be read, or a head that says nothing: one by one
        for alone in range(position, last + 1):
            yield alone, _alone(reader, alone)
        return
    for missing in range(position, last + 1):
        yield missing, FindingKind.EVENT_MISSING


def _alone(reader: Reader, position: int) -> SealedRow | FindingKind:
    try:
        return reader.sealed(position) or FindingKind.EVENT_MISSING
    except Corrupt:
        return FindingKind.EVENT_UNREADABLE
