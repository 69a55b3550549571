"""Sessions of Google's Agent Development Kit: what its services promise, what ours promises beyond that."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="google-adk is not installed")

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.sessions import InMemorySessionService, Session
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

import muniment
from muniment import RedactionReason, Runtime, Transition, View
from muniment.host.adk_sessions import MunimentSessions
from muniment.host.histories.adk_places import SessionName
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.transcripts.redact import Passage
from tests.host.adk import APP, USER, ask, begun, called, read, run, runner_of, said, texts
from tests.served.conftest import EVERYTHING, serving

Make = Callable[[Path], BaseSessionService]
SERVICES: dict[str, Make] = {
    "ours": lambda _: MunimentSessions(muniment.open("memory:")),
    "ours_on_disk": lambda place: MunimentSessions(muniment.open(place / "store", keys=place / "key")),
    "of_adk": lambda place: SqliteSessionService(str(place / "adk.db")),
    "of_adk_in_memory": lambda _: InMemorySessionService(),
}


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseSessionService]:
    """Ours, and those of ADK: what holds for all of them is what a session service is."""
    made = SERVICES[request.param](tmp_path)
    yield made
    if isinstance(made, MunimentSessions):
        made._runtime.close()


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """Open a store in memory."""
    with muniment.open("memory:") as opened:
        yield opened


class TestEverySessionStore:
    def test_state_is_kept_by_its_prefix(self, service: BaseSessionService) -> None:
        async def play() -> None:
            first = await begun(service, "one", own=1, app__rate=2, user__name="Ada", temp__x=3)
            assert first.state == {"own": 1, "app:rate": 2, "user:name": "Ada"}
            await service.append_event(first, said("hello", own=None, app__rate={"a": [1.5]}, temp__y=4))
            assert first.state["temp:y"] == 4
            stored = await read(service, first)
            assert stored is not None
            assert stored.state == {"own": None, "app:rate": {"a": [1.5]}, "user:name": "Ada"}
            assert "temp:y" not in stored.events[0].actions.state_delta
            second = await begun(service, "two")
            assert second.state == {"app:rate": {"a": [1.5]}, "user:name": "Ada"}
            other = await service.create_session(app_name=APP, user_id="bob")
            assert other.state == {"app:rate": {"a": [1.5]}}
            assert await service.get_user_state(app_name=APP, user_id=USER) == {"name": "Ada"}
            assert await service.get_user_state(app_name=APP, user_id="nobody") == {}

        run(play())

    def test_sessions_of_others_are_not_there(self, service: BaseSessionService) -> None:
        async def play() -> None:
            await begun(service)
            for app, user, name in ((APP, "bob", "s"), ("other", USER, "s"), (APP, USER, "t")):
                assert await service.get_session(app_name=app, user_id=user, session_id=name) is None
            assert (await service.list_sessions(app_name="other")).sessions == []

        run(play())

    def test_an_id_is_taken_once(self, service: BaseSessionService) -> None:
        async def play() -> None:
            await begun(service)
            with pytest.raises(AlreadyExistsError):
                await begun(service, " s ")
            named = {(await service.create_session(app_name=APP, user_id=USER)).id for _ in range(3)}
            assert len(named) == 3

        run(play())

    def test_events_are_filtered_by_number_and_time(self, service: BaseSessionService) -> None:
        async def play() -> None:
            session = await begun(service)
            for number in range(6):
                await service.append_event(session, said(f"{number}", at=1_800_000_000.0 + number, n=number))

            async def some(**config: Any) -> list[str | None]:
                found = await service.get_session(
                    app_name=APP, user_id=USER, session_id="s", config=GetSessionConfig(**config)
                )
                assert found is not None
                assert found.state == {"n": 5}
                assert found.last_update_time == 1_800_000_005.0
                return texts(found)

            assert await some() == list("012345")
            assert await some(num_recent_events=0) == []
            assert await some(num_recent_events=2) == list("45")
            assert await some(num_recent_events=99) == list("012345")
            assert await some(after_timestamp=1_800_000_003.0) == list("345")
            assert await some(after_timestamp=1_800_000_003.0, num_recent_events=2) == list("45")
            assert await some(after_timestamp=1_900_000_000.0) == []

        run(play())

    def test_lists_have_the_oldest_update_first(self, service: BaseSessionService) -> None:
        async def play() -> None:
            sessions = [await begun(service, name, at=name) for name in "abc"]
            for place, session in ((2, sessions[0]), (1, sessions[2]), (3, sessions[1])):
                await service.append_event(session, said("hi", at=4_000_000_000.0 + place))
            listed = (await service.list_sessions(app_name=APP, user_id=USER)).sessions
            assert [(each.id, each.events, each.state) for each in listed] == [
                (name, [], {"at": name}) for name in "cab"
            ]
            await service.create_session(app_name=APP, user_id="bob/x", session_id="d")
            everybody = (await service.list_sessions(app_name=APP)).sessions
            assert {(each.user_id, each.id) for each in everybody} == {
                *((USER, name) for name in "abc"), ("bob/x", "d")
            }  # fmt: skip

        run(play())

    def test_a_deleted_session_is_gone_and_its_id_is_free(self, service: BaseSessionService) -> None:
        async def play() -> None:
            for words in ("first", "second", "third"):
                session = await begun(service, own=words, user__last=words)
                assert session.state == {"own": words, "user:last": words}
                await service.append_event(session, said(words))
                assert texts(await read(service, session)) == [words]
                await service.delete_session(app_name=APP, user_id=USER, session_id="s")
                assert await read(service, session) is None
                assert (await service.list_sessions(app_name=APP)).sessions == []
                with pytest.raises(SessionNotFoundError):
                    await service.append_event(session, said("late"))
            await service.delete_session(app_name=APP, user_id=USER, session_id="s")
            assert await service.get_user_state(app_name=APP, user_id=USER) == {"last": "third"}

        run(play())

    def test_partial_events_are_not_stored(self, service: BaseSessionService) -> None:
        async def play() -> None:
            session = await begun(service)
            begun_event = said("he", own=1).model_copy(update={"partial": True})
            await service.append_event(session, begun_event)
            assert session.events == []
            assert texts(await read(service, session)) == []

        run(play())

    def test_what_was_read_is_not_what_is_stored(self, service: BaseSessionService) -> None:
        async def play() -> None:
            session = await begun(service, own={"deep": [1]})
            session.state["own"]["deep"].append(2)
            stored = await read(service, session)
            assert stored is not None
            assert stored.state == {"own": {"deep": [1]}}

        run(play())


# --- what ours promises beyond ----------------------------------------------------------------------------------------


class TestRedactedAndErased:
    def test_a_redaction_reaches_events_and_state(self, runtime: Runtime) -> None:
        """What is redacted for the model is in no event, and in no state that repeats the words."""

        async def play() -> None:
            service = MunimentSessions(runtime)
            session = await begun(service)
            await service.append_event(session, said("The code is 4711.", "clerk", answer="The code is 4711.", n=1))
            key = SessionName(APP, USER, "s").key
            turn = runtime.transcripts.latest(key, 1, View.RAW_OWNER).turns[0].turn
            runtime.transcripts.redact(
                key, Passage(turn=turn, message=0, part=0, start=12, end=16), [View.MODEL_CONTEXT],
                RedactionReason.LEGAL, "ada",
            )  # fmt: skip
            stored = await read(service, session)
            assert stored is not None
            assert texts(stored) == ["The code is [redacted: legal]."]
            assert stored.state == {"answer": "The code is [redacted: legal].", "n": 1}

        run(play())

    @pytest.mark.parametrize("transition", [Transition.MASK, Transition.ERASE])
    def test_an_event_that_is_hidden_has_set_nothing(self, runtime: Runtime, transition: Transition) -> None:
        """It is in no session, and whoever appends next goes on."""

        async def play() -> None:
            service = MunimentSessions(runtime)
            session = await begun(service, kept=0)
            await service.append_event(session, said("one", kept=1))
            await service.append_event(session, said("two", lost=2))
            key = SessionName(APP, USER, "s").key
            turn = runtime.transcripts.latest(key, 1, View.RAW_OWNER).turns[0].turn
            runtime.lifecycle.request(key, transition, "asked for", "ada", turn=turn)
            stored = await read(service, session)
            assert stored is not None
            assert texts(stored) == ["one"]
            assert stored.state == {"kept": 1}
            await service.append_event(stored, said("three"))
            again = await read(MunimentSessions(runtime), session)
            assert texts(again) == ["one", "three"]
            assert again is not None
            assert again.state == {"kept": 1}

        run(play())

    def test_deleting_destroys_words_and_state(self, runtime: Runtime) -> None:
        async def play() -> None:
            service = MunimentSessions(runtime)
            session = await begun(service, secret="opening")
            await service.append_event(session, said("words", own="shelf"))
            await service.delete_session(app_name=APP, user_id=USER, session_id="s")

        run(play())
        key = SessionName(APP, USER, "s").key
        page = runtime.transcripts.replay(key, View.RAW_OWNER)
        assert [part for turn in page.turns for message in turn.messages for part in message.parts] == []

    def test_what_is_on_hold_is_deleted_for_adk_alone(self, runtime: Runtime) -> None:
        async def play() -> None:
            service = MunimentSessions(runtime)
            await service.append_event(await begun(service, own=1), said("words"))
            key = SessionName(APP, USER, "s").key
            runtime.lifecycle.hold(Scope(conversation=key.conversation, channel=key.channel), "a lawsuit", "ada")
            await service.delete_session(app_name=APP, user_id=USER, session_id="s")
            assert (await service.list_sessions(app_name=APP)).sessions == []
            with pytest.raises(SessionNotFoundError):
                await service.append_event(Session(id="s", app_name=APP, user_id=USER), said("late"))
            again = await begun(service, other=2)
            assert again.state == {"other": 2}
            await service.append_event(again, said("new"))
            assert texts(await read(service, again)) == ["new"]

        run(play())
        assert runtime.transcripts.search("words", View.HOST_UI).hits[0].excerpt.text == "words"


def test_a_served_store_keeps_sessions_as_an_open_one(runtime: Runtime) -> None:
    async def play(service: MunimentSessions) -> None:
        session = await begun(service, own=1, user__name="Ada")
        copy = await read(service, session)
        assert copy is not None
        await service.append_event(session, said("words", own=2, app__x=1))
        with pytest.raises(ValueError, match="newer event"):
            await service.append_event(copy, said("too late"))
        stored = await read(service, session)
        assert stored is not None
        assert (stored.events, stored.state) == (session.events, {"own": 2, "app:x": 1, "user:name": "Ada"})
        await service.delete_session(app_name=APP, user_id=USER, session_id="s")
        assert await read(service, session) is None

    key = runtime.clients.create("adk", EVERYTHING).key
    with serving(runtime) as url, muniment.connect(url, key=key) as connected:
        run(play(MunimentSessions(connected)))


class TestManyWriters:
    def test_who_has_seen_too_little_is_told(self, runtime: Runtime) -> None:
        async def play() -> None:
            one, two = MunimentSessions(runtime), MunimentSessions(runtime)
            session = await begun(one)
            copy = await read(two, session)
            assert copy is not None
            await one.append_event(session, said("first"))
            for _ in range(2):
                with pytest.raises(ValueError, match="newer event"):
                    await two.append_event(copy, said("too late", user__x=1))
            fresh = await read(two, session)
            assert fresh is not None
            await two.append_event(fresh, said("second"))
            with pytest.raises(ValueError, match="newer event"):
                await one.append_event(session, said("too late", user__x=1))
            assert texts(await read(one, session)) == ["first", "second"]
            assert await one.get_user_state(app_name=APP, user_id=USER) == {}

        run(play())

    def test_shared_state_is_merged(self, runtime: Runtime) -> None:
        """Of sessions that write at once, with services and loops of their own, no change is lost."""

        def write(number: int) -> None:
            async def play() -> None:
                service = MunimentSessions(runtime)
                session = await begun(service, f"s{number}")
                for step in range(5):
                    changed: dict[str, Any] = {f"{scope}__{number}_{step}": step for scope in ("user", "app")}
                    await service.append_event(session, said("x", **changed))

            run(play())

        threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        state = run(MunimentSessions(runtime).get_user_state(app_name=APP, user_id=USER))
        assert len(state) == 30
        last = run(begun(MunimentSessions(runtime), "last"))
        assert len(last.state) == 60

    def test_one_session_takes_appends_of_many_tasks(self, runtime: Runtime) -> None:
        async def play() -> None:
            service = MunimentSessions(runtime)
            session = await begun(service)
            await asyncio.gather(*(service.append_event(session, said(f"{number}")) for number in range(20)))
            stored = await read(service, session)
            assert stored is not None
            assert stored.events == session.events
            assert sorted(map(str, texts(stored))) == sorted(map(str, range(20)))

        run(play())

    def test_an_append_that_has_begun_is_finished(self, runtime: Runtime) -> None:
        """A caller that is cancelled may repeat the event: it is there once."""

        async def play() -> None:
            service = MunimentSessions(runtime)
            session = await begun(service)
            for number in range(10):
                event = said(f"{number}")
                task = asyncio.create_task(service.append_event(session, event))
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await service.append_event(session, event)
            assert texts(await read(service, session)) == list("0123456789")
            assert texts(session) == list("0123456789")

        run(play())

    @pytest.mark.slow
    def test_two_hundred_sessions_run_at_once(self, runtime: Runtime) -> None:
        async def play() -> None:
            service = MunimentSessions(runtime)

            async def talk(number: int) -> None:
                name = f"s{number}"
                await begun(service, name)
                runner = runner_of(service, [types.Part(text=f"answer {number}")])
                await ask(runner, name, f"question {number}")

            await asyncio.gather(*map(talk, range(200)))
            for number in (0, 99, 199):
                stored = await service.get_session(app_name=APP, user_id=USER, session_id=f"s{number}")
                assert texts(stored) == [f"question {number}", f"answer {number}"]
            assert len((await service.list_sessions(app_name=APP)).sessions) == 200

        run(play())


class TestRunner:
    def test_an_agent_uses_tools_and_goes_on_in_another_process(self, service: BaseSessionService) -> None:
        def stock(item: str) -> dict[str, int]:
            """Tell how many there are."""
            return {"count": len(item)}

        async def play() -> None:
            session = await begun(service)
            told = [called("stock", item="lamp"), types.Part(text="There are four lamps.")]
            await ask(runner_of(service, told, stock), "s", "How many lamps?")
            stored = await read(service, session)
            assert stored is not None
            kinds = [
                (event.author, bool(event.get_function_calls()), bool(event.get_function_responses()))
                for event in stored.events
            ]
            assert kinds == [
                ("user", False, False), ("clerk", True, False), ("clerk", False, True), ("clerk", False, False)
            ]  # fmt: skip
            assert stored.state == {"answer": "There are four lamps."}
            runner = runner_of(service, [types.Part(text="Four.")], stock)
            await ask(runner, "s", "Again?")
            model = runner.agent.model
            assert "There are four lamps." in model.asked[0]
            assert len(texts(await read(service, session))) == 6

        run(play())


KILLED = """
import asyncio, sys
import muniment
from tests.host.adk import said
from muniment.host.adk_sessions import MunimentSessions

async def play():
    service = MunimentSessions(muniment.open(sys.argv[1], keys=sys.argv[2]))
    session = await service.create_session(app_name="shop", user_id="ada", session_id="s")
    for number in range(1000):
        await service.append_event(session, said(str(number), n=number, user__n=number))
        print(number, flush=True)

asyncio.run(play())
"""


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """Every event whose append returned is there, with its state; perhaps one more."""
    store, keys = tmp_path / "store", tmp_path / "key"
    here = Path(__file__).parents[2]
    command = [sys.executable, "-c", KILLED, str(store), str(keys)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=here, text=True) as process:
        assert process.stdout is not None
        acknowledged = -1
        for line in process.stdout:
            acknowledged = int(line)
            if acknowledged == 7:
                os.kill(process.pid, signal.SIGKILL)
    assert acknowledged >= 7
    with muniment.open(store, keys=keys) as runtime:
        service = MunimentSessions(runtime)
        stored = run(service.get_session(app_name=APP, user_id=USER, session_id="s"))
        assert stored is not None
        count = len(stored.events)
        assert count in {acknowledged + 1, acknowledged + 2}
        assert stored.state == {"n": count - 1, "user:n": count - 1}
        run(service.append_event(stored, said("on")))
