"""Memory items by themselves: the rules that writers keep, and the turns that an item rests on.

1. An item, and a change of one, breaks no rule of `memory.item_rules`.
2. The turns and messages that it rests on are there, and beside each turn a derived reference leads to it. An archive
   may bring an item without them, so what came with one may lack a turn or a reference.

A derived reference without an item is no finding: hosts record references of items that they keep themselves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from muniment.errors import Corrupt, KeyMissing, StoreNewer
from muniment.events.identity import Channel, ConversationId, ConversationKey, conversation_mark, message_id
from muniment.events.memory_items import EntryRole, ItemMeta, ItemRetired, ItemRevised, NotebookOpened
from muniment.events.records import EventKind, TurnMeta
from muniment.events.references import RefDerived, SourceEvidence
from muniment.ledger.ledger import Ledger, OpenedEvent
from muniment.log.port import Reader, SealedRow
from muniment.memory.item_rules import change_flaws, item_flaws
from muniment.memory.kinds import REFERENCES
from muniment.projections.inspection.findings import FindingKind, Findings
from muniment.projections.inspection.seen import ReadEvent, StreamTail
from muniment.projections.transcript import Transcript

Fault = tuple[FindingKind, str | None]


class ItemGrounds(NamedTuple):
    """What an event of a notebook rests on, and the id of the item that references lead to; None: they do not."""

    sources: Iterable[SourceEvidence] = ()
    item: str | None = None


class ItemChecks:
    """Looks at the events of notebooks one by one."""

    def __init__(self, ledger: Ledger, transcript: Transcript, findings: Findings, space: str) -> None:
        self._ledger = ledger
        self._transcript = transcript
        self._findings = findings
        self._space = space

    def take(self, reader: Reader, seen: ReadEvent, tail: StreamTail) -> None:
        """Look at an event, if it is one of a notebook that could be read."""
        if tail.notebook is None or seen.header is None or seen.opened is None:
            return
        faults = partial(self._faults, seen.opened, seen.header.reason, seen.header.about.get("turn"), tail.notebook)
        try:
            found = list(faults(reader))
        except KeyMissing:  # a rotation may have retired the keys of an older snapshot
            with self._ledger.store.reader() as present:
                found = list(faults(present))
        for kind, problem in found:
            self._findings.of(seen.row, kind, problem)

    def _faults(
        self, event: OpenedEvent, reason: str | None, number: int | None, opened: NotebookOpened, reader: Reader
    ) -> Iterator[Fault]:
        """Yield what is wrong with an event of a notebook; `number` is that of the item which a change is about."""
        row, meta, evidence = event.row, event.meta, ItemGrounds()
        flaws: Iterator[str] = iter(())
        if isinstance(meta, ItemMeta):
            flaws = item_flaws(meta, opened.subject, opened.plane)
            evidence = ItemGrounds(meta.evidence, meta.item if meta.entry.role is EntryRole.ITEM else None)
        elif isinstance(meta, ItemRevised):
            flaws = change_flaws(meta, reason)
            if meta.revision.evidence:
                evidence = ItemGrounds(meta.revision.evidence, self._item(reader, row, number))
        elif isinstance(meta, ItemRetired):
            flaws, evidence = change_flaws(meta, reason), ItemGrounds(meta.evidence)
        yield from ((FindingKind.ITEM_MALFORMED, flaw) for flaw in flaws)
        for source in evidence.sources:
            yield from self._of_source(reader, row, opened, source, evidence.item)

    def _item(self, reader: Reader, change: SealedRow, number: int | None) -> str | None:
        """Return the id of the item that a change is about; of one that is not there another finding tells."""
        rows = [] if number is None else reader.turns(change.stream, number, number)
        metas = [self._ledger.open(row).meta for row in rows]
        return next((meta.item for meta in metas if isinstance(meta, ItemMeta)), None)

    # --- what it rests on ---------------------------------------------------------------------------------------------

    def _of_source(
        self, reader: Reader, row: SealedRow, opened: NotebookOpened, source: SourceEvidence, item: str | None
    ) -> Iterator[Fault]:
        if source.space != self._space:
            yield FindingKind.MISMATCHED_SOURCE_KEY, "space"
        if source.subject not in {None, opened.subject}:
            yield FindingKind.MISMATCHED_SOURCE_SUBJECT, None
        try:
            turns = list(self._turns(reader, source))
        except (Corrupt, StoreNewer) as unread:  # the turn is damaged
            yield FindingKind.MISSING_SOURCE_TURN, unread.problem or unread.code
            return
        if not turns or not any(turn.row.position < row.position for turn in turns):
            if not self._came_with_archive(reader, row):
                yield FindingKind.MISSING_SOURCE_TURN, None
            return
        if not any(_has_message(turn, source) for turn in turns):
            yield FindingKind.MISSING_SOURCE_MESSAGE, None
        if item is None or any(self._is_linked(reader, row, turn, source, (item, opened)) for turn in turns):
            return
        if not self._came_with_archive(reader, row):
            yield FindingKind.REFERENCE_MISSING, None

    def _turns(self, reader: Reader, source: SourceEvidence) -> Iterator[OpenedEvent]:
        """Yield the turn of this name, and those that had it before archives took the place of its conversation."""
        key = ConversationKey(conversation=ConversationId(source.conversation), channel=Channel(source.channel))
        name, find = self._transcript.turn_digest(key, source.turn), partial(self._ledger.names.find, reader)
        former = (
            self._transcript.former_digest(name, stream) for stream in self._transcript.former_streams(reader, key)
        )
        for position in (find(name), *map(find, former)):
            row = None if position is None else reader.sealed(position)
            if row is not None:
                yield self._ledger.open(row)

    def _is_linked(
        self,
        reader: Reader,
        row: SealedRow,
        turn: OpenedEvent,
        source: SourceEvidence,
        whose: tuple[str, NotebookOpened],
    ) -> bool:
        """Tell whether a reference from a turn to an item was recorded before it; mostly right before it."""
        item, opened = whose
        head = self._transcript.head(reader, turn.row.stream)
        noted = self._transcript.changes(reader, head).noted.get(EventKind.REF_DERIVED, ())
        for at in range(bisect_left(noted, row.position, key=attrgetter("position")) - 1, -1, -1):
            change = noted[at]
            if not change.span.includes(turn.row.turn_seq or 0):
                continue
            found = reader.sealed(change.position)
            meta = None if found is None else self._ledger.open(found).meta
            if isinstance(meta, RefDerived) and (meta.plane, meta.key, meta.subject, meta.source) == (
                REFERENCES[opened.plane], item, opened.subject, source,
            ):  # fmt: skip
                return True
        return False

    def _came_with_archive(self, reader: Reader, row: SealedRow) -> bool:
        """Tell whether an event came with an archive, which says from where to where it goes."""
        for imported in reader.of_kind(EventKind.ARCHIVE_IMPORTED):
            about = self._ledger.header(imported)[0].about
            if about.get("first", 0) <= row.position <= about.get("last", -1):
                return True
        return False


def _has_message(turn: OpenedEvent, source: SourceEvidence) -> bool:
    """Tell whether a turn has the message that a source names, if it names one."""
    if source.message is None:
        return True
    mark = conversation_mark(source.channel, source.conversation)
    places = range(len(turn.meta.messages) if isinstance(turn.meta, TurnMeta) else 0)
    return any(message_id(mark, source.turn, place) == source.message for place in places)
