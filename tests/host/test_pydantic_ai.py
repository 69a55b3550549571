"""Pydantic AI: runs are committed and recall, and histories come back as they were."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="the group `host-pydantic-ai` is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

import muniment
from muniment import ConversationKey, Delivery, View
from muniment.errors import MunimentError, TurnConflict
from muniment.events.changes import RedactionReason
from muniment.host.failure_policy import FailurePolicy
from muniment.host.histories.pydantic_ai_items import items_of, messages_of
from muniment.host.pydantic_ai import EvidenceCapability, ModelMessageHistory
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.runtime import Runtime

LAMP = ConversationKey(conversation="lamp")
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def store() -> Iterator[Runtime]:
    with muniment.open("memory:") as opened:
        yield opened


@pytest.fixture
def unreachable() -> Runtime:
    """Return a store behind a server that does not answer."""
    return muniment.connect(NOWHERE, key="mk_" + "A" * 43)


def agent_of(capability: EvidenceCapability, model: Any = None, **more: Any) -> Agent[Any, str]:
    agent = Agent(model or TestModel(), capabilities=[capability], **more)

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    return agent


def history_of(store: Runtime, conversation: str = "lamp") -> ModelMessageHistory:
    return ModelMessageHistory(store, subject="ada", conversation=conversation)


def messages_in(store: Runtime, conversation: str = "lamp") -> list[ModelMessage]:
    return asyncio.run(history_of(store, conversation).messages())


def written(messages: list[ModelMessage]) -> Any:
    """Return messages as the JSON that Pydantic AI writes."""
    return json.loads(ModelMessagesTypeAdapter.dump_json(messages))


def roles(store: Runtime, view: View = View.RAW_OWNER) -> list[list[str]]:
    """Return who speaks in each turn, without the form of its messages."""
    shown = store.transcripts.replay(LAMP, view).turns
    return [[str(message.role) for message in turn.messages[:-1]] for turn in shown]


def test_a_redacted_file_leaves_a_history_that_is_read(store: Runtime) -> None:
    """What says that it is withheld is spelled as the bytes of a file are."""
    history = history_of(store)
    picture = BinaryContent(data=b"hunter2", media_type="image/png")
    asyncio.run(history.append([ModelRequest(parts=[UserPromptPart(["Look.", picture])])], run_id="r"))
    passage = Passage(turn="r", message=0, part=1)
    store.transcripts.redact(LAMP, passage, [View.MODEL_CONTEXT], RedactionReason.LEGAL, "host")
    (message,) = messages_in(store)
    (part,) = message.parts
    assert isinstance(part, UserPromptPart)
    words, file = part.content
    assert words == "Look."
    assert isinstance(file, BinaryContent)
    assert file.data == b"[redacted: legal]"


# --- histories --------------------------------------------------------------------------------------------------------

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
arguments = st.dictionaries(text, st.none() | st.booleans() | st.integers(-9, 9) | text | st.lists(text, max_size=2))
contents = st.lists(
    text | st.builds(BinaryContent, data=st.binary(max_size=9), media_type=st.just("image/png"))
    | st.builds(ImageUrl, url=st.just("https://example.org/lamp.png")),
    max_size=3,
)  # fmt: skip
asked: st.SearchStrategy[list[Any]] = st.lists(
    st.builds(SystemPromptPart, text)
    | st.builds(UserPromptPart, text | contents)
    | st.builds(ToolReturnPart, tool_name=st.just("add"), content=text | arguments, tool_call_id=st.just("call-1")),
    max_size=4,
)
answered: st.SearchStrategy[list[Any]] = st.lists(
    st.builds(TextPart, text)
    | st.builds(ThinkingPart, text)
    | st.builds(ToolCallPart, tool_name=st.just("add"), args=arguments, tool_call_id=st.just("call-1"))
    | st.builds(
        FilePart, content=st.builds(BinaryContent, data=st.binary(max_size=9), media_type=st.just("image/png"))
    ),
    max_size=4,
)
conversations = st.lists(
    st.builds(ModelRequest, parts=asked, instructions=st.none() | text)
    | st.builds(ModelResponse, parts=answered, model_name=st.none() | text),
    min_size=1,
    max_size=4,
)


@given(st.lists(conversations, min_size=1, max_size=10))
@settings(max_examples=20)  # each opens a store
def test_messages_come_back_as_they_are_written(several: list[list[ModelMessage]]) -> None:
    """What a history gives back is written as what it was given."""
    with muniment.open("memory:") as store:
        for number, messages in enumerate(several):
            history = history_of(store, f"c-{number}")
            history.commit(messages)
            assert written(asyncio.run(history.messages())) == written(messages)


@given(conversations)
def test_no_item_has_words_of_two_speakers(messages: list[ModelMessage]) -> None:
    """A part is in one item, and the items of a message are in its order."""
    assert written(messages_of(items_of(messages))) == written(messages)
    for item in items_of(messages):
        assert len({part["part_kind"] == "user-prompt" for part in item["parts"]}) <= 1


def test_the_messages_of_a_run_are_saved_once(store: Runtime) -> None:
    history = history_of(store)

    async def run() -> None:
        result = await agent_of(EvidenceCapability(store, "bob")).run("add", conversation_id="elsewhere")
        for _ in range(2):
            await history.append(result.new_messages(), run_id=result.run_id)
        assert written(await history.messages()) == written(result.all_messages())
        with pytest.raises(TurnConflict):
            await history.append(result.new_messages()[:1], run_id=result.run_id)

    asyncio.run(run())


def test_a_redacted_word_comes_back_as_a_marker_and_a_cleared_history_is_empty(store: Runtime) -> None:
    history = history_of(store)
    history.commit([ModelRequest(parts=[UserPromptPart("I am Ada Lovelace.")])], "run-1")
    passage = Passage(turn="run-1", message=0, part=0, start=5, end=17)
    _ = store.transcripts.redact(LAMP, passage, [View.MODEL_CONTEXT], RedactionReason.LEGAL, "ada")
    (message,) = messages_in(store)
    assert [part.content for part in message.parts if isinstance(part, UserPromptPart)] == ["I am [redacted: legal]."]
    asyncio.run(history.clear())
    assert messages_in(store) == []


# --- runs -------------------------------------------------------------------------------------------------------------


def test_a_run_is_one_turn_and_the_next_goes_on_from_it(store: Runtime) -> None:
    agent = agent_of(EvidenceCapability(store, "ada", policy=FailurePolicy.FAIL_CLOSED), instructions="Be brief.")
    first = asyncio.run(agent.run("add", conversation_id="lamp"))
    second = asyncio.run(agent.run("again", conversation_id="lamp", message_history=messages_in(store)))
    assert roles(store) == [
        ["system", "user", "assistant", "system", "tool", "assistant"],
        ["system", "user", "assistant"],
    ]
    assert [turn.turn for turn in store.transcripts.replay(LAMP).turns] == [first.run_id, second.run_id]
    assert written(messages_in(store)) == written(second.all_messages())


def test_a_run_that_streams_is_one_turn(store: Runtime) -> None:
    agent = agent_of(EvidenceCapability(store, "ada", policy=FailurePolicy.FAIL_CLOSED))

    async def run() -> list[ModelMessage]:
        async with agent.run_stream("add", conversation_id="lamp") as stream:
            _ = await stream.get_output()
        return stream.all_messages()

    assert written(asyncio.run(run())) == written(messages_in(store))


def test_memory_comes_before_the_messages_and_into_no_history(store: Runtime) -> None:
    prompts: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        prompts.append(messages)
        return ModelResponse(parts=[TextPart("Noted.")])

    agent = agent_of(
        EvidenceCapability(store, lambda run: run.deps, policy=FailurePolicy.FAIL_CLOSED), FunctionModel(answer)
    )
    _ = asyncio.run(agent.run("My lamp is order 4711.", deps="ada", conversation_id="first"))
    result = asyncio.run(agent.run("Which order is my lamp?", deps="ada", conversation_id="lamp"))
    recalled, asked = (part["content"] for message in written(prompts[-1]) for part in message["parts"])
    assert recalled.startswith("<memory>")
    assert "4711" in recalled
    assert asked == "Which order is my lamp?"
    assert "4711" not in json.dumps(written(result.all_messages()))
    assert written(messages_in(store)) == written(result.all_messages())
    _ = asyncio.run(agent.run("Which order is my lamp?", deps="bob", conversation_id="desk"))
    assert "<memory>" not in json.dumps(written(prompts[-1]))


def test_what_the_user_said_to_a_failed_run_is_evidence_and_no_history(store: Runtime) -> None:
    def fail(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        raise ConnectionError(len(messages))

    agent = agent_of(
        EvidenceCapability(store, "ada", policy=FailurePolicy.FAIL_CLOSED),
        FunctionModel(fail),
        instructions="Be brief.",
    )
    with pytest.raises(ConnectionError):
        asyncio.run(agent.run("one", conversation_id="lamp"))
    (turn,) = store.transcripts.replay(LAMP, View.RAW_OWNER).turns
    assert [str(message.role) for message in turn.messages] == ["user"]
    assert turn.delivery is Delivery.UPSTREAM_FAILED
    assert messages_in(store) == []


# --- a store that fails, many at once, and cancelled ------------------------------------------------------------------


def test_a_run_goes_on_without_a_store_and_says_so(unreachable: Runtime, caplog: pytest.LogCaptureFixture) -> None:
    capability = EvidenceCapability(unreachable, "ada")
    result = asyncio.run(agent_of(capability, TestModel(call_tools=[])).run("my secret"))
    assert result.output
    assert capability.evidence.failures == 2  # a recall and a commit
    ours = [each for each in caplog.records if each.name.startswith("muniment")]
    assert [each.message.count("server.unavailable") for each in ours] == [1, 1]
    assert "secret" not in caplog.text


def test_closed_means_that_a_failure_of_the_store_fails_the_run(unreachable: Runtime) -> None:
    agent = agent_of(EvidenceCapability(unreachable, "ada", recall_tokens=0, policy=FailurePolicy.FAIL_CLOSED))
    with pytest.raises(MunimentError):
        asyncio.run(agent.run("one"))


def test_a_run_fails_with_its_own_error_when_the_store_fails_too(unreachable: Runtime) -> None:
    def fail(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        raise asyncio.CancelledError(len(messages))

    agent = agent_of(
        EvidenceCapability(unreachable, "ada", recall_tokens=0, policy=FailurePolicy.FAIL_CLOSED), FunctionModel(fail)
    )
    with pytest.raises(asyncio.CancelledError) as failed:
        asyncio.run(agent.run("one"))
    assert "server.unavailable" in "".join(failed.value.__notes__)


def test_two_hundred_runs_at_once_lose_nothing(store: Runtime) -> None:
    agent = agent_of(
        EvidenceCapability(store, "ada", recall_tokens=100, policy=FailurePolicy.FAIL_CLOSED), TestModel(call_tools=[])
    )

    async def run_all() -> list[Any]:
        return await asyncio.gather(*(agent.run(f"run {n}", conversation_id=f"c-{n}") for n in range(200)))

    results = asyncio.run(run_all())
    assert [written(messages_in(store, f"c-{n}")) for n in range(200)] == [
        written(each.all_messages()) for each in results
    ]


def test_a_cancelled_run_commits_what_the_user_said(store: Runtime) -> None:
    waiting, go_on = asyncio.Event(), asyncio.Event()

    async def wait(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        waiting.set()
        assert await go_on.wait()
        return ModelResponse(parts=[TextPart(str(len(messages)))])

    agent = agent_of(EvidenceCapability(store, "ada", policy=FailurePolicy.FAIL_CLOSED), FunctionModel(wait))

    async def cancel() -> None:
        running = asyncio.create_task(agent.run("one", conversation_id="lamp"))
        _ = await waiting.wait()
        _ = running.cancel()
        with pytest.raises(asyncio.CancelledError):
            _ = await running

    asyncio.run(cancel())
    (turn,) = store.transcripts.replay(LAMP, View.RAW_OWNER).turns
    assert turn.delivery is Delivery.CANCELLED


def test_a_commit_that_has_begun_ends_when_its_run_is_cancelled(store: Runtime) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def subject(_: Any) -> str:
        begun.set()
        assert go_on.wait(30)
        return "ada"

    agent = agent_of(
        EvidenceCapability(store, subject, recall_tokens=0, policy=FailurePolicy.FAIL_CLOSED), TestModel(call_tools=[])
    )

    async def cancel() -> None:
        running = asyncio.create_task(agent.run("one", conversation_id="lamp"))
        _ = await asyncio.to_thread(begun.wait, 30)
        _ = running.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            _ = await running

    asyncio.run(cancel())
    assert roles(store) == [["user", "assistant"]]
