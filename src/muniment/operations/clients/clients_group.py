"""The noun group `clients`: create, list, rotate and revoke the keys of programs that use a store over a network."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.operation import Effect, Family, Group, operation
from muniment.declaration.session import Session
from muniment.errors import AccessDenied, InvalidInput
from muniment.events.identity import SpaceName, SubjectId, check_name
from muniment.governance.access import covers_operation
from muniment.governance.client_scope import ClientScope, check_scope, gateway_scope
from muniment.kernel.times import DURATION, MOMENT
from muniment.space.clients import Client, Clients, IssuedKey

READER = ClientScope()
OVERLAP_MS_MAX = 30 * 24 * 3600 * 1000
Until = Annotated[int | None, Meta(description="When the key expires. Without it: never.", extra=MOMENT)]
ClientName = Annotated[str, Meta(description="Name of the client, unique in the store.")]


class ClientKeyIssued(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A new key of a client. This is the only time that `key` is shown; the store keeps a digest of it."""

    client: str
    key: str
    fingerprint: str
    space: SpaceName
    scope: ClientScope
    until_ms: int | None = None
    former: list[IssuedKey] = []  # keys that go on for a while


class ListedClient(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A client: what its keys allow, which they are, and the last use, to the minute."""

    client: str
    scope: ClientScope
    created_ms: int
    keys: list[IssuedKey]
    used_ms: int | None = None


class ClientList(Struct, frozen=True, kw_only=True):
    """The clients of a space, by name."""

    clients: list[ListedClient]


class ClientRevoked(Struct, frozen=True, kw_only=True):
    """A client that is none any more: the fingerprints of its keys, which are no longer valid."""

    client: str
    fingerprints: list[str]


class ClientGroup(Group):
    """Clients: programs that use this space over a network, each with a key of its own."""

    name = "clients"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.ADMIN, family=Family.STORE, secret=True, request="CreateClientRequest")
    def create(
        self,
        client: Annotated[
            str | None,
            Meta(
                description="Name of the client, unique in the store. Without it: that of the gateway user.",
                examples=["assistant"],
            ),
        ] = None,
        scope: Annotated[ClientScope, Meta(description="What the key allows.")] = READER,
        until_ms: Until = None,
        gateway_user: Annotated[
            SubjectId | None,
            Meta(description="Subject that may use the memory gateway with this key, instead of a scope."),
        ] = None,
    ) -> ClientKeyIssued:
        """Create a client of the open space and show its key, once.

        The key is valid for the open space alone, allows no more than its creator may do, and lasts no longer than the
        key that its creator shows. It is 256 bits behind the prefix `mun_`, with a checksum at its end. The store keeps
        a digest of it, and the fingerprint that lists and logs show in its place. For a `gateway_user` it is the user
        key of `/memories/*`, and allows no more than these need of this subject. Raises `client.exists`,
        `request.invalid` and `access.denied`.
        """
        if gateway_user is not None:
            if scope != READER:
                raise InvalidInput(at="gateway_user", problem="not_expected")
            scope = gateway_scope(gateway_user)
        client = gateway_user if client is None else client
        if client is None:
            raise InvalidInput(at="client", problem="missing_field")
        check_name(client, at="client")
        check_scope(scope)
        for name in scope.operations or ():
            if not any(covers_operation(frozenset({name}), each.path) for each in self._session.catalogue()):
                raise InvalidInput(at="scope.operations", problem="unknown_word")
        if not self._session.access.covers(scope.access()):
            raise AccessDenied(at="scope")
        self._check_until(until_ms)
        made, key = Clients(self._session.store).create(client, self._session.space.name, scope, until_ms)
        return _issued(made, key)

    @operation(Effect.ADMIN, family=Family.STORE, request="ListClientsRequest")
    def list_(self) -> ClientList:
        """List the clients of the open space: scope, keys by their fingerprints, last use. Shows no key."""
        found = Clients(self._session.store).listed(self._session.space.name)
        return ClientList(
            clients=[
                ListedClient(
                    client=one.name, scope=one.scope, created_ms=one.created_ms, keys=one.keys, used_ms=one.used_ms
                )
                for one in found
            ]
        )

    @operation(Effect.ADMIN, family=Family.STORE, secret=True, request="RotateClientRequest")
    def rotate(
        self,
        client: ClientName,
        overlap_ms: Annotated[
            int,
            Meta(description="How long the old key stays valid. 0: not at all.", extra=DURATION),
        ] = 0,
        until_ms: Until = None,
    ) -> ClientKeyIssued:
        """Give a client a new key and show it, once; the old key stops at once unless an overlap is given.

        An overlap is at most 30 days, and a second rotation ends it. A client that may do more than the caller keeps
        its key, and the new key lasts no longer than the one that the caller shows. Raises `client.missing`,
        `request.invalid` and `access.denied`.
        """
        if not 0 <= overlap_ms <= OVERLAP_MS_MAX:
            raise InvalidInput(at="overlap_ms", problem="out_of_range", limit=OVERLAP_MS_MAX, found=overlap_ms)
        self._check_until(until_ms)
        clients, space = Clients(self._session.store), self._session.space.name
        within = self._session.access
        rotated, key = clients.rotate(client, space, until_ms, within=within, overlap_ms=overlap_ms)
        return _issued(rotated, key)

    @operation(Effect.ADMIN, family=Family.STORE, request="RevokeClientRequest")
    def revoke(self, client: ClientName) -> ClientRevoked:
        """Revoke the keys of a client and remove it; at once, in every process. Raises `client.missing`."""
        gone = Clients(self._session.store).revoke(client, self._session.space.name)
        return ClientRevoked(client=client, fingerprints=[key.fingerprint for key in gone.keys])

    def _check_until(self, until_ms: int | None) -> None:
        now_ms = self._session.space.sources.clock.now_ms()
        if until_ms is not None and until_ms <= now_ms:
            raise InvalidInput(at="until_ms", problem="in_the_past")
        callers_ms = self._session.client_until_ms
        if callers_ms is not None and (until_ms is None or until_ms > callers_ms):
            raise AccessDenied(at="until_ms", problem="outlives_caller", limit=callers_ms)


def _issued(client: Client, key: str) -> ClientKeyIssued:
    newest = client.keys[-1]
    return ClientKeyIssued(
        client=client.name,
        key=key,
        fingerprint=newest.fingerprint,
        space=client.space,
        scope=client.scope,
        until_ms=newest.until_ms,
        former=client.keys[:-1],
    )
