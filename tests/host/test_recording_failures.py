"""When the store fails, the connection breaks or the caller is cancelled: what a recorded client does then."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import muniment
from muniment import Options, Runtime
from muniment.errors import Corrupt, MunimentError
from muniment.governance.limits import Limits
from muniment.host.failure_policy import FailurePolicy
from muniment.host.recording.recorded_client import recorded_counts

pytest.importorskip("openai", reason="the package openai is not installed")
pytest.importorskip("httpx2")

from tests.host.recorded_openai import MODEL, async_client_of, client_of, numbered, turns, user, words
from tests.host.scripted_model import Cut, ScriptedModel, completion, streamed


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    with muniment.open("memory:") as opened:
        yield opened


# --- failures of the store --------------------------------------------------------------------------------------------


def test_with_fail_closed_nobody_has_an_answer_that_is_not_stored(runtime: Runtime) -> None:
    model = numbered()
    client = client_of(model, runtime)
    runtime.close()
    with pytest.raises(MunimentError):
        client.chat.completions.create(model=MODEL, messages=[user("Hi.")])
    assert len(model.requests) == 1, "the model is not asked again"
    assert recorded_counts(client).failed == 1


def test_with_fail_closed_a_stream_does_not_end(runtime: Runtime) -> None:
    client = client_of(ScriptedModel(lambda _asked: streamed("Hello.")), runtime)
    stream = client.chat.completions.create(model=MODEL, messages=[user("Hi.")], stream=True)
    runtime.close()
    with pytest.raises(MunimentError):
        list(stream)


def test_with_fail_open_the_exchange_goes_on_and_the_failure_is_loud(
    runtime: Runtime, caplog: pytest.LogCaptureFixture
) -> None:
    client = client_of(numbered(), runtime, FailurePolicy.FAIL_OPEN)
    runtime.close()
    said = client.chat.completions.create(model=MODEL, messages=[user("my secret")])
    assert said.choices[0].message.content == "answer 1"
    counts = recorded_counts(client)
    assert (counts.failed, counts.committed) == (1, 0)
    assert counts.failure is not None
    assert counts.failure in caplog.text
    assert "secret" not in caplog.text


def test_with_fail_open_corruption_is_raised_all_the_same(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is damaged is no store to go on with."""

    def corrupt(_turns: Any) -> None:
        raise Corrupt

    monkeypatch.setattr(runtime.transcripts, "commit_many", corrupt)
    client = client_of(numbered(), runtime, FailurePolicy.FAIL_OPEN)
    with pytest.raises(Corrupt):
        client.chat.completions.create(model=MODEL, messages=[user("Hi.")])
    assert recorded_counts(client).failed == 1


@pytest.mark.parametrize("policy", FailurePolicy)
def test_an_exchange_that_is_stored_without_its_counts_is_stored(
    policy: FailurePolicy, caplog: pytest.LogCaptureFixture
) -> None:
    """An error after the commit would make the host ask again, and what it said would be stored twice."""
    with muniment.open("memory:", options=Options(limits=Limits(attributes_max=1))) as runtime:
        client = client_of(numbered(), runtime, policy)
        said = client.chat.completions.create(model=MODEL, messages=[user("my secret")])
        assert said.choices[0].message.content == "answer 1"
        assert words(runtime) == [["my secret", "answer 1"]]
    counts = recorded_counts(client)
    assert (counts.committed, counts.failed, counts.uncounted) == (1, 0, 1)
    assert counts.failure == "request.limit_exceeded"
    assert "not in the store" not in caplog.text
    assert "request.limit_exceeded" in caplog.text
    assert "secret" not in caplog.text


UNREADABLE = [
    b"data: no JSON\n\n",
    b"data: null\n\n",
    b'data: {"choices": [{"delta": 1}]}\n\n',
    b'data: {"choices": 7}\n\n',
]


