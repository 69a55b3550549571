"""A host sends its conversation again with every call; what is new is found, and each message once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muniment.events.message import Message, ReasoningPart, Role, TextPart
from muniment.host.recording.known_history import KnownMessage, continues, known_message, new_messages

MESSAGES = st.lists(
    st.builds(
        lambda role, text: Message(role=role, content=[TextPart(content=text)]),
        st.sampled_from([Role.USER, Role.ASSISTANT, Role.TOOL]),
        st.sampled_from("abc"),
    ),
    max_size=12,
)


def known(messages: list[Message], *, unread: bool = False) -> list[KnownMessage]:
    """Return messages as the store has them; with `unread`, nobody can read any."""
    units = [known_message(message.role, message.parts()) for message in messages]
    return [KnownMessage(unit.role, None) if unread else unit for unit in units if unit is not None]


@given(MESSAGES, MESSAGES, st.booleans())
def test_what_follows_the_known_messages_is_new(before: list[Message], added: list[Message], unread: bool) -> None:
    """Also when their words are erased: they do not come back because a host still has them."""
    said = [*before, *added]
    assert new_messages(known(before, unread=unread), said) == list(range(len(before), len(said)))
    assert continues(known(before), said) == len(before)


@given(MESSAGES, st.integers(0, 12))
def test_a_shortened_conversation_has_nothing_new(before: list[Message], dropped: int) -> None:
    """However much of the beginning a host leaves out."""
    assert new_messages(known(before), before[dropped:]) == []
    assert continues(known(before), before[:dropped]) == (len(before) if dropped >= len(before) else None)


@given(MESSAGES, MESSAGES)
def test_a_message_that_was_never_said_is_new(before: list[Message], said: list[Message]) -> None:
    """Nothing is taken for known that differs from everything known."""
    there = set(known(before))
    never = [place for place, message in enumerate(said) if known([message])[0] not in there]
    assert set(never) <= set(new_messages(known(before), said))


def test_reasoning_that_a_host_leaves_out_changes_nothing() -> None:
    thought = ReasoningPart(content="hm")
    answer = Message(role=Role.ASSISTANT, content=[thought, TextPart(content="yes")])
    without = Message(role=Role.ASSISTANT, content=[TextPart(content="yes")])
    assert new_messages(known([answer]), [Message(role=Role.ASSISTANT, content=[thought]), without]) == []


def test_an_erased_message_in_the_middle_stays_erased() -> None:
    """Also in a conversation that was shortened: it takes the place of the message of its role."""
    a, b, c, d = (Message(role=Role.USER, content=[TextPart(content=text)]) for text in "abcd")
    there = known([a, b, c])
    there[1] = KnownMessage(Role.USER, None)
    assert new_messages(there, [b, c, d]) == [2]
    assert new_messages(there, [a, b, c, d]) == [3]


def test_what_comes_before_the_known_messages_is_known_where_the_beginning_is_cut() -> None:
    a, b, c = (Message(role=Role.USER, content=[TextPart(content=text)]) for text in "abc")
    assert new_messages(known([b]), [a, b, c], cut=True) == [2]
    assert new_messages(known([b]), [a, b, c]) == [0, 2]


def test_a_system_text_that_changed_later_and_is_sent_first_is_known() -> None:
    """The store has it where it changed; a host sends it at the beginning."""
    system = Message(role=Role.SYSTEM, content="new rules")
    u1, a1, u2, a2, u3 = (
        Message(role=role, content=text)
        for role, text in zip([Role.USER, Role.ASSISTANT] * 3, ["u1", "a1", "u2", "a2", "u3"], strict=False)
    )
    there = known([Message(role=Role.SYSTEM, content="old rules"), u1, a1, system, u2, a2])
    assert new_messages(there, [system, u1, a1, u2, a2, u3]) == [5]


def test_a_system_text_that_is_redacted_and_sent_first_stays_redacted() -> None:
    """Also where the store has it later, where it changed."""
    system = Message(role=Role.SYSTEM, content="new rules")
    u1, a1, u2 = (
        Message(role=role, content=text)
        for role, text in zip([Role.USER, Role.ASSISTANT, Role.USER], ["u1", "a1", "u2"], strict=True)
    )
    there = known([Message(role=Role.SYSTEM, content="old rules"), u1, a1, system])
    there[-1] = KnownMessage(Role.SYSTEM, None)
    assert new_messages(there, [system, u1, a1, u2]) == [3]
