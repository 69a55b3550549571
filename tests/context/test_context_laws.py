"""What holds for every context: of any conversation, within any budget, in any shape."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import muniment
from muniment.errors import InvalidInput
from muniment.events.changes import Transition
from muniment.events.message import Message
from muniment.governance.views import Reason, View
from muniment.kernel.sources import seeded_sources
from muniment.operations.context.prompt import (
    Composition,
    Context,
    ContextPart,
    Gaps,
    MissingReason,
    Shape,
    StopReason,
    SystemText,
)
from muniment.space.options import Options
from tests.context.prompts import compositions, estimated, messages, messages_of, pairs_of, turn_of
from tests.turns import answer, asked, question, rich_turn
from tests.worlds import OPERATOR, World, key_of, memory_world, root_key

BUDGETS = st.integers(0, 60) | st.integers(0, 2000)
BARE = Composition(overhead_tokens=0, begins=True)
NAMED = re.compile(r"[A-Za-z0-9_-]{1,64}")


def context(world: World, budget: int = 10_000, **asked_for: Any) -> Context:
    """Return a context of the conversation of the world, which may begin."""
    composition = asked_for.pop("composition", Composition())
    if isinstance(composition, Composition):
        composition = msgspec.structs.replace(composition, begins=True)
    return world.runtime.transcripts.context(key_of(), budget, composition=composition, **asked_for)


conversations = st.lists(st.lists(messages, min_size=1, max_size=5), max_size=8)
hidden = st.lists(st.tuples(st.integers(1, 8), st.sampled_from([Transition.MASK, Transition.ERASE])), max_size=2)


def told(conversation: list[list[Message]], away: list[tuple[int, Transition]]) -> World:
    """Return a world with a conversation of which some turns were hidden."""
    world = memory_world()
    committed = [
        number
        for number, spoken in enumerate(conversation, start=1)
        if world.commit(turn_of(number, *spoken)).committed
    ]
    for number, transition in away:
        if number in committed:
            world.request(transition, number)
    return world


@settings(max_examples=60, deadline=None)
@given(conversations, hidden, BUDGETS, st.sampled_from(Shape), compositions, st.sampled_from(["", "question", "a e"]))
def test_the_budget_is_never_exceeded_and_the_report_says_what_is_there(
    conversation: list[list[Message]],
    away: list[tuple[int, Transition]],
    budget: int,
    shape: Shape,
    composition: Composition,
    query: str,
) -> None:
    """PJ-02: for any conversation, budget, shape and composition; recounted from the messages alone."""
    with told(conversation, away).runtime as runtime:
        found = runtime.transcripts.context(
            key_of(), budget, query or None, shape, composition=replace(composition, file_tokens=None)
        )
    assert found.tokens <= budget == found.budget_tokens
    recounted = estimated(found, composition.overhead_tokens)
    assert recounted <= found.tokens
    if shape is not Shape.ANTHROPIC:
        assert (recounted, len(found.messages)) == (found.tokens, sum(each.messages for each in found.sections))
    assert found.tokens == sum(each.tokens for each in found.sections)
    assert found.chars >= sum(len(text) for said in messages_of(found) for text in said) - len(found.messages)
    assert [each.part for each in found.sections] == list(ContextPart)
    for each in found.sections:
        assert each.included == (each.miss is None) == bool(each.messages)


@settings(max_examples=40, deadline=None)
@given(conversations, hidden, BUDGETS, st.sampled_from(Shape), compositions)
def test_no_call_is_without_its_result_and_no_result_without_its_call(
    conversation: list[list[Message]],
    away: list[tuple[int, Transition]],
    budget: int,
    shape: Shape,
    composition: Composition,
) -> None:
    """The ids are those of pairs, each of them once, and no interface refuses one."""
    with told(conversation, away).runtime as runtime:
        found = runtime.transcripts.context(key_of(), budget, shape=shape, composition=composition)
    calls, results = pairs_of(found)
    assert calls == results
    assert len(set(calls)) == len(calls)
    assert all(NAMED.fullmatch(each) for each in calls)


@settings(max_examples=40, deadline=None)
@given(conversations, hidden, BUDGETS, st.sampled_from(["", "question"]), compositions)
def test_the_rules_of_the_interfaces_hold(
    conversation: list[list[Message]],
    away: list[tuple[int, Transition]],
    budget: int,
    query: str,
    composition: Composition,
) -> None:
    """Anthropic: the user begins, nobody speaks twice, results come first; OpenAI: they are behind their calls."""
    with told(conversation, away).runtime as runtime:
        ask = runtime.transcripts.context
        spoken = ask(key_of(), budget, query or None, Shape.ANTHROPIC, composition=composition).messages
        chat = ask(key_of(), budget, query or None, Shape.OPENAI, composition=composition).messages
    roles = [each["role"] for each in spoken]
    assert roles == (["user", "assistant"] * len(roles))[: len(roles)]
    for before, after in pairwise([*spoken, {"content": []}]):
        assert all(block.get("text", "x").strip() for block in before["content"])
        uses = [block["id"] for block in before["content"] if block["type"] == "tool_use"]
        first = [block.get("tool_use_id") for block in after["content"]][: len(uses)]
        assert (first == uses) or not uses
    waiting: list[str] = []
    for message in chat:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert not waiting
            waiting = [call["id"] for call in message.get("tool_calls", [])]
        assert set(message) <= {"role", "content", "tool_calls", "tool_call_id"}
        assert message["role"] == "user" or not _files(message)
    assert not waiting


def _files(message: dict[str, Any]) -> list[Any]:
    content = message["content"]
    return [block for block in content if block["type"] != "text"] if isinstance(content, list) else []


@settings(max_examples=30, deadline=None)
@given(conversations, BUDGETS, st.integers(0, 200), st.sampled_from(Shape))
def test_a_larger_budget_takes_no_turn_away(
    conversation: list[list[Message]], budget: int, more: int, shape: Shape
) -> None:
    """What fits is a run of turns up to the newest, and grows with the budget."""
    composition = Composition(system=SystemText.LEAVE_OUT, begins=True)
    with told(conversation, []).runtime as runtime:
        few = runtime.transcripts.context(key_of(), budget, shape=shape, composition=composition)
        many = runtime.transcripts.context(key_of(), budget + more, shape=shape, composition=composition)
    assert many.turns_before <= few.turns_before
    if shape is Shape.OPENAI:
        assert few.messages == many.messages[len(many.messages) - len(few.messages) :]


@settings(max_examples=30, deadline=None)
@given(conversations, BUDGETS, st.lists(st.integers(0, 50), min_size=1, max_size=7), st.sampled_from(["", "question"]))
def test_whoever_counts_the_budget_is_never_exceeded(
    conversation: list[list[Message]], budget: int, counts: list[int], query: str
) -> None:
    """Also with a counter that no text explains."""

    def counter(text: str) -> int:
        return counts[len(text) % len(counts)]

    options = Options(sources=seeded_sources("counted"), token_counter=counter)
    with muniment.open("memory:", keys=root_key(), options=options) as runtime:
        for number, spoken in enumerate(conversation, start=1):
            runtime.transcripts.commit(turn_of(number, *spoken))
        found = runtime.transcripts.context(key_of(), budget, query or None, composition=BARE)
    assert found.counter == "caller"
    assert found.tokens <= budget
    assert found.tokens == sum(counter("\n".join(said)) for said in messages_of(found) if "\n".join(said))


# --- examples ---------------------------------------------------------------------------------------------------------


def test_the_newest_turns_that_fit_come_in_the_order_of_the_conversation(world: World) -> None:
    world.with_turns(5)
    whole = context(world)
    assert [said for (said,) in messages_of(whole)] == [
        text for number in range(1, 6) for text in (question(number), answer(number))
    ]
    assert (whole.first_sequence, whole.last_sequence, whole.turns, whole.turns_before) == (1, 5, 5, 0)
    assert (whole.cut_by, whole.counter, whole.withheld) == (None, "estimate", {})
    some = context(world, whole.tokens - 1)
    assert some.messages == whole.messages[2:]
    assert (some.first_sequence, some.turns, some.turns_before, some.cut_by) == (2, 4, 1, StopReason.TOKENS)


@pytest.mark.parametrize("shape", Shape)
def test_a_tiny_budget_gives_an_honest_report_of_nothing(world: World, shape: Shape) -> None:
    """PJ-02, with the figure of that rule and with nothing at all."""
    world.with_turns(2).commit(turn_of(3, asked("long " * 400)))
    for budget in (0, 1, 64):
        found = context(world, budget, shape=shape, query="question")
        assert (found.messages, found.tokens, found.turns, found.turns_before) == ([], 0, 0, 3)
        assert (found.first_sequence, found.cut_by) == (None, StopReason.TOKENS)
        assert [each.miss for each in found.sections] == [
            MissingReason.NOTHING_THERE,
            MissingReason.NO_ROOM,
            MissingReason.NO_ROOM,
        ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": -1},
        {"budget": "many"},
        {"shape": "ollama"},
        {"query": 7},
        *(
            {"composition": each}
            for each in [{"reference_percent": 101}, {"file_tokens": -1}, {"gaps": "all"}, {"x": 1}]
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(world: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        context(world, **wrong)


def test_a_conversation_that_begins_has_an_empty_context(world: World) -> None:
    found = context(world, 100, query="anything")
    assert (found.messages, found.turns, found.turns_before, found.digest) == ([], 0, 0, None)
    assert {each.miss for each in found.sections} == {MissingReason.NOTHING_THERE}


def test_what_is_withheld_is_counted_and_never_there(world: World) -> None:
    """PJ-05: masked, erased and private words; a marker says nothing of the reason."""
    world.with_turns(6).masked(2).erased(3).masked(5)
    marked, bare = context(world), context(world, composition=Composition(gaps=Gaps.LEAVE_OUT))
    assert marked.withheld == bare.withheld == {Reason.LIFECYCLE_MASKED: 4, Reason.ERASED: 2}
    told_of = [said for (said,) in messages_of(marked)]
    marker = "[Something that was said here is not shown.]"
    assert told_of == [question(1), answer(1), marker, question(4), answer(4), marker, question(6), answer(6)]
    assert [said for (said,) in messages_of(bare)] == [each for each in told_of if each != marker]
    assert not any(reason in str(marked.messages) for reason in Reason)


def test_archived_turns_are_there_when_they_are_asked_for(world: World) -> None:
    world.with_turns(3).archived(2)
    assert context(world).withheld == {"archived": 2}
    assert len(context(world).messages) == 4
    everything = Composition(lifecycle=muniment.LifecycleFilter.ACTIVE_AND_ARCHIVED)
    assert len(context(world, composition=everything).messages) == 6


@pytest.mark.parametrize("view", View)
def test_a_context_shows_what_its_view_shows(world: World, view: View) -> None:
    """No word of a context is missing in the replay of the same view."""
    world.with_turns(2).commit(rich_turn())
    shown = str([message.parts for turn in world.replay(view).turns for message in turn.messages])
    for said in messages_of(context(world, view=view)):
        for text in said:
            assert text in shown or text.startswith(("[", "{"))
    if view is View.OPERATOR_AUDIT:
        assert context(world, view=view).messages == []


@pytest.mark.parametrize("wrong", [-1, 1.5, "7", None, True])
def test_a_counter_that_does_not_count_is_refused(wrong: Any) -> None:
    options = Options(sources=seeded_sources("wrong"), token_counter=lambda _text: wrong)
    with muniment.open("memory:", keys=root_key(), options=options) as runtime:
        runtime.transcripts.commit(turn_of(1, asked("one")))
        with pytest.raises(InvalidInput, match="token_counter: not a count"):
            runtime.transcripts.context(key_of(), 10)


def test_a_context_is_read_in_pieces_as_large_as_it_needs(world: World) -> None:
    """More turns than one batch, and a budget that ends in the middle of them."""
    world.with_turns(150)
    whole = context(world, 100_000)
    assert (whole.turns, whole.first_sequence) == (150, 1)
    some = context(world, whole.tokens // 2)
    assert (some.turns, some.first_sequence) == (75, 76)
    assert OPERATOR not in str(whole)
