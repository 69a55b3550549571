"""Sessions of the OpenAI Agents SDK in their SQLite database (tables `agent_sessions`, `agent_messages`).

Each row is one item of the Responses API. The rows of a session become turns as a run saves them: what the user or
the host says in one row, and each answer of the model with its calls and what they returned. The id of a turn is that
of its first row, so that a repeat finds it in its place. The items of a turn are kept as `MunimentSession` keeps them:
a session goes on from an imported conversation with exactly the items that it had.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from muniment.errors import InvalidInput, MunimentError
from muniment.events.binding import parse_json
from muniment.formats.parted_items import parted
from muniment.formats.reading.databases.database_items import Database, DatabaseForm, NumberedItem
from muniment.formats.reading.lines import ITEM_BYTES_MAX
from muniment.formats.reading.parsed_item import NamedTurn, ParsedItem
from muniment.formats.responses_items import FIELDS_OF_ITEMS, words_of_item
from muniment.formats.turn_items import TURN_BYTES_MAX, TURN_ITEMS_MAX, messages_of_items

ROWS = """
SELECT id, session_id, message_data, CAST(strftime('%s', created_at) AS INTEGER) * 1000
FROM agent_messages ORDER BY session_id, id
"""
HOST_ROLES = frozenset({"user", "system", "developer"})
RETURNED = "_output"  # how the types of items end that say what a call returned


class AgentsTurn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rows of a turn: their session, the first one, and each item with the time when it was saved (UTC ms)."""

    session_id: str
    row: int
    items: list[msgspec.Raw]
    saved_ms: list[int]


class SavedItem(NamedTuple):
    """A row, and what decides where turns begin."""

    row: int
    text: str
    saved_ms: int
    is_of_host: bool
    is_returned: bool


def agents(item: bytes) -> ParsedItem:
    """Parse the rows of a turn."""
    turn = parse_json(item, AgentsTurn, limit=ITEM_BYTES_MAX)
    items = [parted(json.loads(bytes(each)), words_of_item, FIELDS_OF_ITEMS) for each in turn.items]
    messages = messages_of_items(items, turn.saved_ms)
    return ParsedItem(turn.session_id, messages, named=NamedTurn(f"row-{turn.row}", None))


def _rows(connection: Database) -> Iterator[NumberedItem]:
    """Yield every turn with the number of its first row, and why a row is none of any."""
    for session, rows in groupby(connection.execute(ROWS), key=itemgetter(1)):
        turn: list[SavedItem] = []
        for number, _, text, saved_ms in rows:
            saved = _saved(number, text, saved_ms)
            if isinstance(saved, MunimentError):
                yield number, saved
                continue
            if turn and _begins(turn, saved):
                yield _turn(session, turn)
                turn = []
            turn.append(saved)
        if turn:
            yield _turn(session, turn)


def _saved(number: int, text: Any, saved_ms: Any) -> SavedItem | MunimentError:
    try:
        item = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return InvalidInput(at="message_data", problem="not_json")
    if not isinstance(item, dict):
        return InvalidInput(at="message_data", problem="wrong_type")
    kind = str(item.get("type"))
    is_of_host = item.get("role") in HOST_ROLES
    return SavedItem(number, text, saved_ms or 0, is_of_host=is_of_host, is_returned=kind.endswith(RETURNED))


def _begins(turn: list[SavedItem], saved: SavedItem) -> bool:
    """Return whether a row is in another turn than those before it."""
    last = turn[-1]
    size = len(saved.text) + sum(len(each.text) for each in turn)
    is_full = len(turn) == TURN_ITEMS_MAX or size > TURN_BYTES_MAX
    return is_full or saved.is_of_host or last.is_of_host or (last.is_returned and not saved.is_returned)


def _turn(session: str, turn: list[SavedItem]) -> NumberedItem:
    rows = AgentsTurn(
        session_id=session,
        row=turn[0].row,
        items=[msgspec.Raw(each.text.encode()) for each in turn],
        saved_ms=[each.saved_ms for each in turn],
    )
    return turn[0].row, msgspec.json.encode(rows)


AGENTS = DatabaseForm(tables=frozenset({"agent_sessions", "agent_messages"}), items=_rows)
