"""The store of LangGraph: what its users rely on, and what a store of evidence promises beyond it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("langgraph.store", reason="langgraph-checkpoint is not installed")

from langgraph.store.base import GetOp, PutOp
from langgraph.store.memory import InMemoryStore

from muniment import (
    ConversationKey,
    Detect,
    DetectedType,
    FixedClock,
    Options,
    Passage,
    RedactionReason,
    Runtime,
    Scope,
    TextPart,
    Transition,
    View,
    open,  # noqa: A004 - what a host types
)
from muniment.host.langgraph_store import MunimentStore

ADA = ("memories", "ada")
IN_ADA = ConversationKey(conversation="memories/ada", channel="langgraph-store")
LABELS = st.text(min_size=1, max_size=4).filter(lambda label: "." not in label and "\0" not in label)
WORDS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.dictionaries(
    WORDS, st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | WORDS, st.lists, max_leaves=5)
)
MINUTE_MS = 60_000


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    with open("memory:") as opened:
        yield opened


def words_of(runtime: Runtime, view: View = View.HOST_UI) -> list[str]:
    """Return what a view shows of the values of ada."""
    turns = runtime.transcripts.replay(IN_ADA, view).turns
    parts = [part for turn in turns for message in turn.messages for part in message.parts]
    return [json.loads(part.content)["text"] for part in parts if isinstance(part, TextPart)]


def tea_of(store: MunimentStore) -> Any:
    """Return what is known of ada's tea."""
    item = store.get(ADA, "tea")
    return None if item is None else item.value


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.lists(LABELS, min_size=1, max_size=3).map(tuple), WORDS, VALUES), max_size=6))
def test_what_is_put_comes_back_as_from_the_store_of_the_framework(puts: list[Any]) -> None:
    """Any namespace, key and value: the same items as in the store in memory that the framework brings."""
    theirs = InMemoryStore()
    with MunimentStore("memory:") as ours:
        for store in (theirs, ours):
            store.batch([PutOp(namespace, key, value) for namespace, key, value in puts])
        for namespace, key, _ in puts:
            given: list[Any] = [store.batch([GetOp(namespace, key)])[0] for store in (ours, theirs)]
            found, expected = given
            assert (found.namespace, found.key, found.value) == (expected.namespace, expected.key, expected.value)
        assert ours.list_namespaces() == sorted(theirs.list_namespaces())
        assert {(item.namespace, item.key) for item in ours.search((), limit=99)} == {
            (namespace, key) for namespace, key, _ in puts
        }


def test_another_store_object_sees_what_was_put_and_deleted(tmp_path: Path) -> None:
    """Nothing is known to the object that wrote it alone."""
    with open(tmp_path / "store") as runtime:
        writer, reader = MunimentStore(runtime), MunimentStore(runtime)
        assert reader.get(ADA, "tea") is None
        writer.put(ADA, "tea", {"text": "green"})
        writer.put(ADA, "tea", {"text": "black"})
        assert tea_of(reader) == {"text": "black"}
        reader.put(ADA, "tea", {"text": "none"})
        writer.delete(ADA, "tea")
        assert reader.get(ADA, "tea") is None
        assert reader.search(ADA) == []
        writer.put(ADA, "tea", {"text": "white"})
    with MunimentStore(tmp_path / "store") as later:
        assert [item.value["text"] for item in later.search(("memories",))] == ["white"]


def test_an_older_value_stays_on_record_and_a_deleted_one_is_shown_nowhere(runtime: Runtime) -> None:
    """A put leaves history; a delete hides all of it, and can be taken back by whoever keeps the store."""
    store = MunimentStore(runtime)
    store.put(ADA, "tea", {"text": "green"})
    store.put(ADA, "tea", {"text": "black"})
    assert words_of(runtime) == ["green", "black"]
    store.delete(ADA, "tea")
    assert all(words_of(runtime, view) == [] for view in View)
    runtime.lifecycle.request(IN_ADA, Transition.UNMASK, "a mistake", "ada", "tea~1")
    assert tea_of(store) == {"text": "black"}


def test_a_deleted_value_is_erased_where_the_host_asks_for_it(runtime: Runtime) -> None:
    """The content is destroyed, with a receipt for each value that the key had."""
    store = MunimentStore(runtime, erase_deleted=True)
    store.put(ADA, "tea", {"text": "green"})
    store.put(ADA, "tea", {"text": "black"})
    store.delete(ADA, "tea")
    assert [entry.transition.value for entry in runtime.lifecycle.receipts(IN_ADA).entries] == ["erase", "erase"]
    store.put(ADA, "tea", {"text": "white"})
    assert tea_of(store) == {"text": "white"}


