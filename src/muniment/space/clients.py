"""The clients of a store: who has a key, what it opens, and until when.

A client is a name; it has one key, and during an overlap after a rotation two. The record of the client decides: a key
that it does not list opens nothing, so that revoking or rotating is one change of one record, in force at once in every
process. A second record leads from a key to its client, named by the fingerprint of the key; it goes when the client
does not list the key any more.
"""

from __future__ import annotations

import contextlib
import hmac
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from muniment.crypto.client_key import fingerprint_of, is_client_key, new_client_key
from muniment.errors import AccessDenied, ClientExists, ClientMissing, NotAuthenticated
from muniment.events.identity import SpaceName
from muniment.governance.access import Access
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

    @property
    def until_ms(self) -> int | None:
        """When the last of its keys ends; None where one never does."""
        ends = [key.until_ms for key in self.keys]
        return None if None in ends else max(each for each in ends if each is not None)

    def with_keys_in_force(self, now_ms: int, fingerprint: str | None = None) -> Client | None:
        """Return the client with those of its keys alone that open something now, or with one; None without any."""
        keys = [
            key
            for key in self.keys
            if fingerprint in (None, key.fingerprint) and (key.until_ms is None or now_ms < key.until_ms)
        ]
        return replace(self, keys=keys) if keys else None

    def is_use_due(self, now_ms: int) -> bool:
        """Tell whether a use now is to be noted."""
        return self.used_ms is None or now_ms - self.used_ms >= USED_STEP_MS


class KeyOwner(Struct, frozen=True, kw_only=True):
    """Whose a key is, and a keyed digest of it: a fingerprint is too short to be trusted."""

    client: str
    digest: bytes


CLIENT = RecordKind("client", Client)
CLIENT_KEY = RecordKind("client_key", KeyOwner)
KEY_AND_CLIENT = (CLIENT_KEY, CLIENT)  # what says whose a key is


