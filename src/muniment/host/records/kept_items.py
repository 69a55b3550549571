"""Items of a key-value memory as turns: a namespace is a conversation, each value that a key was given is a turn.

The value is a message with JSON in it, so that its words are searched, redacted and erased like all words. Beside it is
a system message that the view `raw_owner` alone shows, with the namespace, the key and what else belongs to the value.
The turns of a key are numbered (`KEY~0`), and whoever finds a number taken takes a later one. The newest turn of a key
that can be seen is its item; the ones before it are its history.

A process holds the items of its channel in memory and follows the feed of the store (`events.read`) before it answers,
so it sees what other processes wrote, and forgets at once what was masked, redacted or erased. It follows two views:
`raw_owner` has what is beside a value, and the value is the one that `model_context` shows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from muniment.errors import CursorInvalid, TurnConflict
from muniment.events.attributes import Attribute, AttributeSource, AttributeTarget, SourceKind, ValueKind
from muniment.events.changes import Transition
from muniment.events.identity import ConversationKey
from muniment.events.message import Authority, BlobPart, Message, Role, TextPart
from muniment.events.turn import Ingress, Source, Turn
from muniment.governance.slices import SliceTurn
from muniment.governance.views import View
from muniment.host.recently_used import RecentlyUsed
from muniment.host.records.escaped_name import escaped_name
from muniment.host.records.turns_again import turns_again
from muniment.kernel.locks import new_lock
from muniment.operations.events.space_event import TURN_ERASED, EventTopic, SpaceEvent
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime

FOLLOWED = [EventTopic.TRANSCRIPT, EventTopic.ERASURES]
FEED_EVENTS = 500
BATCH_TURNS = 500
BATCH_BYTES = 4 * 1024 * 1024
TRIES_MAX = 64
VALUES_BYTES_MAX = 16 * 1024 * 1024  # of the values of a channel, in memory
VECTORS_BYTES_MAX = 32 * 1024 * 1024
VECTORS_BYTES = 100  # that the vectors of an item take beside themselves, about
TEXT_SHARE = 2  # bytes of a character, about
ERASED = "turn_already_committed_and_erased"
EXPIRY = "host.langgraph.expires"

Address = tuple[tuple[str, ...], str]
TurnAt = tuple[str, str]  # a conversation and a turn of it


class PutValue(msgspec.Struct, frozen=True, kw_only=True):
    """A value that a key is to have. `index` and `vectors` say what a search by meaning compares; times are in ms.

    `embedded` is the digest of the texts that the vectors are of.
    """

    namespace: tuple[str, ...]
    key: str
    text: str
    subject: str
    index: bool | list[str] | None = None
    ttl_ms: int | None = None
    expires_ms: int | None = None
    vectors: list[bytes] | None = None
    embedded: bytes | None = None


class KeptItem(msgspec.Struct, frozen=True, kw_only=True):
    """A value that a key has or had: the turn that it is, and what is kept beside it but vectors.

    `embedded` is the digest of the texts of which vectors were kept; None where none were.
    """

    namespace: tuple[str, ...]
    key: str
    place: ConversationKey
    turn: str
    position: int
    committed_ms: int
    index: bool | list[str] | None = None
    ttl_ms: int | None = None
    expires_ms: int | None = None
    embedded: bytes | None = None

    @property
    def address(self) -> Address:
        """The namespace and the key."""
        return self.namespace, self.key

    @property
    def at(self) -> TurnAt:
        """The conversation and the turn."""
        return self.place.conversation, self.turn


class ItemHead(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept beside a value."""

    namespace: tuple[str, ...]
    key: str
    index: bool | list[str] | None = None
    ttl_ms: int | None = None
    expires_ms: int | None = None
    vectors: list[bytes] | None = None
    embedded: bytes | None = None


