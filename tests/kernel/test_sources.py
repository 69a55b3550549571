"""Time, identity and chance: the same seed, the same bytes; and the system's own where no seed is named."""

from __future__ import annotations

import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from muniment.kernel.digest import unb64url
from muniment.kernel.sources import (
    ID_BYTES,
    EntropyIds,
    FixedClock,
    SeededEntropy,
    SystemClock,
    SystemEntropy,
    seeded_sources,
    system_sources,
)

seeds = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
takes = st.lists(st.integers(0, 100), max_size=6)


@given(seeds, takes)
def test_the_same_seed_gives_the_same_times_ids_and_bytes(seed: str, sizes: list[int]) -> None:
    """A replay needs nothing but the seed."""
    one, other = seeded_sources(seed), seeded_sources(seed)
    assert [one.entropy.take(size) for size in sizes] == [other.entropy.take(size) for size in sizes]
    assert [one.ids.new_id() for _ in sizes] == [other.ids.new_id() for _ in sizes]
    assert [one.clock.now_ms() for _ in sizes] == [other.clock.now_ms() for _ in sizes]


@given(seeds, seeds)
def test_different_seeds_give_different_bytes_and_ids(one: str, other: str) -> None:
    """Two fixtures never share a key by accident."""
    left, right = seeded_sources(one), seeded_sources(other)
    assert (left.entropy.take(32) == right.entropy.take(32)) == (one == other)
    assert (left.ids.new_id() == right.ids.new_id()) == (one == other)


def test_ids_and_bytes_of_one_seed_differ() -> None:
    sources = seeded_sources("seed")
    drawn = [sources.entropy.take(ID_BYTES) for _ in range(50)]
    made = [unb64url(sources.ids.new_id()) for _ in range(50)]
    assert len({*drawn, *made}) == 100


def test_a_seeded_stream_is_the_pinned_one() -> None:
    """SHAKE-256 of the length of the seed, the seed, and the number of the call."""
    entropy = SeededEntropy(b"seed")
    assert entropy.take(8).hex() == "ae78e96c8e95dd35"
    assert entropy.take(8).hex() == "03ae9bacd35a2f89"


def test_a_fixed_clock_moves_by_its_step() -> None:
    clock = FixedClock(100, step_ms=7)
    assert [clock.now_ms() for _ in range(3)] == [100, 107, 114]
    still = FixedClock(5)
    assert [still.now_ms() for _ in range(2)] == [5, 5]


def test_deterministic_sources_lose_no_draw_between_threads() -> None:
    entropy, clock = SeededEntropy(b"seed"), FixedClock(0, step_ms=1)
    seen: list[tuple[bytes, int]] = []

    def draw() -> None:
        seen.extend((entropy.take(16), clock.now_ms()) for _ in range(200))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({taken for taken, _ in seen}) == 1600
    assert {now for _, now in seen} == set(range(1600))


def test_the_system_sources_are_the_systems() -> None:
    sources = system_sources()
    before = time.time_ns() // 1_000_000
    assert before <= sources.clock.now_ms() <= time.time_ns() // 1_000_000
    assert isinstance(sources.clock, SystemClock)
    assert len({SystemEntropy().take(32) for _ in range(20)}) == 20


def test_an_id_is_128_bits_in_22_characters() -> None:
    ids = EntropyIds(SystemEntropy())
    made = {ids.new_id() for _ in range(50)}
    assert len(made) == 50
    assert all(len(one) == 22 and len(unb64url(one)) == ID_BYTES for one in made)
