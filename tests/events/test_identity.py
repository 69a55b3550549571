"""Names: what may be one, and that no two of them are ever confused."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import InvalidInput
from muniment.events.identity import (
    NAME_BYTES_MAX,
    Channel,
    ConversationId,
    ConversationKey,
    SpaceName,
    check_key,
    check_name,
    conversation_mark,
    message_id,
    named_message,
)
from muniment.kernel.digest import keyed_digest

KEY = bytes(32)
NAMES = ["a", "space__a", "a/b", "100%", "日本語", "a b", "é", "a#1", "a\u2028b", "n" * 512, "é" * 256, "🙂" * 128]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_canonical_text_may_be_a_name(name: str) -> None:
    """SC-03: separators, other scripts and blanks inside are no reason to refuse."""
    check_name(name, at="conversation")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "empty"), (" a", "blank_at_end"), ("a ", "blank_at_end"), ("\u00a0a", "blank_at_end"),
        ("a\u2003", "blank_at_end"), ("a\u2028", "blank_at_end"), ("a\nb", "control_character"),
        ("\t", "control_character"), ("a\x00b", "control_character"), ("a\x7f", "control_character"),
        ("a\x85", "control_character"), ("\ud800", "control_character"), ("a" * 513, "too_long"),
        ("é" * 257, "too_long"), ("🙂" * 129, "too_long"),
    ],
    ids=lambda argument: ascii(argument)[:12],
)  # fmt: skip
def test_text_that_is_not_canonical_is_refused_and_never_trimmed(name: str, problem: str) -> None:
    """SC-03: the refusal says where and why, and never repeats the name."""
    with pytest.raises(InvalidInput) as refused:
        check_name(name, at="channel")
    assert (refused.value.at, refused.value.problem) == ("channel", problem)
    if problem == "too_long":
        assert (refused.value.limit, refused.value.found) == (NAME_BYTES_MAX, len(name.encode()))


@given(st.text(st.characters()))
def test_what_is_accepted_as_a_name_is_what_the_rule_says(text: str) -> None:
    """SC-03, stated a second time over any text at all."""
    canonical = (
        text != ""
        and text == text.strip()
        and not any(unicodedata.category(char) in {"Cc", "Cs"} for char in text)
        and len(text.encode("utf-8", "surrogatepass")) <= NAME_BYTES_MAX
    )
    try:
        check_name(text, at="turn")
    except InvalidInput:
        assert not canonical
    else:
        assert canonical


@pytest.mark.parametrize("part", ["conversation", "channel", "space"])
def test_a_key_is_refused_by_the_name_of_its_bad_part(part: str) -> None:
    """SC-03: each of the three parts is checked against the rule."""
    check_key(ConversationKey(conversation=ConversationId("c")))
    key = ConversationKey(
        conversation=ConversationId(" " if part == "conversation" else "c"),
        channel=Channel(" " if part == "channel" else "ch"),
        space=SpaceName(" " if part == "space" else "s"),
    )
    with pytest.raises(InvalidInput) as refused:
        check_key(key)
    assert refused.value.at == part


@given(st.lists(st.text(alphabet="a_/%\x00"), max_size=4), st.lists(st.text(alphabet="a_/%\x00"), max_size=4))
def test_two_keys_share_a_storage_key_only_if_they_are_the_same(left: list[str], right: list[str]) -> None:
    """SC-04: the digest under which something is found again is injective in its parts."""
    same = keyed_digest(KEY, "conversation", *left) == keyed_digest(KEY, "conversation", *right)
    assert same == (left == right)


def test_a_separator_inside_a_name_never_moves_the_border_between_two() -> None:
    """SC-04: the worked example, and the same for other separators."""
    for mark in ["__", "/", "%", "\x00", "#"]:
        assert keyed_digest(KEY, "c", f"space{mark}a", "channel") != keyed_digest(KEY, "c", "space", f"a{mark}channel")


messages = st.tuples(st.text(max_size=3), st.text(max_size=3), st.text(min_size=1, max_size=3), st.integers(0, 255))


@given(messages, messages)
def test_two_messages_share_an_id_only_if_they_are_the_same(
    left: tuple[str, str, str, int], right: tuple[str, str, str, int]
) -> None:
    """TR-19, TR-21: channel, conversation, turn and place give the id, and the id gives back turn and place."""
    ids = []
    for channel, conversation, turn, place in (left, right):
        mark = conversation_mark(channel, conversation)
        ids.append(message_id(mark, turn, place))
        assert named_message(ids[-1]) == named_message(ids[-1], mark) == (turn, place)
        assert named_message(f"{turn}#{place}", mark) == (turn, place)
    assert (ids[0] == ids[1]) == (left == right)
    if left[:2] != right[:2]:
        assert named_message(ids[0], conversation_mark(*right[:2])) is None


def test_a_turn_that_is_named_like_a_message_is_still_a_turn() -> None:
    """The id says from its end what is the turn, so no turn id makes it mean something else."""
    mark = conversation_mark("c", "talk")
    inner = message_id(mark, "t", 0)
    for text in (f"{inner}#1", message_id(mark, inner, 1)):
        assert named_message(text, mark) == (inner, 1)


def test_what_is_no_message_id_names_nothing() -> None:
    mark = conversation_mark("c", "talk")
    bad = ["", "t", "#0", f"#0@{mark}", "t#", "t#-1", "t#00", "t#01", "t#0@", "t#0@x", f"t#0@{mark}x",
           f"t#0@{mark.upper()}", "t#1234567890", f"t#0@{'0' * 24}"]  # fmt: skip
    assert [text for text in bad if named_message(text, mark) is not None] == []


def test_the_mark_of_a_conversation_is_a_known_digest() -> None:
    """The known answer is of another implementation: base32 of the first 15 bytes of SHA-256 over the framed names."""
    assert conversation_mark("default", "talk") == "7wobzowi7x745pqizq2kjx7s"
