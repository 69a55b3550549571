"""The adapters to LangGraph on a store that another process serves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("langgraph.graph", reason="langgraph is not installed")
pytest.importorskip("langgraph.checkpoint.conformance", reason="langgraph-checkpoint-conformance is not installed")
pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph-checkpoint-sqlite is not installed")

from langgraph.types import Command

import muniment
from muniment import Runtime
from muniment.host.langgraph_saver import MunimentSaver
from muniment.host.langgraph_store import MunimentStore
from tests.host.test_langgraph_saver import config_of, graph_with, put, value_of
from tests.served.conftest import EVERYTHING, serving
from tests.worlds import memory_world


@pytest.fixture
def connected() -> Iterator[Runtime]:
    """Connect to a store in memory."""
    world = memory_world()
    key = world.runtime.clients.create("test", EVERYTHING).key
    with serving(world.runtime) as url, muniment.connect(url, key=key) as runtime:
        yield runtime


def test_a_graph_runs_on_a_store_that_is_served(connected: Runtime) -> None:
    """An interrupted run goes on, a large state comes back, and a deleted thread is gone."""
    saver, config = MunimentSaver(connected), config_of("order-9")
    assert graph_with(saver).invoke({"steps": []}, config)["__interrupt__"]
    assert graph_with(saver).invoke(Command(resume="this"), config)["steps"] == ["begun", "this"]
    put(saver, "large", "x" * 2_000_000)
    assert value_of(saver, "large") == "x" * 2_000_000
    saver.delete_thread("order-9")
    assert saver.get_tuple(config) is None


def test_a_store_works_on_a_store_that_is_served(connected: Runtime) -> None:
    """What is put is found by key, by filter and by words, until it is deleted."""
    store = MunimentStore(connected)
    store.put(("memories", "ada"), "tea", {"text": "Prefers green tea"})
    store.put(("memories", "ada"), "dog", {"text": "Has a dog", "age": 3})
    assert store.search(("memories",), query="tea")[0].key == "tea"
    assert [item.key for item in store.search(("memories",), filter={"age": {"$gt": 2}})] == ["dog"]
    store.delete(("memories", "ada"), "tea")
    assert store.get(("memories", "ada"), "tea") is None
