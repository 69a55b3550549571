"""Records under keys of a framework, and names for whatever texts a framework uses."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import Transition, open  # noqa: A004 - what a host types
from muniment.events.identity import check_name
from muniment.host import channel_conversations
from muniment.host.records.escaped_name import escaped_name
from muniment.host.records.record_chains import RecordChains

TEXTS = st.text(alphabet=st.one_of(st.sampled_from(" /%~\n\0aé"), st.characters()), max_size=12)
PAIRS = st.tuples(TEXTS, TEXTS)


@settings(max_examples=300, deadline=None)
@given(PAIRS, PAIRS)
def test_every_text_has_a_name_of_its_own(one: tuple[str, str], other: tuple[str, str]) -> None:
    """Any text becomes a name that muniment takes, and two texts never become the same one."""
    for texts in (one, other, one[:1]):
        check_name(escaped_name(*texts), at="name")
    assert (escaped_name(*one) == escaped_name(*other)) is (one == other)
    assert (escaped_name(one[0]) == escaped_name(other[0])) is (one[0] == other[0])


def test_a_long_text_has_a_name_of_its_own() -> None:
    """What is too long for a name is told apart by its digest."""
    assert escaped_name("é" * 600) != escaped_name("é" * 601)
    check_name(escaped_name("é" * 600), at="name")


def test_a_plain_text_is_its_own_name() -> None:
    """Whoever looks for a thread finds it under the name that it has."""
    assert escaped_name("order 9/é") == "order 9/é"
    assert escaped_name("memories", "ada") == "memories/ada"


def test_a_hidden_record_ends_no_chain() -> None:
    """What comes after a record that was masked is read, and what is appended then is numbered behind it."""
    with open("memory:") as runtime:
        chains = RecordChains(runtime, "channel")
        place = chains.place("thread")
        for number in range(3):
            chains.append(place, "key", "ada", {"record": number}, b"body")
        runtime.lifecycle.request(place, Transition.MASK, "asked for", "ada", "key~1")
        RecordChains(runtime, "channel").append(place, "key", "ada", {"record": 3}, b"body")
        assert [record.head["record"] for record in chains.read(place, "key")] == [0, 2, 3]
        assert [record.number for record in chains.newest_first(place)] == [3, 2, 0]
        assert chains.was_begun(place, "key")
        assert not chains.was_begun(place, "other")


def test_a_record_that_is_appended_again_is_there_already_where_it_is_the_last_one() -> None:
    """Elsewhere it is one more record, so that whoever appended last has the last word; True begins another process."""
    with open("memory:") as runtime:
        chains = RecordChains(runtime, "channel")
        place = chains.place("thread")
        for record, is_fresh in ((1, False), (1, True), (2, False), (1, True), (1, True), (2, True)):
            chains = RecordChains(runtime, "channel") if is_fresh else chains
            chains.append(place, "key", "ada", {"record": record}, b"body")
        assert [record.head["record"] for record in chains.read(place, "key")] == [1, 2, 1, 2]


def test_conversations_are_listed_while_others_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever lists those of a channel, page by page, is not disturbed by new ones; each is listed once."""
    monkeypatch.setattr(channel_conversations, "PAGE_CONVERSATIONS", 1)
    with open("memory:") as runtime:
        chains = RecordChains(runtime, "channel")

        def begin(names: Iterable[str]) -> None:
            for name in names:
                chains.append(chains.place(name), "key", "ada", {}, b"body")

        begin("abc")
        listed = chains.places()
        found = [next(listed)]
        begin("d")
        assert {place.conversation for place in [*found, *listed]} == set("abc")
        writing = threading.Thread(target=begin, args=["efghijklmnopqrstuvwxyz"])
        writing.start()
        while writing.is_alive():
            names = [place.conversation for place in chains.places()]
            assert set("abcd") <= set(names)
            assert len(names) == len(set(names))
        writing.join()
        assert len(list(chains.places())) == 26
