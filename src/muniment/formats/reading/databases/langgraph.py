"""Checkpoints of LangGraph in an SQLite database (`SqliteSaver`, `AsyncSqliteSaver`).

A checkpoint repeats the whole state of its thread. The messages of LangChain in it that were not there before become a
turn, with the time of the checkpoint and its id as the id of the turn; so every message is there once, also one that
was taken out of the state later, and a repeat adds what is new.

| in the database | becomes |
|---|---|
| a thread | a conversation |
| the checkpoints of a subgraph | a conversation `THREAD/NAMESPACE` of the messages that the graph above does not have |
| a message with an id | is new where the thread had none with this id and these words |
| a message without an id | is new where the checkpoint before (`parent_checkpoint_id`) has fewer of it |
| messages that a channel keeps as differences | read from what was written after the checkpoint before |
| many messages at once | a turn from each user message on, the later ones numbered behind the id |

Left out and counted: other state, what was written and never came into a checkpoint, and the rows of `SqliteStore`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from muniment.errors import InvalidInput, LimitExceeded, MunimentError
from muniment.events.binding import parse_json
from muniment.events.message import Message, Role
from muniment.formats.reading.databases.database_items import Database, DatabaseForm, NumberedItem
from muniment.formats.reading.databases.langgraph_state import (
    decoded,
    digest_of,
    entries_of,
    form_of,
    identity_of,
    is_object,
    message_of,
)
from muniment.formats.reading.langchain import langchain_messages, role_of
from muniment.formats.reading.lines import ITEM_BYTES_MAX
from muniment.formats.reading.parsed_item import NamedTurn, ParsedItem, ParsingNotes, time_of, with_times
from muniment.formats.turn_items import TURN_BYTES_MAX, TURN_ITEMS_MAX

VALUE_BYTES_MAX = 64 * 2**20  # of a checkpoint or a write in the database
STATE, PENDING, STORED = "state", "pending_write", "store_value"  # what is left out
OF_THE_GRAPH = ("__", "branch:")  # how channels begin that the framework has for itself
HAVING_STATE = frozenset({"__root__", "__previous__"})  # but these are of the program

CHECKPOINTS = f"""
SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, rowid, type, length(checkpoint),
CASE WHEN length(checkpoint) <= {VALUE_BYTES_MAX} THEN checkpoint END
FROM checkpoints
"""  # noqa: S608 - a number of ours alone
ALL = f"{CHECKPOINTS} ORDER BY thread_id, checkpoint_ns, checkpoint_id"
ONE = f"{CHECKPOINTS} WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
WRITES = f"""
SELECT channel, type, length(value), CASE WHEN length(value) <= {VALUE_BYTES_MAX} THEN value END
FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
AND channel NOT IN (SELECT value FROM json_each(?)) ORDER BY task_id, idx
"""  # noqa: S608 - a number of ours alone
WRITTEN = "SELECT channel FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
HAS_STORE = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'store'"
IN_STORE = "SELECT count(*) FROM store"


class LanggraphTurn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a checkpoint adds, or a part of it: the turn and when it was (ISO 8601), and how much was left out."""

    conversation: str | None
    turn: str
    at: Any
    messages: list[msgspec.Raw]
    left_out: dict[str, int]


def langgraph(item: bytes) -> ParsedItem:
    """Parse what a checkpoint adds; a malformed message is refused, the others are kept."""
    turn = parse_json(item, LanggraphTurn, limit=ITEM_BYTES_MAX)
    notes = ParsingNotes()
    notes.left_out.update(turn.left_out)
    at_ms = time_of(turn.at, notes)
    messages: list[Message] = []
    for index, raw in enumerate(turn.messages):
        messages += notes.read(f"messages[{index}]", langchain_messages, raw)
    return ParsedItem(turn.conversation, with_times(at_ms, messages), named=NamedTurn(turn.turn, None), notes=notes)


class _Row(NamedTuple):
    """A row of a checkpoint."""

    thread: Any
    namespace: Any
    checkpoint: Any
    parent: Any
    row: int
    kind: Any
    size: int | None
    data: Any

    def is_named(self) -> bool:
        return all(isinstance(name, str) for name in (self.thread, self.namespace, self.checkpoint))

    def conversation(self) -> str:
        if not self.namespace:
            return str(self.thread)
        return f"{self.thread.replace('%', '%25').replace('/', '%2F')}/{self.namespace}"


class _Checkpoint(NamedTuple):
    """A checkpoint: its time, and the values and versions of its channels."""

    at: Any
    values: dict[str, Any]
    versions: dict[str, Any]


class _Saved(NamedTuple):
    """A message in a checkpoint: its identity, whether it has an id, and what it was read from."""

    identity: bytes
    has_id: bool
    value: Any


