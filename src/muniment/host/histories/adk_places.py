"""Where a store has what belongs to an app, a user and a session of Google's Agent Development Kit, and how turns look.

What the turns have in them, and how conversations are named, `formats.adk_items` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.state import State
from msgspec.structs import replace

from muniment.errors import InvalidInput
from muniment.events.identity import ConversationKey
from muniment.events.turn import Attribution, Ingress, Source, Turn
from muniment.formats.adk_items import (
    AT,
    CREATED,
    DELETED,
    EVENT,
    KEYS,
    SETS,
    USER,
    conversation_of,
    event_left,
    event_messages,
    parted_event,
    session_of,
    silent,
)
from muniment.formats.parted_items import Item, PartedItem
from muniment.governance.views import Reason
from muniment.host.histories.adk_events import event_json
from muniment.host.histories.item_history import ItemHistory
from muniment.host.histories.keyed_history import HistoryHead, KeyedHistory
from muniment.runtime.runtime import Runtime

PROVIDER = "google-adk"
CHANNEL, MEMORY_CHANNEL = "adk", "adk-memory"
PREFIXES = {"app": State.APP_PREFIX, "user": State.USER_PREFIX, "temp": State.TEMP_PREFIX}


class SessionName(NamedTuple):
    """What names a session."""

    app: str
    user: str
    session: str

    @property
    def key(self) -> ConversationKey:
        """The conversation of the session."""
        return ConversationKey(conversation=conversation_of(*self), channel=CHANNEL)

    @classmethod
    def of_conversation(cls, conversation: str) -> SessionName | None:
        """Return what the session of a conversation is called, if it is of one."""
        names = session_of(conversation)
        return None if names is None else cls(*names)


class StateChange(NamedTuple):
    """A change of state by scope, keys without their prefixes; all of it is JSON."""

    app: Mapping[str, Any]
    user: Mapping[str, Any]
    session: Mapping[str, Any]

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> StateChange:
        """Split a state or a change of it; what is temporary is left out."""
        change = cls({}, {}, {})
        for key, value in json_of_state(state).items():
            scope = next((scope for scope, prefix in PREFIXES.items() if key.startswith(prefix)), "session")
            if scope != "temp":
                getattr(change, scope)[key.removeprefix(PREFIXES.get(scope, ""))] = value
        return change


def json_of_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state as JSON; what has no JSON form is the text that it is represented by, as in stores of ADK."""
    dumped: dict[str, Any] = EventActions(state_delta=dict(state)).model_dump(mode="json")["state_delta"]
    return dumped


class EventHistory(ItemHistory):
    """A history whose items may have events."""

    def form_left(self, form: Item, _reasons: AbstractSet[Reason | None], /) -> Item:
        """Return the form of an item without what repeats words; events need their names."""
        return event_left(form)


def session_history(runtime: Runtime, name: SessionName) -> KeyedHistory:
    """Return the turns of a session."""
    return KeyedHistory(EventHistory(runtime, _like(name.key, name.user)), session_values)


def app_history(runtime: Runtime, app: str) -> KeyedHistory:
    """Return the turns of the state of an app."""
    return KeyedHistory(EventHistory(runtime, _like_app(app)), shared_values)


def user_history(runtime: Runtime, app: str, user: str) -> KeyedHistory:
    """Return the turns of the state of a user."""
    return KeyedHistory(EventHistory(runtime, _like_user(app, user)), shared_values)


def session_values(item: Item) -> Mapping[str, Any]:
    """Return what a turn of a session sets."""
    if EVENT not in item:
        return shared_values(item)
    return StateChange.of((item[EVENT].get("actions") or {}).get("state_delta") or {}).session


def shared_values(item: Item) -> Mapping[str, Any]:
    """Return what a turn without an event sets."""
    values: Mapping[str, Any] = item.get(SETS) or {}
    return values


# --- turns ------------------------------------------------------------------------------------------------------------


def created_turn(
    name: SessionName, state: Mapping[str, Any], at_s: float, nonce: str, number: int, _head: HistoryHead
) -> tuple[Turn, Item]:
    """Return the turn that begins a session."""
    item = {CREATED: at_s, "nonce": nonce, SETS: state, KEYS: dict.fromkeys(state, number)}
    return _turn(_like(name.key, name.user), number, silent(item), at_s), item


def deleted_turn(name: SessionName, at_s: float, nonce: str, number: int, _head: HistoryHead) -> tuple[Turn, Item]:
    """Return the turn that ends a session."""
    item: Item = {DELETED: at_s, "nonce": nonce, KEYS: {}}
    return _turn(_like(name.key, name.user), number, silent(item), at_s), item


def shared_turn(like: Turn, state: Mapping[str, Any], number: int, head: HistoryHead) -> tuple[Turn, Item]:
    """Return a turn that changes shared state."""
    item = {SETS: state, KEYS: {**head.keys, **dict.fromkeys(state, number)}}
    return _turn(like, number, silent(item), 0), item


def event_turn(
    name: SessionName, event: Event, state: Mapping[str, Any], number: int, head: HistoryHead
) -> tuple[Turn, Item]:
    """Return the turn of an event that sets state; the item has no event."""
    seen: Item = {KEYS: {**head.keys, **dict.fromkeys(state, number)}} if state else {AT: head.at}
    parted = parted_event({EVENT: event_json(event), **seen})
    is_user = event.author == USER
    like = replace(
        _like(name.key, name.user),
        actor=Attribution(subject=name.user, agent_id=None if is_user else event.author or None),
        source=Source(
            ingress=Ingress.USER if is_user else Ingress.SYSTEM,
            provider=PROVIDER,
            request_id=event.invocation_id or None,
            model=event.model_version or None,
        ),
    )
    return _turn(like, number, parted, event.timestamp, event.author), seen


def memory_like(app: str, user: str) -> Turn:
    """Return what the turns of the memory of a user are made like."""
    return _like(ConversationKey(conversation=conversation_of(app, user), channel=MEMORY_CHANNEL), user)


def memory_turn(app: str, user: str, event: Event) -> Turn:
    """Return the turn of an event in memory; its id is that of the event."""
    parted = parted_event({EVENT: event_json(event)})
    return _turn(memory_like(app, user), event.id, parted, event.timestamp, event.author)


def like_of_scope(name: SessionName, scope: str) -> Turn:
    """Return what turns of the state of a scope are made like."""
    return _like_app(name.app) if scope == "app" else _like_user(name.app, name.user)


def _like(key: ConversationKey, subject: str) -> Turn:
    source = Source(ingress=Ingress.SYSTEM, provider=PROVIDER)
    return Turn(
        turn="0", subject=subject, messages=[], conversation=key.conversation, channel=key.channel, source=source
    )


def _like_app(app: str) -> Turn:
    return _like(ConversationKey(conversation=conversation_of(app), channel=CHANNEL), f"{CHANNEL}:{app}")


def _like_user(app: str, user: str) -> Turn:
    return _like(ConversationKey(conversation=conversation_of(app, user), channel=CHANNEL), user)


def _turn(like: Turn, turn_id: int | str, parted: PartedItem, at_s: float, author: str | None = None) -> Turn:
    return replace(like, turn=str(turn_id), messages=event_messages(parted, at_s, author))


def checked(name: str | None, at: str) -> str:
    """Return a name as ADK stores it: without blanks around it. Raises `request.invalid` for one that is empty."""
    stripped = (name or "").strip()
    if not stripped:
        raise InvalidInput(at=at, problem="empty")
    return stripped
