"""Spaces that close when others need the room: what was acknowledged stays, and nobody has a closed one."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

import muniment
from muniment.errors import StoreClosed
from muniment.evidence.pin import FilePin
from muniment.governance.access import Access, Effect
from muniment.governance.client_scope import ClientScope
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.turns import plain_turn
from tests.worlds import PINS, STORE, key_of, memory_world, root_key

EVERYTHING = ClientScope(effects=list(Effect), views=list(View))
SPACES_MAX = 4


class Tenants:
    """A store with many spaces, each with a client, opened with room for a few."""

    def __init__(self, home: Path, count: int) -> None:
        self._home = home
        with self.opened(None) as owner:
            self.keys = [owner.space(f"tenant-{n}").clients.create(f"c-{n}", EVERYTHING).key for n in range(count)]
        self.runtime = self.opened(SPACES_MAX)

    def opened(self, spaces_max: int | None) -> Runtime:
        """Open the store."""
        pin, sources = FilePin(self._home / PINS), seeded_sources(f"tenants {spaces_max}")
        options = Options(sources=sources, pin=pin, spaces_max=spaces_max)
        return muniment.open(self._home / STORE, keys=root_key(), options=options)

    def enter(self, number: int) -> Runtime:
        """Return what a client has."""
        return self.runtime.as_client(self.runtime.client_of(self.keys[number]))

    def visit(self, *numbers: int) -> None:
        """Enter spaces and leave them, one after the other."""
        for number in numbers:
            self.enter(number).close()

    @property
    def open(self) -> list[str]:
        """The names of the spaces that are open, besides the one that the store was opened with."""
        return [space.name for space in self.runtime._session.store._spaces.listed() if space.name != "default"]


@pytest.fixture
def tenants(tmp_path: Path) -> Iterator[Tenants]:
    """Return a store with six clients."""
    made = Tenants(tmp_path, 6)
    yield made
    made.runtime.close()


def test_no_client_of_a_closed_space_is_known_at_once(tenants: Tenants) -> None:
    """Opening a space takes its time, which an event loop has not."""
    tenants.visit(0, 0)
    assert tenants.runtime.client_at_once(tenants.keys[0]) is not None
    tenants.visit(1, 2, 3, 4)
    tenants.runtime.client_of(tenants.keys[0])
    assert tenants.runtime.client_at_once(tenants.keys[0]) is None
    tenants.visit(0)
    assert tenants.runtime.client_at_once(tenants.keys[0]) is not None


def test_the_one_that_nobody_entered_for_longest_is_closed(tenants: Tenants) -> None:
    """The space that the store was opened with is one of the four, and always in use."""
    tenants.visit(0, 1, 2, 0, 3)
    assert tenants.open == ["tenant-2", "tenant-0", "tenant-3"]


def test_a_space_in_use_stays_open_whatever_the_limit(tenants: Tenants) -> None:
    held = [tenants.enter(number) for number in range(5)]
    assert len(tenants.open) == 5
    for runtime in held:
        assert runtime.transcripts.commit(plain_turn(1)).committed
        runtime.close()
        runtime.close()  # a second time leaves nothing
    assert tenants.open == ["tenant-2", "tenant-3", "tenant-4"]


def test_two_in_one_space_leave_it_one_by_one(tenants: Tenants) -> None:
    first, second = tenants.enter(0), tenants.enter(0)
    first.restricted(Access(effects=frozenset({Effect.READ}))).close()  # nobody's but the one that it was made from
    first.close()
    tenants.visit(1, 2, 3, 4)
    assert second.transcripts.commit(plain_turn(1)).committed
    second.close()
    tenants.visit(1, 2, 3, 4)
    with pytest.raises(StoreClosed):
        second.transcripts.commit(plain_turn(2))


def test_a_space_that_is_closed_has_its_head_pinned_and_its_words_kept(tenants: Tenants) -> None:
    runtime = tenants.enter(0)
    receipt = runtime.transcripts.commit(plain_turn(1))
    assert receipt.position is not None
    assert runtime.transcripts.search("parcel").hits == []
    space = runtime._session.inspected
    runtime.close()
    tenants.visit(1, 2, 3, 4)
    pinned = space.notary.pinned()
    assert pinned is not None
    assert pinned.size == receipt.position + 1
    assert [turn.turn for turn in tenants.enter(0).transcripts.replay(key_of()).turns] == ["turn-1"]
    assert tenants.runtime._session.store._memory.memory_bytes == 0


def test_a_store_in_memory_closes_nothing() -> None:
    with muniment.open("memory:", options=Options(spaces_max=1)) as runtime:
        keys = [runtime.space(name).clients.create(name, EVERYTHING).key for name in ("one", "two")]
        for key in keys * 2:
            with runtime.as_client(runtime.client_of(key)) as client:
                client.transcripts.commit(plain_turn(1))
                assert len(client.transcripts.replay(key_of()).turns) == 1


def test_spaces_that_others_open_and_close_all_the_time_lose_nothing(tenants: Tenants) -> None:
    """Eight threads, six spaces, room for three: every commit is acknowledged, and each is there in the end."""
    committed: Counter[int] = Counter()
    lock = threading.Lock()

    def work(seed: int) -> None:
        chance = Random(seed)
        for number in range(12):
            tenant = chance.randrange(6)
            with tenants.enter(tenant) as runtime:
                receipt = runtime.transcripts.commit(plain_turn(seed * 100 + number))
                assert receipt.committed
                assert receipt.turn in {turn.turn for turn in runtime.transcripts.replay(key_of()).turns}
            with lock:
                committed[tenant] += 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    for tenant, turns in committed.items():
        with tenants.enter(tenant) as runtime:
            assert len(runtime.transcripts.replay(key_of(), limit=200).turns) == turns
            assert runtime.system.health().sound
    assert len(tenants.open) == SPACES_MAX - 1


def test_keys_are_rotated_while_spaces_come_and_go(tenants: Tenants, tmp_path: Path) -> None:
    """A space that is opened behind a rotation of the root key is opened with the new one."""
    held = tenants.enter(0)
    tenants.visit(1, 2, 3)
    tenants.runtime.spaces.rotate(root=f"file:{tmp_path}/new.key")
    tenants.visit(4, 5, 1)
    held.spaces.rotate()
    held.close()
    for number in range(6):
        with tenants.enter(number) as runtime:
            assert runtime.transcripts.commit(plain_turn(1)).committed


def test_worlds_without_a_limit_close_nothing() -> None:
    world = memory_world()
    store = world.runtime._session.store
    for name in ("a", "b", "c"):
        world.runtime.space(name)
    assert len(store._spaces.listed()) == 4
    world.close()
    assert store._spaces.listed() == []
