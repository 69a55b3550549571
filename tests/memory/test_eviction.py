"""Which items make room in a notebook."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muniment.events.memory_items import ItemKind
from muniment.memory.eviction import evicted
from muniment.memory.fold import MemoryItem
from tests.memory.items import item

CORRECTION = ItemKind.CORRECTION
items = st.lists(st.tuples(st.integers(0, 1000), st.booleans(), st.booleans()), max_size=12)


def ids(leaving: list[MemoryItem] | None) -> list[str] | None:
    """Return the ids of what leaves."""
    return None if leaving is None else [each.id for each in leaving]


def there(number: int, confidence: int, *, pinned: bool = False, correction: bool = False) -> MemoryItem:
    """Return the item of a number; a higher one was recorded later."""
    kind = CORRECTION if correction else ItemKind.FACT
    return item(item=f"i-{number}", position=number, confidence=confidence, pinned=pinned, kind=kind)


def test_the_least_certain_and_then_the_oldest_leaves() -> None:
    present = [there(1, 900), there(2, 500), there(3, 500)]
    assert ids(evicted(present, 700, 4)) == []
    assert ids(evicted(present, 700, 3)) == ["i-2"]
    assert ids(evicted(present, 700, 2)) == ["i-2", "i-3"]
    assert evicted(present, 700, 1) is None
    assert evicted(present, 499, 3) is None


def test_pinned_items_stay_and_a_tenth_of_the_room_is_for_corrections() -> None:
    assert evicted([there(1, 100, pinned=True)], 700, 1) is None
    many = [there(number, 900) for number in range(1, 10)]
    assert ids(evicted([*many, there(10, 100, correction=True)], 900, 10)) == ["i-1"]
    few = [there(1, 900), there(2, 100, correction=True)]
    assert ids(evicted(few, 900, 2)) == ["i-2"]


@given(items, st.integers(0, 1000), st.integers(1, 12))
def test_there_is_never_more_than_the_limit_and_nothing_certain_gives_way_to_a_guess(
    given_items: list[tuple[int, bool, bool]], confidence: int, limit: int
) -> None:
    """What leaves makes exactly enough room, is not pinned, and is at most as certain as what comes."""
    present = [there(number, one, pinned=two, correction=three) for number, (one, two, three) in enumerate(given_items)]
    leaving = evicted(present, confidence, limit)
    if leaving is not None:
        assert len(leaving) == max(0, len(present) + 1 - limit)
        assert not any(each.pinned or each.confidence > confidence for each in leaving)
