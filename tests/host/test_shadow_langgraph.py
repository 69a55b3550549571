"""Shadow mode of savers and stores of LangGraph: of those that differ, of batches at once, and of ours."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

pytest.importorskip("langgraph.checkpoint", reason="langgraph-checkpoint is not installed")

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import GetOp, PutOp
from langgraph.store.memory import InMemoryStore

import muniment
from muniment import Runtime
from muniment.host.langgraph_saver import MunimentSaver
from muniment.host.langgraph_store import MunimentStore
from muniment.host.shadow import SAVER_CALLS, STORE_CALLS, shadowed
from muniment.host.shadowed_call import DifferenceKind, shadow


def test_a_saver_of_langgraph_is_shadowed() -> None:
    async def run() -> None:
        old, kept = InMemorySaver(), InMemorySaver()
        shadow(kept, old, SAVER_CALLS)
        config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        saved = kept.put(config, empty_checkpoint(), {"step": 1}, {})
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
    old, kept = InMemoryStore(), InMemoryStore()
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
    entered, go = threading.Event(), threading.Event()

    class Slow(InMemoryStore):
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
        shadow(kept, InMemoryStore(), STORE_CALLS)
        kept.put(("a",), "key", {"text": "tea"})
        assert (kept.shadow.report().reads, kept.shadow.report().same) == (0, False)
        kept.shadow.ours.put(("a",), "key", {"text": "milk"})
        other = threading.Thread(target=kept.batch, args=[[slow]])
        other.start()
        assert entered.wait(10)
        kept.batch([GetOp(("a",), "key"), PutOp(("a",), "more", {})])
        go.set()
        other.join()
        return kept.shadow.report()

    writing = beside(PutOp(("a",), "slow", {}))
    assert (writing.reads, writing.unsettled, writing.found) == (1, 1, 0)
    reading = beside(GetOp(("a",), "slow"))
    assert (reading.reads, reading.unsettled, reading.found) == (2, 0, 1)


def test_our_saver_and_store_for_langgraph_are_shadows_without_differences() -> None:
    async def run(runtime: Runtime) -> None:
        saver: Any = shadowed(MunimentSaver(runtime), shadow_of=InMemorySaver())
        thread = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        config = thread
        for step in range(3):
            version = saver.get_next_version(None, None)
            checkpoint = {**empty_checkpoint(), "channel_values": {"a": step}, "channel_versions": {"a": version}}
            config = saver.put(config, checkpoint, {"step": step}, {"a": version})
            await saver.aput_writes(config, [("a", step), ("b", 1)], "task")
        assert saver.get_tuple(thread).checkpoint["channel_values"] == {"a": 2}
        assert len([one async for one in saver.alist(thread)]) == 3
        saver.delete_thread("t")
        assert saver.get_tuple(thread) is None
        assert saver.shadow.report().same
        store: Any = shadowed(MunimentStore(runtime), shadow_of=InMemoryStore())
        store.put(("a", "b"), "key", {"text": "tea"})
        await store.aput(("a",), "other", {"number": 1})
        assert store.get(("a", "b"), "key").value == {"text": "tea"}
        assert len(store.search(("a",))) == 2
        assert store.list_namespaces(max_depth=1) == [("a",)]
        store.delete(("a",), "other")
        assert len(await store.asearch(("a",))) == 1
        assert store.shadow.report().same
        assert (store.shadow.report().writes, store.shadow.report().reads) == (3, 4)

    with muniment.open("memory:") as runtime:
        asyncio.run(run(runtime))
