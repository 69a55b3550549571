"""Memory of Google's Agent Development Kit in a muniment store.

    from muniment.host.adk_memory import MunimentMemory

    runner = Runner(app_name="shop", agent=agent, memory_service=MunimentMemory("store"), ...)

| in ADK | in the store |
|---|---|
| the memory of a user | the conversation `APP/USER` of the channel `adk-memory` |
| an event of a session that is added, a memory | a turn of it; a repeat adds nothing |
| a search | `transcripts.search` there, through `model_context`: by words and, with an embedder, by meaning |
| a memory that is deleted | an erased turn; its event does not come back when its session is added again |

A memory is a copy that outlives its session, as in every memory service of ADK. So a redaction of the session does not
reach it: redact it in the memory, too. `lifecycle.erase` with the subject USER reaches both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.platform import time as platform_time
from google.adk.platform import uuid as platform_uuid
from google.adk.sessions.session import Session

from muniment.errors import InvalidInput, TurnConflict, UnknownConversation, UnknownPlace
from muniment.events.changes import Transition
from muniment.events.turn import Turn
from muniment.formats.adk_items import EVENT
from muniment.governance.views import View
from muniment.host.adapted_store import AdaptedStore, StoreGiven
from muniment.host.histories.adk_events import event_of_json
from muniment.host.histories.adk_places import EventHistory, memory_like, memory_turn
from muniment.host.histories.item_history import ItemHistory
from muniment.host.off_loop import off_loop
from muniment.operations.transcripts.hits import SearchScope
from muniment.operations.transcripts.timeline import Anchor, AnchorKind
from muniment.search.query import without_syntax

FOUND_MAX = 10
BATCH_EVENTS = 50
QUERY_WORDS_MAX = 64
METADATA = "memory_metadata"


class MunimentMemory(BaseMemoryService):
    """Memory in a store: a runtime of yours, which stays open, or a path, which `close` closes.

    `requester` is who deletes memories, in the records of erasures. Takes the rights to read as `raw_owner` and
    `model_context`, to append, and to erase.
    """

    def __init__(self, store: StoreGiven, *, requester: str = "adk") -> None:
        self._store = AdaptedStore(store)
        self._runtime = self._store.runtime
        self._requester = requester

    async def add_session_to_memory(self, session: Session) -> None:
        """Add the events of a session that say something, durably; those that are there are not added again."""
        await off_loop(self._add, session.app_name, session.user_id, list(session.events))

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,  # noqa: ARG002 - all sessions of a user are one memory
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add events, as `add_session_to_memory` does it; their memories have the metadata, which must be JSON."""
        noted = [_with_metadata(event, custom_metadata) for event in events]
        await off_loop(self._add, app_name, user_id, noted)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add memories, durably; one whose id is there is not added again."""
        events = [
            _with_metadata(
                Event(
                    id=memory.id or platform_uuid.new_uuid(),
                    author=memory.author or "user",
                    content=memory.content,
                    timestamp=_seconds(memory.timestamp),
                ),
                {**memory.custom_metadata, **(custom_metadata or {})},
            )
            for memory in memories
        ]
        await off_loop(self._add, app_name, user_id, events)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the memories of a user that match a question in plain words, the best first, at most 10."""
        return SearchMemoryResponse(memories=await off_loop(self._search, app_name, user_id, query))

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Erase a memory by the id that a search has given. One that there is not, and no id, do nothing."""
        if memory_id:
            await off_loop(self._delete, app_name, user_id, memory_id)

    async def close(self) -> None:
        """Close the store if it was opened here."""
        await off_loop(self._store.close)

    # --- in worker threads --------------------------------------------------------------------------------------------

    def _add(self, app: str, user: str, events: Iterable[Event]) -> None:
        turns = (memory_turn(app, user, event) for event in events if event.content and event.content.parts)
        while batch := list(islice(turns, BATCH_EVENTS)):
            try:
                self._runtime.transcripts.commit_many(batch)
            except TurnConflict:
                for turn in batch:
                    self._add_once(turn)

    def _add_once(self, turn: Turn) -> None:
        try:
            self._runtime.transcripts.commit(turn)
        except TurnConflict:  # another event has its id: the first one stays
            return

    def _search(self, app: str, user: str, query: str) -> list[MemoryEntry]:
        plain = " ".join(without_syntax(query).split()[-QUERY_WORDS_MAX:])
        if not plain:
            return []
        like = memory_like(app, user)
        history = EventHistory(self._runtime, like)
        within = SearchScope(channel=like.channel, conversation=like.conversation)
        try:
            hits = self._runtime.transcripts.search(plain, View.MODEL_CONTEXT, within, limit=FOUND_MAX * 2).hits
        except (UnknownConversation, InvalidInput):  # nothing was added yet, or no word of the query can be sought
            return []
        turns = list(dict.fromkeys(hit.place.turn for hit in hits if not hit.is_context))[:FOUND_MAX]
        found = (_event_of(history, turn) for turn in turns)
        return [_entry(event) for event in found if event is not None]

    def _delete(self, app: str, user: str, memory: str) -> None:
        key = ItemHistory(self._runtime, memory_like(app, user)).key
        try:
            self._runtime.lifecycle.request(key, Transition.ERASE, "memory deleted", self._requester, turn=memory)
        except UnknownConversation:
            return


def _event_of(history: ItemHistory, turn: str) -> Event | None:
    try:
        placed = next(history.placed(Anchor(at=AnchorKind.AROUND, turn=turn), 1), None)
    except UnknownPlace:
        return None
    return event_of_json(placed.item[EVENT]) if placed is not None and placed.turn == turn else None


def _entry(event: Event) -> MemoryEntry:
    assert event.content is not None, "no other event was added"
    metadata = (event.custom_metadata or {}).get(METADATA) or {}
    moment = datetime.fromtimestamp(event.timestamp, UTC).isoformat()
    return MemoryEntry(
        id=event.id, author=event.author, content=event.content, custom_metadata=metadata, timestamp=moment
    )


def _with_metadata(event: Event, metadata: Mapping[str, object] | None) -> Event:
    if not metadata:
        return event
    return event.model_copy(update={"custom_metadata": {**(event.custom_metadata or {}), METADATA: dict(metadata)}})


def _seconds(moment: str | None) -> float:
    """Return the time of a memory in seconds; now, where it is none that can be read."""
    now: float = platform_time.get_time()
    try:
        return now if moment is None else datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return now
