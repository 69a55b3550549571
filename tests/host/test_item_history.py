"""Histories of items: they come back exactly, what is redacted is nowhere in them, and nothing is ever deleted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import muniment
from muniment import Detect, DetectedType, Options, Passage, Runtime, Scope, View
from muniment.errors import InvalidInput, NotCanonical, TurnConflict
from muniment.events.changes import RedactionReason, Transition
from muniment.events.message import BlobPart, ReasoningPart, Role, TextPart, ToolCallPart, ToolCallResponsePart
from muniment.events.turn import Turn
from muniment.formats.parted_items import Item, SpokenItem, WordsOf, parted, words_by_role
from muniment.formats.turn_items import TURN_ITEMS_MAX
from muniment.governance.phases import Phase
from muniment.host.histories.item_history import ItemHistory
from muniment.kernel.canonical import encode
from tests.turns import SUBJECT, TALK
from tests.worlds import key_of

LIKE = Turn(turn="like", subject=SUBJECT, conversation=TALK, messages=[])
WHO = "host"

# fields as frameworks have them, and any others
NAMES = st.sampled_from(["role", "type", "id", "content", "text", "arguments", "output", "data"]) | st.text(max_size=6)
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["user", "assistant", "message", "words of somebody", " ", "data:image/png;base64,AAEC"]),
    st.builds(json.dumps, st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3)),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
ITEMS = st.dictionaries(NAMES, VALUES, max_size=6)


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """Open a store for all examples of a property; each has a conversation of its own."""
    with muniment.open("memory:") as opened:
        yield opened


@pytest.fixture
def history() -> Iterator[ItemHistory]:
    """Return an empty history."""
    with muniment.open("memory:") as opened:
        yield ItemHistory(opened, LIKE)


def runtime_of(history: ItemHistory) -> Runtime:
    """Return the store of a history."""
    return history._runtime


_counted = iter(range(10**9))


def fresh(runtime: Runtime, words_of: WordsOf = words_by_role) -> ItemHistory:
    """Return the history of a conversation that nobody has used."""
    like = Turn(turn="like", subject=SUBJECT, conversation=f"talk-{next(_counted)}", messages=[])
    return ItemHistory(runtime, like, words_of=words_of)


def said(text: str, role: str = "user", **more: Any) -> Item:
    """Return an item in which somebody says something."""
    return {"role": role, "content": text} | more


def words_everywhere(item: Item) -> SpokenItem:
    """Name a part of every kind, as the fields of an item have them."""
    parts: list[Any] = []
    for field, value in item.items():
        if field == "arguments":
            parts.append(ToolCallPart(name="look", id="1", arguments=value))
        elif field == "output":
            parts.append(ToolCallResponsePart(id="1", response=value))
        elif field == "text" and isinstance(value, str):
            parts.append(ReasoningPart(content=value))
        elif field == "content" and isinstance(value, str):
            parts.append(TextPart(content=value))
    return SpokenItem(Role.ASSISTANT, parts)


# --- round trip -------------------------------------------------------------------------------------------------------


@given(batches=st.lists(st.lists(ITEMS, max_size=4), max_size=3))
def test_any_items_come_back_exactly(runtime: Runtime, batches: list[list[Item]]) -> None:
    history = fresh(runtime)
    for batch in batches:
        history.append(batch)
    given_items = [item for batch in batches for item in batch]
    assert history.newest() == given_items
    assert [list(item) for item in history.newest()] == [list(item) for item in given_items]  # members in their order


@given(items=st.lists(ITEMS, max_size=4), n=st.integers(0, 6))
def test_items_with_named_parts_come_back_exactly(runtime: Runtime, items: list[Item], n: int) -> None:
    exact = [item for item in items if _is_exact(item)]
    history = fresh(runtime, words_everywhere)
    history.append(exact)
    assert history.newest(n) == (exact[-n:] if n else [])


def _is_exact(item: Item) -> bool:
    """Tell whether what calls are given can be kept; integers beyond 64 bits cannot."""
    try:
        encode([item.get("arguments"), item.get("output")])
    except NotCanonical:
        return False
    return True


@pytest.mark.parametrize(
    "text",
    [
        '{"city":"Paris","at":[{"b":1,"a":2}]}',
        '{"z": "é", "a": 1.5}',
        '{"z": "\\u00e9", "a": {}}',
        '{ "city" : "Paris" }',
        '{"a":1,"a":2}',
        '{"a":1.0}',
        "[1, 2]",
        "not JSON",
        "",
    ],
)
def test_arguments_in_a_text_keep_their_spelling(runtime: Runtime, text: str) -> None:
    item = {"type": "function_call", "call_id": "1", "name": "look", "arguments": text}
    history = fresh(runtime, words_everywhere)
    history.append([item])
    assert history.newest() == [item]


def test_arguments_are_kept_as_the_value_that_they_spell() -> None:
    arguments = '{"z": "Paris", "a": {"y": 1, "x": 2}}'
    (part,) = parted({"name": "look", "arguments": arguments}, words_everywhere).parts
    assert part == ToolCallPart(name="look", id="1", arguments={"z": "Paris", "a": {"y": 1, "x": 2}})


def test_files_inside_an_item_are_blobs_and_no_text() -> None:
    (part,) = parted({"content": [{"type": "input_image", "image_url": "data:image/png;base64,AAEC"}]}, words_by_role)[
        1
    ]
    assert part == BlobPart(content=b"\x00\x01\x02", mime_type="image/png")


def test_what_is_no_json_is_refused(history: ItemHistory) -> None:
    with pytest.raises(InvalidInput):
        history.append([{"content": {1, 2}}])
    with pytest.raises(InvalidInput):
        history.append([{"content": float("nan")}])
    assert history.newest() == []


@given(item=ITEMS)
def test_no_word_is_kept_twice(item: Item) -> None:
    """Whatever is a part of the message is nowhere in the shape, but in short values of known fields."""
    apart = parted({"words": "Words of somebody", "again": ["Words of somebody"], **item}, words_by_role)
    assert sum(part == TextPart(content="Words of somebody") for part in apart.parts) == 1
    assert "Words of somebody" not in json.dumps(apart.shape)


# --- redaction and erasure --------------------------------------------------------------------------------------------


@given(
    before=st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=10),
    after=st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=10),
    view=st.sampled_from([View.MODEL_CONTEXT, View.RAW_OWNER]),
    around=st.sampled_from([lambda text: text, lambda text: [{"text": text}], lambda text: {"a": [text, {"b": text}]}]),
)
def test_a_redacted_range_is_nowhere(runtime: Runtime, before: str, after: str, view: View, around: Any) -> None:
    secret = "hunter2-and-more"
    history = fresh(runtime)
    history.append([said("Good morning."), {"role": "user", "content": around(before + secret + after)}])
    passage = Passage(turn=_turns(history)[0], message=1, part=0, start=len(before), end=len(before) + len(secret))
    runtime.transcripts.redact(history.key, passage, [view], RedactionReason.SECRET, WHO)
    shown = f"{before}[redacted: secret]{after}"
    assert history.newest() == [said("Good morning."), {"role": "user", "content": around(shown)}]
    views = [each for each in View if each is view or view is View.RAW_OWNER]
    for each in views:
        assert secret not in repr(runtime.transcripts.replay(history.key, each).turns)
    assert history.pop() == {"role": "user", "content": around(shown)}


@pytest.mark.parametrize(
    "place",
    [{}, {"part": 0}, {"part": 0, "start": 3, "end": 9}, {"message": None}],
    ids=["message", "part", "range", "turn"],
)
@pytest.mark.parametrize("more", [{}, {"content": "The answer."}], ids=["alone", "beside an answer"])
def test_redacted_reasoning_is_not_in_the_items(history: ItemHistory, place: Any, more: Item) -> None:
    """The view for models shows reasoning of nobody; the redaction counts all the same."""
    history = ItemHistory(runtime_of(history), LIKE, words_of=words_everywhere)
    history.append([{"text": "my hunter2 is safe"} | more, said("Bye.")], turn_id="t1")
    passage = Passage(**({"turn": "t1", "message": 0} | place))
    runtime_of(history).transcripts.redact(
        history.key, passage, [View.MODEL_CONTEXT, View.HOST_UI], RedactionReason.SECRET, WHO
    )
    item = history.newest()[0]
    assert item["text"] == "[redacted: secret]"
    assert "hunter2" not in repr(item)
    assert "hunter2" in repr(runtime_of(history).transcripts.replay(history.key, View.RAW_OWNER).turns)


def test_a_redacted_message_comes_with_markers_and_keeps_its_form(history: ItemHistory) -> None:
    call = {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"city":"Paris"}'}
    history = ItemHistory(runtime_of(history), LIKE, words_of=words_everywhere)
    history.append([call, said("It rains.", "assistant", id="m")])
    for message in (0, 1):
        passage = Passage(turn=_turns(history)[0], message=message)
        runtime_of(history).transcripts.redact(
            history.key, passage, [View.MODEL_CONTEXT], RedactionReason.PERSONAL_DATA, WHO
        )
    marker = "[redacted: personal_data]"
    assert history.newest() == [
        call | {"arguments": json.dumps({"withheld": marker})},
        said(marker, "assistant"),
    ]


CARD: Item = {
    "role": "user",
    "content": [
        {"type": "input_text", "text": "my card"},
        {"type": "contact", "name": "Lovelace", "email_id": "ada@x.org"},
    ],
}


def test_names_deeper_in_an_item_are_words(history: ItemHistory) -> None:
    history.append([CARD, said("Noted.", "assistant")])
    assert history.newest()[0] == CARD
    page = runtime_of(history).transcripts.replay(history.key, View.MODEL_CONTEXT)
    assert "ada@x.org" in repr(page.turns)


@pytest.mark.parametrize("by", ["erasure", "redaction"])
def test_nothing_of_a_withheld_message_is_in_its_form(history: ItemHistory, by: str) -> None:
    more = {"name": "Lovelace", "email_id": "ada@x.org", "id": "ada", "meta": {"type": "x", "id": "ada", "name": "ada"}}
    history.append([CARD | more, said("Noted.", "assistant", name="helper")], turn_id="t1")
    message = runtime_of(history).transcripts.replay(history.key).turns[0].messages[0].id
    if by == "erasure":
        scope = Scope(conversation=TALK, channel="default", message=message)
        runtime_of(history).lifecycle.erase(scope, "asked for", WHO)
    else:
        passage = Passage(turn="t1", message=0)
        runtime_of(history).transcripts.redact(history.key, passage, [View.MODEL_CONTEXT], RedactionReason.LEGAL, WHO)
    item, other = history.newest()
    assert not {"Lovelace", "ada@x.org", "ada"} & set(_texts_in(item))
    assert item["role"] == "user"
    assert [block["type"] for block in item["content"]] == ["input_text", "contact"]
    assert other == said("Noted.", "assistant", name="helper")


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts_in(each)


def test_values_of_other_types_are_no_references(history: ItemHistory) -> None:
    """1 and true are equal in Python alone."""
    history = ItemHistory(runtime_of(history), LIKE, words_of=words_everywhere)
    item = {"arguments": {"on": True}, "output": {"on": 1}, "data": [{"on": 1}, {"on": True}]}
    history.append([item])
    assert json.dumps(history.newest()) == json.dumps([item])


def test_an_erased_message_comes_with_a_marker(history: ItemHistory) -> None:
    history.append([said("My number is 5551234."), said("Noted.", "assistant")])
    message = runtime_of(history).transcripts.replay(history.key).turns[0].messages[0].id
    scope = Scope(conversation=TALK, channel="default", message=message)
    assert runtime_of(history).lifecycle.erase(scope, "asked for", WHO).changed
    assert history.newest() == [said("[erased]"), said("Noted.", "assistant")]


def test_what_a_view_detects_is_not_in_the_items() -> None:
    detect = Detect(views={View.MODEL_CONTEXT: frozenset({DetectedType.EMAIL})})
    with muniment.open("memory:", options=Options(detect=detect)) as opened:
        history = ItemHistory(opened, LIKE)
        history.append([said("Write to ada@example.org.")])
        (item,) = history.newest()
        assert "ada@example.org" not in item["content"]
        assert item["content"].startswith("Write to [detected: ")


@pytest.mark.parametrize("view", [View.HOST_UI, View.EXPORT, View.MODEL_CONTEXT, View.OPERATOR_AUDIT])
def test_no_view_but_that_of_the_owner_shows_shapes(history: ItemHistory, view: View) -> None:
    history.append([said("Hello.", id="secret-form"), {"type": "empty", "id": "secret-form"}])
    page = runtime_of(history).transcripts.replay(history.key, view)
    assert "secret-form" not in repr(page)
    assert "secret-form" in repr(runtime_of(history).transcripts.replay(history.key, View.RAW_OWNER))


def test_a_person_sees_what_was_said_and_the_answer_only(history: ItemHistory) -> None:
    history.append([said("Hello."), said("One moment.", "assistant"), said("Here it is.", "assistant")])
    (turn,) = runtime_of(history).transcripts.replay(history.key, View.HOST_UI).turns
    shown = [part for message in turn.messages for part in message.parts]
    assert shown == [TextPart(content="Hello."), TextPart(content="Here it is.")]


# --- reading the newest -----------------------------------------------------------------------------------------------


@given(sizes=st.lists(st.integers(1, 5), max_size=12), n=st.integers(-1, 40))
def test_the_newest_are_the_end_of_all(runtime: Runtime, sizes: list[int], n: int) -> None:
    history = fresh(runtime)
    texts = [[f"{turn}.{place}" for place in range(size)] for turn, size in enumerate(sizes)]
    for batch in texts:
        history.append([said(text) for text in batch])
    everything = [text for batch in texts for text in batch]
    assert [item["content"] for item in history.newest(n)] == (everything[-n:] if n > 0 else [])


def test_the_newest_are_found_behind_turns_without_items(history: ItemHistory) -> None:
    history.append([said("First.")])
    for number in range(30):
        runtime_of(history).transcripts.commit(
            Turn(turn=f"t{number}", subject=SUBJECT, conversation=TALK, messages=[*_plain(f"no item {number}")])
        )
    history.append([said("Last.")])
    assert history.newest(2) == [said("First."), said("Last.")]


def test_reading_a_few_takes_as_few_of_a_long_history(history: ItemHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(60):
        history.append([said(f"{number}")])
    read = list[int]()
    timeline = runtime_of(history).transcripts.timeline

    def counted(*args: Any) -> Any:
        page = timeline(*args)
        read.append(len(page.turns))
        return page

    monkeypatch.setattr(runtime_of(history).transcripts, "timeline", counted)
    assert [item["content"] for item in history.newest(3)] == ["57", "58", "59"]
    assert sum(read) == 6  # the owner's and the model's page of three turns


def test_many_items_become_turns_of_one_commit(history: ItemHistory) -> None:
    items = [said(f"{number}") for number in range(2 * TURN_ITEMS_MAX + 1)]
    receipts = history.append(items, turn_id="big")
    assert [receipt.turn for receipt in receipts] == ["big", "big.2", "big.3"]
    assert history.newest() == items
    assert history.newest(TURN_ITEMS_MAX + 5) == items[-TURN_ITEMS_MAX - 5 :]


def test_large_items_are_spread_over_turns(history: ItemHistory) -> None:
    items = [said("x" * 300_000) for _ in range(5)]
    assert len(history.append(items)) == 5
    assert history.newest() == items


# --- appending again, popping, clearing ------------------------------------------------------------------------------


def test_equal_items_are_appended_again_unless_the_turn_is_named(history: ItemHistory) -> None:
    history.append([said("Hello.")])
    history.append([said("Hello.")])
    (first,) = history.append([said("Named.")], turn_id="named")
    (again,) = history.append([said("Named.")], turn_id="named")
    assert (first.committed, again.committed) == (True, False)
    with pytest.raises(TurnConflict):
        history.append([said("Other.")], turn_id="named")
    assert [item["content"] for item in history.newest()] == ["Hello.", "Hello.", "Named."]
    assert history.append([]) == []


def test_the_owner_still_sees_what_was_popped(history: ItemHistory) -> None:
    history.append([said("Stay."), said("Go away.", "assistant")])
    assert history.pop() == said("Go away.", "assistant")
    assert history.newest() == [said("Stay.")]
    replay = runtime_of(history).transcripts.replay
    assert "Go away." not in repr(replay(history.key, View.MODEL_CONTEXT).turns)
    assert "Go away." not in repr(replay(history.key, View.HOST_UI).turns)
    assert "Go away." in repr(replay(history.key, View.RAW_OWNER).turns)


def test_the_turn_of_the_last_item_is_masked_and_can_be_shown_again(history: ItemHistory) -> None:
    history.append([said("Kept.")])
    history.append([said("Popped.")])
    assert history.pop() == said("Popped.")
    kept, popped = runtime_of(history).transcripts.replay(history.key, View.RAW_OWNER).turns
    assert (kept.phase, popped.phase) == (Phase.ACTIVE, Phase.MASKED)
    runtime_of(history).lifecycle.request(history.key, Transition.UNMASK, "a mistake", WHO, turn=popped.turn)
    assert history.newest() == [said("Kept."), said("Popped.")]


def test_reasoning_can_be_popped(history: ItemHistory) -> None:
    history = ItemHistory(runtime_of(history), LIKE, words_of=words_everywhere)
    history.append([said("Hello."), {"text": "Let me think about it."}])
    assert history.newest()[1] == {"text": "Let me think about it."}
    assert history.pop() == {"text": "Let me think about it."}
    assert history.newest() == [said("Hello.")]


def test_what_has_no_words_can_be_popped(history: ItemHistory) -> None:
    history.append([said("Hello."), {"type": "marker", "n": 3}])
    assert history.pop() == {"type": "marker", "n": 3}
    assert history.newest() == [said("Hello.")]


@given(
    steps=st.lists(
        st.lists(st.text("ab", min_size=1, max_size=2), min_size=1, max_size=3) | st.sampled_from(["pop", "clear"]),
        max_size=12,
    )
)
def test_it_is_a_list(runtime: Runtime, steps: list[Any]) -> None:
    history, expected = fresh(runtime), list[Item]()
    for step in steps:
        if step == "pop":
            assert history.pop() == (expected.pop() if expected else None)
        elif step == "clear":
            history.clear()
            expected.clear()
        else:
            history.append([said(text) for text in step])
            expected += [said(text) for text in step]
        assert history.newest() == expected


def test_clearing_a_conversation_that_never_was_changes_nothing(history: ItemHistory) -> None:
    assert not history.clear().changed
    assert history.pop() is None
    assert history.newest() == []


# --- at the same time -------------------------------------------------------------------------------------------------


def test_two_writers_lose_nothing(history: ItemHistory) -> None:
    other = ItemHistory(runtime_of(history), LIKE)
    with ThreadPoolExecutor(8) as threads:
        for number in range(20):
            threads.submit(history.append, [said(f"a{number}"), said(f"a{number}+")])
            threads.submit(other.append, [said(f"b{number}")])
        readings = [threads.submit(history.newest, 7) for _ in range(20)]
    contents = [item["content"] for item in other.newest()]
    assert len(contents) == 60
    for number in range(20):
        assert contents.index(f"a{number}+") == contents.index(f"a{number}") + 1
    for reading in readings:  # each saw a piece of the history, without a hole
        seen = [item["content"] for item in reading.result()]
        if seen:
            start = contents.index(seen[0])
            assert contents[start : start + len(seen)] == seen


def test_an_item_is_popped_once(history: ItemHistory) -> None:
    items = [said(f"{number}") for number in range(12)]
    history.append(items[:6])
    for item in items[6:]:
        history.append([item])
    with ThreadPoolExecutor(6) as threads:
        popped = list(threads.map(lambda _: history.pop(), range(14)))
    assert sorted(int(item["content"]) for item in popped if item) == list(range(12))
    assert popped.count(None) == 2


def _turns(history: ItemHistory) -> list[str]:
    page = runtime_of(history).transcripts.replay(history.key, View.RAW_OWNER)
    return [turn.turn for turn in page.turns]


def _plain(text: str) -> list[Any]:
    return [muniment.Message(role=Role.USER, content=text)]


def test_the_key_is_that_of_the_conversation(history: ItemHistory) -> None:
    assert history.key == key_of(TALK)


def test_types_that_json_has_a_form_for_come_back_in_it(history: ItemHistory) -> None:
    history.append([{"role": Role.USER, "content": ("Hello.", Role.TOOL), 1: {"deep": (1, 2)}}])  # type: ignore[dict-item] # on purpose
    assert history.newest() == [{"role": "user", "content": ["Hello.", "tool"], "1": {"deep": [1, 2]}}]
