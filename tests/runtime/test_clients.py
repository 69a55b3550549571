"""Client keys through the front door: what a key opens, for how long, and what is kept of it."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import AccessDenied, ClientExists, ClientMissing, InvalidInput, NotAuthenticated
from muniment.events.archive import ArchiveScope, ScopeKind
from muniment.events.identity import Channel, SubjectId
from muniment.governance.access import Access, Effect
from muniment.governance.client_scope import ClientScope
from muniment.governance.views import View
from muniment.operations.clients.clients_group import ClientKeyIssued
from muniment.runtime.runtime import Runtime
from muniment.space.clients import CLIENT_KEY
from tests.turns import plain_turn
from tests.worlds import FileWorld, World, key_of, memory_world, sqlite_world

HOUR_MS = 3_600_000
ALL_RIGHTS = ClientScope(effects=list(Effect), views=list(View))


def entered(runtime: Runtime, key: str) -> Runtime:
    """Return what a key opens."""
    return runtime.as_client(runtime.client_of(key))


def test_a_key_opens_what_its_scope_names_and_nothing_else(world: World) -> None:
    world.with_turns(1)
    reader = entered(world.runtime, world.runtime.clients.create("desk").key)
    assert reader.transcripts.replay(key_of(), View.HOST_UI).turns
    with pytest.raises(AccessDenied):
        reader.transcripts.replay(key_of(), View.RAW_OWNER)
    with pytest.raises(AccessDenied):
        reader.transcripts.commit(plain_turn(2))
    with pytest.raises(AccessDenied):
        reader.clients.list_()


def test_the_space_follows_from_the_key(world: World) -> None:
    """A key of another space opens that one, and sees nothing of this."""
    other = world.runtime.space("other")
    key = other.clients.create("desk", ClientScope(effects=[Effect.READ, Effect.APPEND])).key
    world.with_turns(1)
    entered(world.runtime, key).transcripts.commit(plain_turn(7))
    assert [turn.turn for turn in other.transcripts.replay(key_of()).turns] == ["turn-7"]
    assert [turn.turn for turn in world.runtime.transcripts.replay(key_of()).turns] == ["turn-1"]
    assert world.runtime.clients.list_().clients == []
    for call in (world.runtime.clients.rotate, world.runtime.clients.revoke):
        with pytest.raises(ClientMissing):
            call("desk")


def test_a_client_reaches_nothing_beyond_its_space(world: World) -> None:
    """Whatever its scope is: no name of another space, no log of it, no key of the store, and no end for everybody."""
    world.runtime.space("other").transcripts.commit(plain_turn(1))
    scope = ClientScope(effects=list(Effect), views=list(View))
    client = entered(world.runtime, world.runtime.clients.create("desk", scope).key)
    beyond: list[Callable[[], object]] = [
        client.spaces.list_,
        client.system.close,
        lambda: client.space("other"),
        lambda: client.spaces.rotate("env:NO_SUCH_KEY"),
        lambda: client.archives.inspect(io.BytesIO(b"x"), "env:NO_SUCH_KEY"),
        lambda: client.archives.import_(io.BytesIO(b"x"), ArchiveScope(kind=ScopeKind.SHARED), sealed_by="env:NO_KEY"),
    ]
    for call in beyond:
        with pytest.raises(AccessDenied):
            call()
    assert len(world.runtime.evidence.audit().spaces) == 2
    assert [space.origin for space in client.evidence.audit().spaces] == [client.evidence.checkpoint().origin]
    assert client.spaces.rotate().version


def test_nobody_gets_a_key_to_more_than_they_may_do_by_rotating_one(world: World) -> None:
    """Whoever rotates is shown the new key, so it may open no more than they do."""
    clients = world.runtime.clients
    clients.create("owner", ClientScope(effects=list(Effect), views=list(View)))
    clients.create("desk", ClientScope(effects=[Effect.READ]))
    kept = clients.list_()
    doorkeeper = Access(
        effects=frozenset({Effect.READ, Effect.ADMIN}), views=frozenset({View.HOST_UI}), operations=None
    )
    limited = world.runtime.restricted(doorkeeper).clients
    with pytest.raises(AccessDenied):
        limited.rotate("owner")
    assert clients.list_() == kept
    assert entered(world.runtime, limited.rotate("desk").key).clients is not None
    of_clients = world.runtime.restricted(Access(operations=frozenset({"clients.*"}))).clients
    with pytest.raises(AccessDenied):
        of_clients.rotate("desk")


def test_a_rotated_key_stops_at_once_unless_an_overlap_is_given(world: World) -> None:
    clients = world.runtime.clients
    first = clients.create("desk").key
    second = clients.rotate("desk").key
    with pytest.raises(NotAuthenticated):
        world.runtime.client_of(first)
    third = clients.rotate("desk", overlap_ms=HOUR_MS)
    former, newest = world.runtime.client_of(second), world.runtime.client_of(third.key)
    assert [key.fingerprint for key in third.former] == [key.fingerprint for key in former.keys]
    assert [key.fingerprint for key in newest.keys] == [third.fingerprint]
    assert former.name == newest.name
    fourth = clients.rotate("desk").key
    for gone in (first, second, third.key):
        with pytest.raises(NotAuthenticated):
            world.runtime.client_of(gone)
    assert world.runtime.client_of(fourth).name == "desk"


def test_a_key_ends_at_its_moment_and_a_revoked_one_at_once(world: World) -> None:
    clients = world.runtime.clients
    clients.create("clock")
    now_ms = clients.list_().clients[0].created_ms
    brief = clients.create("brief", until_ms=now_ms + 30_000).key  # every reading of this clock is a second later
    assert world.runtime.client_of(brief).name == "brief"
    for _ in range(40):
        clients.list_()
    with pytest.raises(NotAuthenticated):
        world.runtime.client_of(brief)
    key = clients.create("desk").key
    assert clients.revoke("desk").fingerprints
    with pytest.raises(NotAuthenticated):
        world.runtime.client_of(key)
    with pytest.raises(ClientMissing):
        clients.revoke("desk")
    assert clients.create("desk").key != key, "the name is free again"


def test_what_another_process_does_to_a_key_counts_at_once(lasting: FileWorld, tmp_path: Path) -> None:
    """A key is remembered only for as long as no record of a client changes, whoever changes it."""
    here, elsewhere = lasting.runtime, sqlite_world(tmp_path).runtime
    key = here.clients.create("desk", ClientScope(requests_per_minute=7)).key
    for _ in range(3):
        assert here.client_of(key).scope.requests_per_minute == 7
    other = elsewhere.clients.rotate("desk").key
    with pytest.raises(NotAuthenticated):
        here.client_of(key)
    assert here.client_of(other) == here.client_of(other)
    elsewhere.clients.revoke("desk")
    with pytest.raises(NotAuthenticated):
        here.client_of(other)
    elsewhere.close()


def test_what_is_known_at_once_of_a_key_is_never_what_it_once_opened(lasting: FileWorld, tmp_path: Path) -> None:
    """An event loop asks for it and waits for nobody; None sends it to `client_of`."""
    here, elsewhere = lasting.runtime, sqlite_world(tmp_path).runtime
    clients = here.clients
    key = clients.create("desk").key
    assert here.client_at_once(key) is None, "nobody has asked yet"
    changes: list[Callable[[], object]] = [
        list,
        lambda: elsewhere.clients.create("other"),
        lambda: clients.rotate("desk", overlap_ms=HOUR_MS),
        lambda: elsewhere.clients.revoke("other"),
    ]
    for change in changes:
        change()
        assert here.client_at_once(key) is None
        here.client_of(key)  # notes the use
        known = here.client_of(key)
        assert here.client_at_once(key) == here.client_at_once(key) == known
    elsewhere.clients.rotate("desk")
    assert here.client_at_once(key) is None
    with pytest.raises(NotAuthenticated):
        here.client_of(key)
    elsewhere.close()


def test_nothing_is_known_at_once_of_a_key_that_expired_or_is_none(world: World) -> None:
    clients = world.runtime.clients
    clients.create("clock")
    now_ms = clients.list_().clients[0].created_ms
    brief = clients.create("brief", until_ms=now_ms + 30_000).key  # every reading of this clock is a second later
    for _ in range(2):
        world.runtime.client_of(brief)
    assert world.runtime.client_at_once(brief) is not None
    known = [world.runtime.client_at_once(brief) for _ in range(30)]
    assert known[-1] is None
    assert not any(known[known.index(None) :])
    assert not any(
        map(world.runtime.client_at_once, ("", "no key", brief[:-1], brief.swapcase(), "\ud800" * len(brief)))
    )


def test_what_is_known_at_once_does_not_wait_for_whoever_writes(lasting: FileWorld) -> None:
    runtime = lasting.runtime
    key = runtime.clients.create("desk").key
    for _ in range(2):
        runtime.client_of(key)
    file = runtime._session.store.records._file
    with ThreadPoolExecutor(1) as pool, file._lock:
        assert pool.submit(runtime.client_at_once, key).result(timeout=10) is None
    assert runtime.client_at_once(key) is not None


def test_a_name_stands_for_a_client_of_this_space_while_a_key_of_it_is_in_force(world: World) -> None:
    """For who is known by a token: a client of another space, one whose keys expired, and none are refused alike."""
    runtime, clients = world.runtime, world.runtime.clients
    clients.create("desk")
    now_ms = clients.list_().clients[0].created_ms
    clients.create("brief", until_ms=now_ms + 30_000)  # every reading of this clock is a second later
    runtime.space("other").clients.create("elsewhere")
    assert (runtime.client_named("desk").name, runtime.client_named("brief").name) == ("desk", "brief")
    assert clients.list_().clients[1].used_ms
    for _ in range(40):
        runtime.client_named("desk")
    for name in ("brief", "elsewhere", "nobody", ""):
        with pytest.raises(NotAuthenticated) as refused:
            runtime.client_named(name)
        assert refused.value.problem == "unknown_token"
    assert runtime.space("other").client_named("elsewhere").name == "elsewhere"


@pytest.mark.parametrize("text", ["", "mun_", "x" * 53, "mun_" + "0" * 43 + "3RwaA8", "mun_" + "é" * 49, "\ud800"])
def test_what_is_no_key_of_this_store_opens_nothing(world: World, text: str) -> None:
    world.runtime.clients.create("desk")
    with pytest.raises(NotAuthenticated):
        world.runtime.client_of(text)


def test_nobody_gives_away_more_than_they_have(world: World) -> None:
    limited = world.runtime.restricted(
        Access(effects=frozenset({Effect.READ, Effect.ADMIN}), views=frozenset({View.HOST_UI}), subject="ada")
    )
    for scope in (
        ClientScope(),  # another subject than ada's
        ClientScope(subject=SubjectId("bob")),
        ClientScope(subject=SubjectId("ada"), effects=[Effect.ERASE]),
        ClientScope(subject=SubjectId("ada"), views=[View.RAW_OWNER]),
    ):
        with pytest.raises(AccessDenied):
            limited.clients.create("desk", scope)
    world.runtime.clients.create("desk", ClientScope(subject=SubjectId("ada")))


ENDS = st.none() | st.integers(1, 9)  # in hours from the beginning; None: never


@given(callers=ENDS, wanted=ENDS, rotates=st.booleans())
def test_no_key_makes_one_that_outlives_it(callers: int | None, wanted: int | None, rotates: bool) -> None:
    """A key makes and rotates keys that end no later than it does itself; whoever shows none is not bound by this."""
    with contextlib.closing(memory_world()) as world:
        clients = world.runtime.clients
        clients.create("clock")
        now_ms = clients.list_().clients[0].created_ms

        def at(hours: int | None) -> int | None:
            return None if hours is None else now_ms + hours * HOUR_MS

        clients.create("desk")
        entrant = entered(world.runtime, clients.create("admin", ALL_RIGHTS, at(callers)).key).clients

        def make() -> ClientKeyIssued:
            return entrant.rotate("desk", until_ms=at(wanted)) if rotates else entrant.create("x", until_ms=at(wanted))

        if callers is None or (wanted is not None and wanted <= callers):
            assert make().until_ms == at(wanted)
            return
        with pytest.raises(AccessDenied) as refused:
            make()
        assert (refused.value.at, refused.value.limit) == ("until_ms", at(callers))
        assert [one.client for one in clients.list_().clients] == ["admin", "clock", "desk"]


def test_a_key_that_goes_on_for_an_overlap_gives_nobody_more_time_than_it_has(world: World) -> None:
    """Whoever stole the former key of a client does not outlive the rotation; nor does one that is named by a token."""
    clients = world.runtime.clients
    former = clients.create("admin", ALL_RIGHTS).key
    newest = clients.rotate("admin", overlap_ms=HOUR_MS)
    stolen = entered(world.runtime, former).clients
    for until_ms in (None, newest.former[0].until_ms + 1):  # type: ignore[operator]  # it has an end
        with pytest.raises(AccessDenied, match="would last longer than the one that asks for it"):
            stolen.create("x", until_ms=until_ms)
        with pytest.raises(AccessDenied):
            stolen.rotate("admin", until_ms=until_ms)
    stolen.create("x", until_ms=newest.former[0].until_ms)
    assert entered(world.runtime, newest.key).clients.create("y").until_ms is None
    brief_ms = newest.former[0].until_ms
    clients.rotate("admin", until_ms=brief_ms)
    with pytest.raises(AccessDenied):
        world.runtime.as_client(world.runtime.client_named("admin")).clients.create("z")


def test_names_scopes_and_moments_are_checked(world: World) -> None:
    clients = world.runtime.clients
    clients.create("desk")
    with pytest.raises(ClientExists):
        clients.create("desk")
    for scope in (
        ClientScope(effects=[]),
        ClientScope(views=[]),
        ClientScope(channels=[]),
        ClientScope(channels=[Channel("x")] * 101),
        ClientScope(channels=[Channel(" ")]),
        ClientScope(subject=SubjectId(" ")),
        ClientScope(requests_per_minute=0),
        ClientScope(operations=["transcripts.nothing"]),
        ClientScope(operations=["nothing.*"]),
    ):
        with pytest.raises(InvalidInput):
            clients.create("other", scope)
    with pytest.raises(InvalidInput):
        clients.create(" ")
    with pytest.raises(InvalidInput):
        clients.create("other", until_ms=1)
    with pytest.raises(InvalidInput):
        clients.rotate("desk", overlap_ms=-1)
    assert [one.client for one in clients.list_().clients] == ["desk"]


def test_the_last_use_is_kept_to_the_minute(world: World) -> None:
    key = world.runtime.clients.create("desk").key
    assert world.runtime.clients.list_().clients[0].used_ms is None
    world.runtime.client_of(key)
    used_ms = world.runtime.clients.list_().clients[0].used_ms
    assert used_ms is not None
    world.runtime.client_of(key)
    assert world.runtime.clients.list_().clients[0].used_ms == used_ms


def test_clients_stay_when_the_store_is_opened_again_and_nothing_of_a_key_is_on_the_disk(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path)
    key = world.runtime.clients.create("the front desk").key
    world.reopened()
    assert world.runtime.client_of(key).name == "the front desk"
    world.runtime.spaces.rotate()
    assert world.runtime.client_of(key).name == "the front desk"
    world.close()
    bytes_on_disk = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in (key, key[4:], "the front desk", "host_ui"):
        assert secret.encode() not in bytes_on_disk
    (file,) = tmp_path.rglob("operational.db")
    assert file.stat().st_mode & 0o777 == 0o600


def test_keys_that_open_nothing_leave_nothing(world: World) -> None:
    """However often a client gets another key, or a name is taken: one record for each key in force."""
    clients = world.runtime.clients
    clients.create("desk")
    with pytest.raises(ClientExists):
        clients.create("desk")
    for _ in range(3):
        clients.rotate("desk", overlap_ms=HOUR_MS)
    records = clients._session.store.records
    assert len(records.all_of(CLIENT_KEY)) == 2
    clients.revoke("desk")
    assert records.all_of(CLIENT_KEY) == []


def test_a_fingerprint_alone_opens_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of the same fingerprint as another one is another key."""
    monkeypatch.setattr("muniment.space.clients.fingerprint_of", lambda _: "0" * 12)
    world.runtime.clients.create("desk")
    with pytest.raises(NotAuthenticated):
        world.runtime.client_of("mun_" + "0" * 43 + "3RwaA8")


def test_whoever_asks_for_no_client_makes_no_file(lasting: FileWorld, tmp_path: Path) -> None:
    assert lasting.runtime.clients.list_().clients == []
    with pytest.raises(NotAuthenticated):
        lasting.runtime.client_of("mun_" + "0" * 43 + "3RwaA8")
    assert list(tmp_path.rglob("operational.db*")) == []


def test_losing_the_operational_file_loses_no_turn(lasting: FileWorld, tmp_path: Path) -> None:
    """Keys are gone with it, and can be made again."""
    key = lasting.with_turns(2).runtime.clients.create("desk").key
    lasting.close()
    for path in tmp_path.rglob("operational.db*"):
        path.unlink()
    again = sqlite_world(tmp_path)
    assert len(again.runtime.transcripts.replay(key_of()).turns) == 2
    with pytest.raises(NotAuthenticated):
        again.runtime.client_of(key)
    assert again.runtime.clients.create("desk").key != key
    again.close()
