"""Vectors at rest: they come back with the index, for their embedder alone, and go with the words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import muniment
from muniment.embedding.protocol import Embedder
from muniment.evidence.pin import FilePin
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.ledger.snapshots import Snapshots
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.embedding.embedders import Words
from tests.turns import answer, question
from tests.worlds import PINS, World, root_key

TURNS = 12
PASSAGES = 2 * TURNS

Opening = Callable[[Embedder | None], World]


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Opening]:
    """Return what closes the store, if it is open, and opens it with an embedder."""
    open_now: list[World] = []

    def opened(embedder: Embedder | None) -> World:
        while open_now:
            open_now.pop().close()

        def again(_times: int) -> Runtime:
            pin = FilePin(tmp_path / PINS)
            sources = seeded_sources(f"vectors-{len(list(tmp_path.iterdir()))}")
            return muniment.open(
                tmp_path / "store", keys=root_key(), options=Options(sources=sources, pin=pin, embedder=embedder)
            )

        open_now.append(World(again))
        return open_now[-1]

    yield opened
    while open_now:
        open_now.pop().close()


def vectors_now(world: World) -> int:
    """Return how many vectors there are before anything is embedded."""
    with world.runtime._session.space.indexes.caught_up(View.HOST_UI) as (index, _):
        return len(index.meaning)


def kept_numbers(world: World) -> bytes:
    """Return the vectors in the snapshot, decrypted."""
    snapshots = world.runtime._session.space.lazy_indexes._snapshots
    assert isinstance(snapshots, Snapshots)
    lock = snapshots.unlock(View.HOST_UI)
    assert lock is not None
    sections = snapshots.read(View.HOST_UI, lock)
    assert sections is not None
    return sections.get("vectors/numbers", b"")


def packed(embedder: Words, text: str) -> bytes:
    """Return the vector of a text as it is kept."""
    row = embedder.encode([text], query=False)[0]
    rounded = np.rint(row / (np.abs(row).max() / np.float32(127)))
    return bytes(rounded.astype(np.int8).tobytes())


def test_vectors_are_made_once_and_come_back_with_the_index(opening: Opening) -> None:
    """Another process has them; nothing is embedded again."""
    opening(Words()).with_turns(TURNS).runtime.system.reembed()
    later = Words()
    world = opening(later)
    assert vectors_now(world) == PASSAGES
    assert world.runtime.system.reembed().embedded == 0
    assert later.given == []
    assert packed(later, question(3)) in kept_numbers(world)


def test_another_embedder_takes_none_of_them(opening: Opening) -> None:
    """Vectors of two models never meet."""
    opening(Words()).with_turns(TURNS).runtime.system.reembed()
    world = opening(Words("2", dimension=32))
    assert vectors_now(world) == 0
    assert world.runtime.system.reembed().embedded == PASSAGES
    world = opening(Words("2", dimension=32))
    assert vectors_now(world) == PASSAGES


def test_who_has_no_embedder_keeps_them_for_others(opening: Opening) -> None:
    """A process that searches by words alone, or erases, costs nobody their vectors."""
    opening(Words()).with_turns(TURNS).runtime.system.reembed()
    world = opening(None)
    world.runtime.transcripts.search("question")
    world.erased(2)
    later = Words()
    world = opening(later)
    assert vectors_now(world) == PASSAGES - 2
    assert later.given == []


@pytest.mark.parametrize("embedder", [Words(), None])
def test_an_erased_turn_leaves_no_vector_at_rest(opening: Opening, embedder: Words | None) -> None:
    """In the same operation as its words, whoever erases; those of others stay."""
    world = opening(Words()).with_turns(TURNS)
    world.runtime.system.reembed()
    world = opening(embedder)
    words = Words()
    for text in (question(5), answer(5)):
        assert packed(words, text) in kept_numbers(world)
    world.erased(5)
    for text in (question(5), answer(5)):
        assert packed(words, text) not in kept_numbers(world)
    assert packed(words, question(4)) in kept_numbers(world)
