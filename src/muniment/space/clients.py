"""The clients of a store: who has a key, what it opens, and until when.

A client is a name; it has one key, and during an overlap after a rotation two. The record of the client decides: a key
that it does not list opens nothing, so that revoking or rotating is one change of one record, in force at once in every
process. A second record leads from a key to its client; without the first it leads nowhere.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from muniment.crypto.client_key import fingerprint_of, is_client_key, new_client_key
from muniment.errors import ClientExists, ClientMissing, NotAuthenticated
from muniment.events.identity import SpaceName
from muniment.governance.client_scope import ClientScope
from muniment.space.open_store import OpenStore
from muniment.space.operational_records import RecordKind

USED_STEP_MS = 60_000  # the last use is kept to the minute, so that reading does not write


class IssuedKey(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key that was issued, by its fingerprint, and the moment until which it opens anything."""

    fingerprint: str
    issued_ms: int
    until_ms: int | None = None


class Client(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody with a key to one space."""

    name: str
    space: SpaceName
    scope: ClientScope
    created_ms: int
    keys: list[IssuedKey]  # the newest is the last
    used_ms: int | None = None

    def key_in_force(self, fingerprint: str, now_ms: int) -> bool:
        """Tell whether a key of this fingerprint opens anything now."""
        return any(
            key.fingerprint == fingerprint and (key.until_ms is None or now_ms < key.until_ms) for key in self.keys
        )


class KeyOwner(Struct, frozen=True, kw_only=True):
    """Whose a key is."""

    client: str


CLIENT = RecordKind("client", Client)
CLIENT_KEY = RecordKind("client_key", KeyOwner)


class Clients:
    """The clients of one open store. Thread-safe, and the same in every process that has the store open."""

    def __init__(self, store: OpenStore) -> None:
        self._records = store.records
        self._sources = store.sources

    def create(self, name: str, space: SpaceName, scope: ClientScope, until_ms: int | None) -> tuple[Client, str]:
        """Return a new client and its key, which is kept nowhere; raises `ClientExists`."""
        now_ms = self._sources.clock.now_ms()
        key = self._new_key(name)
        issued = IssuedKey(fingerprint=fingerprint_of(key), issued_ms=now_ms, until_ms=until_ms)
        made = Client(name=name, space=space, scope=scope, created_ms=now_ms, keys=[issued])

        def added(known: Client | None) -> Client:
            if known is not None:
                raise ClientExists(at="name")
            return made

        self._records.change(CLIENT, added, name)
        return made, key

    def rotate(self, name: str, space: SpaceName, until_ms: int | None, *, overlap_ms: int = 0) -> tuple[Client, str]:
        """Return a client with a new key; the former one stops at once, or after an overlap. Raises `ClientMissing`."""
        now_ms = self._sources.clock.now_ms()
        key = self._new_key(name)
        issued = IssuedKey(fingerprint=fingerprint_of(key), issued_ms=now_ms, until_ms=until_ms)

        def rotated(client: Client) -> Client:
            former = client.keys[-1]
            end_ms = min(now_ms + overlap_ms, former.until_ms or now_ms + overlap_ms)
            kept = [replace(former, until_ms=end_ms)] if end_ms > now_ms else []
            return replace(client, keys=[*kept, issued])

        return self._changed(name, space, rotated), key

    def revoke(self, name: str, space: SpaceName) -> Client:
        """Let the keys of a client open nothing any more, and forget the client. Raises `ClientMissing`."""
        found: list[Client] = []

        def removed(known: Client | None) -> None:
            found.append(_of_space(known, space))

        self._records.change(CLIENT, removed, name)
        return found[-1]

    def listed(self, space: SpaceName) -> list[Client]:
        """Return the clients of a space by their names."""
        return sorted(
            (client for client in self._records.all_of(CLIENT) if client.space == space), key=lambda one: one.name
        )

    def authenticated(self, key: str) -> Client:
        """Return whose key this is, and note the use; raises `NotAuthenticated` without telling why."""
        owner = self._records.find(CLIENT_KEY, key) if is_client_key(key) else None
        client = None if owner is None else self._records.find(CLIENT, owner.client)
        now_ms = self._sources.clock.now_ms()
        if client is None or not client.key_in_force(fingerprint_of(key), now_ms):
            raise NotAuthenticated(problem="unknown_key")
        if client.used_ms is None or now_ms - client.used_ms >= USED_STEP_MS:
            self._records.change(
                CLIENT, lambda known: None if known is None else replace(known, used_ms=now_ms), client.name
            )
        return client

    def _new_key(self, name: str) -> str:
        key = new_client_key(self._sources.entropy)
        self._records.change(CLIENT_KEY, lambda _: KeyOwner(client=name), key)
        return key

    def _changed(self, name: str, space: SpaceName, change: Callable[[Client], Client]) -> Client:
        outcome: list[Client] = []

        def changed(known: Client | None) -> Client:
            outcome.append(change(_of_space(known, space)))
            return outcome[-1]

        self._records.change(CLIENT, changed, name)
        return outcome[-1]


def _of_space(known: Client | None, space: SpaceName) -> Client:
    """Return a client of this space; one of another space is as if there were none."""
    if known is None or known.space != space:
        raise ClientMissing(at="client")
    return known