@pytest.mark.parametrize("unreadable", UNREADABLE)
def test_with_fail_open_a_stream_that_cannot_be_read_is_passed_on(
    runtime: Runtime, unreadable: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    sent = [unreadable, *streamed("my secret")]
    client = client_of(ScriptedModel(lambda _asked: sent), runtime, FailurePolicy.FAIL_OPEN)
    chat = client.chat.completions.with_streaming_response
    with chat.create(model=MODEL, messages=[user("Hi.")], stream=True) as answer:
        assert b"".join(answer.iter_bytes()) == b"".join(sent)
    counts = recorded_counts(client)
    assert (counts.failed, counts.committed, counts.unfinished) == (1, 0, 0)
    assert turns(runtime) == []
    assert "secret" not in caplog.text


def test_with_fail_open_an_asynchronous_stream_that_cannot_be_read_is_passed_on(runtime: Runtime) -> None:
    async def run() -> None:
        sent = [*UNREADABLE[:1], *streamed("Hello.")]
        client = async_client_of(ScriptedModel(lambda _asked: sent), runtime, FailurePolicy.FAIL_OPEN)
        chat = client.chat.completions.with_streaming_response
        async with chat.create(model=MODEL, messages=[user("Hi.")], stream=True) as answer:
            assert b"".join([part async for part in answer.iter_bytes()]) == b"".join(sent)
        assert recorded_counts(client).failed == 1

    asyncio.run(run())


def test_with_fail_closed_a_stream_that_cannot_be_read_does_not_end(runtime: Runtime) -> None:
    client = client_of(ScriptedModel(lambda _asked: [*UNREADABLE[:1], *streamed("Hello.")]), runtime)
    chat = client.chat.completions.with_streaming_response
    with (
        chat.create(model=MODEL, messages=[user("Hi.")], stream=True) as answer,
        pytest.raises(msgspec.DecodeError),
    ):
        list(answer.iter_bytes())
    assert recorded_counts(client).failed == 1


def test_what_the_store_missed_comes_with_the_next_exchange(tmp_path: Any) -> None:
    """A host sends the conversation again, so a gap closes by itself."""
    model = numbered()
    with muniment.open(tmp_path / "store", keys=f"file:{tmp_path / 'key'}") as runtime:
        client = client_of(model, runtime, FailurePolicy.FAIL_OPEN)
        refused = [user("a" * 2**21)]  # too large for a message
        answer = client.chat.completions.create(model=MODEL, messages=refused).choices[0].message
        assert recorded_counts(client).failed == 1
        client.chat.completions.create(model=MODEL, messages=[user("short"), answer, user("b")])
        assert words(runtime) == [["short", "answer 1", "b", "answer 2"]]


# --- asyncio ----------------------------------------------------------------------------------------------------------


def test_many_calls_at_once_are_each_a_turn(runtime: Runtime) -> None:
    def echo(asked: dict[str, Any]) -> Any:
        text = asked["messages"][-1]["content"]
        name = f"chatcmpl-{text}"
        return streamed(text.upper(), name) if asked.get("stream") else completion(text.upper(), name)

    async def ask(client: Any, number: int) -> None:
        said = await client.chat.completions.create(model=MODEL, messages=[user(f"q{number}")], stream=bool(number % 2))
        if number % 2:
            async for _part in said:
                pass

    async def run() -> None:
        client = async_client_of(ScriptedModel(echo), runtime)
        await asyncio.gather(*[ask(client, number) for number in range(200)])
        assert recorded_counts(client).committed == 200

    asyncio.run(run())
    assert sorted(words(runtime)) == sorted([f"q{number}", f"Q{number}"] for number in range(200))


def test_a_commit_does_not_block_the_loop(runtime: Runtime) -> None:
    """While the store is busy with one commit, the loop goes on."""

    async def run() -> None:
        client = async_client_of(numbered(), runtime)
        recorder = client._tap.recorder
        with recorder._lock:
            call = asyncio.ensure_future(client.chat.completions.create(model=MODEL, messages=[user("a")]))
            for _ in range(100):
                await asyncio.sleep(0.001)
            assert not call.done()
        await call

    asyncio.run(run())
    assert words(runtime) == [["a", "answer 1"]]


def test_a_commit_that_has_begun_is_completed_when_its_caller_is_cancelled(runtime: Runtime) -> None:
    async def run() -> None:
        client = async_client_of(numbered(), runtime)
        recorder = client._tap.recorder
        with recorder._lock:
            call = asyncio.ensure_future(client.chat.completions.create(model=MODEL, messages=[user("a")]))
            for _ in range(50):
                await asyncio.sleep(0.001)
            call.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await call
        assert words(runtime) == [["a", "answer 1"]]

    asyncio.run(run())
    assert words(runtime) == [["a", "answer 1"]]


def test_a_cancelled_stream_is_not_committed(runtime: Runtime) -> None:
    async def run() -> None:
        client = async_client_of(ScriptedModel(lambda _asked: streamed("Hello, world.")), runtime)

        reached = asyncio.Event()

        async def read() -> None:
            async with await client.chat.completions.create(model=MODEL, messages=[user("Hi.")], stream=True) as stream:
                async for _part in stream:
                    reached.set()
                    await asyncio.sleep(3600)

        reading = asyncio.ensure_future(read())
        await reached.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert recorded_counts(client).unfinished == 1

    asyncio.run(run())
    assert turns(runtime) == []


def test_a_connection_that_breaks_is_an_error_of_the_client(runtime: Runtime) -> None:
    def broken(_asked: Any) -> Any:
        raise Cut

    client = client_of(ScriptedModel(broken), runtime, FailurePolicy.FAIL_OPEN)
    with pytest.raises(Exception):  # noqa: B017,PT011 - as the client of that version raises it
        client.chat.completions.create(model=MODEL, messages=[user("Hi.")])
    assert turns(runtime) == []