def test_what_others_erase_and_redact_is_gone_from_the_store(runtime: Runtime) -> None:
    """The memory of a store is no copy that outlives an erasure."""
    store = MunimentStore(runtime, subject=lambda namespace: namespace[-1])
    store.put(ADA, "tea", {"text": "green tea"})
    store.put(("memories", "bob"), "tea", {"text": "black"})
    assert len(store.search(("memories",))) == 2
    place = Passage(turn="tea~0", message=1, part=0, start=9, end=14)
    runtime.transcripts.redact(IN_ADA, place, [View.MODEL_CONTEXT], RedactionReason.LEGAL, "ada")
    assert tea_of(store) == {"text": "[redacted: legal] tea"}
    runtime.lifecycle.erase(Scope(subject="ada"), reason="asked for", requester="ada")
    assert tea_of(store) is None
    assert [item.namespace for item in store.search(("memories",))] == [("memories", "bob")]


def test_what_is_no_value_for_a_model_any_more_is_not_given_to_it(runtime: Runtime) -> None:
    """A redaction for another view changes nothing; one of all words for the model leaves no item."""
    store = MunimentStore(runtime)
    store.put(ADA, "tea", {"text": "green tea"})
    place = Passage(turn="tea~0", message=1)
    runtime.transcripts.redact(IN_ADA, place, [View.EXPORT], RedactionReason.LEGAL, "ada")
    assert tea_of(store) == {"text": "green tea"}
    runtime.transcripts.redact(IN_ADA, place, [View.MODEL_CONTEXT], RedactionReason.LEGAL, "ada")
    assert tea_of(store) is None
    assert store.search(ADA) == []
    assert words_of(runtime) == ["green tea"]
    store.delete(ADA, "tea")
    assert words_of(runtime) == []


def test_what_is_detected_for_a_model_is_not_given_to_it() -> None:
    """A store that looks for addresses withholds them here as everywhere."""
    detect = Detect(views={View.MODEL_CONTEXT: frozenset({DetectedType.EMAIL})})
    with open("memory:", options=Options(detect=detect)) as runtime:
        store = MunimentStore(runtime)
        store.put(ADA, "tea", {"text": "ask ada@example.org"})
        assert tea_of(store) == {"text": "ask [detected: email]"}


def test_a_delete_that_erases_leaves_no_value_that_cannot_be_seen(runtime: Runtime) -> None:
    """What was redacted until it was no value, or masked by an earlier delete, is erased with the rest, once."""
    keeping, store = MunimentStore(runtime), MunimentStore(runtime, erase_deleted=True)
    keeping.put(ADA, "tea", {"text": "green"})
    keeping.delete(ADA, "tea")
    store.put(ADA, "tea", {"text": "black"})
    runtime.transcripts.redact(
        IN_ADA, Passage(turn="tea~1", message=1), [View.MODEL_CONTEXT], RedactionReason.LEGAL, "ada"
    )
    store.put(ADA, "tea~1", {"text": "stays"})
    for _ in range(2):
        store.delete(ADA, "tea")
    entries = runtime.lifecycle.receipts(IN_ADA).entries
    assert [entry.first for entry in entries if entry.transition.value == "erase"] == [1, 2]
    assert [item.key for item in store.search(ADA)] == ["tea~1"]


def test_a_question_ranks_by_the_words_of_the_store(runtime: Runtime) -> None:
    """Without an index what the store finds comes first, and the rest behind it; any text is a question."""
    store = MunimentStore(runtime)
    store.put(ADA, "tea", {"text": "Prefers green tea"})
    store.put(ADA, "dog", {"text": "Has a dog named Rex"})
    store.put(ADA, "tea", {"text": "Prefers black tea"})
    assert [item.key for item in store.search(ADA, query="What is the dog called?")] == ["dog", "tea"]
    assert [item.key for item in store.search(ADA, query='from:nobody -"tea')] == ["tea", "dog"]
    assert store.search(ADA, query="green")[0].score is None
    assert len(store.search(ADA, query="?!")) == 2


def test_values_live_as_long_as_they_are_read(runtime: Runtime) -> None:
    """A read moves the expiry, also for others; a sweep takes what has expired."""

    def store_at(minute: int, **ttl: Any) -> MunimentStore:
        config: Any = {"omit_expired": True, **ttl}
        store = MunimentStore(runtime, ttl=config)
        store.clock = FixedClock(1_800_000_000_000 + minute * MINUTE_MS)
        return store

    store = store_at(0, default_ttl=10)
    store.put(ADA, "read", {"text": "a"})
    store.put(ADA, "left", {"text": "b"})
    store.put(ADA, "stays", {"text": "c"}, ttl=None)
    reader = store_at(6)
    assert reader.get(ADA, "read") is not None
    assert reader.get(ADA, "left", refresh_ttl=False) is not None
    end = store_at(11)
    assert {item.key for item in end.search(ADA, refresh_ttl=False)} == {"read", "stays"}
    assert end.sweep_ttl() == 1
    assert store_at(0).get(ADA, "left") is None