def _rows(connection: Database) -> Iterator[NumberedItem]:
    """Yield what each checkpoint adds with the number of its row, and why a row or a message is not read."""
    for _, rows in groupby(map(_Row._make, connection.execute(ALL)), key=itemgetter(0)):
        yield from _Thread(connection).items(rows)
    if connection.execute(HAS_STORE).get and (stored := connection.execute(IN_STORE).get):
        yield 0, _item(LanggraphTurn(conversation=None, turn=STORED, at=None, messages=[], left_out={STORED: stored}))


def _item(turn: LanggraphTurn) -> bytes:
    return msgspec.json.encode(turn)


class _Thread:
    """Reads the checkpoints of a thread; those of a graph come before those of the graphs in it."""

    def __init__(self, connection: Database) -> None:
        self._connection = connection
        self._known: dict[bytes, tuple[bytes, bool] | None] = {}  # digest of an object -> the message that it is
        self._said: set[bytes] = set()  # messages with an id
        self._states: set[tuple[str, str, str]] = set()  # channel of a namespace and its version
        self._last: tuple[Any, Counter[bytes]] | None = None

    def items(self, rows: Iterable[_Row]) -> Iterator[NumberedItem]:
        """Yield what each checkpoint adds."""
        for _, in_namespace in groupby(rows, key=itemgetter(1)):
            ends: dict[Any, _Row] = {}
            self._last = None
            for row in in_namespace:
                if not row.is_named():
                    yield row.row, InvalidInput(at="checkpoint_id", problem="wrong_type")
                    continue
                yield from self._checkpoint(row)
                ends.pop(row.parent, None)
                ends[row.checkpoint] = row._replace(data=None)
            yield from self._pending(ends.values())

    def _checkpoint(self, row: _Row) -> Iterator[NumberedItem]:
        try:
            state = _state_of(row)
        except (InvalidInput, LimitExceeded) as refusal:
            yield row.row, refusal
            return
        flaws: list[MunimentError] = []
        channels = self.channels(state.values, flaws)
        counts = _counts(channels)
        before = self._counts_before(row) if counts else Counter[bytes]()
        differences = self.channels(self._differences(row, state, flaws), flaws)
        self._last = (row.checkpoint, counts)
        new = [*self._new(channels, before, flaws), *self._new(differences, Counter(), flaws)]
        yield from ((row.row, flaw) for flaw in flaws)
        left_out = {STATE: others} if (others := self._other_state(row, state, channels)) else {}
        yield from _turns(row, state.at, new, left_out)

    def _pending(self, ends: Iterable[_Row]) -> Iterator[NumberedItem]:
        """Yield what was written after checkpoints that none follows."""
        for row in ends:
            names = self._connection.execute(WRITTEN, (row.thread, row.namespace, row.checkpoint))
            count = sum(not _is_of_graph(name) for (name,) in names)
            if count:
                yield from _turns(row, None, [], {PENDING: count})

    def channels(self, values: Mapping[str, Any], flaws: list[MunimentError]) -> dict[str, list[_Saved]]:
        """Return the messages in each channel that has any."""
        channels: dict[str, list[_Saved]] = {}
        for name, value in values.items():
            saved = [] if _is_of_graph(name) else [*self._messages(value, flaws)]
            if saved:
                channels[name] = saved
        return channels

    def _messages(self, value: Any, flaws: list[MunimentError]) -> Iterator[_Saved]:
        try:
            entries = entries_of(value)
        except InvalidInput as refusal:
            flaws.append(_at("channel_values", refusal))
            return
        for entry in filter(is_object, entries):
            try:
                identified = self._identified(entry)
            except InvalidInput as refusal:
                flaws.append(_at("channel_values", refusal))
                continue
            if identified is not None:
                yield _Saved(*identified, entry)

    def _identified(self, value: Any) -> tuple[bytes, bool] | None:
        """Return the identity of a message and whether it has an id; None for any other object.

        What is seen again is not read again; a flaw in it is told once.
        """
        digest = digest_of(value)
        if digest not in self._known:
            self._known[digest] = None
            message = message_of(value)
            self._known[digest] = None if message is None else (identity_of(message), bool(message.get("id")))
        return self._known[digest]

    def _new(
        self, channels: Mapping[str, list[_Saved]], before: Counter[bytes], flaws: list[MunimentError]
    ) -> Iterator[bytes]:
        """Yield messages that were not there before, in the form of the reader of messages."""
        there = before.copy()
        for saved in channels.values():
            left, added = there.copy(), Counter[bytes]()
            for each in saved:
                if each.has_id:
                    is_new = each.identity not in self._said
                    self._said.add(each.identity)
                else:
                    is_new = left[each.identity] <= 0
                    left[each.identity] -= 1
                    added[each.identity] += is_new
                if is_new:
                    try:
                        yield form_of(each.value)
                    except InvalidInput as refusal:
                        flaws.append(_at("channel_values", refusal))
            there += added

    def _counts_before(self, row: _Row) -> Counter[bytes]:
        """Return how many there were of each message without an id in the checkpoint before."""
        if row.parent is None:
            return Counter()
        if self._last is not None and self._last[0] == row.parent:
            return self._last[1]
        found = self._connection.execute(ONE, (row.thread, row.namespace, row.parent)).fetchone()
        try:
            state = None if found is None else _state_of(_Row._make(found))
        except (InvalidInput, LimitExceeded):
            state = None
        return Counter() if state is None else _counts(_Thread(self._connection).channels(state.values, []))

    def _differences(self, row: _Row, state: _Checkpoint, flaws: list[MunimentError]) -> dict[str, Any]:
        """Return what was written since the checkpoint before to channels whose values are not in this one."""
        written: dict[str, list[Any]] = {}
        place = (row.thread, row.namespace, row.parent, json.dumps([*state.values]))
        for name, kind, size, data in () if row.parent is None else self._connection.execute(WRITES, place):
            if isinstance(name, str) and name in state.versions and not _is_of_graph(name):
                try:
                    written.setdefault(name, []).extend(entries_of(_value(kind, size, data)))
                except (InvalidInput, LimitExceeded) as refusal:
                    flaws.append(_at("writes", refusal))
        return dict(written)

    def _other_state(self, row: _Row, state: _Checkpoint, channels: Mapping[str, list[_Saved]]) -> int:
        """Return how many values of channels are not messages and were not there before."""
        count = 0
        for name, value in state.values.items():
            version = (row.namespace, name, str(state.versions.get(name)))
            if _is_of_graph(name) or name in channels or value in (None, []) or version in self._states:
                continue
            self._states.add(version)
            count += 1
        return count


