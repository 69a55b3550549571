"""Checkpoints of LangGraph: its own conformance kit, and what a store of evidence promises beyond it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypedDict, cast

import pytest

pytest.importorskip("langgraph.checkpoint.conformance", reason="langgraph-checkpoint-conformance is not installed")
pytest.importorskip("langgraph.graph", reason="langgraph is not installed")
pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph-checkpoint-sqlite is not installed")

from hypothesis import example, given
from hypothesis import strategies as st
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from muniment import ConversationKey, View, open  # noqa: A004 - what a host types
from muniment.host.langgraph_saver import MunimentSaver


class Steps(TypedDict):
    """The state of the scripted graph."""

    steps: list[str]


def graph_with(saver: BaseCheckpointSaver[str]) -> Any:
    """Return a graph of two nodes, of which the second asks a person."""

    def begin(state: Steps) -> Steps:
        return {"steps": [*state["steps"], "begun"]}

    def ask(state: Steps) -> Steps:
        return {"steps": [*state["steps"], interrupt("which one?")]}

    builder = StateGraph(Steps)
    builder.add_node("begin", begin)
    builder.add_node("ask", ask)
    builder.add_edge(START, "begin")
    builder.add_edge("begin", "ask")
    builder.add_edge("ask", END)
    return builder.compile(checkpointer=saver)


def config_of(thread: str, checkpoint: str | None = None, space: str = "") -> Any:
    named = {} if checkpoint is None else {"checkpoint_id": checkpoint}
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space, **named}}


def put(saver: MunimentSaver, thread: str, value: Any = 1, after: str | None = None, space: str = "") -> str:
    """Put a checkpoint and return its id."""
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"value": value}
    saver.put(config_of(thread, after, space), checkpoint, {"source": "loop", "step": 0, "parents": {}}, {})
    return str(checkpoint["id"])


def value_of(saver: MunimentSaver, thread: str, checkpoint: str | None = None) -> Any:
    kept = saver.get_tuple(config_of(thread, checkpoint))
    return None if kept is None else kept.checkpoint["channel_values"]["value"]


async def opened() -> AsyncIterator[MunimentSaver]:
    """Open a saver for the conformance kit."""
    with MunimentSaver("memory:") as saver:
        yield saver


def test_the_conformance_kit_passes_with_its_extensions() -> None:
    """Every capability is there, and every test of it passes."""
    report = asyncio.run(validate(checkpointer_test(name="MunimentSaver")(opened)))
    assert report.passed_all(), report.to_dict()


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_an_interrupted_run_goes_on_in_another_process(tmp_path: Path, durability: Any) -> None:
    """What one store object kept is enough for another one to go on."""
    config = config_of("order-9")
    with MunimentSaver(tmp_path / "store") as saver:
        asked = graph_with(saver).invoke({"steps": []}, config, durability=durability)
        assert asked["__interrupt__"][0].value == "which one?"
    with MunimentSaver(tmp_path / "store") as saver:
        assert graph_with(saver).invoke(Command(resume="this"), config)["steps"] == ["begun", "this"]


def test_two_hundred_runs_at_once_each_keep_their_own_thread() -> None:
    """Runs on one event loop neither wait for each other's store nor see each other's state."""
    with MunimentSaver("memory:") as saver:
        graph = graph_with(saver)

        async def run(number: int) -> None:
            config = config_of(f"thread-{number}")
            await graph.ainvoke({"steps": [str(number)]}, config)
            done = await graph.ainvoke(Command(resume="ok"), config)
            assert done["steps"] == [str(number), "begun", "ok"]

        async def all_of_them() -> None:
            await asyncio.gather(*map(run, range(200)))

        asyncio.run(all_of_them())


def test_a_put_whose_caller_is_cancelled_is_finished() -> None:
    """Whoever gives up waiting has still put the checkpoint."""
    with MunimentSaver("memory:") as saver:
        checkpoint = empty_checkpoint()

        async def give_up() -> None:
            putting = asyncio.create_task(saver.aput(config_of("t"), checkpoint, {"source": "loop"}, {}))
            await asyncio.sleep(0)
            putting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await putting

        asyncio.run(give_up())
        assert saver.get_tuple(config_of("t", checkpoint["id"])) is not None


PUTTING = """
import sys
from langgraph.checkpoint.base import empty_checkpoint
from muniment.host.langgraph_saver import MunimentSaver
saver = MunimentSaver(sys.argv[1])
while True:
    checkpoint = empty_checkpoint()
    saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, checkpoint, {"source": "loop"}, {})
    print(checkpoint["id"], flush=True)
