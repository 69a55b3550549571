"""From messages to turns: the law of turns, and the limits of what waits."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.message import Message, Role
from muniment.formats.reading import turn_assembler
from muniment.formats.reading.turn_assembler import CompleteTurn, TurnAssembler, turns_of
from muniment.governance.limits import Limits

ROLES = st.lists(st.sampled_from(list(Role)), max_size=30)


def said(*roles: Role) -> list[Message]:
    """Return numbered messages of these roles."""
    return [Message(role=role, content=str(number)) for number, role in enumerate(roles)]


def grouped(messages: Sequence[Message], limits: Limits = Limits()) -> list[CompleteTurn]:  # noqa: B008 - a frozen value
    """Return the turns of one conversation."""
    return list(turns_of("c", list(messages), 1, 10 * len(messages), limits))


@given(ROLES)
def test_turns_hold_every_message_once_and_in_order(roles: list[Role]) -> None:
    """The turns of a conversation, one behind the other, are the conversation."""
    turns = grouped(said(*roles))
    assert [message for turn in turns for message in turn.messages] == said(*roles)
    assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))


@given(ROLES)
def test_a_turn_starts_at_a_user_message(roles: list[Role]) -> None:
    """Every turn but the first starts at a user message, and no user message follows another kind inside a turn."""
    for turn in grouped(said(*roles)):
        order = [message.role for message in turn.messages]
        assert turn.number == 1 or order[0] is Role.USER
        first = order.index(Role.USER) if Role.USER in order else len(order)
        behind = order[first:]
        inputs = next((place for place, role in enumerate(behind) if role is not Role.USER), len(behind))
        assert Role.USER not in behind[inputs:]


@given(st.lists(ROLES, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_interleaved_conversations_have_the_same_turns_as_separate_ones(
    conversations: list[list[Role]], chance: random.Random
) -> None:
    """The order of lines between conversations changes nothing inside one."""
    queues = {str(number): said(*roles) for number, roles in enumerate(conversations)}
    alone = {name: [turn.messages for turn in grouped(messages)] for name, messages in queues.items()}
    together = TurnAssembler(Limits())
    turns: list[CompleteTurn] = []
    line = 0
    while any(queues.values()):
        name = chance.choice([name for name, queue in queues.items() if queue])
        line += 1
        turns += together.add(name, queues[name].pop(0), line, 10)
    turns += together.finish()
    for name, expected in alone.items():
        mine = sorted((turn for turn in turns if turn.conversation == name), key=lambda turn: turn.number)
        assert [turn.messages for turn in mine] == expected


def test_a_turn_with_more_messages_than_allowed_is_refused_and_the_next_is_not() -> None:
    steps = [Role.USER, *[Role.TOOL] * 5, Role.USER, Role.ASSISTANT]
    first, second = grouped(said(*steps), Limits(turn_messages_max=5))
    assert (first.messages, second.refusal) == ([], None)
    assert first.refusal is not None
    assert (first.refusal.problem, first.refusal.limit) == ("too_many", 5)
    assert [message.content for message in second.messages] == ["6", "7"]


def test_a_turn_that_every_commit_would_refuse_is_not_kept_in_memory() -> None:
    messages = said(Role.USER, Role.ASSISTANT, Role.ASSISTANT)
    (turn,) = turns_of("c", messages, 1, 3 * 61, Limits(turn_bytes_max=10))
    assert turn.refusal is not None
    assert (turn.refusal.problem, turn.messages, turn.bytes) == ("too_large", [], 0)


def test_the_conversation_that_waited_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_assembler, "OPEN_CONVERSATIONS_MAX", 2)
    together = TurnAssembler(Limits())
    question, answer = said(Role.USER, Role.ASSISTANT)
    done = [turn for name in "aba" for turn in together.add(name, question, 1, 10)]
    assert done == []
    (evicted,) = together.add("c", question, 4, 10)
    assert (evicted.conversation, evicted.number) == ("b", 1)
    with pytest.raises(InvalidInput, match="interleaved too far"):
        list(together.add("b", answer, 5, 10))
    (evicted,) = together.add("b", question, 6, 10)
    assert (evicted.conversation, evicted.number) == ("a", 1)
    assert [(turn.conversation, turn.number) for turn in together.finish()] == [("c", 1), ("b", 2)]


def test_what_waits_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_assembler, "OPEN_BYTES_MAX", 25)
    together = TurnAssembler(Limits())
    (question,) = said(Role.USER)
    assert list(together.add("a", question, 1, 10)) == list(together.add("b", question, 2, 10)) == []
    assert [turn.conversation for turn in together.add("c", question, 3, 10)] == ["a"]


def test_the_number_of_conversations_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_assembler, "CONVERSATIONS_MAX", 2)
    together = TurnAssembler(Limits())
    (question,) = said(Role.USER)
    assert not [turn for name in "ab" for turn in together.add(name, question, 1, 10)]
    with pytest.raises(LimitExceeded, match="too many"):
        list(together.add("c", question, 3, 10))
    assert [turn.conversation for turn in together.finish()] == ["a", "b"]
