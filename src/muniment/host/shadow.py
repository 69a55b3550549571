"""Shadow mode of the adapters: which calls of a framework's store write and which read, in a table for each kind.

    session = shadowed(MunimentSession("talk", runtime, subject="ada"), shadow_of=SQLiteSession("talk"))
    ...
    session.shadow.report()

| store | what does not count as a difference |
|---|---|
| session of the OpenAI Agents SDK | nothing |
| chat history of LangChain | nothing |
| saver of LangGraph | the order of writes of one checkpoint |
| store of LangGraph | times, the order of what a search found, and scores |
| session service of Google ADK | when a session was updated last; both have the session id that the old one makes |

The old saver of LangGraph numbers the versions of channels for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from muniment.errors import InvalidInput
from muniment.host.shadowed_call import (
    OLD_ALONE,
    READ,
    WRITE,
    Arguments,
    Effects,
    ShadowedCall,
    copied,
    plain,
    shadow,
    unchanged,
)

COPIED_WRITE = ShadowedCall(writes=True, prepared=copied)

SESSION_CALLS: Mapping[str, ShadowedCall] = {
    "get_items": READ,
    "add_items": COPIED_WRITE,
    "pop_item": ShadowedCall(writes=True, seen=unchanged),
    "clear_session": WRITE,
}

CHAT_HISTORY_CALLS: Mapping[str, ShadowedCall] = {
    "messages": READ,
    "aget_messages": READ,
    "add_message": COPIED_WRITE,
    "add_messages": COPIED_WRITE,
    "aadd_messages": COPIED_WRITE,
    "add_user_message": COPIED_WRITE,
    "add_ai_message": COPIED_WRITE,
    "clear": WRITE,
    "aclear": WRITE,
}


def _checkpoint(found: Any) -> Any:
    """Return a checkpoint, or a list of them, with its writes in an order."""
    if isinstance(found, list):
        return [_checkpoint(one) for one in found]
    if found is None:
        return None
    return {**found._asdict(), "pending_writes": sorted(map(repr, found.pending_writes or []))}


_SAVED = ShadowedCall(seen=_checkpoint)
SAVER_CALLS: Mapping[str, ShadowedCall] = {
    "get_next_version": OLD_ALONE,
    **{f"{way}{name}": _SAVED for way in ("", "a") for name in ("get_tuple", "list")},
    **{
        f"{way}{name}": COPIED_WRITE
        for way in ("", "a")
        for name in ("put", "put_writes", "delete_thread", "delete_for_runs", "copy_thread", "prune")
    },
}


def _results(results: Any) -> Any:
    """Return what a batch of a store found, without times, order and scores."""
    return [sorted(map(_item, found), key=repr) if isinstance(found, list) else _item(found) for found in results]


def _item(found: Any) -> Any:
    if hasattr(found, "namespace"):
        return {"namespace": list(found.namespace), "key": found.key, "value": plain(found.value)}
    return found


def _batch(given: Arguments) -> Effects:
    """Tell what a batch does; one that yields its operations once is taken to do both."""
    operations = given.args[0] if given.args else given.named.get("ops")
    if not isinstance(operations, Sequence):
        return Effects(writes=True, reads=True)
    puts = sum(hasattr(operation, "value") for operation in operations)
    return Effects(writes=puts > 0, reads=puts < len(operations))


_BATCH = ShadowedCall(seen=_results, prepared=copied, effects=_batch)
STORE_CALLS: Mapping[str, ShadowedCall] = {"batch": _BATCH, "abatch": _BATCH}


def _session(found: Any) -> Any:
    """Return a session, or a list of them, without the time of its last update."""
    if found is None:
        return None
    if hasattr(found, "sessions"):
        return sorted(map(_session, found.sessions), key=lambda session: str(session["id"]))
    return {name: value for name, value in plain(found).items() if name != "last_update_time"}


def _with_session_id(given: Arguments, made: Any) -> Arguments:
    """Let ours have the id that the old service made."""
    return Arguments(given.args, {**given.named, "session_id": made.id})


def _unmarked(given: Arguments) -> Arguments:
    """Return a copy whose session does not have the mark by which the old service knows what it has stored."""
    prepared = copied(given)
    session = prepared.args[0] if prepared.args else prepared.named["session"]
    session._storage_update_marker = None  # noqa: SLF001 - ADK has it for its services
    return prepared


SESSION_SERVICE_CALLS: Mapping[str, ShadowedCall] = {
    "create_session": ShadowedCall(writes=True, seen=_session, prepared=copied, completed=_with_session_id),
    "get_session": ShadowedCall(seen=_session),
    "list_sessions": ShadowedCall(seen=_session),
    "delete_session": WRITE,
    "append_event": ShadowedCall(writes=True, prepared=_unmarked),
}


class ShadowedKind(NamedTuple):
    """A kind of store: what it is called, a method that only stores of the kind have, and its calls."""

    name: str
    method: str
    calls: Mapping[str, ShadowedCall]


KINDS = (
    ShadowedKind("session of the OpenAI Agents SDK", "get_items", SESSION_CALLS),
    ShadowedKind("chat history of LangChain", "add_messages", CHAT_HISTORY_CALLS),
    ShadowedKind("saver of LangGraph", "get_tuple", SAVER_CALLS),
    ShadowedKind("store of LangGraph", "abatch", STORE_CALLS),
    ShadowedKind("session service of Google ADK", "append_event", SESSION_SERVICE_CALLS),
)

A = TypeVar("A")


def shadowed(adapter: A, *, shadow_of: Any) -> A:
    """Make an adapter the shadow of the store that a host has, and return it.

    It stays of its class, and `shadow.report()` of it says what differs. Closing it does not close the old store.
    Raises `request.invalid`, with the kinds of stores that it takes: for an adapter of none of them, and for an old
    store that is not of the kind of the adapter.
    """
    kind = next((kind for kind in KINDS if hasattr(adapter, kind.method)), None)
    if kind is None:
        raise InvalidInput(at="adapter", problem="wrong_type", choices=[kind.name for kind in KINDS])
    if not hasattr(shadow_of, kind.method):
        raise InvalidInput(at="shadow_of", problem="wrong_type", choices=[kind.name])
    shadow(adapter, shadow_of, kind.calls)
    return adapter