"""


def test_a_kill_loses_no_checkpoint_that_was_acknowledged(tmp_path: Path) -> None:
    """What `put` returned for is there after the process was killed."""
    with MunimentSaver(tmp_path / "store") as saver:
        put(saver, "t")
    process = subprocess.Popen([sys.executable, "-c", PUTTING, str(tmp_path / "store")], stdout=subprocess.PIPE)
    assert process.stdout is not None
    acknowledged = [process.stdout.readline().decode().strip() for _ in range(5)]
    process.kill()
    acknowledged += process.stdout.read().decode().split("\n")[:-1]
    process.stdout.close()
    process.wait()
    with MunimentSaver(tmp_path / "store") as saver:
        kept = {found.checkpoint["id"] for found in saver.list(config_of("t"))}
    assert set(acknowledged) <= kept
    assert len(acknowledged) >= 5


def test_a_checkpoint_is_read_without_reading_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a thread is, one checkpoint costs a few turns."""
    with open("memory:") as runtime:
        saver = MunimentSaver(runtime)
        first = put(saver, "t", 0)
        for number in range(1, 80):
            put(saver, "t", number)
        read, timeline = [0], runtime.transcripts.timeline

        def counted(*args: Any) -> Any:
            page = timeline(*args)
            read[0] += len(page.turns)
            return page

        monkeypatch.setattr(runtime.transcripts, "timeline", counted)
        assert value_of(saver, "t") == 79
        assert value_of(saver, "t", first) == 0
        assert saver.get_tuple(config_of("t", space="never:used")) is None
        assert read[0] <= 5