class Clients:
    """The clients of one open store. Thread-safe, and the same in every process that has the store open."""

    def __init__(self, store: OpenStore) -> None:
        self._records = store.records
        self._sources = store.sources

    def create(self, name: str, space: SpaceName, scope: ClientScope, until_ms: int | None) -> tuple[Client, str]:
        """Return a new client and its key, which is kept nowhere; raises `ClientExists`."""
        issued, key = self._issued(until_ms)
        made = Client(name=name, space=space, scope=scope, created_ms=issued.issued_ms, keys=[issued])

        def added(known: Client | None) -> Client:
            if known is not None:
                raise ClientExists(at="name")
            return made

        self._records.change(CLIENT, added, name)
        self._lead(key, name)
        return made, key

    def rotate(
        self, name: str, space: SpaceName, until_ms: int | None, *, within: Access, overlap_ms: int = 0
    ) -> tuple[Client, str]:
        """Return a client with a new key; the former one stops at once, or after an overlap.

        Raises `ClientMissing`, and `AccessDenied` for a client that may do more than `within`: who rotates has the key.
        """
        issued, key = self._issued(until_ms)
        end_ms = issued.issued_ms + overlap_ms

        def rotated(client: Client) -> Client:
            if not within.covers(client.scope.access()):
                raise AccessDenied(at="scope")
            former = client.keys[-1]
            until_ms = min(end_ms, former.until_ms or end_ms)
            kept = [replace(former, until_ms=until_ms)] if until_ms > issued.issued_ms else []
            return replace(client, keys=[*kept, issued])

        _, after = self._changed(name, space, rotated)
        assert after is not None, "it goes on"
        self._lead(key, name)
        return after, key

    def revoke(self, name: str, space: SpaceName) -> Client:
        """Let the keys of a client open nothing any more, and forget the client. Raises `ClientMissing`."""
        before, _ = self._changed(name, space, lambda _: None)
        return before

    def forget_space(self, space: SpaceName) -> int:
        """Revoke all clients of a space that was erased; return how many there were."""
        clients = self.listed(space)
        for client in clients:
            with contextlib.suppress(ClientMissing):  # another process came first
                self.revoke(client.name, space)
        return len(clients)

    def listed(self, space: SpaceName) -> list[Client]:
        """Return the clients of a space by their names."""
        return sorted(
            (client for client in self._records.all_of(CLIENT) if client.space == space), key=lambda one: one.name
        )

    def named(self, name: str, space: SpaceName) -> Client:
        """Return a client that has a key in force, and note the use: for who is known by a token instead.

        Raises `NotAuthenticated` without telling why.
        """
        client, now_ms = self._records.find(CLIENT, name), self._sources.clock.now_ms()
        known = None if client is None or client.space != space else client.with_keys_in_force(now_ms)
        if known is None:
            raise NotAuthenticated(problem="unknown_token")
        self._note_use(known, now_ms)
        return known

    def authenticated(self, key: str) -> Client:
        """Return whose key this is, with this key alone, and note the use.

        Raises `NotAuthenticated` without telling why.
        """
        if not is_client_key(key):
            raise NotAuthenticated(problem="unknown_key")
        fingerprint, digest = fingerprint_of(key), self._digest(key)

        def owner_of_key() -> Client | None:
            owner = self._records.find(CLIENT_KEY, fingerprint)
            if owner is None or not hmac.compare_digest(owner.digest, digest):
                return None
            return self._records.find(CLIENT, owner.client)

        client = self._records.remembered(digest, KEY_AND_CLIENT, owner_of_key)
        now_ms = self._sources.clock.now_ms()
        shown = None if client is None else client.with_keys_in_force(now_ms, fingerprint)
        if shown is None:
            raise NotAuthenticated(problem="unknown_key")
        self._note_use(shown, now_ms)
        return shown

    def at_once(self, key: str) -> Client | None:
        """Return what `authenticated` would, where that neither reads, writes nor waits; else None."""
        if not is_client_key(key):
            return None
        client: Client | None = self._records.at_once(self._digest(key), KEY_AND_CLIENT)
        now_ms = self._sources.clock.now_ms()
        shown = None if client is None else client.with_keys_in_force(now_ms, fingerprint_of(key))
        return None if shown is None or shown.is_use_due(now_ms) else shown

    def _note_use(self, client: Client, now_ms: int) -> None:
        if client.is_use_due(now_ms):
            self._records.change(
                CLIENT, lambda known: None if known is None else replace(known, used_ms=now_ms), client.name
            )

    def _issued(self, until_ms: int | None) -> tuple[IssuedKey, str]:
        """Return a new key, and what is kept of it."""
        key, now_ms = new_client_key(self._sources.entropy), self._sources.clock.now_ms()
        return IssuedKey(fingerprint=fingerprint_of(key), issued_ms=now_ms, until_ms=until_ms), key

    def _lead(self, key: str, name: str) -> None:
        """Let a key lead to its client."""
        owner = KeyOwner(client=name, digest=self._digest(key))
        self._records.change(CLIENT_KEY, lambda _: owner, fingerprint_of(key))

    def _digest(self, key: str) -> bytes:
        return self._records.digest("client key", key)

    def _changed(
        self, name: str, space: SpaceName, change: Callable[[Client], Client | None]
    ) -> tuple[Client, Client | None]:
        """Change a client of a space, or remove it; return it as it was and as it is.

        A key that it does not list any more leads nowhere. One of another space is as if there were none.
        """
        outcome: list[tuple[Client, Client | None]] = []

        def changed(known: Client | None) -> Client | None:
            if known is None or known.space != space:
                raise ClientMissing(at="client")
            outcome.append((known, change(known)))
            return outcome[-1][1]

        self._records.change(CLIENT, changed, name)
        before, after = outcome[-1]
        for key in before.keys:
            if after is None or key.fingerprint not in {kept.fingerprint for kept in after.keys}:
                self._records.change(CLIENT_KEY, lambda _: None, key.fingerprint)
        return before, after