class KeptItems:
    """The items in the conversations of a channel. Any thread may call any method.

    Which keys there are is kept whole, values and vectors up to a number of bytes each; others are read again.
    """

    def __init__(self, runtime: Runtime, channel: str) -> None:
        self.runtime = runtime
        self.channel = channel
        self._lock = new_lock()
        self._begin()
        runtime.on_forget(self._forget)

    def _forget(self) -> None:
        """Drop the values, without waiting for whoever reads: which keys there are is no content."""
        self._texts: RecentlyUsed[TurnAt, str] = RecentlyUsed(VALUES_BYTES_MAX)
        self._vectors: RecentlyUsed[TurnAt, list[bytes]] = RecentlyUsed(VECTORS_BYTES_MAX)  # of values as they are
        self._committed: RecentlyUsed[TurnAt, list[bytes]] = RecentlyUsed(VECTORS_BYTES_MAX)  # of values as put

    @property
    def size(self) -> int:
        """About how many bytes of values and vectors are in memory."""
        return self._texts.size + self._vectors.size + self._committed.size

    def _begin(self) -> None:
        with self._lock:
            self._cursors: dict[View, str | None] = {View.RAW_OWNER: None, View.MODEL_CONTEXT: None}
            self._changed: set[TurnAt] = set()
            self._left: set[TurnAt] = set()  # turns that were not erased, whether or not they can be seen
            self._heads: dict[TurnAt, KeptItem] = {}
            self._valued: set[TurnAt] = set()  # turns of which a value is shown
            self._of_turn: dict[TurnAt, KeptItem] = {}
            self._versions: defaultdict[tuple[str, ...], dict[str, tuple[KeptItem, ...]]] = defaultdict(dict)
            self._free: defaultdict[tuple[str, str], int] = defaultdict(int)
            self._forget()

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
        """Read both views: `raw_owner` has every event that there is, so without a new one there is none in either."""
        for event in self._events(View.RAW_OWNER):
            self._see_head(event)
        if not self._changed:
            return
        for event in self._events(View.MODEL_CONTEXT):
            self._see_value(event)
        for at in self._changed:
            self._join(at)
        self._changed.clear()

    def _events(self, view: View) -> Iterator[SpaceEvent]:
        """Yield what happened to turns since the last time, and note which turns they are."""
        more = True
        while more:
            cursor = self._cursors[view]
            page = self.runtime.events.read(cursor, FEED_EVENTS, view, self.channel, topics=FOLLOWED)
            for event in page.events:
                if event.conversation is not None and event.turn is not None:
                    self._changed.add((event.conversation, event.turn))
                    yield event
            self._cursors[view], more = page.cursor, page.has_more

    def _see_head(self, event: SpaceEvent) -> None:
        """Take in what the owner sees of a turn now."""
        assert event.conversation is not None, "the event is of a turn"
        assert event.turn is not None, "the event is of a turn"
        conversation, at = event.conversation, (event.conversation, event.turn)
        name, _, number = event.turn.rpartition("~")
        if number.isdecimal():
            self._free[conversation, name] = max(self._free[conversation, name], int(number) + 1)
        if event.type == TURN_ERASED and not event.replaced:
            self._left.discard(at)
        else:
            self._left.add(at)
        place = ConversationKey(conversation=conversation, channel=self.channel)
        read = None if event.shown is None else _head_of(place, event.shown)
        if read is None:
            self._heads.pop(at, None)
            self._committed.drop(at)
        else:
            self._heads[at] = read.item
            self._keep_vectors(self._committed, at, read.vectors)

    def _see_value(self, event: SpaceEvent) -> None:
        """Take in what a model may see of a turn now."""
        assert event.conversation is not None, "the event is of a turn"
        assert event.turn is not None, "the event is of a turn"
        at = (event.conversation, event.turn)
        text = None if event.shown is None else _text_of(event.shown)
        if text is None or self._texts.get(at) != text:
            self._vectors.drop(at)
        self._see_text(at, text)

    def _see_text(self, at: TurnAt, text: str | None) -> None:
        if text is None:
            self._valued.discard(at)
            self._texts.drop(at)
        else:
            self._valued.add(at)
            self._texts.put(at, text, len(text) * TEXT_SHARE)

    def _join(self, at: TurnAt) -> None:
        """Build the item of a turn from what both views show of it."""
        known = self._of_turn.pop(at, None)
        if known is not None:
            self._set_versions(known.address, [each for each in self._ordered(known.address) if each is not known])
        if at in self._heads and at in self._valued:
            item = self._of_turn[at] = self._heads[at]
            self._set_versions(item.address, sorted([*self._ordered(item.address), item], key=_position))

    def _set_versions(self, address: Address, versions: Sequence[KeptItem]) -> None:
        namespace, key = address
        if versions:
            self._versions[namespace][key] = tuple(versions)
        else:
            self._versions[namespace].pop(key, None)
            if not self._versions[namespace]:
                del self._versions[namespace]

    def _ordered(self, address: Address) -> tuple[KeptItem, ...]:
        namespace, key = address
        return self._versions[namespace].get(key, ()) if namespace in self._versions else ()

    # --- reading ------------------------------------------------------------------------------------------------------

    def versions(self, address: Address) -> tuple[KeptItem, ...]:
        """Return the values of a key that can be seen, oldest first; the last one is its item."""
        with self._lock:
            return self._ordered(address)

    def newest_first(self, prefix: tuple[str, ...] = ()) -> list[tuple[KeptItem, ...]]:
        """Return the values of each key in the namespaces that begin so, the key that was written last at first."""
        with self._lock:
            found = [
                versions
                for namespace, keys in self._versions.items()
                if namespace[: len(prefix)] == prefix
                for versions in keys.values()
            ]
        return sorted(found, key=lambda versions: -versions[-1].position)

    def values(self, items: Sequence[KeptItem]) -> list[dict[str, Any] | None]:
        """Return values of items, each to be used freely; None of one that is no longer shown."""
        with self._lock:
            texts = {item.at: self._texts.get(item.at) for item in items}
        missing = [item for item in items if texts[item.at] is None]
        for at, turn in turns_again(self.runtime, [(item.place, item.turn) for item in missing], View.MODEL_CONTEXT):
            texts[at] = text = _text_of(turn)
            with self._lock:
                if at in self._valued and text is not None:
                    self._texts.put(at, text, len(text) * TEXT_SHARE)
        found = [texts[item.at] for item in items]
        return [None if text is None else msgspec.json.decode(text) for text in found]

    def at(self, conversation: str, turn: str) -> KeptItem | None:
        """Return the value that a turn is."""
        with self._lock:
            return self._of_turn.get((conversation, turn))

    def vectors(self, items: Sequence[KeptItem]) -> dict[TurnAt, list[bytes]]:
        """Return the vectors that were remembered of items."""
        with self._lock:
            known = {item.at: self._vectors.get(item.at) for item in items}
        return {at: vectors for at, vectors in known.items() if vectors is not None}

    def committed_vectors(self, items: Sequence[KeptItem]) -> dict[TurnAt, list[bytes]]:
        """Return the vectors that were kept with items, of the texts whose digest is `embedded`."""
        with self._lock:
            known = {item.at: self._committed.get(item.at) for item in items if item.embedded is not None}
        found = {at: vectors for at, vectors in known.items() if vectors is not None}
        missing = [item for item in items if item.at in known and item.at not in found]
        places = {item.at: item.place for item in missing}
        for at, turn in turns_again(self.runtime, [(item.place, item.turn) for item in missing], View.RAW_OWNER):
            read = _head_of(places[at], turn)
            if read is not None and read.vectors is not None:
                found[at] = read.vectors
                with self._lock:
                    self._keep_vectors(self._committed, at, read.vectors)
        return found

    def remember(self, item: KeptItem, vectors: list[bytes]) -> None:
        """Remember the vectors of an item for as long as its value stays as it is, and there is room."""
        with self._lock:
            if self._of_turn.get(item.at) is item:
                self._keep_vectors(self._vectors, item.at, vectors)

    def _keep_vectors(self, among: RecentlyUsed[TurnAt, list[bytes]], at: TurnAt, vectors: list[bytes] | None) -> None:
        if vectors is None:
            among.drop(at)
        else:
            among.put(at, vectors, sum(map(len, vectors)) + VECTORS_BYTES)

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
            embedded=value.embedded,
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

    def withdraw(self, address: Address, reason: str, requester: str) -> None:
        """Mask all values of a key: no view shows them any more, and their content stays."""
        for place, turn in self._turns(address, self._heads):
            self.runtime.lifecycle.request(place, Transition.MASK, reason, requester, turn)

    def erase(self, address: Address, reason: str, requester: str) -> None:
        """Erase all values of a key for good, also those that cannot be seen; one that is held stays."""
        for place, turn in self._turns(address, self._left):
            scope = Scope(conversation=place.conversation, channel=place.channel, turn=turn)
            self.runtime.lifecycle.erase(scope, reason=reason, requester=requester)

    def _turns(self, address: Address, among: Container[TurnAt]) -> list[tuple[ConversationKey, str]]:
        """Return the turns of a key that are among some, oldest first."""
        place, name = self.place(address[0]), escaped_name(address[1])
        with self._lock:
            turns = [f"{name}~{number}" for number in range(self._free[place.conversation, name])]
            return [(place, turn) for turn in turns if (place.conversation, turn) in among]

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


