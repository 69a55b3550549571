"""The middleware of LangChain: what of a run is committed, what is recalled for it, and what becomes of failures."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langchain", reason="the group `host-langchain` is not installed")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

import muniment
from muniment import ConversationKey, View
from muniment.errors import MunimentError
from muniment.events.message import Role, TextPart, ToolCallPart, ToolCallResponsePart
from muniment.host.failure_policy import FailurePolicy
from muniment.host.langchain_history import EvidenceChatHistory
from muniment.host.langchain_middleware import EvidenceMiddleware
from muniment.host.off_loop import off_loop
from muniment.runtime.runtime import Runtime
from tests.host.scripted_chat import ScriptedChat, add

THREAD: Any = {"configurable": {"thread_id": "lamp"}}
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def store() -> Iterator[Runtime]:
    with muniment.open("memory:") as opened:
        yield opened


@pytest.fixture
def unreachable() -> Runtime:
    """Return a store behind a server that does not answer."""
    return muniment.connect(NOWHERE, key="mk_" + "A" * 43)


def agent_of(*middleware: AgentMiddleware[Any, Any, Any], model: ScriptedChat | None = None, **more: Any) -> Any:
    tools = more.pop("tools", [add])
    return create_agent(model or ScriptedChat(), tools, middleware=middleware, **more)


def said(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def turns(store: Runtime, conversation: str = "lamp") -> list[list[tuple[str, list[Any]]]]:
    """Return what each turn of a conversation says, without the form of its messages."""
    shown = store.transcripts.replay(ConversationKey(conversation=conversation), View.RAW_OWNER).turns
    return [[(str(message.role), list(message.parts)) for message in turn.messages[:-1]] for turn in shown]


def words(store: Runtime, conversation: str = "lamp") -> list[list[str]]:
    """Return the texts of each turn."""
    return [
        [part.content for _, parts in turn for part in parts if isinstance(part, TextPart) and part.content]
        for turn in turns(store, conversation)
    ]


def history(store: Runtime, conversation: str = "lamp") -> list[BaseMessage]:
    return EvidenceChatHistory(store, subject="ada", conversation=conversation).messages


# --- what is committed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_run_is_one_turn_with_its_steps_and_its_answer(store: Runtime, asynchronous: bool) -> None:
    agent = agent_of(EvidenceMiddleware(store, "ada", policy=FailurePolicy.FAIL_CLOSED))
    run = (lambda: asyncio.run(agent.ainvoke(said("add"), THREAD))) if asynchronous else None
    result = run() if run else agent.invoke(said("add"), THREAD)
    assert turns(store) == [
        [
            (Role.USER, [TextPart(content="add")]),
            (Role.ASSISTANT, [TextPart(content=""), ToolCallPart(name="add", id="call-1", arguments={"a": 1, "b": 2})]),
            (Role.TOOL, [ToolCallResponsePart(id="call-1", response="3")]),
            (Role.ASSISTANT, [TextPart(content="It is 3.")]),
        ]
    ]
    assert history(store) == result["messages"]


def test_each_run_of_a_thread_commits_what_is_new(store: Runtime) -> None:
    agent = agent_of(EvidenceMiddleware(store, "ada", policy=FailurePolicy.FAIL_CLOSED), checkpointer=InMemorySaver())
    results = [agent.invoke(said(text), THREAD) for text in ("one", "two", "three")]
    assert words(store) == [[text, f"You said: {text}"] for text in ("one", "two", "three")]
    assert history(store) == results[-1]["messages"]


def test_a_host_that_brings_the_whole_history_commits_what_is_new(store: Runtime) -> None:
    agent = agent_of(EvidenceMiddleware(store, "ada", policy=FailurePolicy.FAIL_CLOSED))
    first = agent.invoke(said("one"), THREAD)
    _ = agent.invoke({"messages": [*first["messages"], HumanMessage("two")]}, THREAD)
    assert words(store) == [["one", "You said: one"], ["two", "You said: two"]]


def test_a_run_without_a_thread_is_a_conversation_of_its_own(store: Runtime) -> None:
    agent = agent_of(EvidenceMiddleware(store, "ada", policy=FailurePolicy.FAIL_CLOSED))
    _ = [agent.invoke(said(text)) for text in ("one", "two")]
    found = store.conversations.list_().conversations
    assert len(found) == 2


def test_subject_and_conversation_may_come_from_the_context(store: Runtime) -> None:
    middleware = EvidenceMiddleware(
        store,
        lambda run: run.context["user"],
        conversation=lambda run: run.context["chat"],
        policy=FailurePolicy.FAIL_CLOSED,
    )
    agent = agent_of(middleware, context_schema=dict)
    _ = agent.invoke(said("one"), context={"user": "bob", "chat": "desk"})
    assert words(store, "desk") == [["one", "You said: one"]]
    assert store.memory.recall("bob", "one").hits


def test_what_tools_did_is_told_beside_the_words(store: Runtime) -> None:
    _ = agent_of(EvidenceMiddleware(store, "ada", policy=FailurePolicy.FAIL_CLOSED)).invoke(said("add"), THREAD)
    shown = store.transcripts.replay(ConversationKey(conversation="lamp"), View.OPERATOR_AUDIT).turns[0]
    assert [(each.id, each.tool) for each in shown.tools] == [("call-1", "add")]


def test_steps_that_another_middleware_takes_out_of_the_state_are_in_the_turn(store: Runtime) -> None:
    class Shortens(AgentMiddleware):
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002 - by name
            return {"messages": [RemoveMessage(each.id) for each in state["messages"][:-2]]}

    agent = agent_of(Shortens(), EvidenceMiddleware(store, "ada", policy=FailurePolicy.FAIL_CLOSED))
    result = agent.invoke(said("add"), THREAD)
    assert len(result["messages"]) == 3
    assert [role for role, _ in turns(store)[0]] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]


def test_an_artifact_stays_with_the_host(store: Runtime) -> None:
    @tool(response_format="content_and_artifact")
    def add(a: int, b: int) -> tuple[str, object]:
        """Add."""
        return str(a + b), object()

    agent = agent_of(EvidenceMiddleware(store, "ada", policy=FailurePolicy.FAIL_CLOSED), tools=[add])
    result = agent.invoke(said("add"), THREAD)
    assert result["messages"][2].artifact is not None
    results = [each for each in history(store) if isinstance(each, ToolMessage)]
    assert [each.artifact for each in results] == [None]


# --- repeats and stops ------------------------------------------------------------------------------------------------


def test_a_repeat_of_the_last_step_adds_nothing(store: Runtime) -> None:
    agent = agent_of(EvidenceMiddleware(store, "ada", policy=FailurePolicy.FAIL_CLOSED), checkpointer=InMemorySaver())
    _ = agent.invoke(said("add"), THREAD)
    committed = turns(store)
    ending = next(each for each in agent.get_state_history(THREAD) if each.next == ("EvidenceMiddleware.after_agent",))
    _ = agent.invoke(None, ending.config)
    assert turns(store) == committed


def test_another_answer_from_an_earlier_checkpoint_is_a_turn_of_its_own(store: Runtime) -> None:
    agent = agent_of(EvidenceMiddleware(store, "ada", policy=FailurePolicy.FAIL_CLOSED), checkpointer=InMemorySaver())
    _ = agent.invoke(said("one"), THREAD)
    calling = next(each for each in agent.get_state_history(THREAD) if each.next == ("model",))
    _ = agent.invoke(None, calling.config)
    assert words(store) == [["one", "You said: one"]] * 2


def test_what_a_failed_run_did_is_in_the_turn_of_the_next(store: Runtime) -> None:
    def fails_once(messages: Any) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            raise ConnectionError
        return ScriptedChat().rule(messages)

    agent = agent_of(
        EvidenceMiddleware(store, "ada", policy=FailurePolicy.FAIL_CLOSED),
        model=ScriptedChat(rule=fails_once),
        checkpointer=InMemorySaver(),
    )
    with pytest.raises(ConnectionError):
        agent.invoke(said("add"), THREAD)
    assert store.conversations.list_().conversations == []
    _ = agent.invoke(said("well?"), THREAD)
    assert [role for role, _ in turns(store)[0]] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.USER, Role.ASSISTANT]
    assert len(turns(store)) == 1


def test_a_run_that_waits_for_a_person_is_one_turn(store: Runtime) -> None:
    @tool
    def add(a: int, b: int) -> str:
        """Ask, then add."""
        return f"{interrupt('really?')}, {a + b}"

    agent = agent_of(
        EvidenceMiddleware(store, "ada", policy=FailurePolicy.FAIL_CLOSED), tools=[add], checkpointer=InMemorySaver()
    )
    _ = agent.invoke(said("add"), THREAD)
    assert store.conversations.list_().conversations == []
    _ = agent.invoke(Command(resume="yes"), THREAD)
    assert len(turns(store)) == 1
    assert turns(store)[0][2] == (Role.TOOL, [ToolCallResponsePart(id="call-1", response="yes, 3")])


# --- what is recalled -------------------------------------------------------------------------------------------------


def test_memory_comes_before_the_messages_and_into_nothing_that_is_kept(store: Runtime) -> None:
    model = ScriptedChat()
    agent = agent_of(EvidenceMiddleware(store, "ada", policy=FailurePolicy.FAIL_CLOSED), model=model)
    _ = agent.invoke(said("My lamp is order 4711."), {"configurable": {"thread_id": "first"}})
    result = agent.invoke(said("Which order is my lamp?"), THREAD)
    assert [message.text.startswith("<memory>") for message in model.prompts[-1]] == [True, False]
    assert "4711" in model.prompts[-1][0].text
    assert all("4711" not in message.text for message in result["messages"])
    assert words(store) == [["Which order is my lamp?", "You said: Which order is my lamp?"]]


def test_nothing_is_recalled_without_a_budget_and_nothing_for_another_subject(store: Runtime) -> None:
    model = ScriptedChat()
    _ = agent_of(EvidenceMiddleware(store, "ada"), model=model).invoke(said("My lamp is order 4711."), THREAD)
    for subject, budget in (("ada", 0), ("bob", 800)):
        middleware = EvidenceMiddleware(store, subject, recall_tokens=budget, policy=FailurePolicy.FAIL_CLOSED)
        _ = agent_of(middleware, model=model).invoke(said("Which order is my lamp?"))
        assert len(model.prompts[-1]) == 1


# --- a store that fails -----------------------------------------------------------------------------------------------


def test_a_run_goes_on_without_a_store_and_says_so(unreachable: Runtime, caplog: pytest.LogCaptureFixture) -> None:
    middleware = EvidenceMiddleware(unreachable, "ada")
    result = agent_of(middleware).invoke(said("my secret"), THREAD)
    assert result["messages"][-1].text == "You said: my secret"
    assert middleware.evidence.failures == 2  # a recall and a commit
    assert [each.message.count("server.unavailable") for each in caplog.records] == [1, 1]
    assert "secret" not in caplog.text


def test_the_next_run_commits_what_the_store_could_not_take(store: Runtime, unreachable: Runtime) -> None:
    saver = InMemorySaver()
    _ = agent_of(EvidenceMiddleware(unreachable, "ada"), checkpointer=saver).invoke(said("one"), THREAD)
    _ = agent_of(EvidenceMiddleware(unreachable, "ada"), checkpointer=saver).invoke(said("two"), THREAD)
    agent = agent_of(EvidenceMiddleware(store, "ada", policy=FailurePolicy.FAIL_CLOSED), checkpointer=saver)
    result = agent.invoke(said("three"), THREAD)
    _ = agent.invoke(said("four"), THREAD)
    assert [turn[0] for turn in words(store)] == ["one", "two", "three", "four"]
    assert history(store)[:6] == result["messages"]


def test_a_turn_that_is_refused_is_counted_and_not_tried_again(store: Runtime) -> None:
    middleware = EvidenceMiddleware(store, "ada")
    agent = agent_of(middleware, checkpointer=InMemorySaver())
    _ = agent.invoke(said("x" * 2**20), THREAD)
    assert middleware.evidence.failures == 1
    _ = agent.invoke(said("one"), THREAD)
    assert middleware.evidence.failures == 1
    assert words(store) == [["one", "You said: one"]]


@pytest.mark.parametrize("budget", [0, 800])
def test_closed_means_that_a_failure_of_the_store_fails_the_run(unreachable: Runtime, budget: int) -> None:
    agent = agent_of(EvidenceMiddleware(unreachable, "ada", recall_tokens=budget, policy=FailurePolicy.FAIL_CLOSED))
    with pytest.raises(MunimentError):
        agent.invoke(said("one"), THREAD)


def test_a_subject_that_cannot_be_told_is_a_failure(store: Runtime) -> None:
    middleware = EvidenceMiddleware(store, lambda run: run.context["user"])
    result = agent_of(middleware, context_schema=dict).invoke(said("one"), THREAD, context={})
    assert result["messages"][-1].text == "You said: one"
    assert middleware.evidence.failures == 2


# --- many at once, and cancelled --------------------------------------------------------------------------------------


def test_two_hundred_runs_at_once_lose_nothing(store: Runtime) -> None:
    agent = agent_of(EvidenceMiddleware(store, "ada", policy=FailurePolicy.FAIL_CLOSED, recall_tokens=100))

    async def run_all() -> None:
        runs = (agent.ainvoke(said(f"run {n}"), {"configurable": {"thread_id": f"t-{n}"}}) for n in range(200))
        _ = await asyncio.gather(*runs)

    asyncio.run(run_all())
    assert [words(store, f"t-{n}") for n in range(200)] == [[[f"run {n}", f"You said: run {n}"]] for n in range(200)]


def test_a_commit_that_has_begun_ends_when_its_run_is_cancelled(store: Runtime) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def subject(_: Any) -> str:
        begun.set()
        assert go_on.wait(30)
        return "ada"

    agent = agent_of(EvidenceMiddleware(store, subject, recall_tokens=0, policy=FailurePolicy.FAIL_CLOSED))

    async def cancel() -> None:
        running = asyncio.create_task(agent.ainvoke(said("one"), THREAD))
        _ = await asyncio.to_thread(begun.wait, 30)
        _ = running.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancel())
    assert words(store) == [["one", "You said: one"]]


def test_what_runs_in_a_thread_ends_though_nobody_waits_for_it() -> None:
    go_on, ended = threading.Event(), threading.Event()

    def wait() -> None:
        assert go_on.wait(30)
        ended.set()

    async def cancel() -> None:
        waiting = asyncio.create_task(off_loop(wait))
        await asyncio.sleep(0)
        _ = waiting.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(cancel())
    assert ended.is_set()
