"""Calls with their results, whichever turn they came in, and what each interface makes of a conversation."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.events.changes import Transition
from muniment.events.message import BlobPart, FilePart, Message, ReasoningPart, Role, TextPart, UriPart
from muniment.events.message import ToolCallPart as Call
from muniment.events.message import ToolCallResponsePart as Result
from muniment.governance.views import Reason, View
from muniment.operations.context.pairs import PAIR_TURNS_MAX
from muniment.operations.context.prompt import Composition, Context, Gaps, MissingReason, Shape, StopReason, SystemText
from muniment.operations.transcripts.redact import Passage
from tests.context.prompts import called, messages_of, pairs_of, returned, turn_of
from tests.turns import answered, asked
from tests.worlds import World, key_of

LOOK = Call(name="look", id="call-1", arguments={"at": "lamp"})
DARK = Result(response="dark", id="call-1")


def context(world: World, budget: int = 10_000, shape: Shape = Shape.OPENAI, **composed: Any) -> Context:
    """Return a context of the conversation of the world."""
    return world.runtime.transcripts.context(
        key_of(),
        budget,
        shape=shape,
        view=composed.pop("view", View.MODEL_CONTEXT),
        composition=Composition(**composed),
    )


# --- pairs ------------------------------------------------------------------------------------------------------------


def test_a_result_of_a_later_turn_stands_behind_its_call(world: World) -> None:
    world.commit(turn_of(1, asked("Is it dark?"), called(LOOK)))
    world.commit(turn_of(2, asked("Well?"), returned(DARK), answered("It is.")))
    found = context(world)
    assert [each["role"] for each in found.messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert pairs_of(found) == (["call-1"], ["call-1"])
    assert (found.turns, found.left_out) == (2, {})


def test_turns_that_share_a_pair_are_cut_together(world: World) -> None:
    """And with them the turns between."""
    world.commit(turn_of(1, asked("Is it dark?"), called(LOOK)))
    world.commit(turn_of(2, asked("Hello?")))
    world.commit(turn_of(3, returned(DARK), answered("It is.")))
    world.commit(turn_of(4, asked("Thanks.")))
    whole = context(world)
    assert whole.turns == 4
    some = context(world, whole.tokens - 1)
    assert ([each["content"] for each in some.messages], some.first_sequence) == (["Thanks."], 4)
    assert (some.cut_by, some.turns_before) == (StopReason.TOKENS, 3)


def test_a_result_that_comes_very_late_is_no_pair(world: World) -> None:
    """A unit never reaches further back than what is read beside the turns that fit."""
    world.commit(turn_of(1, called(LOOK, text="I look.")))
    for number in range(2, PAIR_TURNS_MAX + 3):
        world.commit(turn_of(number, asked("Well?")))
    world.commit(turn_of(PAIR_TURNS_MAX + 3, returned(DARK), answered("It is dark.")))
    found = context(world)
    assert (pairs_of(found), found.left_out) == (([], []), {"unpaired": 2})
    assert found.messages[0]["content"] == "I look."


@pytest.mark.parametrize(
    ("spoken", "pairs", "unpaired"),
    [
        ([called(LOOK)], 0, 1),
        ([returned(DARK)], 0, 1),
        ([returned(DARK), called(LOOK)], 0, 2),
        ([called(LOOK), returned(DARK), returned(DARK)], 1, 1),
        ([called(LOOK, LOOK), returned(DARK, DARK)], 2, 0),
        ([called(LOOK), returned(Result(response=1, id="other"))], 0, 2),
        ([called(LOOK), returned(Result(response=1))], 1, 0),
        ([called(Call(name="look")), returned(Result(response=1))], 1, 0),
        ([called(LOOK), Message(role=Role.TOOL, content="dark")], 1, 0),
        ([Message(role=Role.USER, content=[LOOK]), returned(DARK)], 0, 2),
        ([called(LOOK), Message(role=Role.USER, content=[DARK])], 1, 0),
    ],
)
def test_a_result_answers_the_call_of_its_id_or_the_oldest_of_its_turn(
    world: World, spoken: list[Message], pairs: int, unpaired: int
) -> None:
    world.commit(turn_of(1, asked("Is it dark?"), *spoken))
    found = context(world)
    calls, results = pairs_of(found)
    assert (calls == results, len(calls)) == (True, pairs)
    assert found.left_out.get("unpaired", 0) == unpaired


def test_a_call_whose_result_is_withheld_is_not_shown_either(world: World) -> None:
    world.commit(turn_of(1, asked("Is it dark?"), called(LOOK, text="I look."), returned(DARK), answered("It is.")))
    world.redact(Passage(turn=turn_of(1).turn, message=2))
    found = context(world)
    assert [each["content"] for each in found.messages] == ["Is it dark?", "I look.", "It is."]
    assert (found.withheld, found.left_out) == ({Reason.REDACTED: 1}, {"unpaired": 1})


def test_a_masked_turn_takes_the_pairs_apart_that_reach_into_it(world: World) -> None:
    world.commit(turn_of(1, asked("Is it dark?"), called(LOOK)))
    world.commit(turn_of(2, returned(DARK), answered("It is.")))
    world.request(Transition.MASK, 2)
    found = context(world, gaps=Gaps.LEAVE_OUT)
    assert [each["content"] for each in found.messages] == ["Is it dark?"]


def test_ids_and_names_are_what_every_interface_takes(world: World) -> None:
    calls = [Call(name="a b.c", id="call 1"), Call(name="look" * 40, id="call-2"), Call(name="look", id="call-2")]
    results = [Result(response=place, id=call.id) for place, call in enumerate(calls)]
    world.commit(turn_of(1, called(*calls), returned(results[0], results[2], results[1])))
    (said, *answers) = context(world).messages
    assert [call["function"]["name"] for call in said["tool_calls"]] == ["a_b_c", ("look" * 40)[:64], "look"]
    ids = [call["id"] for call in said["tool_calls"]]
    assert ids == ["call_1_0_0", "call_1_0_1", "call-2"]
    assert [(each["tool_call_id"], each["content"]) for each in answers] == [
        (ids[0], "0"),
        (ids[1], "1"),
        (ids[2], "2"),
    ]


def test_the_place_of_a_call_is_no_id_that_another_has(world: World) -> None:
    calls = [Call(name="look", id="call_1_0_1"), Call(name="look", id="?")]
    world.commit(turn_of(1, called(*calls), returned(*[Result(response=1, id=call.id) for call in calls])))
    assert pairs_of(context(world))[0] == ["call_1_0_1", "call_1_0_1_"]


def test_a_message_of_which_only_blanks_are_shown_is_not_there(world: World) -> None:
    blank: list[Any] = [ReasoningPart(content="hm"), TextPart(content=" \n")]
    world.commit(turn_of(1, asked("Is it dark?"), Message(role=Role.ASSISTANT, content=blank)))
    assert [each["role"] for each in context(world).messages] == ["user"]


@pytest.mark.parametrize(
    ("arguments", "given"), [(None, "{}"), ({"a": 1}, '{"a":1}'), ("raw", '{"input":"raw"}'), ([1], '{"input":[1]}')]
)
def test_arguments_are_an_object(world: World, arguments: Any, given: str) -> None:
    world.commit(turn_of(1, called(Call(name="look", id="c", arguments=arguments)), returned(Result(id="c"))))
    said = context(world).messages[0]
    assert said["tool_calls"][0]["function"]["arguments"] == given


def test_blocks_of_text_that_a_tool_returned_are_text(world: World) -> None:
    blocks = [{"type": "text", "text": "dark"}, {"type": "text", "text": "cold"}]
    world.commit(turn_of(1, called(LOOK), returned(Result(id="call-1", response=blocks))))
    assert context(world).messages[1]["content"] == "dark\ncold"


# --- shapes -----------------------------------------------------------------------------------------------------------

CONVERSATION = [
    Message(role=Role.SYSTEM, content="Be brief."),
    asked("Is it dark?"),
    Message(role=Role.ASSISTANT, content=[ReasoningPart(content="hm"), TextPart(content="I look."), LOOK]),
    returned(DARK),
    answered("It is."),
]


def test_a_conversation_in_the_shape_of_openai(world: World) -> None:
    world.commit(turn_of(1, *CONVERSATION))
    arguments = {"name": "look", "arguments": '{"at":"lamp"}'}
    assert context(world).messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Is it dark?"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "call-1", "type": "function", "function": arguments}],
        },
        {"role": "tool", "tool_call_id": "call-1", "content": "dark"},
        {"role": "assistant", "content": "It is."},
    ]


def test_a_conversation_in_the_shape_of_anthropic(world: World) -> None:
    world.commit(turn_of(1, *CONVERSATION))
    world.commit(turn_of(2, asked("Thanks."), asked("Bye.")))
    found = context(world, shape=Shape.ANTHROPIC)
    assert found.system == [{"type": "text", "text": "Be brief."}]
    assert found.messages == [
        {"role": "user", "content": [{"type": "text", "text": "Is it dark?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "call-1", "name": "look", "input": {"at": "lamp"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call-1", "content": "dark"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "It is."}]},
        {"role": "user", "content": [{"type": "text", "text": "Thanks."}, {"type": "text", "text": "Bye."}]},
    ]


def test_a_result_that_is_null_is_there_in_the_shape_of_open_telemetry(world: World) -> None:
    world.commit(
        turn_of(1, asked("Is it dark?"), called(LOOK), returned(Result(id="call-1")), answered("I do not know."))
    )
    [result] = [each for each in context(world, shape=Shape.OTEL).messages if each["role"] == "tool"]
    assert result["parts"] == [{"type": "tool_call_response", "response": None, "id": "call-1"}]


def test_a_conversation_in_the_shape_of_open_telemetry(world: World) -> None:
    """Reasoning has a place there, for views that show it."""
    world.commit(turn_of(1, *CONVERSATION))
    found = context(world, shape=Shape.OTEL, view=View.RAW_OWNER)
    assert found.messages[2] == {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "content": "hm"},
            {"type": "text", "content": "I look."},
            {"type": "tool_call", "name": "look", "id": "call-1", "arguments": {"at": "lamp"}},
        ],
    }
    assert found.messages[3] == {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "response": "dark", "id": "call-1"}],
    }
    assert context(world, view=View.RAW_OWNER).left_out == {"reasoning": 1}


def test_where_the_user_has_to_begin_an_opening_stands_before_the_assistant(world: World) -> None:
    world.commit(turn_of(1, answered("Hello, it is me.")))
    found = context(world, shape=Shape.ANTHROPIC)
    assert [each["role"] for each in found.messages] == ["user", "assistant"]
    assert context(world, found.tokens - 1, shape=Shape.ANTHROPIC).messages == []
    assert [each["role"] for each in context(world).messages] == ["assistant"]


def test_a_result_that_was_an_error_is_one_again_for_anthropic(world: World) -> None:
    failed = {"content": "no such lamp", "is_error": True}
    world.commit(turn_of(1, called(LOOK), returned(Result(id="call-1", response=failed))))
    (block,) = context(world, shape=Shape.ANTHROPIC).messages[-1]["content"]
    assert block == {"type": "tool_result", "tool_use_id": "call-1", "content": "no such lamp", "is_error": True}
    assert "is_error" in context(world).messages[-1]["content"]


FILES = [
    BlobPart(content=b"1", mime_type="image/png", modality="image"),
    BlobPart(content=b"2", mime_type="audio/mpeg"),
    BlobPart(content=b"3", mime_type="application/pdf"),
    BlobPart(content=b"4", mime_type="text/plain"),
    FilePart(file_id="file-1", mime_type="application/pdf"),
    FilePart(file_id="file-2", modality="image"),
    UriPart(uri="https://lamp.example/1.png", mime_type="image/png"),
    UriPart(uri="https://lamp.example/1.pdf", mime_type="application/pdf"),
    UriPart(uri="https://lamp.example/"),
]


@pytest.mark.parametrize(("shape", "kept"), [(Shape.OPENAI, 6), (Shape.ANTHROPIC, 6), (Shape.OTEL, 9)])
def test_files_stand_as_words_unless_they_are_counted(world: World, shape: Shape, kept: int) -> None:
    """Only the user brings files along, but for OpenTelemetry, whose messages are for reading."""
    said: list[Any] = [TextPart(content="Look."), *FILES]
    world.commit(turn_of(1, Message(role=Role.USER, content=said)))
    bare, full = context(world, shape=shape), context(world, shape=shape, file_tokens=100)
    assert bare.left_out == {"file": 9}
    assert "[image/png]" in messages_of(bare)[0]
    assert "[file]" in messages_of(bare)[0]
    assert full.left_out.get("file", 0) == 9 - kept
    (message,) = full.messages
    blocks = message.get("content", message.get("parts", []))
    assert len([block for block in blocks if block["type"] != "text"]) == kept
    assert full.tokens >= 100 * kept
    assert context(world, full.tokens - 1, shape=shape, file_tokens=100).messages == []


def test_what_kinds_of_file_each_interface_takes(world: World) -> None:
    said: list[Any] = list(FILES)
    world.commit(turn_of(1, Message(role=Role.USER, content=said)))
    (chat,) = context(world, file_tokens=1).messages
    assert [block["type"] for block in chat["content"]] == [
        *("image_url", "input_audio", "file", "text", "file", "file", "image_url", "text", "text")
    ]
    assert chat["content"][1]["input_audio"] == {"data": "Mg==", "format": "mp3"}
    (message,) = context(world, shape=Shape.ANTHROPIC, file_tokens=1).messages
    assert [block["type"] for block in message["content"]] == [
        *("image", "text", "document", "text", "document", "image", "image", "document", "text")
    ]
    assert message["content"][0]["source"] == {"type": "base64", "media_type": "image/png", "data": "MQ=="}
    (line,) = context(world, shape=Shape.OTEL, file_tokens=1).messages
    assert line["parts"][0] == {"type": "blob", "content": "MQ==", "mime_type": "image/png", "modality": "image"}


@pytest.mark.parametrize("shape", [Shape.OPENAI, Shape.ANTHROPIC])
def test_an_image_that_an_interface_does_not_take_stands_as_words(world: World, shape: Shape) -> None:
    said: list[Any] = [BlobPart(content=b"1", mime_type="image/tiff", modality="image")]
    world.commit(turn_of(1, Message(role=Role.USER, content=said)))
    assert messages_of(context(world, shape=shape, file_tokens=1)) == [["[image/tiff]"]]


# --- system text ------------------------------------------------------------------------------------------------------


def test_system_text_stands_first_whichever_turns_fit(world: World) -> None:
    """That with which the conversation begins, and that of the turns that are there; each once."""
    world.commit(turn_of(1, Message(role=Role.SYSTEM, content="Be brief."), asked("One?")))
    for number in range(2, 40):
        world.commit(turn_of(number, asked("And?"), Message(role=Role.SYSTEM, content="Be kind."), answered("So.")))
    found = context(world, 100)
    assert [each["content"] for each in found.messages[:3]] == ["Be brief.", "Be kind.", "And?"]
    assert found.first_sequence is not None
    assert found.first_sequence > 1
    bare = context(world, 100, system=SystemText.LEAVE_OUT)
    assert bare.messages[0]["content"] == "And?"
    assert bare.sections[0].miss is MissingReason.NOT_ASKED


def test_system_text_that_is_said_again_costs_nothing(world: World) -> None:
    for number in range(1, 6):
        world.commit(turn_of(number, asked("And?"), Message(role=Role.SYSTEM, content="Be kind."), answered("So.")))
        world.commit(turn_of(number + 5, Message(role=Role.SYSTEM, content="Be brief."), asked("And?")))
    whole = context(world)
    assert [each["content"] for each in whole.messages[:2]] == ["Be kind.", "Be brief."]
    assert context(world, whole.tokens).messages == whole.messages
    assert context(world, whole.tokens - 1).turns == 9


def test_system_text_that_has_no_room_is_not_cut(world: World) -> None:
    world.commit(turn_of(1, Message(role=Role.SYSTEM, content="Be brief. " * 40), asked("One?")))
    world.commit(turn_of(2, asked("Two?")))
    found = context(world, 30)
    assert [each["content"] for each in found.messages] == ["Two?"]
    assert found.sections[0].miss is MissingReason.NO_ROOM


def test_system_text_that_is_withheld_is_not_there(world: World) -> None:
    world.commit(turn_of(1, Message(role=Role.SYSTEM, content="Be brief."), asked("One?")))
    world.commit(turn_of(2, asked("Two?")))
    world.request(Transition.MASK, 1)
    assert "brief" not in str(context(world).messages)
    assert context(world, view=View.HOST_UI).sections[0].miss is MissingReason.NOTHING_THERE
