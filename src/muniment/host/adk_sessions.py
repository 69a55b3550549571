"""Sessions of Google's Agent Development Kit in a muniment store.

    from muniment.host.adk_sessions import MunimentSessions

    runner = Runner(app_name="shop", agent=agent, session_service=MunimentSessions("store"))

| in ADK | in the store |
|---|---|
| a user | the subject USER |
| a session | the conversation `APP/USER/SESSION` of the channel `adk` |
| an event | a turn of it, durable when `append_event` returns; `source.request_id` is its invocation |
| state of the session | what its events have set: each value is kept where it was set, once |
| `app:` and `user:` state | the conversations `APP` and `APP/USER` of that channel, a turn for each change |
| `temp:` state, partial events | nothing |

Events come back exactly as they were appended, or with a marker such as `[redacted: legal]` in the place of what the
view `model_context` withholds. An event that is hidden or erased is not in its session, and has set no state.

`delete_session` erases: it destroys the content of all events and the state of the session. What stays: that there were
so many turns, by whom and when (without their words, and with a proof), the `app:` and `user:` state that the session
has set, and what memory has taken from it; `lifecycle.erase` with the subject USER erases all of a user. What a hold
keeps stays in the store, and ADK is not shown it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.platform import time as platform_time
from google.adk.platform import uuid as platform_uuid
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session

from muniment.errors import UnknownConversation
from muniment.events.changes import Transition
from muniment.formats.adk_items import CREATED, DELETED, EVENT, UPDATED
from muniment.formats.parted_items import Item
from muniment.governance.listing import LifecycleFilter
from muniment.host.adapted_store import AdaptedStore, StoreGiven
from muniment.host.channel_conversations import conversations_of_channel
from muniment.host.histories.adk_events import event_of_json
from muniment.host.histories.adk_places import (
    CHANNEL,
    PREFIXES,
    SessionName,
    StateChange,
    app_history,
    checked,
    created_turn,
    deleted_turn,
    event_turn,
    like_of_scope,
    session_history,
    shared_turn,
    user_history,
)
from muniment.host.histories.keyed_history import (
    NOTHING,
    HistoryHead,
    HistoryMoved,
    KeyedHistory,
    NumberedWrite,
    write_all,
)
from muniment.host.off_loop import off_loop
from muniment.host.recently_used import RecentlyUsed
from muniment.kernel.locks import new_lock
from muniment.operations.conversations.listed import ConversationFilter

HEADS_MAX = 4096  # of sessions that are remembered between appends
LOCKS = 64


class StoredSession(NamedTuple):
    """A session as it is read: its events, newest first, when it was last updated, and its state."""

    head: HistoryHead
    events: list[Event]
    updated_s: float
    state: dict[str, Any]


class MunimentSessions(BaseSessionService):
    """Sessions in a store: a runtime of yours, which stays open, or a path, which `close` closes.

    `requester` is who deletes sessions, in the records of erasures. Any number of services, processes and event loops
    may share a store: of two that append to what both have read, the second gets `StaleSessionError`, and `app:` and
    `user:` state is merged. An append that has begun is finished when its caller is cancelled. Takes the rights to
    read as `raw_owner` and `model_context`, to append, and to erase.
    """

    def __init__(self, store: StoreGiven, *, requester: str = "adk") -> None:
        self._store = AdaptedStore(store)
        self._runtime = self._store.runtime
        self._requester = requester
        self._heads: RecentlyUsed[SessionName, HistoryHead] = RecentlyUsed(HEADS_MAX)
        self._heads_lock = new_lock()
        self._shared_lock = new_lock()
        self._locks = [new_lock() for _ in range(LOCKS)]

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Create a session, durably. Raises `AlreadyExistsError`; the id of a deleted session may be used again."""
        given = (session_id or "").strip() or platform_uuid.new_uuid()
        name = SessionName(checked(app_name, "app_name"), user_id, given)
        return await off_loop(self._create, name, state or {})

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with its events, oldest first, or None. Reads no more events than `config` asks for."""
        name = SessionName(app_name, user_id, session_id.strip())
        return await off_loop(self._get, name, config or GetSessionConfig())

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """List sessions without their events, the oldest update first."""
        return ListSessionsResponse(sessions=await off_loop(self._list, app_name, user_id))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Erase a session; see the module for what stays. Deleting one that there is not does nothing."""
        await off_loop(self._delete, SessionName(app_name, user_id, session_id.strip()))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event to a session, durably; a partial one is not stored.

        An event that `session` has already is not appended again. Raises `StaleSessionError` when the stored session
        has another newest event, `SessionNotFoundError` when it was deleted, `request.limit_exceeded` for an event
        that says more than 1 MiB.
        """
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        return await off_loop(self._append, session, event)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return the state of a user by keys without `user:`."""
        return await off_loop(_values_of, user_history(self._runtime, app_name, user_id))

    async def close(self) -> None:
        """Close the store if it was opened here."""
        await off_loop(self._store.close)

    # --- in worker threads --------------------------------------------------------------------------------------------

    def _create(self, name: SessionName, state: Mapping[str, Any]) -> Session:
        change, now, nonce = StateChange.of(state), platform_time.get_time(), platform_uuid.new_uuid()
        history = session_history(self._runtime, name)
        with self._lock(name):
            head = history.head()
            if DELETED in head.item:  # its erasure was interrupted, or something is on hold
                self._erase(name)
            elif head is not NOTHING:
                raise AlreadyExistsError(f"Session with id {name.session} already exists.")
            made = partial(created_turn, name, change.session, now, nonce)
            written = self._write(NumberedWrite(history, head, made), name, change)
            if isinstance(written, HistoryMoved):
                raise AlreadyExistsError(f"Session with id {name.session} already exists.")
            self._remember(name, written)
        return self._session(name, StoredSession(written, [], now, dict(change.session)), self._shared_state(name))

    def _append(self, session: Session, event: Event) -> Event:
        name = SessionName(session.app_name, session.user_id, session.id)
        with self._lock(name):
            if any(known == event for known in reversed(session.events) if known.id == event.id):
                return event
            history, change = session_history(self._runtime, name), StateChange.of(event.actions.state_delta)
            if change.app or change.user:
                self._forget(name)  # shared state is not changed for a session that is gone
            read_at = self._head_for(session, name, history)
            made = partial(event_turn, name, event, change.session)
            head = self._write(NumberedWrite(history, read_at, made), name, change)
            if isinstance(head, HistoryMoved):
                self._forget(name)
                raise _behind(name, head.head)
            self._remember(name, head)
            session._storage_update_marker = str(head.number)  # noqa: SLF001 - ADK has it for this
            session.last_update_time = event.timestamp
            return self._commit_event_to_session(session, event)

    def _write(self, write: NumberedWrite, name: SessionName, change: StateChange) -> HistoryHead | HistoryMoved:
        """Append a turn of a session, with what it changes of shared state, in one step."""
        shared = [(scope, state) for scope, state in (("app", change.app), ("user", change.user)) if state]
        with self._shared_lock if shared else nullcontext():
            writes = [write]
            for scope, state in shared:
                history = self._scope(name, scope)
                made = partial(shared_turn, like_of_scope(name, scope), state)
                writes.append(NumberedWrite(history, history.head(), made))
            return write_all(self._runtime, writes)

    def _get(self, name: SessionName, config: GetSessionConfig) -> Session | None:
        stored = self._read(name, config)
        return None if stored is None else self._session(name, stored, self._shared_state(name))

    def _read(self, name: SessionName, config: GetSessionConfig) -> StoredSession | None:
        history = session_history(self._runtime, name)
        wanted, after = config.num_recent_events, config.after_timestamp
        newest: tuple[int, Item] | None = None
        known: dict[int, Item] = {}
        events: list[Event] = []
        for number, item in history.newest_first() if wanted is None else history.newest_first(wanted + 1):
            if newest is None:
                if DELETED in item:
                    return None
                newest = number, item
            known[number] = item
            if CREATED in item or len(events) == wanted:
                break
            if EVENT not in item:  # state that was imported
                continue
            event = event_of_json(item[EVENT])
            if after and event.timestamp < after:
                break
            events.append(event)
        if newest is None:
            return None
        head = history.head_at(*newest, known)
        return StoredSession(head, events, _updated_s(newest[1]), history.values(head, known))

    def _list(self, app: str, user: str | None) -> list[Session]:
        sessions: list[Session] = []
        states: dict[str, dict[str, Any]] = {}
        for name in self._names(app, user):
            stored = self._read(name, GetSessionConfig(num_recent_events=0))
            if stored is None:
                continue
            if name.user not in states:
                states[name.user] = self._shared_state(name)
            sessions.append(self._session(name, stored, states[name.user]))
        return sorted(sessions, key=lambda session: (session.last_update_time, session.user_id, session.id))

    def _names(self, app: str, user: str | None) -> list[SessionName]:
        """Return the sessions that there are."""
        only = ConversationFilter() if user is None else ConversationFilter(subject=user)
        found = conversations_of_channel(self._runtime, CHANNEL, LifecycleFilter.ACTIVE, only)
        names = (SessionName.of_conversation(place.conversation) for place in found)
        return [name for name in names if name is not None and name.app == app and user in {None, name.user}]

    def _delete(self, name: SessionName) -> None:
        history = session_history(self._runtime, name)
        with self._lock(name):
            self._forget(name)
            head = history.head()
            while head is not NOTHING and DELETED not in head.item:
                made = partial(deleted_turn, name, platform_time.get_time(), platform_uuid.new_uuid())
                written = write_all(self._runtime, [NumberedWrite(history, head, made)])
                if not isinstance(written, HistoryMoved):
                    break
                head = written.head
            self._erase(name)

    def _erase(self, name: SessionName) -> None:
        try:
            self._runtime.lifecycle.request(name.key, Transition.ERASE, "session deleted", self._requester)
        except UnknownConversation:
            return

    # --- heads and state ----------------------------------------------------------------------------------------------

    def _head_for(self, session: Session, name: SessionName, history: KeyedHistory) -> HistoryHead:
        """Return the head that a session was read at; raise when that is not the head any more, as far as is known."""
        marker = session._storage_update_marker  # noqa: SLF001 - ADK has it for this
        with self._heads_lock:
            head = self._heads.get(name)
        if head is not None and marker == str(head.number):
            return head
        head = history.head()
        if marker is None and head is not NOTHING and DELETED not in head.item:  # a session that the host has made
            newest = head.item.get(EVENT)
            updated = _updated_s(head.item)
            same = (
                not session.events if newest is None else bool(session.events) and session.events[-1].id == newest["id"]
            )
            if same or updated <= session.last_update_time:
                return head
        if marker != str(head.number):
            raise _behind(name, head)
        return head

    def _remember(self, name: SessionName, head: HistoryHead) -> None:
        with self._heads_lock:
            self._heads.put(name, head._replace(item={}))

    def _forget(self, name: SessionName) -> None:
        with self._heads_lock:
            self._heads.drop(name)

    def _lock(self, name: SessionName) -> threading.RLock:
        """Return the lock under which this process appends to a session."""
        return self._locks[hash(name) % LOCKS]

    def _scope(self, name: SessionName, scope: str) -> KeyedHistory:
        if scope == "app":
            return app_history(self._runtime, name.app)
        return user_history(self._runtime, name.app, name.user)

    def _shared_state(self, name: SessionName) -> dict[str, Any]:
        """Return what an app and a user have, by keys with their prefixes."""
        return {
            PREFIXES[scope] + key: value
            for scope in ("app", "user")
            for key, value in _values_of(self._scope(name, scope)).items()
        }

    def _session(self, name: SessionName, stored: StoredSession, shared: Mapping[str, Any]) -> Session:
        session = Session(
            id=name.session,
            app_name=name.app,
            user_id=name.user,
            state={**stored.state, **shared},
            events=stored.events[::-1],
            last_update_time=stored.updated_s,
        )
        session._storage_update_marker = str(stored.head.number)  # noqa: SLF001 - ADK has it for this
        return session


def _updated_s(item: Item) -> float:
    """Return when a session whose newest turn has this item was updated."""
    updated: float = item[EVENT]["timestamp"] if EVENT in item else item.get(UPDATED) or item[CREATED]
    return updated


def _values_of(history: KeyedHistory) -> dict[str, Any]:
    return history.values(history.head(), {})


def _behind(name: SessionName, head: HistoryHead) -> ValueError:
    """Return the error of who appends to a session that has got this head."""
    if head is NOTHING or DELETED in head.item:
        missing: ValueError = SessionNotFoundError(f"Session {name.session} not found.")
        return missing
    stale: ValueError = StaleSessionError(
        "The session has a newer event in the store: read it before you append to it."
    )
    return stale
