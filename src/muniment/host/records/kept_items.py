"""Items of a key-value memory as turns: a namespace is a conversation, each value that a key was given is a turn.

The value is a message with JSON in it, so that its words are searched, redacted and erased like all words. Beside it is
a system message that the view `raw_owner` alone shows, with the namespace, the key and what else belongs to the value.
The turns of a key are numbered (`KEY~0`), and whoever finds a number taken takes a later one. The newest turn of a key
that can be seen is its item; the ones before it are its history.

A process holds the items of its channel in memory and follows the feed of the store (`events.read`) before it answers,
so it sees what other processes wrote, and forgets at once what was masked, redacted or erased.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any

import msgspec

from muniment.errors import CursorInvalid, TurnConflict
from muniment.events.attributes import Attribute, AttributeSource, AttributeTarget, SourceKind, ValueKind
from muniment.events.changes import Transition
from muniment.events.identity import ConversationKey
from muniment.events.message import Authority, BlobPart, Message, Role, TextPart
from muniment.events.turn import Ingress, Source, Turn
from muniment.governance.slices import SliceTurn
from muniment.governance.views import View
from muniment.host.records.escaped_name import escaped_name
from muniment.operations.events.space_event import EventTopic
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime

FOLLOWED = [EventTopic.TRANSCRIPT, EventTopic.ERASURES]
FEED_EVENTS = 500
BATCH_TURNS = 500
BATCH_BYTES = 4 * 1024 * 1024
TRIES_MAX = 64
ERASED = "turn_already_committed_and_erased"
EXPIRY = "host.langgraph.expires"

Address = tuple[tuple[str, ...], str]


class PutValue(msgspec.Struct, frozen=True, kw_only=True):
    """A value that a key is to have. `index` and `vectors` say what a search by meaning compares; times are in ms."""

    namespace: tuple[str, ...]
    key: str
    text: str
    subject: str
    index: bool | list[str] | None = None
    ttl_ms: int | None = None
    expires_ms: int | None = None
    vectors: list[bytes] | None = None


class KeptItem(msgspec.Struct, frozen=True, kw_only=True):
    """A value that a key has or had, and the turn that it is. `vectors` are None where none were kept."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    place: ConversationKey
    turn: str
    position: int
    committed_ms: int
    index: bool | list[str] | None = None
    ttl_ms: int | None = None
    expires_ms: int | None = None
    vectors: list[bytes] | None = None

    @property
    def address(self) -> Address:
        """The namespace and the key."""
        return self.namespace, self.key


