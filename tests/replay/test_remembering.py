"""What the drills ask of memory after a kill: each thing that may be wrong is told, and nothing of what may be."""

from __future__ import annotations

from muniment.events.identity import TurnId
from muniment.events.memory_items import InvalidityGround
from muniment.memory.amendment import InvalidateItem
from muniment.memory.candidate import ItemSource
from replay.drills.remembering import forget, is_forgotten, is_remembered, items_of, remember, wrong_with
from replay.words import Words, key_of
from tests.worlds import memory_world

TALK = "talk 1.0"
GONE, THERE, HALF = (
    "an acknowledged item is gone",
    "an item is there that was acknowledged as forgotten",
    "a newer statement was recorded by half",
)


def test_whenever_a_writer_is_killed_what_is_there_fits_what_it_acknowledged() -> None:
    """After each step, with the acknowledgement of it and without; too many acknowledgements are losses."""
    world, words = memory_world(), Words(small=True)
    runtime, remembered, forgotten = world.runtime, 0, 0

    def wrong(of_items: int, of_forgotten: int) -> list[str]:
        return list(wrong_with(items_of(runtime), TALK, of_items, of_forgotten))

    for number in range(1, 26):
        runtime.transcripts.commit(words.turn(TALK, number, characters=20))
        if is_remembered(number):
            has_former = number - 4 in items_of(runtime).get(TALK, {})
            assert wrong(number, forgotten) == [GONE] * (not is_forgotten(number)) + [HALF] * has_former
            remember(runtime, TALK, number)
            assert wrong(remembered, forgotten) == []
            remembered = number
            assert wrong(remembered, forgotten) == []
        if is_forgotten(number):
            assert wrong(remembered, number) == [THERE]
            forget(runtime, TALK, number)
            assert wrong(remembered, forgotten) == []
            forgotten = number
            assert wrong(remembered, forgotten) == []
    assert (remembered, forgotten) == (24, 16)
    source = [ItemSource(conversation=key_of(TALK), turn=TurnId("turn-1"))]
    wrongly = InvalidateItem(ground=InvalidityGround.FACTUALLY_INCORRECT, evidence=source)
    assert runtime.memory.amend(f"{TALK} item 24", wrongly, "asked", "ada").changed
    assert wrong(remembered, forgotten) == [HALF]
    world.close()
