"""Histories and recall for LangChain: messages come back exactly, and nothing is rewritten."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="the group `host-langchain` is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)

import muniment
from muniment import ConversationKey, Message, Turn, View
from muniment.errors import InvalidInput
from muniment.events.changes import RedactionReason
from muniment.events.message import Role, TextPart
from muniment.host.langchain_history import EvidenceChatHistory
from muniment.host.langchain_retriever import RecallRetriever
from muniment.operations.memory.recall_report import RecallPlane
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.runtime import Runtime

LAMP = ConversationKey(conversation="lamp")


@pytest.fixture
def store() -> Iterator[Runtime]:
    with muniment.open("memory:") as opened:
        yield opened


def history_of(store: Runtime, conversation: str = "lamp") -> EvidenceChatHistory:
    return EvidenceChatHistory(store, subject="ada", conversation=conversation)


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
arguments = st.dictionaries(text, st.none() | st.booleans() | st.integers(-9, 9) | text | st.lists(text, max_size=2))
blocks = st.one_of(
    st.builds(lambda words: {"type": "text", "text": words}, text),
    st.builds(lambda words: {"type": "reasoning", "reasoning": words}, text),
    st.builds(lambda words: {"type": "thinking", "thinking": words, "signature": "c2ln"}, text),
    st.builds(lambda words: {"type": "image_url", "image_url": {"url": words}}, text),
    st.builds(lambda words: {"type": "image", "base64": words, "mime_type": "image/png"}, text),
    st.builds(lambda words: {"type": "unheard_of", "inside": [words]}, text),
)
content = text | st.lists(blocks, max_size=3)
metadata = st.dictionaries(st.sampled_from(["model_name", "finish_reason", "note", "type"]), text | st.integers(0, 9))
calls = st.lists(
    st.builds(lambda given: {"name": "add", "args": given, "id": "call-1", "type": "tool_call"}, arguments), max_size=2
)
messages = st.lists(
    st.one_of(
        st.builds(HumanMessage, content, name=st.none() | text),
        st.builds(SystemMessage, content),
        st.builds(AIMessage, content, tool_calls=calls, response_metadata=metadata, id=st.none() | text),
        st.builds(AIMessageChunk, text),
        st.builds(ToolMessage, content, tool_call_id=text, artifact=st.none() | arguments | text),
        st.builds(ToolMessage, text, tool_call_id=text, status=st.just("error")),
        st.builds(FunctionMessage, text, name=st.just("add")),
        st.builds(ChatMessage, text, role=text),
    ),
    min_size=1,
    max_size=5,
)


@given(st.lists(messages, min_size=1, max_size=10))
@settings(max_examples=20)  # each opens a store
def test_messages_come_back_as_they_were_added(several: list[list[BaseMessage]]) -> None:
    """What a history gives back is what LangChain reads from its own form of what was added."""
    with muniment.open("memory:") as store:
        for number, added in enumerate(several):
            history = history_of(store, f"c-{number}")
            history.add_messages(added)
            assert messages_to_dict(history.messages) == messages_to_dict(added)
            assert history.messages == messages_from_dict(messages_to_dict(added))


def test_a_history_grows_by_turns_and_is_read_by_the_views(store: Runtime) -> None:
    history = history_of(store)
    history.add_user_message("Is it on?")
    asyncio.run(history.aadd_messages([AIMessage("It is.", response_metadata={"model_name": "m", "logprobs": None})]))
    assert asyncio.run(history.aget_messages()) == history.messages
    assert [message.text for message in history.messages] == ["Is it on?", "It is."]
    shown = store.transcripts.replay(LAMP).turns
    assert [[part for message in turn.messages for part in message.parts] for turn in shown] == [
        [TextPart(content="Is it on?")],
        [TextPart(content="It is.")],
    ]


def test_a_redacted_word_comes_back_as_a_marker_and_a_cleared_history_is_empty(store: Runtime) -> None:
    history = history_of(store)
    history.add_user_message("I am Ada Lovelace.")
    (turn,) = store.transcripts.replay(LAMP).turns
    passage = Passage(turn=turn.turn, message=0, part=0, start=5, end=17)
    _ = store.transcripts.redact(LAMP, passage, [View.MODEL_CONTEXT], RedactionReason.LEGAL, "ada")
    assert [message.text for message in history.messages] == ["I am [redacted: legal]."]
    asyncio.run(history.aclear())
    assert history.messages == []
    history.add_user_message("Again.")
    assert [message.text for message in history.messages] == ["Again."]


def test_what_is_no_json_is_refused_and_nothing_is_added(store: Runtime) -> None:
    with pytest.raises(InvalidInput):
        history_of(store).add_messages([HumanMessage("one"), ToolMessage("3", tool_call_id="c", artifact=object())])
    assert history_of(store).messages == []


def test_a_retriever_finds_what_the_subject_said_and_where(store: Runtime) -> None:
    said: list[Any] = [Message(role=Role.USER, content=f"My lamp number {n} is red.") for n in range(4)]
    turn = Turn(turn="t-1", subject="ada", conversation="lamp", messages=said)
    _ = store.transcripts.commit(turn)
    (found,) = RecallRetriever(store=store, subject="ada", k=1).invoke("Which lamp is red?")
    assert found.page_content in {message.content for message in said}
    assert found.metadata["plane"] == RecallPlane.TRANSCRIPT
    assert found.metadata["evidence"] == [{"conversation": "lamp", "channel": "default", "turn": "t-1"}]
    assert len(asyncio.run(RecallRetriever(store=store, subject="ada").ainvoke("lamp red", k=3))) == 3
    assert RecallRetriever(store=store, subject="bob").invoke("lamp red") == []
    facts = RecallRetriever(store=store, subject="ada", planes=[RecallPlane.LONG_TERM])
    assert facts.invoke("lamp red") == []