def _is_of_graph(channel: Any) -> bool:
    return not isinstance(channel, str) or (channel.startswith(OF_THE_GRAPH) and channel not in HAVING_STATE)


def _counts(channels: Mapping[str, list[_Saved]]) -> Counter[bytes]:
    """Return how many there are of each message without an id, in the channel that has the most."""
    counts = Counter[bytes]()
    for saved in channels.values():
        counts |= Counter(each.identity for each in saved if not each.has_id)
    return counts


def _state_of(row: _Row) -> _Checkpoint:
    state = _value(row.kind, row.size, row.data, at="checkpoint")
    values = state.get("channel_values") if isinstance(state, dict) else None
    versions = state.get("channel_versions") if isinstance(state, dict) else None
    if not isinstance(values, dict):
        raise InvalidInput(at="checkpoint", problem="wrong_type")
    named = {name: value for name, value in values.items() if isinstance(name, str)}
    return _Checkpoint(state.get("ts"), named, versions if isinstance(versions, dict) else {})


def _value(kind: Any, size: int | None, data: Any, at: str = "value") -> Any:
    if size is not None and size > VALUE_BYTES_MAX:
        raise LimitExceeded(at=at, problem="too_large", limit=VALUE_BYTES_MAX, found=size)
    try:
        return decoded(kind, data)
    except InvalidInput as refusal:
        raise _at(at, refusal) from None


def _at(place: str, refusal: InvalidInput | LimitExceeded) -> InvalidInput | LimitExceeded:
    return type(refusal)(at=place, problem=refusal.problem, limit=refusal.limit, found=refusal.found)


def _turns(row: _Row, at: Any, messages: list[bytes], left_out: dict[str, int]) -> Iterator[NumberedItem]:
    """Yield the turns of a checkpoint: where there are many messages, one from each user message on."""
    for number, turn in enumerate(_parted(messages), start=1):
        item = LanggraphTurn(
            conversation=row.conversation(),
            turn=str(row.checkpoint) if number == 1 else f"{row.checkpoint}.{number}",
            at=at if isinstance(at, str) else None,
            messages=[msgspec.Raw(each) for each in turn],
            left_out=left_out if number == 1 else {},
        )
        yield row.row, _item(item)


def _parted(messages: list[bytes]) -> Iterator[list[bytes]]:
    turn: list[bytes] = []
    size, has_user, last = 0, False, False
    for message in messages:
        is_user = role_of(*_speaker(message)) is Role.USER
        size += len(message)
        if turn and ((is_user and has_user and not last) or len(turn) == TURN_ITEMS_MAX or size > TURN_BYTES_MAX):
            yield turn
            turn, size, has_user = [], len(message), False
        turn.append(message)
        has_user, last = has_user or is_user, is_user
    yield turn


class _Speaker(Struct, frozen=True, kw_only=True):
    type: str
    role: Any = None


def _speaker(message: bytes) -> tuple[str, Any]:
    speaker = msgspec.json.decode(message, type=_Speaker)
    return speaker.type, speaker.role


LANGGRAPH = DatabaseForm(tables=frozenset({"checkpoints", "writes"}), items=_rows)