class ReadHead(NamedTuple):
    """An item, and the vectors that are kept with it."""

    item: KeptItem
    vectors: list[bytes] | None


def _position(item: KeptItem) -> int:
    return item.position


def _head_of(place: ConversationKey, turn: SliceTurn) -> ReadHead | None:
    """Return the item that a turn is, or None where it cannot be seen."""
    parts = [message.parts for message in turn.messages]
    if len(parts) != 2 or not all(parts) or not isinstance(parts[0][0], BlobPart):
        return None
    try:
        head = msgspec.json.decode(parts[0][0].content, type=ItemHead)
    except msgspec.DecodeError:  # not of this adapter
        return None
    expiry = [attribute.value for attribute in turn.attributes if attribute.key == EXPIRY]
    item = KeptItem(
        namespace=head.namespace,
        key=head.key,
        place=place,
        turn=turn.turn,
        position=turn.position,
        committed_ms=turn.committed_ms,
        index=head.index,
        ttl_ms=head.ttl_ms,
        expires_ms=expiry[0] if expiry else head.expires_ms,
        embedded=head.embedded,
    )
    return ReadHead(item, head.vectors)


def _text_of(turn: SliceTurn) -> str | None:
    """Return the value that a turn has as JSON, as it is shown, or None where that is none any more."""
    parts = [part for message in turn.messages for part in message.parts]
    text = "".join(part.content for part in parts if isinstance(part, TextPart))
    try:
        msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:  # what was redacted is no longer JSON
        return None
    return text
