"""A shadow writes to two stores, is answered by the old one, and reports every difference."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment import Runtime
from muniment import open as open_store
from muniment.errors import InvalidInput, StoreClosed
from muniment.host import shadowed_call
from muniment.host.shadow import (
    CHAT_HISTORY_CALLS,
    SAVER_CALLS,
    SESSION_CALLS,
    SESSION_SERVICE_CALLS,
    STORE_CALLS,
    shadowed,
)
from muniment.host.shadowed_call import READ, WRITE, DifferenceKind, ShadowedCall, differences, shadow, unchanged

# --- a store of the simplest kind -------------------------------------------------------------------------------------

CALLS = {"add": WRITE, "pop": ShadowedCall(writes=True, seen=unchanged), "all": READ, "each": READ, "newest": READ}


class Items:
    """A list of items, and what is wrong with it."""

    def __init__(self, fault: str = "", shadow_of: Items | None = None) -> None:
        self.items: list[Any] = []
        self.fault = fault
        if shadow_of is not None:
            shadow(self, shadow_of, CALLS)

    def add(self, item: Any) -> None:
        if self.fault == "raises":
            raise StoreClosed
        if self.fault != "forgets":
            self.items.append(f"{item}!" if self.fault == "changes" else item)
        if self.fault == "repeats":
            self.items.append(item)

    def pop(self) -> Any:
        return self.items.pop() if self.items else None

    def all(self) -> list[Any]:
        return list(self.items)

    def each(self) -> Iterator[Any]:
        yield from self.items

    @property
    def newest(self) -> Any:
        return self.items[-1] if self.items else None


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("", []),
        ("forgets", [(DifferenceKind.MISSING, "[0]", "a", None), (DifferenceKind.MISSING, "[1]", "b", None)]),
        ("changes", [(DifferenceKind.DIFFERENT, "[0]", "a", "a!"), (DifferenceKind.DIFFERENT, "[1]", "b", "b!")]),
        ("repeats", [(DifferenceKind.EXTRA, "[0]", None, "a"), (DifferenceKind.EXTRA, "[3]", None, "b")]),
    ],
)
def test_every_difference_is_reported_and_the_old_store_answers(fault: str, found: list[Any]) -> None:
    kept: Any = Items(fault, shadow_of=Items())
    for item in "ab":
        kept.add(item)
    assert kept.all() == ["a", "b"]
    assert list(kept.each()) == ["a", "b"]
    assert kept.newest == "b"
    report = kept.shadow.report()
    told = [(one.kind, one.place, one.old, one.ours) for one in report.differences if one.call == "all"]
    assert told == found
    assert (report.writes, report.reads, report.same) == (2, 3, not fault)
    assert [(one.kind, one.place, one.old, one.ours) for one in kept.shadow.compare("all")] == found


def test_a_failure_of_ours_is_in_the_report_and_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    kept: Any = Items("raises", shadow_of=Items())
    kept.add("my secret")
    assert kept.all() == ["my secret"]
    failed, missing = kept.shadow.report().differences
    assert (failed.kind, failed.call, failed.reason) == (DifferenceKind.FAILED, "add", StoreClosed.code)
    assert missing.kind is DifferenceKind.MISSING
    assert StoreClosed.code in caplog.text
    assert "secret" not in caplog.text


def test_what_the_old_store_refuses_is_not_written_to_ours() -> None:
    kept: Any = Items(shadow_of=Items("raises"))
    with pytest.raises(StoreClosed):
        kept.add("a")
    assert kept.shadow.ours.items == []


def test_a_result_of_a_write_is_compared_too() -> None:
    kept: Any = Items("forgets", shadow_of=Items())
    kept.add("a")
    assert kept.pop() == "a"
    [found] = kept.shadow.report().differences
    assert (found.call, found.kind) == ("pop", DifferenceKind.MISSING)


def test_a_shadow_is_of_the_class_of_its_adapter_and_others_are_none() -> None:
    kept, other = Items(shadow_of=Items()), Items()
    assert isinstance(kept, Items)
    other.add("a")
    assert (other.all(), kept.all()) == (["a"], [])


def test_a_read_beside_a_write_proves_nothing() -> None:
    """Both stores are right, and one is ahead."""
    old = Items()
    kept: Any = Items(shadow_of=old)
    entered, go = threading.Event(), threading.Event()
    ours = kept.shadow.ours

    class Slow(list[Any]):
        def append(self, item: Any) -> None:
            entered.set()
            go.wait(10)
            super().append(item)

    ours.items = Slow()
    writing = threading.Thread(target=kept.add, args=["a"])
    writing.start()
    entered.wait(10)
    assert kept.all() == ["a"]
    go.set()
    writing.join()
    report = kept.shadow.report()
    assert (report.unsettled, report.found) == (1, 0)
    assert kept.all() == ["a"]
    assert kept.shadow.report().same


def test_a_report_lists_so_many_and_counts_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadowed_call, "DIFFERENCES_MAX", 3)
    kept: Any = Items("forgets", shadow_of=Items())
    for item in range(5):
        kept.add(item)
    kept.all()
    report = kept.shadow.report()
    assert (len(report.differences), report.found) == (3, 5)


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=12,
)


@given(JSON, JSON)
def test_values_differ_when_a_difference_is_found(one: Any, other: Any) -> None:
    assert bool(differences("call", one, other)) is (one != other)


# --- stores of frameworks ---------------------------------------------------------------------------------------------


def test_a_session_of_the_agents_sdk_is_shadowed() -> None:
    agents = pytest.importorskip("agents", reason="the package openai-agents is not installed")

    class Ours(agents.SQLiteSession):  # type: ignore[name-defined] # untyped here
        """Stands in for an adapter of ours: it loses what is about tea."""

        def __init__(self, session_id: str, *, shadow_of: Any) -> None:
            super().__init__(session_id)
            shadow(self, shadow_of, SESSION_CALLS)

        async def add_items(self, items: list[Any]) -> None:
            await super().add_items([item for item in items if "tea" not in str(item)])

    async def run() -> None:
        old = agents.SQLiteSession("talk")
        kept: Any = Ours("talk", shadow_of=old)
        assert isinstance(kept, agents.SQLiteSession)
        assert list(inspect.signature(kept.get_items).parameters) == list(inspect.signature(old.get_items).parameters)
        items = [{"role": "user", "content": text} for text in ("coffee", "tea", "milk")]
        await kept.add_items(items)
        assert await kept.get_items() == items
        assert await kept.get_items(limit=1) == items[-1:]
        assert await kept.pop_item() == items[-1]
        [found] = kept.shadow.report().differences
        assert (found.kind, found.call, found.place, found.old) == (
            DifferenceKind.MISSING,
            "get_items",
            "[1]",
            items[1],
        )
        assert len(await kept.shadow.acompare("get_items")) == 1
        await kept.clear_session()
        assert await kept.get_items() == await old.get_items() == []
        assert await kept.shadow.acompare("get_items") == []

    asyncio.run(run())


def test_an_asynchronous_store_of_ours_that_hangs_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    agents = pytest.importorskip("agents", reason="the package openai-agents is not installed")
    monkeypatch.setattr(shadowed_call, "OURS_SECONDS_MAX", 0.05)

    class Ours(agents.SQLiteSession):  # type: ignore[name-defined] # untyped here
        async def get_items(self, limit: int | None = None) -> Any:  # noqa: ARG002 - as the SDK names it
            await asyncio.sleep(3600)

    async def run() -> None:
        kept: Any = Ours("talk")
        shadow(kept, agents.SQLiteSession("talk"), SESSION_CALLS)
        assert await asyncio.wait_for(kept.get_items(), 5) == []
        assert [one.reason for one in kept.shadow.report().differences] == ["TimeoutError"]

    asyncio.run(run())


def test_a_saver_of_langgraph_is_shadowed() -> None:
    memory = pytest.importorskip("langgraph.checkpoint.memory", reason="the package langgraph is not installed")
    base = pytest.importorskip("langgraph.checkpoint.base")

    async def run() -> None:
        old, kept = memory.InMemorySaver(), memory.InMemorySaver()
        shadow(kept, old, SAVER_CALLS)
        config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        saved = kept.put(config, base.empty_checkpoint(), {"step": 1}, {})
        await kept.aput_writes(saved, [("channel", "value")], "task")
        assert kept.get_tuple(config) == old.get_tuple(config)
        assert [one async for one in kept.alist(config)] == list(old.list(config))
        assert kept.get(config) is not None
        assert kept.shadow.report().same
        kept.shadow.ours.delete_thread("t")
        kept.get_tuple(config)
        [found] = kept.shadow.report().differences
        assert found.kind is DifferenceKind.MISSING
        kept.delete_thread("t")
        assert await kept.shadow.acompare("alist", config) == []

    asyncio.run(run())


def test_a_store_of_langgraph_is_shadowed() -> None:
    memory = pytest.importorskip("langgraph.store.memory", reason="the package langgraph is not installed")
    old, kept = memory.InMemoryStore(), memory.InMemoryStore()
    shadow(kept, old, STORE_CALLS)
    kept.put(("a", "b"), "key", {"text": "tea"})
    assert kept.get(("a", "b"), "key").value == {"text": "tea"}
    assert [item.key for item in kept.search(("a",))] == ["key"]
    assert kept.list_namespaces() == [("a", "b")]
    assert kept.shadow.report().found == 0
    kept.shadow.ours.put(("a", "b"), "key", {"text": "milk"})
    kept.get(("a", "b"), "key")
    [found] = kept.shadow.report().differences
    assert (found.kind, found.place, found.old, found.ours) == ("different", "[0].value.text", "tea", "milk")


def test_batches_at_once_prove_nothing_and_reads_alone_disturb_no_read() -> None:
    """A batch is compared unless others wrote while it ran; of puts alone there is nothing to compare."""
    memory = pytest.importorskip("langgraph.store.memory", reason="the package langgraph is not installed")
    base = pytest.importorskip("langgraph.store.base")
    entered, go = threading.Event(), threading.Event()

    class Slow(memory.InMemoryStore):  # type: ignore[name-defined] # untyped here
        def batch(self, ops: Any) -> Any:
            if any(getattr(op, "key", None) == "slow" for op in ops):
                entered.set()
                go.wait(10)
            return super().batch(ops)

    def beside(slow: Any) -> Any:
        """Return the report on a batch with a read that differs, beside another one."""
        entered.clear()
        go.clear()
        kept: Any = Slow()
        shadow(kept, memory.InMemoryStore(), STORE_CALLS)
        kept.put(("a",), "key", {"text": "tea"})
        assert (kept.shadow.report().reads, kept.shadow.report().same) == (0, False)
        kept.shadow.ours.put(("a",), "key", {"text": "milk"})
        other = threading.Thread(target=kept.batch, args=[[slow]])
        other.start()
        assert entered.wait(10)
        kept.batch([base.GetOp(("a",), "key"), base.PutOp(("a",), "more", {})])
        go.set()
        other.join()
        return kept.shadow.report()

    writing = beside(base.PutOp(("a",), "slow", {}))
    assert (writing.reads, writing.unsettled, writing.found) == (1, 1, 0)
    reading = beside(base.GetOp(("a",), "slow"))
    assert (reading.reads, reading.unsettled, reading.found) == (2, 0, 1)


def test_a_chat_history_of_langchain_is_shadowed() -> None:
    history = pytest.importorskip("langchain_core.chat_history", reason="the package langchain-core is not installed")
    messages = pytest.importorskip("langchain_core.messages")

    class Ours(history.BaseChatMessageHistory):  # type: ignore[name-defined] # untyped here
        def __init__(self, shadow_of: Any = None) -> None:
            self.kept: list[Any] = []
            if shadow_of is not None:
                shadow(self, shadow_of, CHAT_HISTORY_CALLS)

        @property
        def messages(self) -> list[Any]:
            return list(self.kept)

        def add_messages(self, messages: Any) -> None:
            self.kept += messages

        def clear(self) -> None:
            self.kept = []

    async def run() -> None:
        kept: Any = Ours(shadow_of=Ours())
        kept.add_user_message("tea")
        await kept.aadd_messages([messages.AIMessage("milk")])
        assert [one.content for one in kept.messages] == ["tea", "milk"]
        assert kept.shadow.report().same
        kept.shadow.ours.kept.pop()
        await kept.aget_messages()
        [found] = kept.shadow.report().differences
        assert (found.kind, found.place) == (DifferenceKind.MISSING, "[1]")

    asyncio.run(run())


def test_a_session_service_of_google_adk_is_shadowed() -> None:
    """Appending changes the session that it is given: each service appends to its own."""
    sessions = pytest.importorskip("google.adk.sessions", reason="the package google-adk is not installed")
    events = pytest.importorskip("google.adk.events")

    async def run() -> None:
        kept: Any = sessions.InMemorySessionService()
        shadow(kept, sessions.InMemorySessionService(), SESSION_SERVICE_CALLS)
        made = await kept.create_session(app_name="app", user_id="ada", state={"count": 1})
        for number in range(3):
            await kept.append_event(made, events.Event(author="user", invocation_id=str(number)))
        assert len(made.events) == 3
        name = {"app_name": "app", "user_id": "ada", "session_id": made.id}
        assert len((await kept.get_session(**name)).events) == 3
        assert [one.id for one in (await kept.list_sessions(app_name="app", user_id="ada")).sessions] == [made.id]
        assert kept.shadow.report().same
        await kept.shadow.ours.delete_session(**name)
        await kept.get_session(**name)
        [found] = kept.shadow.report().differences
        assert (found.kind, found.call) == (DifferenceKind.MISSING, "get_session")

    asyncio.run(run())


# --- our adapters -----------------------------------------------------------------------------------------------------


def test_our_session_is_a_shadow_without_differences() -> None:
    agents = pytest.importorskip("agents", reason="the package openai-agents is not installed")
    from muniment.host.openai_agents import MunimentSession

    async def run(runtime: Runtime) -> None:
        kept: Any = shadowed(MunimentSession("talk", runtime, subject="ada"), shadow_of=agents.SQLiteSession("talk"))
        assert MunimentSession in type(kept).__mro__
        items = [{"role": "user", "content": text} for text in "abc"]
        await kept.add_items(items)
        await kept.add_items(items)
        assert await kept.get_items() == [*items, *items]
        assert await kept.get_items(2) == items[-2:]
        assert await kept.pop_item() == items[-1]
        assert len(await kept.get_items()) == 5
        await kept.clear_session()
        assert await kept.get_items() == []
        assert kept.shadow.report().same
        assert await kept.shadow.acompare("get_items") == []

    with open_store("memory:") as runtime:
        asyncio.run(run(runtime))


def test_our_saver_and_store_for_langgraph_are_shadows_without_differences() -> None:
    memory = pytest.importorskip("langgraph.checkpoint.memory", reason="the package langgraph is not installed")
    base = pytest.importorskip("langgraph.checkpoint.base")
    values = pytest.importorskip("langgraph.store.memory")
    from muniment.host.langgraph_saver import MunimentSaver
    from muniment.host.langgraph_store import MunimentStore

    async def run(runtime: Runtime) -> None:
        saver: Any = shadowed(MunimentSaver(runtime), shadow_of=memory.InMemorySaver())
        thread = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        config = thread
        for step in range(3):
            version = saver.get_next_version(None, None)
            checkpoint = {**base.empty_checkpoint(), "channel_values": {"a": step}, "channel_versions": {"a": version}}
            config = saver.put(config, checkpoint, {"step": step}, {"a": version})
            await saver.aput_writes(config, [("a", step), ("b", 1)], "task")
        assert saver.get_tuple(thread).checkpoint["channel_values"] == {"a": 2}
        assert len([one async for one in saver.alist(thread)]) == 3
        saver.delete_thread("t")
        assert saver.get_tuple(thread) is None
        assert saver.shadow.report().same
        store: Any = shadowed(MunimentStore(runtime), shadow_of=values.InMemoryStore())
        store.put(("a", "b"), "key", {"text": "tea"})
        await store.aput(("a",), "other", {"number": 1})
        assert store.get(("a", "b"), "key").value == {"text": "tea"}
        assert len(store.search(("a",))) == 2
        assert store.list_namespaces(max_depth=1) == [("a",)]
        store.delete(("a",), "other")
        assert len(await store.asearch(("a",))) == 1
        assert store.shadow.report().same
        assert (store.shadow.report().writes, store.shadow.report().reads) == (3, 4)

    with open_store("memory:") as runtime:
        asyncio.run(run(runtime))


def test_our_session_service_is_the_shadow_of_one_in_a_database() -> None:
    """What the old service notes in a session to know what it has stored says nothing to ours."""
    sessions = pytest.importorskip("google.adk.sessions", reason="the package google-adk is not installed")
    pytest.importorskip("aiosqlite", reason="aiosqlite is not installed")
    from google.adk.events import Event

    from muniment.host.adk_sessions import MunimentSessions

    async def run(runtime: Runtime) -> None:
        old = sessions.DatabaseSessionService("sqlite+aiosqlite:///:memory:")
        kept: Any = shadowed(MunimentSessions(runtime), shadow_of=old)
        made = await kept.create_session(app_name="app", user_id="ada")
        for number in range(2):
            await kept.append_event(made, Event(author="user", invocation_id=str(number)))
        again = await kept.get_session(app_name="app", user_id="ada", session_id=made.id)
        await kept.append_event(session=again, event=Event(author="user", invocation_id="2"))
        again = await kept.get_session(app_name="app", user_id="ada", session_id=made.id)
        assert len(again.events) == 3
        assert kept.shadow.report().differences == []
        assert kept.shadow.report().same

    with open_store("memory:") as runtime:
        asyncio.run(run(runtime))


def test_stores_of_different_kinds_are_no_shadows_of_each_other() -> None:
    with pytest.raises(InvalidInput):
        shadowed(Items(), shadow_of=object())
