"""Batches: all turns in one transaction, or none of them; each as if it had been committed alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import AccessDenied, AliasConflict, InvalidInput, LimitExceeded, MunimentError, TurnConflict
from muniment.events.identity import ChatId, SubjectId, TurnId
from muniment.events.turn import Delivery
from muniment.governance.access import Access
from muniment.governance.limits import Limits
from muniment.operations.transcripts.commit import ALREADY_COMMITTED
from tests.turns import plain_turn, rich_turn
from tests.worlds import FileWorld, World, memory_world


def size(world: World) -> int:
    return world.runtime.evidence.checkpoint().size


@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["talk", "walk"])), min_size=1, max_size=8))
def test_a_batch_leaves_what_its_turns_leave_one_by_one(chosen: list[tuple[int, str]]) -> None:
    """Receipts come in the given order, and a turn that is in a batch twice is found the second time."""
    turns = [plain_turn(number, name) for number, name in chosen]
    together, alone = memory_world("same"), memory_world("same")
    found = together.runtime.transcripts.commit_many(turns)
    singly = [alone.commit(turn) for turn in turns]
    assert [replace(receipt, leaf=None) for receipt in found.receipts] == [
        replace(receipt, leaf=None) for receipt in singly
    ]
    assert found.committed == len(set(chosen))
    for name in {name for _, name in chosen}:
        assert together.replay(conversation=name).turns == alone.replay(conversation=name).turns
    again = together.runtime.transcripts.commit_many(turns)
    assert {receipt.reason for receipt in again.receipts} == {ALREADY_COMMITTED}
    assert [receipt.leaf for receipt in again.receipts] == [receipt.leaf for receipt in found.receipts]
    together.close()
    alone.close()


def test_a_batch_is_durable_as_a_whole(lasting: FileWorld) -> None:
    lasting.runtime.transcripts.commit_many([plain_turn(number) for number in range(1, 4)])
    assert lasting.crashed().reopened().turns_of() == 3


CONFLICT = replace(plain_turn(1), delivery=Delivery.CANCELLED)
BAD: dict[str, tuple[Any, type[MunimentError], str]] = {
    "other words": (CONFLICT, TurnConflict, "turns[2].turn"),
    "an alias of another conversation": (
        replace(plain_turn(9, "walk"), chat=ChatId("chat-7"), subject=rich_turn().subject),
        AliasConflict,
        "turns[2].chat",
    ),
    "no name": (replace(plain_turn(9), turn=TurnId("")), InvalidInput, "turns[2].turn"),
}


@pytest.mark.parametrize("name", BAD)
def test_when_one_turn_is_refused_nothing_is_stored_and_its_place_is_named(name: str, world: World) -> None:
    turn, refusal, at = BAD[name]
    world.with_turns(1).with_turn(rich_turn())
    before = size(world)
    with pytest.raises(refusal) as refused:
        world.runtime.transcripts.commit_many([plain_turn(2), plain_turn(3, "walk"), turn, plain_turn(4)])
    assert refused.value.at == at
    assert size(world) == before
    assert world.runtime.transcripts.commit_many([plain_turn(2), plain_turn(4)]).committed == 2


def test_a_turn_of_which_nothing_is_kept_has_a_reason_among_the_others(world: World) -> None:
    undelivered = replace(plain_turn(2), messages=[], delivery=Delivery.CANCELLED)
    found = world.runtime.transcripts.commit_many([plain_turn(1), undelivered, plain_turn(3)])
    assert [receipt.committed for receipt in found.receipts] == [True, False, True]
    assert found.receipts[1].reason is not None


def test_a_batch_has_limits_of_turns_and_bytes(world: World) -> None:
    """Turns and bytes are bounded; an empty batch is a mistake."""
    small = memory_world(limits=Limits(batch_turns_max=2, batch_bytes_max=2000))
    commit_many = small.runtime.transcripts.commit_many
    with pytest.raises(InvalidInput):
        commit_many([])
    with pytest.raises(LimitExceeded) as refused:
        commit_many([plain_turn(number) for number in range(1, 4)])
    assert (refused.value.at, refused.value.problem, refused.value.limit) == ("turns", "too_many", 2)
    long = replace(plain_turn(2), messages=[replace(plain_turn(2).messages[0], content="word " * 400)])
    with pytest.raises(LimitExceeded) as refused:
        commit_many([plain_turn(1), long])
    assert (refused.value.at, refused.value.problem, refused.value.limit) == ("turns", "too_large", 2000)
    assert small.turns_of() == 0
    small.close()
    with pytest.raises(AccessDenied):
        world.runtime.restricted(Access(subject=SubjectId("eve"))).transcripts.commit_many([plain_turn(1)])
    assert world.turns_of() == 0
