"""Sessions of the OpenAI Agents SDK: runs of the SDK with a scripted model, kept as turns, and every kind of item."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

agents = pytest.importorskip("agents", reason="openai-agents is not installed")

from agents import Agent, RunConfig, Runner, Session, SQLiteSession, function_tool, trace  # noqa: E402 - it is skipped above
from agents.memory import SessionSettings  # noqa: E402 - it is skipped above
from agents.testing import ScriptedModel, assistant_message, function_call  # noqa: E402 - it is skipped above

import muniment  # noqa: E402 - it is skipped above
from muniment import Passage, Runtime, View  # noqa: E402 - it is skipped above
from muniment.errors import InvalidInput, StoreClosed  # noqa: E402 - it is skipped above
from muniment.events.changes import RedactionReason, Transition  # noqa: E402 - it is skipped above
from muniment.events.message import BlobPart, ReasoningPart, Role, TextPart, ToolCallPart, UriPart  # noqa: E402 - it is skipped above
from muniment.formats.responses_items import words_of_item  # noqa: E402 - it is skipped above
from muniment.host.openai_agents import MunimentSession, RunPlace  # noqa: E402 - it is skipped above
from tests.turns import TALK  # noqa: E402 - it is skipped above
from tests.worlds import key_of  # noqa: E402 - it is skipped above

UNTRACED = RunConfig(tracing_disabled=True)

# one of each sort that the Responses API has, and one that it has not
ITEMS: Any = [
    {"role": "user", "content": "What is the weather?"},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Look at these."},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw0KGgo="},
            {"type": "input_image", "detail": "auto", "image_url": "https://example.org/cat.png"},
            {"type": "input_file", "filename": "my results.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
            {"type": "input_file", "file_id": "file-1"},
            {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        ],
    },
    {"role": "developer", "content": "Be brief."},
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "They ask for the weather."}],
        "encrypted_content": "gAAAAABo",
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "weather",
        "arguments": '{"city": "Paris", "at": {"z": 1, "a": [1.5, "x"]}}',
        "status": "completed",
    },
    {"type": "function_call_output", "call_id": "call_1", "output": "It rains."},
    {
        "type": "function_call_output",
        "call_id": "call_2",
        "output": [
            {"type": "input_text", "text": "It rains."},
            {"type": "input_image", "image_url": "https://x.org/1"},
        ],
    },
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "weather in Paris"},
    },
    {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "c",
        "action": {"type": "type", "text": "a secret"},
        "status": "x",
    },
    {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="},
    {
        "type": "mcp_call",
        "id": "m_1",
        "server_label": "s",
        "name": "t",
        "arguments": "{}",
        "output": "Fine.",
        "error": None,
    },
    {"type": "mcp_approval_response", "approval_request_id": "a_1", "approve": True, "reason": "I trust it."},
    {"type": "item_reference", "id": "msg_1"},
    {"type": "compaction", "id": "cp_1", "encrypted_content": "gAAAAABp"},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "phase": "final_answer",
        "content": [
            {
                "type": "output_text",
                "text": "It rains in Paris.",
                "annotations": [{"type": "url_citation", "url": "https://example.org", "title": "Rain"}],
                "logprobs": [{"token": "It", "logprob": -0.5, "bytes": [73, 116], "top_logprobs": []}],
            },
            {"type": "refusal", "refusal": "No more than that."},
        ],
    },
    {"type": "something_new", "who": "knows", "deep": [{"words": ["of", "somebody"]}, None, 1.0, True]},
    {"role": "assistant", "content": ""},
]


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """Open a store in memory."""
    with muniment.open("memory:") as opened:
        yield opened


def session_of(runtime: Runtime, name: str = TALK, **named: Any) -> MunimentSession:
    """Return a session in a store."""
    return MunimentSession(name, runtime, subject="ada", **named)


def agent_that(*steps: Any, tools: Any = ()) -> Agent[Any]:
    """Return an agent whose model says these things, one after the other."""
    return Agent(name="assistant", model=ScriptedModel(steps=steps), tools=list(tools))


@function_tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"It rains in {city}."


CALL = [function_call("weather", '{"city": "Paris"}', call_id="call_1")]
ANSWER = [assistant_message("Take an umbrella.")]


# --- items ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: str(item.get("type", item.get("role"))))
def test_every_kind_of_item_comes_back_exactly(runtime: Runtime, item: Any) -> None:
    async def story() -> None:
        session = session_of(runtime)
        await session.add_items([item])
        assert await session.get_items() == [item]
        assert await session.pop_item() == item
        assert await session.pop_item() is None

    asyncio.run(story())


def test_items_come_back_in_their_order_as_the_sdk_reads_them(runtime: Runtime) -> None:
    async def story() -> None:
        ours, theirs = session_of(runtime), SQLiteSession("talk")
        for start in range(0, len(ITEMS), 4):
            await ours.add_items(ITEMS[start : start + 4])
            await theirs.add_items(ITEMS[start : start + 4])
        for limit in (None, 0, 1, 3, 5, 100, -1):
            assert await ours.get_items(limit) == await theirs.get_items(limit)
        while (popped := await theirs.pop_item()) is not None:
            assert await ours.pop_item() == popped
        assert await ours.get_items() == []

    asyncio.run(story())


def test_a_session_goes_on_with_a_database_of_the_sdk(runtime: Runtime, tmp_path: Path) -> None:
    """What SQLiteSession wrote is imported, and comes back as it does from ours."""
    path = tmp_path / "sessions.db"

    async def story() -> None:
        theirs = SQLiteSession(TALK, path)
        await theirs.add_items(ITEMS)
        assert runtime.spaces.import_([path], channel="import", subject="ada").complete
        assert await session_of(runtime, channel="import").get_items() == await theirs.get_items() == ITEMS
        theirs.close()

    asyncio.run(story())


def test_parts_are_what_the_items_say() -> None:
    by_type = {item.get("type", item.get("role")): words_of_item(item) for item in ITEMS}
    assert by_type["reasoning"].parts == [
        ReasoningPart(content="They ask for the weather."),
        ReasoningPart(content="gAAAAABo"),
    ]
    assert by_type["image_generation_call"].parts[1] == BlobPart(
        content=b"\x89PNG\r\n\x1a\n", mime_type="image/png", modality="image"
    )
    assert by_type["function_call_output"].role is Role.TOOL
    assert by_type["message"].parts[0] == TextPart(content="It rains in Paris.")
    assert UriPart(uri="https://example.org/cat.png", modality="image") in words_of_item(ITEMS[1]).parts


# --- runs -------------------------------------------------------------------------------------------------------------


def test_a_run_is_its_question_its_calls_and_its_answer(runtime: Runtime) -> None:
    async def story() -> None:
        session = session_of(runtime)
        assert isinstance(session, Session)
        with trace("support") as traced:
            result = await Runner.run(agent_that(CALL, ANSWER, tools=[weather]), "And in Paris?", session=session)
        assert result.final_output == "Take an umbrella."
        asked, called, answered = runtime.transcripts.replay(key_of(TALK), View.RAW_OWNER).turns
        assert {turn.source.request_id for turn in (asked, called, answered) if turn.source} == {traced.trace_id}
        assert asked.messages[0].parts == [TextPart(content="And in Paris?")]
        assert called.messages[0].parts == [ToolCallPart(name="weather", id="call_1", arguments={"city": "Paris"})]
        assert (called.messages[1].role, answered.messages[0].role) == (Role.TOOL, Role.ASSISTANT)
        shown = runtime.transcripts.replay(key_of(TALK), View.HOST_UI).turns
        assert [part for turn in shown for message in turn.messages for part in message.parts] == [
            TextPart(content="And in Paris?"),
            TextPart(content="Take an umbrella."),
        ]

    asyncio.run(story())


def test_the_next_run_knows_the_last_one(runtime: Runtime) -> None:
    async def story() -> None:
        session = session_of(runtime)
        await Runner.run(agent_that(CALL, ANSWER, tools=[weather]), "Hello.", session=session, run_config=UNTRACED)
        agent = agent_that([assistant_message("You said hello.")])
        await Runner.run(agent, "What did I say?", session=session, run_config=UNTRACED)
        assert isinstance(agent.model, ScriptedModel)
        assert agent.model.last_call is not None
        given = agent.model.last_call.input
        assert [item.get("type") or item.get("role") for item in given] == [
            "user",
            "function_call",
            "function_call_output",
            "message",
            "user",
        ]
        assert given[:4] == (await session.get_items())[:4]

    asyncio.run(story())


def test_what_is_redacted_never_reaches_the_model_again(runtime: Runtime) -> None:
    async def story() -> None:
        session = session_of(runtime)
        await Runner.run(agent_that(ANSWER), "My PIN is 2580, hello.", session=session, run_config=UNTRACED)
        turn = runtime.transcripts.replay(key_of(TALK)).turns[0].turn
        passage = Passage(turn=turn, message=0, part=0, start=10, end=14)
        runtime.transcripts.redact(key_of(TALK), passage, [View.MODEL_CONTEXT], RedactionReason.SECRET, "ada")
        agent = agent_that(ANSWER)
        await Runner.run(agent, "What is my PIN?", session=session, run_config=UNTRACED)
        assert isinstance(agent.model, ScriptedModel)
        assert "2580" not in repr(agent.model.calls)
        assert "My PIN is [redacted: secret], hello." in repr(agent.model.calls)

    asyncio.run(story())


def test_a_run_that_fails_leaves_its_question(runtime: Runtime) -> None:
    async def story() -> None:
        session = session_of(runtime)
        with pytest.raises(RuntimeError, match="no power"):
            await Runner.run(agent_that(RuntimeError("no power")), "Hello?", session=session, run_config=UNTRACED)
        assert await session.get_items() == [{"role": "user", "content": "Hello?"}]

    asyncio.run(story())


def test_the_context_of_a_run_says_whose_words_it_saves(runtime: Runtime) -> None:
    async def story() -> None:
        session = session_of(runtime, place=lambda context: RunPlace(context, f"talk of {context}"))
        for person in ("bob", "cleo"):
            agent = agent_that([assistant_message(f"Hello {person}.")])
            await Runner.run(agent, f"I am {person}.", session=session, context=person, run_config=UNTRACED)
        assert await session.get_items() == []
        for person in ("bob", "cleo"):
            turns = runtime.transcripts.replay(key_of(f"talk of {person}"), View.RAW_OWNER).turns
            assert {turn.actor.subject for turn in turns} == {person}
            assert len(turns) == 2

    asyncio.run(story())


def test_settings_limit_what_a_run_remembers(runtime: Runtime) -> None:
    async def story() -> None:
        session = session_of(runtime, session_settings={"limit": 2})
        assert session.session_settings == SessionSettings(limit=2)
        await session.add_items(ITEMS[:4])
        assert await session.get_items() == ITEMS[2:4]
        assert await session.get_items(3) == ITEMS[1:4]

    asyncio.run(story())


def test_a_cleared_session_begins_anew_and_the_owner_can_show_it_again(runtime: Runtime) -> None:
    async def story() -> None:
        session = session_of(runtime)
        await session.add_items(ITEMS[:2])
        await session.clear_session()
        await session.add_items(ITEMS[2:3])
        assert await session.get_items() == ITEMS[2:3]
        runtime.lifecycle.request(key_of(TALK), Transition.UNMASK, "a mistake", "ada")
        assert await session.get_items() == ITEMS[:3]

    asyncio.run(story())


# --- cancelled, at the same time, and closed --------------------------------------------------------------------------


def test_an_append_is_done_when_its_caller_is_cancelled(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        session = session_of(runtime)
        began, go_on = threading.Event(), threading.Event()
        commit = runtime.transcripts.commit

        def slow(*args: Any) -> Any:
            began.set()
            go_on.wait(10)
            return commit(*args)

        monkeypatch.setattr(runtime.transcripts, "commit", slow)
        adding = asyncio.create_task(session.add_items(ITEMS[:1]))
        await asyncio.to_thread(began.wait, 10)
        adding.cancel()
        await asyncio.sleep(0.01)
        assert not adding.done()  # it waits until it is known what became of the append
        adding.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await adding
        assert await session.get_items() == ITEMS[:1]

    asyncio.run(story())


def test_a_failure_behind_a_cancelled_caller_is_silent(runtime: Runtime) -> None:
    async def story() -> None:
        complaints = list[Any]()
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        adding = asyncio.create_task(session_of(runtime).add_items([cast("Any", {"content": object()})]))
        await asyncio.sleep(0)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        assert complaints == []

    asyncio.run(story())


def test_two_hundred_runs_at_the_same_time(runtime: Runtime) -> None:
    async def run(number: int) -> None:
        agent = agent_that(CALL, [assistant_message(f"Answer {number}.")], tools=[weather])
        session = session_of(runtime, f"talk-{number % 50}")  # four runs in each conversation
        await Runner.run(agent, f"Question {number}.", session=session, run_config=UNTRACED)

    async def story() -> None:
        await asyncio.gather(*(run(number) for number in range(200)))
        for number in range(50):
            items = await session_of(runtime, f"talk-{number}").get_items()
            said = repr(items)
            assert len(items) == 16
            assert all(f"Question {run}." in said and f"Answer {run}." in said for run in range(number, 200, 50))

    asyncio.run(story())


def test_loops_share_a_session(runtime: Runtime) -> None:
    session = session_of(runtime)
    threads = [threading.Thread(target=lambda: asyncio.run(session.add_items(ITEMS[:1]))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asyncio.run(session.get_items()) == ITEMS[:1] * 8


def test_a_path_is_opened_and_closed(tmp_path: Path) -> None:
    async def story() -> None:
        for _ in range(2):
            session = MunimentSession("s", tmp_path / "store", subject="ada")
            await session.add_items(ITEMS[:1])
            session.close()
            session.close()
            with pytest.raises(StoreClosed):
                await session.add_items([])
        session = MunimentSession("s", tmp_path / "store", subject="ada")
        assert await session.get_items() == ITEMS[:1] * 2
        session.close()

    asyncio.run(story())


def test_a_runtime_of_the_host_stays_open(runtime: Runtime) -> None:
    session_of(runtime).close()
    asyncio.run(session_of(runtime).add_items(ITEMS[:1]))


def test_what_is_no_json_is_refused(runtime: Runtime) -> None:
    with pytest.raises(InvalidInput):
        asyncio.run(session_of(runtime).add_items([cast("Any", {"role": "user", "content": object()})]))
