"""Which attributes turns have: grown piece by piece or at once, and read from a log of many changes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.log.port import BATCH_SEALED_MAX
from muniment.projections.attribute_index import AttributeIndex, AttributeIndexBuilder, LatestAttribute
from tests.attributes import attribute, of_turn
from tests.worlds import key_of, sqlite_world

events = st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | st.integers(0, 1)), max_size=12)


@given(events, st.lists(st.integers(0, 12), max_size=4))
def test_attributes_are_the_same_however_they_were_gathered(
    drawn: list[tuple[str, int | None]], cuts: list[int]
) -> None:
    """Grown in any pieces: equal to a plain dictionary in which the last word of an id stands; what was known stays."""
    model: dict[int, dict[str, LatestAttribute]] = {}
    pieces = sorted({0, len(drawn), *(cut for cut in cuts if cut < len(drawn))})
    known = AttributeIndex()
    for first, beyond in pairwise(pieces):
        gathering, before = AttributeIndexBuilder(known), repr(known)
        for position in range(first, beyond):
            name, message = drawn[position]
            turn = "abcdef".index(name) // 2 + 1
            gathering.add(turn, name, LatestAttribute(position, message))
            model.setdefault(turn, {})[name] = LatestAttribute(position, message)
        grown = gathering.grown()
        assert repr(known) == before
        known = grown
    assert known.by_turn == model
    assert known.turn_of == {name: turn for turn, names in model.items() for name in names}
    for turn, names in model.items():
        for name, recorded in names.items():
            assert known.known(name) == (turn, recorded.message)
            assert known.is_newest(turn, name, recorded.position)
            assert not known.is_newest(turn, name, recorded.position + 1)
    assert known.known("z") is None
    assert not known.is_newest(1, "z", 0)


def test_what_has_nothing_to_add_copies_nothing() -> None:
    known = AttributeIndex({1: {"a": LatestAttribute(5, None)}}, {"a": 1})
    assert AttributeIndexBuilder(known).grown() is known


@pytest.mark.parametrize("count", [BATCH_SEALED_MAX - 1, BATCH_SEALED_MAX, BATCH_SEALED_MAX + 1, 2 * BATCH_SEALED_MAX])
def test_changes_that_fill_several_batches_are_all_read(tmp_path: Path, count: int) -> None:
    world = sqlite_world(tmp_path).with_turns(4)
    given_ = [attribute(str(number), number, of_turn(1 + number % 4)) for number in range(count)]
    assert world.runtime.transcripts.annotate(key_of(), given_).accepted == count
    shown = [one.value for turn in world.reopened().replay().turns for one in turn.attributes]
    assert sorted(shown) == list(range(count))
    world.close()
