"""Records of a framework, kept as turns of a conversation under a key of its choice.

A turn is committed once and never changes, but frameworks write to one key again and again. So a key has a chain of
turns, `KEY~0`, `KEY~1` and so on; whoever appends takes the first free number, and whoever finds it taken takes the
next one. That needs no lock between processes, and a key is read by asking for its turns, whatever else the
conversation has. A turn that was masked or erased keeps its number.

A record that is appended again where it is the last one of its chain, as after a crash, is there already. Elsewhere it
is one more turn: what came between no longer is the last word.

A record is a small head (JSON) and a body (bytes). Both are in a system message that the view `raw_owner` alone shows;
a large body is an attachment.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain, repeat
from typing import Any, NamedTuple

import msgspec

from muniment.errors import TurnConflict, UnknownConversation, UnknownPlace, WordsErased
from muniment.events.identity import ConversationKey
from muniment.events.message import AttachmentPart, Authority, BlobPart, Message, Part, Role
from muniment.events.turn import Ingress, Source, Turn
from muniment.governance.listing import LifecycleFilter
from muniment.governance.slices import SliceTurn
from muniment.governance.views import View
from muniment.host.channel_conversations import conversations_of_channel
from muniment.host.kept_reads import PageMade, PagePlace, TurnMade, kept_reads
from muniment.host.records.escaped_name import escaped_name
from muniment.kernel.locks import new_lock
from muniment.operations.attachments import AttachmentPlace
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.transcripts.timeline import Anchor, AnchorKind, Timeline
from muniment.runtime.runtime import Runtime

BODY_BYTES_MAX = 512 * 1024  # in a message; its parts are counted as JSON, with a third more
READ_BYTES = 1024 * 1024
PAGE_TURNS = (2, 8, 32, 128)  # the newest record is often among the newest turns
TAILS_CACHED_MAX = 4096
HEAD_SHARE = 4  # of a head that was read: times the bytes of its JSON
SEEN = LifecycleFilter.ACTIVE_AND_ARCHIVED
KIND = "records"  # of reads that are kept
ERASED = "turn_already_committed_and_erased"


class Record(NamedTuple):
    """A record: its turn, its key and number in the chain of the key, its head, and the part that has its body."""

    turn: str
    subject: str
    key: str
    number: int
    head: Mapping[str, Any]
    part: Part


class ChainTail:
    """Where a chain of this process ends, as far as it knows."""

    def __init__(self) -> None:
        self.lock = new_lock()
        self.free = 0


class RecordChains:
    """The chains of records in the conversations of a channel."""

    def __init__(self, runtime: Runtime, channel: str) -> None:
        self.runtime = runtime
        self.channel = channel
        self._tails: OrderedDict[tuple[str, str], ChainTail] = OrderedDict()
        self._lock = new_lock()
        self._reads = kept_reads(runtime)

    def place(self, name: str) -> ConversationKey:
        """Return the conversation of a name that the framework gave."""
        return ConversationKey(conversation=escaped_name(name), channel=self.channel)

    def places(self) -> Iterator[ConversationKey]:
        """Yield the conversations that the channel has when the first one is asked for."""
        yield from conversations_of_channel(self.runtime, self.channel, SEEN)

    def append(self, place: ConversationKey, key: str, subject: str, head: Mapping[str, Any], body: bytes) -> None:
        """Append a record to the chain of a key; returns when it is durable."""
        tail = self._tail(place, key)
        with tail.lock:
            parts = [BlobPart(content=msgspec.json.encode(head), mime_type="application/json"), self._body(body)]
            message = Message(role=Role.SYSTEM, authority=Authority.OPERATOR_DIAGNOSTIC, content=parts)
            while not self._append(place, key, tail.free, subject, message):
                tail.free += 1
            tail.free += 1

    def _append(self, place: ConversationKey, key: str, number: int, subject: str, message: Message) -> bool:
        """Commit a turn of a chain; return whether it is now the last one."""
        delivered = Turn(
            turn=f"{key}~{number}",
            subject=subject,
            conversation=place.conversation,
            channel=place.channel,
            source=Source(ingress=Ingress.SYSTEM),
            messages=[message],
        )
        try:
            receipt = self.runtime.transcripts.commit(delivered)
        except TurnConflict:
            return False
        if receipt.committed:
            return True
        return receipt.reason != ERASED and self._at(place, f"{key}~{number + 1}") is None

    def _body(self, body: bytes) -> Part:
        if len(body) <= BODY_BYTES_MAX:
            return BlobPart(content=body, mime_type="application/octet-stream")
        return self.runtime.attachments.add(body, mime_type="application/octet-stream").part

    def _tail(self, place: ConversationKey, key: str) -> ChainTail:
        with self._lock:
            tail = self._tails.setdefault((place.conversation, key), ChainTail())
            self._tails.move_to_end((place.conversation, key))
            if len(self._tails) > TAILS_CACHED_MAX:
                self._tails.popitem(last=False)
            return tail

    def read(self, place: ConversationKey, key: str, until: int | None = None) -> list[Record]:
        """Return what can be seen of the chain of a key in its order, only before the number `until` if there is one.

        A conversation or key that does not exist has no records.
        """
        if until == 0:
            return []
        kept = self._reads.whole(place, KIND, partial(self._made_of, place))
        if kept is not None:
            return [
                record
                for record in reversed(kept)
                if record is not None and record.key == key and (until is None or record.number < until)
            ]
        found: list[Record] = []
        number = 0
        while (until is None or number < until) and (at := self._at(place, f"{key}~{number}")) is not None:
            found += at
            number += 1
        return found

    def was_begun(self, place: ConversationKey, key: str) -> bool:
        """Tell whether a key ever had a record, even one that cannot be seen any more."""
        return self._at(place, f"{key}~0") is not None

    def begin(self, place: ConversationKey, key: str, subject: str, head: Mapping[str, Any]) -> None:
        """Append a record without a body where this process has appended none to the key."""
        if self._tail(place, key).free == 0:
            self.append(place, key, subject, head, b"")

    def _at(self, place: ConversationKey, turn: str) -> list[Record] | None:
        """Return the record that is a turn, nothing where it cannot be seen, and None where there is no such turn."""
        try:
            page = self._page(place, Anchor(at=AnchorKind.AROUND, turn=turn), 1)
        except (UnknownConversation, UnknownPlace):
            return None
        return [record for shown in page.turns if shown.turn == turn and (record := _record(shown)) is not None]

    def newest_first(self, place: ConversationKey) -> Iterator[Record]:
        """Yield all records of a conversation that can be seen, newest first, reading no further than it is asked."""
        read = partial(self._made_of, place)
        sizes = chain(PAGE_TURNS, repeat(PAGE_TURNS[-1]))
        yield from filter(None, self._reads.newest_first(place, KIND, read, sizes))

    def _made_of(self, place: ConversationKey, at: PagePlace, turns: int) -> PageMade[Record | None]:
        try:
            page = self._page(place, Anchor(at=AnchorKind(at.at), sequence=at.sequence), turns)
        except UnknownConversation:
            return PageMade([], None, None)
        made = [_turn_made(turn) for turn in reversed(page.turns)]
        older = PagePlace("before", page.turns[0].sequence) if page.turns and page.has_older else None
        return PageMade(made, older, None if page.budget_applied else page.digest, has_newer=page.has_newer)

    def _page(self, place: ConversationKey, anchor: Anchor, turns: int) -> Timeline:
        return self.runtime.transcripts.timeline(place, anchor, View.RAW_OWNER, turns, SEEN)

    def body(self, place: ConversationKey, record: Record) -> bytes:
        """Return the body of a record."""
        if isinstance(record.part, BlobPart):
            return record.part.content
        assert isinstance(record.part, AttachmentPart), "a body is one of the two"
        attachment = AttachmentPlace(turn=record.turn, message=0, part=1)
        read = bytearray()
        while len(read) < record.part.size:
            piece = self.runtime.attachments.read(place, attachment, View.RAW_OWNER, len(read), READ_BYTES)
            if not piece.data:
                raise WordsErased(at="attachment")
            read += piece.data
        return bytes(read)

    def erase(self, place: ConversationKey, turn: str | None, reason: str, requester: str) -> None:
        """Erase a turn, or with None all turns of a conversation; without such a conversation nothing happens."""
        scope = Scope(conversation=place.conversation, channel=place.channel, turn=turn)
        try:
            self.runtime.lifecycle.erase(scope, reason=reason, requester=requester)
        except UnknownConversation:
            return


def _turn_made(turn: SliceTurn) -> TurnMade[Record | None]:
    """Return the record that a turn is, with about how many bytes it has."""
    record = _record(turn)
    if record is None:
        return TurnMade(turn.sequence, None, 0)
    sizes = [len(part.content) for part in turn.messages[0].parts if isinstance(part, BlobPart)]
    return TurnMade(turn.sequence, record, HEAD_SHARE * sizes[0] + sum(sizes[1:]))


def _record(turn: SliceTurn) -> Record | None:
    """Return the record that a turn is, or None where nothing can be seen of it."""
    parts = turn.messages[0].parts if turn.messages else []
    if len(parts) < 2 or not isinstance(parts[0], BlobPart):
        return None
    key, _, number = turn.turn.rpartition("~")
    return Record(
        turn.turn, turn.actor.subject or "", key, int(number), msgspec.json.decode(parts[0].content), parts[1]
    )
