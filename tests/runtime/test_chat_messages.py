"""Plain message dictionaries: read into a turn, committed, and read back as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import muniment
from muniment.errors import MunimentError
from muniment.events.turn import Delivery, Protocol, Turn
from muniment.governance.views import View
from tests.turns import SUBJECT, TALK
from tests.worlds import World

Dicts = list[dict[str, Any]]
OPENAI: Dicts = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":"a.png"}'}},
    ]},
    {"role": "tool", "tool_call_id": "c1", "content": "a lamp"},
    {"role": "assistant", "content": "A lamp.", "reasoning_content": "It shines."},
]  # fmt: skip
ANTHROPIC: Dicts = [
    {"role": "user", "content": "What is this?"},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "It shines."},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "a.png"}},
    ]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": "a lamp"},
        {"type": "text", "text": "And?"},
    ]},
    {"role": "assistant", "content": "A lamp."},
]  # fmt: skip
LANGCHAIN: Dicts = [
    {"type": "system", "content": "Be brief."},
    {"type": "human", "content": "What is this?"},
    {"type": "ai", "content": "", "tool_calls": [
        {"name": "look", "args": {"at": "a.png"}, "id": "c1", "type": "tool_call"},
    ]},
    {"type": "tool", "tool_call_id": "c1", "content": "a lamp"},
    {"type": "ai", "content": "A lamp."},
]  # fmt: skip

Read = Callable[..., Turn]
Write = Callable[..., Dicts]
SHAPES: dict[str, tuple[Read, Write, Dicts]] = {
    "openai": (muniment.Turn.from_openai, muniment.openai_messages, OPENAI),
    "anthropic": (muniment.Turn.from_anthropic, muniment.anthropic_messages, ANTHROPIC),
    "langchain": (muniment.Turn.from_langchain, muniment.langchain_messages, LANGCHAIN),
}
NAMES: dict[str, Any] = {"turn": "t-1", "subject": SUBJECT, "conversation": TALK}


@pytest.mark.parametrize("shape", SHAPES)
def test_messages_come_back_as_they_were_committed(shape: str, world: World) -> None:
    """Dictionaries of a host, to a turn, to the log, to the raw owner's view, to the same dictionaries."""
    read, write, messages = SHAPES[shape]
    turn = read(messages, **NAMES)
    assert isinstance(turn, Turn)
    assert (turn.delivery, turn.turn) == (Delivery.DELIVERED, "t-1")
    assert world.commit(turn).committed
    shown = world.replay(View.RAW_OWNER).turns
    assert msgspec.to_builtins(write(shown)) == messages
    assert not world.commit(read(write(shown), **NAMES)).committed, "the same words are the same turn"


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_view_withholds_is_in_no_message(shape: str, world: World) -> None:
    read, write, messages = SHAPES[shape]
    world.commit(read(messages, **NAMES))
    told = str(write(world.replay(View.HOST_UI).turns))
    assert "What is this?" in told
    assert "a lamp" not in told
    assert "shines" not in told
    assert write(world.replay(View.OPERATOR_AUDIT).turns) == []


def test_what_is_given_goes_before_what_is_concluded() -> None:
    alone = muniment.Turn.from_openai([{"role": "user", "content": "hello"}], **NAMES)
    assert (alone.delivery, alone.source.protocol) == (Delivery.USER_ONLY, Protocol.OPENAI_CHAT)
    given = muniment.Turn.from_openai(OPENAI, **NAMES, delivery=Delivery.CANCELLED)
    assert given.delivery is Delivery.CANCELLED


def test_an_error_of_a_tool_comes_back_as_one(world: World) -> None:
    failed: Dicts = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": True}]},
    ]
    world.commit(muniment.Turn.from_anthropic(failed, **NAMES))
    assert muniment.anthropic_messages(world.replay(View.RAW_OWNER).turns) == failed
    of_langchain: Dicts = [
        {"type": "human", "content": "look"},
        {"type": "tool", "tool_call_id": "c", "content": "no", "status": "error"},
    ]
    world.commit(muniment.Turn.from_langchain(of_langchain, **{**NAMES, "turn": "t-2"}))
    assert muniment.langchain_messages(world.replay(View.RAW_OWNER).turns[1:]) == of_langchain


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("messages", [[], [{}], [{"role": "nobody", "content": "x"}], [{"role": object()}]])
def test_messages_that_cannot_be_read_refuse_the_turn(shape: str, messages: Dicts) -> None:
    """One is enough, and it is not quoted."""
    with pytest.raises(MunimentError) as refused:
        SHAPES[shape][0](messages, **NAMES)
    assert "nobody" not in str(refused.value)