def test_vectors_are_kept_and_only_asked_for_where_they_are_missing(runtime: Runtime) -> None:
    """A store that is opened again compares what was embedded before; what another store put is embedded once."""
    asked: list[str] = []

    def embed(texts: Any) -> list[list[float]]:
        asked.extend(texts)
        return [[float("cat" in text), float("dog" in text), 0.1] for text in texts]

    index: Any = {"dims": 3, "embed": embed, "fields": ["text"]}
    MunimentStore(runtime, index=index).put(ADA, "cat", {"text": "cat"})
    MunimentStore(runtime).put(ADA, "dog", {"text": "dog"})
    asked.clear()
    store = MunimentStore(runtime, index=index)
    assert [item.key for item in store.search(ADA, query="a dog")] == ["dog", "cat"]
    assert [item.key for item in store.search(ADA, query="a cat")] == ["cat", "dog"]
    assert asked == ["a dog", "dog", "a cat"]


def test_redacted_words_rank_no_more(runtime: Runtime) -> None:
    """Vectors are of the words that a model may see, whether they were kept with the value or made for a search."""

    def embed(texts: Any) -> list[list[float]]:
        return [[float("cat" in text), float("dog" in text), 0.1] for text in texts]

    index: Any = {"dims": 3, "embed": embed, "fields": ["text"]}
    store = MunimentStore(runtime, index=index)
    store.put(ADA, "kept", {"text": "cat"})
    MunimentStore(runtime).put(ADA, "made", {"text": "cat"})
    assert [round(item.score or 0) for item in store.search(ADA, query="cat")] == [1, 1]
    for turn in ("kept~0", "made~0"):
        place = Passage(turn=turn, message=1, part=0, start=9, end=12)
        runtime.transcripts.redact(IN_ADA, place, [View.MODEL_CONTEXT], RedactionReason.LEGAL, "ada")
    for reader in (store, MunimentStore(runtime, index=index)):
        found = reader.search(ADA, query="cat")
        assert [item.value["text"] for item in found] == ["[redacted: legal]"] * 2
        assert [round(item.score or 0) for item in found] == [0, 0]


def test_two_hundred_tasks_at_once_lose_nothing(runtime: Runtime) -> None:
    """Tasks on one event loop may put, get and search as they like, one key among them."""
    store = MunimentStore(runtime)

    async def work(number: int) -> None:
        await store.aput(("tasks", str(number)), "own", {"number": number})
        await store.aput(("tasks",), "shared", {"number": number})
        found = await store.aget(("tasks", str(number)), "own")
        assert found is not None
        assert found.value == {"number": number}

    async def all_of_them() -> None:
        await asyncio.gather(*map(work, range(200)))

    asyncio.run(all_of_them())
    assert len(store.list_namespaces(limit=500)) == 201
    shared = ConversationKey(conversation="tasks", channel="langgraph-store")
    assert len(runtime.transcripts.replay(shared, limit=500).turns) == 200


def test_a_put_whose_caller_is_cancelled_is_finished(runtime: Runtime) -> None:
    """Whoever gives up waiting has still put the value."""
    store = MunimentStore(runtime)

    async def give_up() -> None:
        putting = asyncio.create_task(store.aput(ADA, "tea", {"text": "green"}))
        await asyncio.sleep(0)
        putting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await putting

    asyncio.run(give_up())
    assert store.get(ADA, "tea") is not None


def test_the_tools_of_langmem_work_on_it(runtime: Runtime) -> None:
    """An agent creates, finds, updates and deletes memories with the tools that LangMem gives it."""
    langmem = pytest.importorskip("langmem", reason="langmem is not installed")
    store = MunimentStore(runtime)
    manage = langmem.create_manage_memory_tool(namespace=ADA, store=store)
    search = langmem.create_search_memory_tool(namespace=ADA, store=store)
    manage.invoke({"content": "Prefers green tea", "action": "create"})
    [item] = store.search(ADA)
    assert "green tea" in str(search.invoke({"query": "tea"}))
    manage.invoke({"content": "Prefers black tea", "action": "update", "id": item.key})
    assert [found.value for found in store.search(ADA)] == [{"content": "Prefers black tea"}]
    manage.invoke({"action": "delete", "id": item.key})
    assert store.search(ADA) == []
