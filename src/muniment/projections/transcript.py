"""The transcript fold: a conversation as its log has it, turn by turn.

The state of a turn is `fold(commit event, later events that target it)`. A page is one range read of turns; the changes
of a conversation are few, are read once, and are kept by stream (decision 0008). The head of a stream is proved before
anything of the stream is used. It counts turns and changes, so a missing row shows: the deletion of a mask is
corruption, never an unmasked turn.

Conversations, aliases and turns are found through names (`ledger.name_buckets`), which are proved, and so is it that
there is none. The name of a conversation leads to the position that opened it, which is the number of its stream.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from muniment.errors import Corrupt
from muniment.events.attributes import AttributeContent, AttributeRecorded
from muniment.events.identity import ConversationKey, TurnId, conversation_mark, named_message
from muniment.events.records import ContentBody, ConversationOpened, EventKind, TurnContent, TurnMeta
from muniment.governance.annotation import AttributeRecord
from muniment.governance.attribute_visibility import ShownValue, judge_attribute, order_of
from muniment.governance.judgement import TurnRecord, needs_content, standing
from muniment.governance.phases import Phase, phase_of
from muniment.governance.views import View
from muniment.kernel.digest import Salts
from muniment.kernel.locks import new_lock
from muniment.ledger.ledger import Ledger, OpenedEvent
from muniment.log.port import Reader, SealedRow, StreamHead
from muniment.projections.attribute_index import LatestAttribute
from muniment.projections.change_fold import NOTHING, Changes, ChangesBuilder, NewestChange

STREAMS_KEPT_MAX = 10_000
TURNS_BATCH = 500


class CachedChanges(NamedTuple):
    """The changes of a stream as they are kept, with the leaf of the event that they go up to."""

    changes: Changes
    leaf: bytes = b""
    newest: NewestChange | None = None


NONE_YET = CachedChanges(Changes())


class FoldDigests(NamedTuple):
    """Keyed digests of the folds over a log of some size, by name."""

    size: int
    of: dict[str, bytes]


class ReadTurn(Struct, frozen=True, kw_only=True, gc=False):
    """A turn read back: the folded record, the row it came from, and the salts that its content has beside it."""

    record: TurnRecord
    opened: OpenedEvent
    kept_salts: Salts | None

    @property
    def content_salts(self) -> Salts | None:
        """The salts of the content, where there is any."""
        if self.record.content is None or self.kept_salts is not None:
            return self.kept_salts
        return self.opened.salts


class Transcript:
    """Conversations of one space, folded from its ledger. Thread-safe."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._changes: OrderedDict[tuple[str, int], CachedChanges] = OrderedDict()
        self._lock = new_lock()
        self._marks: OrderedDict[int, tuple[bytes, str]] = OrderedDict()
        self._life = ""

    def drop(self) -> None:
        """Drop everything that is kept; what is read next is read from the log."""
        with self._lock:
            self._changes.clear()
            self._marks.clear()

    def _live(self, reader: Reader) -> str:
        """Return the epoch of the log; what was kept of another epoch is dropped (decision 0021)."""
        life = self._ledger.life(reader)
        if life != self._life:
            self.drop()
            self._life = life
        return life

    # --- finding ------------------------------------------------------------------------------------------------------

    def conversation_digest(self, channel: str, conversation: str) -> bytes:
        """Return the digest under which a conversation is found by its names."""
        return self._ledger.name_digest("conversation", channel, conversation)

    def stream_of(self, reader: Reader, key: ConversationKey) -> int | None:
        """Return the stream of a conversation, or None when the space has no such conversation.

        What a writer has appended must be flushed before it is looked up.
        """
        return self._ledger.names.find(reader, self.conversation_digest(key.channel, key.conversation))

    def stream_of_alias(self, reader: Reader, subject: str, channel: str, chat: str) -> int | None:
        """Return the stream of the conversation that a chat id names, or None when it names none."""
        return self._ledger.names.find(reader, self.alias_digest(subject, channel, chat))

    def turn(self, reader: Reader, head: StreamHead, key: ConversationKey, turn: TurnId) -> OpenedEvent | None:
        """Return the commit of a turn of a conversation by its id, or None when the conversation has no such turn."""
        position = self._ledger.names.find(reader, self.turn_digest(key, turn))
        if position is None:
            return None
        row = reader.sealed(position)
        if row is None or row.stream != head.stream:
            raise Corrupt(at=f"position {position}", problem="rows_missing")
        return self._ledger.open(row)

    def turn_meant(self, reader: Reader, head: StreamHead, key: ConversationKey, text: TurnId) -> OpenedEvent | None:
        """Return the commit of a turn by its id, or by the id of one of its messages; None when there is neither."""
        found = self.turn(reader, head, key, text)
        if found is not None:
            return found
        named = named_message(text, conversation_mark(key.channel, key.conversation))
        of_message = None if named is None else self.turn(reader, head, key, named.turn)
        if named is None or of_message is None:
            return None
        assert isinstance(of_message.meta, TurnMeta), "only turns have a turn id"
        return of_message if named.place < len(of_message.meta.messages) else None

    def alias_digest(self, subject: str, channel: str, chat: str) -> bytes:
        """Return the digest under which the conversation of a chat id is found."""
        return self._ledger.name_digest("alias", subject, channel, chat)

    def turn_digest(self, key: ConversationKey, turn: str) -> bytes:
        """Return the digest under which a turn is found by its id."""
        return self._ledger.name_digest("turn", key.channel, key.conversation, turn)

    def former_digest(self, digest: bytes, number: int) -> bytes:
        """Return the digest under which is found what an archive has replaced.

        `digest` is the one that it was found by. The former streams of a conversation or notebook are numbered from 1
        in the order in which they were replaced; what was in such a stream has the number of the stream.
        """
        return self._ledger.name_digest("former", digest.hex(), str(number))

    def former_streams(self, reader: Reader, key: ConversationKey) -> list[int]:
        """Return the streams that a conversation had before archives took its place, oldest first."""
        return self.formers(reader, self.conversation_digest(key.channel, key.conversation))

    def formers(self, reader: Reader, digest: bytes) -> list[int]:
        """Return the streams that were found by a digest before archives took their place, oldest first."""
        streams = list[int]()
        while (stream := self._ledger.names.find(reader, self.former_digest(digest, len(streams) + 1))) is not None:
            streams.append(stream)
        return streams

    def is_current(self, reader: Reader, row: SealedRow) -> bool:
        """Return whether a conversation is still found in the stream that a row opened."""
        names = self.names(row)
        return (
            self._ledger.names.find(reader, self.conversation_digest(names.channel, names.conversation)) == row.stream
        )

    def conversations(self, reader: Reader) -> Iterator[SealedRow]:
        """Yield the events that opened conversations, in log order."""
        return reader.of_kind(EventKind.CONVERSATION_OPENED)

    def names(self, row: SealedRow) -> ConversationOpened:
        """Return the names of the conversation that a row opened."""
        meta = self._ledger.open(row).meta
        assert isinstance(meta, ConversationOpened), "rows of this kind have this body"
        return meta

    def mark(self, reader: Reader, head: StreamHead) -> str:
        """Return what the ids of the messages of a stream have of their conversation.

        It is kept with the leaf of the newest event: under the same one there is the same conversation in every epoch,
        which need not be read then.
        """
        known = self._marks.get(head.stream)
        if known is not None and known[0] == head.leaf:
            return known[1]
        self._live(reader)
        known = self._marks.get(head.stream)
        if known is None:
            row = reader.sealed(head.stream)
            meta = None if row is None else self._ledger.open(row).meta
            if not isinstance(meta, ConversationOpened):
                raise Corrupt(at=f"stream {head.stream}", problem="rows_missing")
            mark = conversation_mark(meta.channel, meta.conversation)
        else:
            mark = known[1]
        with self._lock:
            self._marks[head.stream] = head.leaf, mark
            if len(self._marks) > STREAMS_KEPT_MAX:
                self._marks.popitem(last=False)
        return mark

    # --- folding ------------------------------------------------------------------------------------------------------

    def head(self, reader: Reader, stream: int) -> StreamHead:
        """Return the proved head of a stream that is known to be open."""
        head = self._ledger.head(reader, stream)
        if head is None:
            raise Corrupt(at=f"stream {stream}", problem="head_missing")
        return head

    def changes(self, reader: Reader, head: StreamHead) -> Changes:
        """Return all changes of a stream up to its head; complete, or `Corrupt`."""
        if not head.changes:  # as of most conversations
            return Changes(seq=head.seq)
        place = (self._live(reader), head.stream)  # who reads an old snapshot keeps nothing for the others
        known = self._known(reader, place, head)
        if (known.changes.seq, known.leaf) == (head.seq, head.leaf):
            return known.changes
        if known.changes.count == head.changes and known.changes.seq > head.seq:
            return known.changes  # a newer snapshot has no further changes
        after = 0 if known.newest is None else known.newest.seq
        rows = reader.changes(head.stream, after) if known.changes.count < head.changes else ()
        folding = ChangesBuilder(self._ledger, known.changes, known.newest)
        changes = folding.grown((row for row in rows if row.seq <= head.seq), head.seq)
        if changes.count != head.changes:
            at = f"stream {head.stream}"
            raise Corrupt(at=at, problem="changes_missing", limit=head.changes, found=changes.count)
        self._keep(place, CachedChanges(changes, head.leaf, folding.newest))
        return changes

    def change_rows(self, reader: Reader, head: StreamHead) -> Iterator[SealedRow]:
        """Yield every event that changes a stream; after the last one, `Corrupt` when there are not all of them."""
        found = 0
        for row in reader.changes(head.stream, 0):
            found += row.seq <= head.seq
            yield row
        if found != head.changes:
            raise Corrupt(at=f"stream {head.stream}", problem="changes_missing", limit=head.changes, found=found)

    def _known(self, reader: Reader, place: tuple[str, int], head: StreamHead) -> CachedChanges:
        """Return what is kept of a stream and is true of this snapshot.

        What a plan folded inside a transaction that failed is in no log. The leaf of the newest change that was folded
        commits to all before it: where that change is in the log, the rest is true.
        """
        with self._lock:
            known = self._changes.get(place, NONE_YET)
            if known.changes.seq:
                self._changes.move_to_end(place)
        newest = known.newest
        if newest is None or (known.changes.seq, known.leaf) == (head.seq, head.leaf):
            return known
        if newest.seq > head.seq:
            return NONE_YET
        row = reader.sealed(newest.position)
        if row is not None and (row.stream, row.leaf) == (head.stream, newest.leaf):
            return known
        with self._lock:
            if self._changes.get(place) is known:
                del self._changes[place]
        return NONE_YET

    def _keep(self, place: tuple[str, int], folded: CachedChanges) -> None:
        with self._lock:
            kept = self._changes.get(place)
            if kept is None or kept.changes.seq <= folded.changes.seq:
                self._changes[place] = folded
                self._changes.move_to_end(place)
                if len(self._changes) > STREAMS_KEPT_MAX:
                    self._changes.popitem(last=False)

    def page(
        self,
        reader: Reader,
        head: StreamHead,
        first: int,
        last: int,
        wanted: Callable[[Phase, TurnMeta], bool],
    ) -> list[ReadTurn]:
        """Return the turns `first` to `last` of a stream, all of them; the words only of those that are `wanted`."""
        rows = reader.turns(head.stream, first, last)
        if len(rows) != last - first + 1:
            at = f"stream {head.stream}"
            raise Corrupt(at=at, problem="turns_missing", limit=last - first + 1, found=len(rows))
        changes, mark = self.changes(reader, head), self.mark(reader, head)
        for sequence, row in enumerate(rows, start=first):
            if row.turn_seq != sequence:
                raise Corrupt(at=f"position {row.position}", problem="turns_missing")
        return [self.read_opened(opened, changes, mark, wanted) for opened in self._ledger.open_turns(rows)]

    def read(
        self, row: SealedRow, sequence: int, changes: Changes, mark: str, wanted: Callable[[Phase, TurnMeta], bool]
    ) -> ReadTurn:
        """Return the turn that a row holds, as it is after the changes of its stream; raises `Corrupt` for another."""
        if row.turn_seq != sequence:
            raise Corrupt(at=f"position {row.position}", problem="turns_missing")
        return self.read_opened(self._ledger.open(row), changes, mark, wanted)

    def read_opened(
        self, opened: OpenedEvent, changes: Changes, mark: str, wanted: Callable[[Phase, TurnMeta], bool]
    ) -> ReadTurn:
        """Return the turn of a commit that was opened, as it is after the changes of its stream."""
        row, meta, sequence = opened.row, opened.meta, opened.row.turn_seq
        assert sequence is not None, "a turn has a place among the turns"
        assert isinstance(meta, TurnMeta), "only turns have a turn sequence"
        phase = phase_of(sequence, changes.steps) if changes.steps else Phase.ACTIVE
        salts: Salts | None = None
        content: TurnContent | None = None
        if phase is not Phase.ERASED and wanted(phase, meta):
            salts, body = self._ledger.kept_content(opened)
            assert isinstance(body, TurnContent), "a turn's content is its words"
            content = body
        record = TurnRecord(
            position=row.position,
            sequence=sequence,
            time_ms=row.time,
            mark=mark,
            phase=phase,
            meta=meta,
            content=content,
            erased=changes.erased.get(sequence, NOTHING),
            redactions=changes.redactions.get(sequence, ()),
        )
        return ReadTurn(record=record, opened=opened, kept_salts=salts)

    def shown(self, reader: Reader, head: StreamHead, first: int, last: int, view: View) -> list[ReadTurn]:
        """Return the turns `first` to `last` with all that a view needs: words, and attributes with their values."""
        page = self.page(reader, head, first, last, partial(needs_content, view))
        attributes = self.changes(reader, head).attributes
        if not attributes.by_turn:
            return page
        return [self._with_attributes(reader, read, attributes.of(read.record.sequence), view) for read in page]

    def _with_attributes(
        self, reader: Reader, read: ReadTurn, recorded: Mapping[str, LatestAttribute], view: View
    ) -> ReadTurn:
        if not recorded:
            return read
        record = read.record
        attributes = sorted(
            (self.attribute(reader, latest.position, record, view) for latest in recorded.values()), key=order_of
        )
        return replace(read, record=replace(record, attributes=tuple(attributes)))

    def attribute(self, reader: Reader, position: int, record: TurnRecord, view: View) -> AttributeRecord:
        """Return the attribute of a turn by its position; the value only where a view shows it."""
        row = reader.sealed(position)
        if row is None:
            raise Corrupt(at=f"position {position}", problem="changes_missing")
        return self.attribute_of(self._ledger.open(row), record, view)

    def attribute_of(self, opened: OpenedEvent, record: TurnRecord, view: View) -> AttributeRecord:
        """Return the attribute of a turn that was opened; the value only where a view shows it."""
        meta = opened.meta
        assert isinstance(meta, AttributeRecorded), "it was folded from rows of this kind"
        content: ContentBody | None = None
        if judge_attribute(view, standing(record, view, meta.attribute.message), meta)[0] is ShownValue.VALUE:
            _, content = self._ledger.content(opened)
        assert content is None or isinstance(content, AttributeContent), "rows of this kind have this content"
        return AttributeRecord(position=opened.row.position, meta=meta, content=content)


def no_words(_phase: Phase, _meta: TurnMeta) -> bool:
    """Want no words of a turn."""
    return False
