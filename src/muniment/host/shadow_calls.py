"""Which calls of a framework's store write and which read: the tables of `shadow`, one for each kind of store.

| store | what does not count as a difference |
|---|---|
| session of the OpenAI Agents SDK | nothing |
| chat history of LangChain | nothing |
| saver of LangGraph | the order of writes of one checkpoint |
| store of LangGraph | times, and scores of a search |

A saver of LangGraph numbers the versions of its channels by itself, so the old one does it for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment.host.shadow import OLD_ALONE, READ, WRITE, ShadowedCall, copied, plain, unchanged

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


def _items(results: Any) -> Any:
    """Return what a store found, without times and scores."""
    if isinstance(results, list):
        return [_items(one) for one in results]
    if hasattr(results, "namespace"):
        return {"namespace": list(results.namespace), "key": results.key, "value": plain(results.value)}
    return results


# one batch reads and writes
_BATCH = ShadowedCall(writes=True, seen=_items, prepared=copied)
STORE_CALLS: Mapping[str, ShadowedCall] = {"batch": _BATCH, "abatch": _BATCH}
