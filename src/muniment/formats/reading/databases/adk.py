"""Sessions of Google's Agent Development Kit in an SQLite database (`SqliteSessionService`, `DatabaseSessionService`).

Each event becomes a turn as `MunimentSessions` commits it, so that a session goes on from an imported
conversation with exactly its events and its state; import them into the channel `adk`. Turns are numbered in the order
of their times: a repeat finds them in their places, and of a database that has grown only what is new is added.

| in the database | becomes |
|---|---|
| a session | the turn 0, which says when it began |
| an event | a turn with its place as its number |
| state of a session that no event accounts for; state of an app, of a user | a turn with the time of the update |

`DatabaseSessionService` notes in whole seconds when the state of an app or a user changed. What changes after an import
but in the same second, the next import refuses as `turn_conflict`; it comes with the change after that.

Databases with events as pickles (`DatabaseSessionService` of old) cannot be read: a pickle is a program. ADK's own
`migrate` command makes a new one of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from muniment.errors import InvalidInput
from muniment.events.binding import parse_json
from muniment.events.message import Message
from muniment.formats.adk_items import (
    AT,
    CREATED,
    EVENT,
    KEYS,
    SETS,
    UPDATED,
    conversation_of,
    event_messages,
    parted_event,
    silent,
    state_of_session,
)
from muniment.formats.reading.databases.database_items import Database, DatabaseForm, NumberedItem
from muniment.formats.reading.lines import ITEM_BYTES_MAX
from muniment.formats.reading.parsed_item import NamedTurn, ParsedItem

TABLES = frozenset({"app_states", "events", "sessions", "user_states"})
SECONDS = "CASE typeof({0}) WHEN 'text' THEN (julianday({0}) - 2440587.5) * 86400.0 ELSE {0} END"
SESSIONS = f"""
SELECT rowid, app_name, user_id, id, state, {SECONDS.format("create_time")}, {SECONDS.format("update_time")}
FROM sessions ORDER BY app_name, user_id, id
"""  # noqa: S608 - names of ours alone
EVENTS = """
SELECT rowid, event_data FROM events WHERE app_name = ? AND user_id = ? AND session_id = ? ORDER BY timestamp, rowid
"""
APP_STATES = f"""
SELECT rowid, app_name, NULL, state, {SECONDS.format("update_time")} FROM app_states ORDER BY app_name
"""  # noqa: S608 - names of ours alone
USER_STATES = f"""
SELECT rowid, app_name, user_id, state, {SECONDS.format("update_time")} FROM user_states ORDER BY app_name, user_id
"""  # noqa: S608 - names of ours alone


class AdkTurn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A turn: its conversation, its number there, its item, and when it was (seconds)."""

    conversation: str
    number: int
    at_s: float
    item: msgspec.Raw


def adk(item: bytes) -> ParsedItem:
    """Parse a turn."""
    turn = parse_json(item, AdkTurn, limit=ITEM_BYTES_MAX)
    return ParsedItem(turn.conversation, _messages(turn), named=NamedTurn(str(turn.number), None))


def _messages(turn: AdkTurn) -> list[Message]:
    item = json.loads(bytes(turn.item))
    if EVENT not in item:
        return event_messages(silent(item), turn.at_s)
    author = item[EVENT].get("author")
    return event_messages(parted_event(item), turn.at_s, author)


def _rows(connection: Database) -> Iterator[NumberedItem]:
    for row, app, user, session, state, created_s, updated_s in connection.execute(SESSIONS):
        named = _Named(row, conversation_of(app, user, session))
        rows = connection.execute(EVENTS, (app, user, session))
        yield from _session(named, rows, _object(state), created_s or 0.0, updated_s or 0.0)
    for query in (APP_STATES, USER_STATES):
        for row, app, user, state, updated_s in connection.execute(query):
            sets = _object(state)
            if sets is None:
                yield row, InvalidInput(at="state", problem="not_json")
            elif sets:
                yield _Named(row, conversation_of(app, user)).state(sets, {}, updated_s or 0.0)


class _Named(NamedTuple):
    """The row of a session or a state, and its conversation."""

    row: int
    conversation: str

    def turn(self, number: int, at_s: float, item: dict[str, Any], row: int | None = None) -> NumberedItem:
        """Return a turn of it."""
        raw = msgspec.Raw(json.dumps(item).encode())
        turn = AdkTurn(conversation=self.conversation, number=number, at_s=at_s, item=raw)
        return self.row if row is None else row, msgspec.json.encode(turn)

    def state(self, sets: Mapping[str, Any], keys: Mapping[str, int], updated_s: float) -> NumberedItem:
        """Return a turn that sets state, beside keys that others have set."""
        number = int(updated_s * 1000)
        item = {SETS: sets, KEYS: {**keys, **dict.fromkeys(sets, number)}, UPDATED: updated_s}
        return self.turn(number, updated_s, item)


def _session(
    named: _Named, rows: Iterable[tuple[int, Any]], state: dict[str, Any] | None, created_s: float, updated_s: float
) -> Iterator[NumberedItem]:
    """Yield the turns of a session, and why a row is none."""
    yield named.turn(0, created_s, {CREATED: created_s, SETS: {}, KEYS: {}})
    keys: dict[str, int] = {}
    values: dict[str, Any] = {}
    at = 0
    for number, (row, text) in enumerate(rows, start=1):
        event = _object(text)
        if event is None:
            yield row, InvalidInput(at="event_data", problem="not_json")
            continue
        changed = state_of_session((event.get("actions") or {}).get("state_delta") or {})
        values |= changed
        keys |= dict.fromkeys(changed, number)
        at = number if changed else at
        item = {EVENT: event, KEYS: dict(keys)} if changed else {EVENT: event, AT: at}
        yield named.turn(number, _seconds(event), item, row)
    if state is None:
        yield named.row, InvalidInput(at="state", problem="not_json")
        return
    unaccounted = {key: value for key, value in state.items() if key not in values or values[key] != value}
    if unaccounted:
        yield named.state(unaccounted, keys, updated_s)


def _object(text: Any) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _seconds(event: Mapping[str, Any]) -> float:
    moment = event.get("timestamp")
    return float(moment) if isinstance(moment, int | float) else 0.0


ADK = DatabaseForm(tables=TABLES, items=_rows)