def test_writers_of_one_checkpoint_lose_nothing_to_each_other(tmp_path: Path) -> None:
    """Savers that know nothing of each other number their turns apart."""
    with open(tmp_path / "store") as runtime:
        checkpoint = put(MunimentSaver(runtime), "t")
        savers = [MunimentSaver(runtime) for _ in range(4)]

        def write(saver: MunimentSaver, who: int) -> None:
            for number in range(5):
                saver.put_writes(config_of("t", checkpoint), [("channel", number)], f"task-{who}-{number}")

        threads = [threading.Thread(target=write, args=(saver, who)) for who, saver in enumerate(savers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kept = MunimentSaver(runtime).get_tuple(config_of("t", checkpoint))
        assert kept is not None
        assert len(kept.pending_writes or []) == 20


def test_what_was_written_before_its_checkpoint_is_put_belongs_to_it() -> None:
    """The framework puts a checkpoint and what tasks write after it at the same time."""
    with MunimentSaver("memory:") as saver:
        checkpoint = empty_checkpoint()
        saver.put_writes(config_of("t", checkpoint["id"]), [("channel", "early")], "task")
        assert saver.get_tuple(config_of("t")) is None
        saver.put(config_of("t"), checkpoint, {"source": "loop"}, {})
        kept = saver.get_tuple(config_of("t"))
        assert kept is not None
        assert kept.pending_writes == [("task", "channel", "early")]


def test_a_large_state_is_attached_and_comes_back() -> None:
    """A state above what a message takes is kept whole."""
    large = "x" * 3_000_000
    with MunimentSaver("memory:") as saver:
        checkpoint = put(saver, "t", large)
        assert value_of(saver, "t", checkpoint) == large
        saver.copy_thread("t", "u")
        assert value_of(saver, "u") == large


def test_a_deleted_thread_is_erased_with_a_receipt_and_can_begin_again() -> None:
    """Deleting destroys the content, leaves the fact, and takes no name away."""
    with open("memory:") as runtime:
        saver = MunimentSaver(runtime)
        checkpoint = put(saver, "t", "secret")
        saver.delete_thread("t")
        assert value_of(saver, "t") is None
        assert value_of(saver, "t", checkpoint) is None
        [entry] = runtime.lifecycle.receipts(ConversationKey(conversation="t", channel="langgraph")).entries
        assert (entry.transition.value, entry.reason) == ("erase", "thread deleted")
        again = empty_checkpoint()
        again["id"] = checkpoint
        again["channel_values"] = {"value": "new"}
        saver.put(config_of("t"), again, {"source": "loop"}, {})
        assert value_of(saver, "t", checkpoint) == "new"
        assert [found.checkpoint["id"] for found in saver.list(None)] == [checkpoint]


def test_the_state_is_shown_by_the_view_of_the_owner_alone() -> None:
    """A checkpoint puts nothing in front of users, models and recipients."""
    with open("memory:") as runtime:
        put(MunimentSaver(runtime), "t", "secret")
        for view in View:
            page = runtime.transcripts.latest(ConversationKey(conversation="t", channel="langgraph"), view=view)
            parts = [part for turn in page.turns for message in turn.messages for part in message.parts]
            assert bool(parts) is (view is View.RAW_OWNER)


@pytest.mark.parametrize("thread", ["", " blank ", "a/b", "%41", "line\nbreak", "é" * 600, "nul\0"])
def test_a_thread_may_have_any_name(thread: str) -> None:
    """What is no name of muniment is escaped, and no two threads are one."""
    with MunimentSaver("memory:") as saver:
        put(saver, thread, thread)
        put(saver, thread + "x", "another")
        assert value_of(saver, thread) == thread
        kept = saver.get_tuple(config_of(thread))
        assert kept is not None
        assert kept.config["configurable"]["thread_id"] == thread


def test_pruning_keeps_what_differences_are_rebuilt_from() -> None:
    """Of a channel that keeps differences, the checkpoints back to the last whole value stay."""
    with MunimentSaver("memory:") as saver:
        put(saver, "t", "oldest")
        whole = put(saver, "t", "whole", after=None)
        ids = [whole]
        for _ in range(2):
            checkpoint = empty_checkpoint()
            ids.append(checkpoint["id"])
            known: Any = {"source": "loop", "counters_since_delta_snapshot": {"value": [1, 1]}}
            saver.put(config_of("t", ids[-2]), checkpoint, known, {})
        saver.prune(["t"])
        assert [found.checkpoint["id"] for found in saver.list(config_of("t"))] == ids[::-1]
        with pytest.raises(ValueError, match="keep_latest or delete"):
            saver.prune(["t"], strategy="all")


# --- the order of checkpoints -----------------------------------------------------------------------------------------

IDS = [f"1f0{number}" for number in range(4)]
PUTS = st.lists(st.tuples(st.sampled_from(IDS), st.integers(0, 2), st.booleans()), min_size=1, max_size=8)
WRITTEN = st.lists(st.tuples(st.sampled_from(["__error__", "channel"]), st.integers(0, 2), st.booleans()), max_size=6)


def put_as(saver: BaseCheckpointSaver[str], checkpoint_id: str, value: Any) -> None:
    """Put a checkpoint with an id, to a thread of one namespace."""
    checkpoint = {**empty_checkpoint(), "id": checkpoint_id, "ts": "", "channel_values": {"value": value}}
    saver.put(config_of("t"), cast("Any", checkpoint), {"source": "loop"}, {})


def shown(found: CheckpointTuple | None) -> Any:
    """Return what a saver says of a checkpoint, its writes in an order."""
    return found and (
        found.config,
        found.checkpoint,
        found.metadata,
        found.parent_config,
        sorted(found.pending_writes or []),
    )


@given(PUTS)
@example([(IDS[0], 0, False), (IDS[1], 0, False), (IDS[0], 0, True)])  # a second process puts the first one again
@example([(IDS[0], 0, False), (IDS[0], 1, False), (IDS[0], 0, True)])
@example([(one, 0, False) for one in reversed(IDS)])  # as a saver lists them that is moved from
def test_checkpoints_are_in_the_order_of_their_ids_in_whatever_order_they_are_put(puts: Any) -> None:
    """The SQLite saver shows the same, also when another process puts the next one: True begins one."""
    with open("memory:") as runtime, SqliteSaver.from_conn_string(":memory:") as theirs:
        ours = MunimentSaver(runtime)
        for checkpoint, value, is_fresh in puts:
            ours = MunimentSaver(runtime) if is_fresh else ours
            for saver in (ours, theirs):
                put_as(saver, checkpoint, value)
        for before in (None, IDS[1]):
            cut = None if before is None else config_of("t", before)
            listed = [shown(found) for found in ours.list(config_of("t"), before=cut)]
            assert listed == [shown(found) for found in theirs.list(config_of("t"), before=cut)]
        for checkpoint in (None, *IDS):
            config = config_of("t", checkpoint)
            assert shown(ours.get_tuple(config)) == shown(theirs.get_tuple(config))


@given(WRITTEN)
@example([("__error__", 0, False), ("__error__", 1, False), ("__error__", 0, True)])
@example([("channel", 0, False), ("channel", 1, False), ("channel", 0, True)])
def test_of_writes_under_one_number_the_same_one_counts_as_in_the_sqlite_saver(written: Any) -> None:
    """The first value of a channel, and the last error, whichever process writes it."""
    with open("memory:") as runtime, SqliteSaver.from_conn_string(":memory:") as theirs:
        ours = MunimentSaver(runtime)
        put_as(ours, IDS[0], 0)
        put_as(theirs, IDS[0], 0)
        for channel, value, is_fresh in written:
            ours = MunimentSaver(runtime) if is_fresh else ours
            for saver in (ours, theirs):
                saver.put_writes(config_of("t", IDS[0]), [(channel, value)], "task")
        assert shown(ours.get_tuple(config_of("t"))) == shown(theirs.get_tuple(config_of("t")))


def test_pruning_keeps_the_checkpoint_of_the_greatest_id() -> None:
    """Also where an older one was put again after it; what was written for one to come stays."""
    with MunimentSaver("memory:") as saver:
        for checkpoint, value in ((IDS[0], 0), (IDS[1], 1), (IDS[0], 2)):
            put_as(saver, checkpoint, value)
        saver.put_writes(config_of("t", IDS[3]), [("channel", "early")], "task")
        saver.prune(["t"])
        assert [found.checkpoint["id"] for found in saver.list(config_of("t"))] == [IDS[1]]
        put_as(saver, IDS[3], 3)
        assert [one.pending_writes for one in saver.list(config_of("t"))] == [[("task", "channel", "early")], []]


def test_a_thread_that_is_copied_beside_another_is_in_the_order_of_ids() -> None:
    with MunimentSaver("memory:") as saver:
        put_as(saver, IDS[2], 2)
        saver.copy_thread("t", "u")
        saver.delete_thread("t")
        put_as(saver, IDS[1], 1)
        saver.copy_thread("t", "u")
        assert [found.checkpoint["id"] for found in saver.list(config_of("u"))] == [IDS[2], IDS[1]]