class ItemHead(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept beside a value."""

    namespace: tuple[str, ...]
    key: str
    index: bool | list[str] | None = None
    ttl_ms: int | None = None
    expires_ms: int | None = None
    vectors: list[bytes] | None = None


class KeptItems:
    """The items in the conversations of a channel. Any thread may call any method."""

    def __init__(self, runtime: Runtime, channel: str) -> None:
        self.runtime = runtime
        self.channel = channel
        self._lock = Lock()
        self._begin()

    def _begin(self) -> None:
        self._cursor: str | None = None
        self._of_turn: dict[tuple[str, str], KeptItem] = {}
        self._versions: defaultdict[Address, dict[tuple[str, str], KeptItem]] = defaultdict(dict)
        self._free: defaultdict[tuple[str, str], int] = defaultdict(int)

    # --- following the store ------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Learn what happened to the channel since the last time."""
        with self._lock:
            try:
                self._read()
            except CursorInvalid:  # the log is another one, as after a backup was restored
                self._begin()
                self._read()

    def _read(self) -> None:
        more = True
        while more:
            page = self.runtime.events.read(self._cursor, FEED_EVENTS, View.RAW_OWNER, self.channel, topics=FOLLOWED)
            for event in page.events:
                if event.conversation is not None and event.turn is not None:
                    self._see(event.conversation, event.turn, event.shown)
            self._cursor, more = page.cursor, page.has_more

    def _see(self, conversation: str, turn: str, shown: SliceTurn | None) -> None:
        """Take in a turn as it is shown now."""
        name, _, number = turn.rpartition("~")
        if number.isdecimal():
            self._free[conversation, name] = max(self._free[conversation, name], int(number) + 1)
        known = self._of_turn.pop((conversation, turn), None)
        if known is not None:
            self._versions[known.address].pop((conversation, turn))
            if not self._versions[known.address]:
                del self._versions[known.address]
        item = (
            None if shown is None else _item_of(ConversationKey(conversation=conversation, channel=self.channel), shown)
        )
        if item is not None:
            self._of_turn[conversation, turn] = item
            self._versions[item.address][conversation, turn] = item

    # --- reading ------------------------------------------------------------------------------------------------------

    def versions(self, address: Address) -> list[KeptItem]:
        """Return the values of a key that can be seen, oldest first; the last one is its item."""
        with self._lock:
            return self._ordered(address)

    def _ordered(self, address: Address) -> list[KeptItem]:
        return sorted(self._versions.get(address, {}).values(), key=lambda item: item.position)

    def newest_first(self) -> list[list[KeptItem]]:
        """Return the values of each key, those of the key that was written last at first."""
        with self._lock:
            found = [self._ordered(address) for address in self._versions]
        return sorted(found, key=lambda versions: -versions[-1].position)

    def at(self, conversation: str, turn: str) -> KeptItem | None:
        """Return the value that a turn is."""
        with self._lock:
            return self._of_turn.get((conversation, turn))

    # --- writing ------------------------------------------------------------------------------------------------------

    def write(self, values: Sequence[PutValue]) -> None:
        """Append values; returns when they are durable. They come in one atomic step, if there are not very many."""
        for batch in _batches(values):
            left = list(batch)
            for _ in range(TRIES_MAX):
                if not left:
                    break
                turns = [self._turn(value) for value in left]
                try:
                    receipts = self.runtime.transcripts.commit_many(turns).receipts
                except TurnConflict:
                    self.follow()
                    continue
                left = [value for value, receipt in zip(left, receipts, strict=True) if receipt.reason == ERASED]
            else:
                raise TurnConflict(at="turn")

    def _turn(self, value: PutValue) -> Turn:
        place, name = self.place(value.namespace), escaped_name(value.key)
        with self._lock:
            number = self._free[place.conversation, name]
            self._free[place.conversation, name] = number + 1
        head = ItemHead(
            namespace=value.namespace,
            key=value.key,
            index=value.index,
            ttl_ms=value.ttl_ms,
            expires_ms=value.expires_ms,
            vectors=value.vectors,
        )
        beside = BlobPart(content=msgspec.json.encode(head), mime_type="application/json")
        return Turn(
            turn=f"{name}~{number}",
            subject=value.subject,
            conversation=place.conversation,
            channel=place.channel,
            source=Source(ingress=Ingress.SYSTEM),
            messages=[
                Message(role=Role.SYSTEM, authority=Authority.OPERATOR_DIAGNOSTIC, content=[beside]),
                Message(role=Role.ASSISTANT, authority=Authority.PROGRAM_MEMORY_CANONICAL, content=value.text),
            ],
        )

    def place(self, namespace: Sequence[str]) -> ConversationKey:
        """Return the conversation of a namespace."""
        return ConversationKey(conversation=escaped_name(*namespace), channel=self.channel)

    def withdraw(self, item: KeptItem, reason: str, requester: str) -> None:
        """Mask a value: no view shows it any more, and its content stays."""
        self.runtime.lifecycle.request(item.place, Transition.MASK, reason, requester, item.turn)

    def erase(self, item: KeptItem, reason: str, requester: str) -> None:
        """Erase a value for good; one that is held stays."""
        scope = Scope(conversation=item.place.conversation, channel=item.place.channel, turn=item.turn)
        self.runtime.lifecycle.erase(scope, reason=reason, requester=requester)

    def expire_at(self, item: KeptItem, expires_ms: int, writer: str) -> None:
        """Record that an item expires at another time."""
        expiry = Attribute(
            id=f"{item.turn}#expiry",
            target=AttributeTarget(turn=item.turn),
            key=EXPIRY,
            kind=ValueKind.NUMBER,
            value=expires_ms,
            source=AttributeSource(writer=writer, kind=SourceKind.HOST_REPORTED),
        )
        self.runtime.transcripts.annotate(item.place, [expiry])


def _batches(values: Sequence[PutValue]) -> Iterator[list[PutValue]]:
    """Yield values in groups that one request takes."""
    batch: list[PutValue] = []
    size = 0
    for value in values:
        more = len(value.text) + sum(map(len, value.vectors or ()))
        if batch and (len(batch) == BATCH_TURNS or size + more > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(value)
        size += more
    if batch:
        yield batch


def _item_of(place: ConversationKey, turn: SliceTurn) -> KeptItem | None:
    """Return the value that a turn is, or None where it cannot be seen or is none any more."""
    parts = [message.parts for message in turn.messages]
    if len(parts) != 2 or not all(parts) or not isinstance(parts[0][0], BlobPart):
        return None
    try:
        head = msgspec.json.decode(parts[0][0].content, type=ItemHead)
        value = msgspec.json.decode("".join(part.content for part in parts[1] if isinstance(part, TextPart)))
    except msgspec.DecodeError:  # what was redacted is no longer JSON
        return None
    expiry = [attribute.value for attribute in turn.attributes if attribute.key == EXPIRY]
    return KeptItem(
        namespace=head.namespace,
        key=head.key,
        value=value,
        place=place,
        turn=turn.turn,
        position=turn.position,
        committed_ms=turn.committed_ms,
        index=head.index,
        ttl_ms=head.ttl_ms,
        expires_ms=expiry[0] if expiry else head.expires_ms,
        vectors=head.vectors,
    )
