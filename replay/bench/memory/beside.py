"""The same items in other stores of memory, each through its own front door, without a model being called.

Vectors come from the same embedder for all: a random projection of words. None of the peers keeps evidence, encrypts,
or erases for good. Imports are inside: a peer that is not installed is left out and named.
"""

from __future__ import annotations

import importlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count as numbers
from pathlib import Path
from typing import Any, Protocol

from muniment.governance.views import View
from muniment.memory.candidate import Candidate
from muniment.operations.memory.forget_targets import ForgetTarget
from replay.bench.contestants import database
from replay.bench.figures import Figure, ranged
from replay.bench.memory.items import WRITER, questions, source, statements, subject
from replay.bench.scene import Measured, Measuring, Scene
from replay.embedders import DIMENSION, PROJECTED, Projected
from replay.machine import is_installed, version
from replay.measure import Rounds, Work, timed_in_turns
from replay.stores import opened
from replay.words import Words

ITEMS, ITEMS_QUICK = 2_000, 60
EACH, EACH_QUICK, ROUNDS, ROUNDS_QUICK = 40, 4, 5, 1
HITS = 8
TURNS = 200  # that the items of ours rest on
EXTENSION = "sqlite_vec"  # of SQLite, which not every Python can load


class ItemStore(Protocol):
    """A store of the items of one subject."""

    name: str

    def add(self, item: Candidate) -> str:
        """Keep an item; return its id."""
        ...

    def search(self, question: str) -> int:
        """Return how many items were found for a question."""
        ...

    def get(self, item: str) -> object:
        """Return an item by its id."""
        ...

    def delete(self, item: str) -> None:
        """Delete an item."""
        ...

    def close(self) -> None:
        """Leave nothing open."""
        ...


class Ours:
    """Muniment with the same vectors; an item is deleted by forgetting it, receipt included."""

    name = "muniment"

    def __init__(self, directory: Path) -> None:
        self._runtime = opened(directory, options=PROJECTED.options())
        words = Words(small=True)
        for place in range(TURNS):
            self._runtime.transcripts.commit(source(words, 0, place))

    def add(self, item: Candidate) -> str:
        """Remember a candidate with its evidence."""
        [done] = self._runtime.memory.remember([item], WRITER).candidates
        assert done.item is not None, "it was accepted"
        return done.item

    def search(self, question: str) -> int:
        """Recall."""
        return len(self._runtime.memory.recall(subject(0), question, limit=HITS).hits)

    def get(self, item: str) -> object:
        """Show an item."""
        return self._runtime.memory.show(item, View.MODEL_CONTEXT)

    def delete(self, item: str) -> None:
        """Forget an item for good."""
        done = self._runtime.memory.forget(subject(0), ForgetTarget(item=item), "asked for", WRITER)
        assert done.changed, "it was there"

    def close(self) -> None:
        """Close the store."""
        self._runtime.close()


class GraphItems:
    """LangGraph, which LangMem keeps its memories in: `InMemoryStore` or `SqliteStore`, with an index of vectors."""

    def __init__(self, directory: Path, *, in_memory: bool) -> None:
        self.name = f"langgraph {'InMemoryStore' if in_memory else 'SqliteStore'} (LangMem)"
        self._numbers = numbers()
        projected = Projected()
        index = {"dims": DIMENSION, "embed": partial(_vectors, projected), "fields": ["text"]}
        self._close: Callable[[], object] = lambda: None
        if in_memory:
            self._store: Any = importlib.import_module("langgraph.store.memory").InMemoryStore(index=index)
        else:
            connection = database(directory / "langgraph.db")
            self._close = connection.close
            self._store = importlib.import_module("langgraph.store.sqlite").SqliteStore(connection, index=index)
            self._store.setup()

    def add(self, item: Candidate) -> str:
        """Put an item."""
        key = str(next(self._numbers))
        self._store.put((item.subject,), key, {"topic": item.topic, "text": f"{item.topic}: {item.text}"})
        return key

    def search(self, question: str) -> int:
        """Search by meaning, all that it knows."""
        return len(self._store.search((subject(0),), query=question, limit=HITS))

    def get(self, item: str) -> object:
        """Get an item."""
        return self._store.get((subject(0),), item)

    def delete(self, item: str) -> None:
        """Delete an item."""
        self._store.delete((subject(0),), item)

    def close(self) -> None:
        """Close the database."""
        self._close()


class Mem0:
    """mem0 with its local Qdrant on disk, without a model (`infer=False`)."""

    name = "mem0, local Qdrant"

    def __init__(self, directory: Path) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(directory / "mem0")}
        os.environ.setdefault("OPENAI_API_KEY", "none")  # its client is made and never used
        vectors = {"path": str(directory / "qdrant"), "embedding_model_dims": DIMENSION, "on_disk": True}
        embedder = {"model": _embeddings(), "embedding_dims": DIMENSION}
        self._memory: Any = importlib.import_module("mem0").Memory.from_config(
            {
                "embedder": {"provider": "langchain", "config": embedder},
                "vector_store": {"provider": "qdrant", "config": vectors},
                "history_db_path": str(directory / "history.db"),
            }
        )

    def add(self, item: Candidate) -> str:
        """Add a text as it stands."""
        added = self._memory.add(f"{item.topic}: {item.text}", user_id=item.subject, infer=False)
        return str(added["results"][0]["id"])

    def search(self, question: str) -> int:
        """Search by meaning."""
        return len(self._memory.search(question, filters={"user_id": subject(0)}, top_k=HITS)["results"])

    def get(self, item: str) -> object:
        """Get an item."""
        return self._memory.get(item)

    def delete(self, item: str) -> None:
        """Delete an item."""
        self._memory.delete(item)

    def close(self) -> None:
        """Close its clients."""
        with suppress(AttributeError):
            self._memory.vector_store.client.close()


def _vectors(projected: Projected, texts: list[str]) -> list[list[float]]:
    found: list[list[float]] = projected.encode(texts, query=False).tolist()
    return found


def _embeddings() -> Any:
    base: Any = importlib.import_module("langchain_core.embeddings").Embeddings
    projected = Projected()
    members = {
        "embed_documents": lambda _self, texts: _vectors(projected, texts),
        "embed_query": lambda _self, text: _vectors(projected, [text])[0],
    }
    return type("ProjectedEmbeddings", (base,), members)()


# name -> (modules that must be there, the distribution, how to open it)
PEERS: dict[str, tuple[tuple[str, ...], str, Callable[[Path], ItemStore]]] = {
    "langgraph InMemoryStore (LangMem)": (
        ("langgraph.store.memory",),
        "langgraph-checkpoint",
        lambda at: GraphItems(at, in_memory=True),
    ),
    "langgraph SqliteStore (LangMem)": (
        ("langgraph.store.sqlite", EXTENSION),
        "langgraph-checkpoint-sqlite",
        lambda at: GraphItems(at, in_memory=False),
    ),
    "mem0, local Qdrant": (("mem0", "langchain_core", "qdrant_client"), "mem0ai", Mem0),
}


def is_there(name: str) -> bool:
    """Tell whether a peer can be measured here."""
    needs = PEERS[name][0]
    loads = EXTENSION not in needs or hasattr(sqlite3.Connection, "enable_load_extension")
    return loads and all(map(is_installed, needs))


def missing() -> list[str]:
    """Return the peers that cannot be measured here."""
    return [name for name in PEERS if not is_there(name)]


def versions() -> dict[str, str]:
    """Return the versions of the peers that are installed, by distribution."""
    return {distribution: version(distribution) for name, (_, distribution, _) in PEERS.items() if is_there(name)}


def beside(scene: Scene) -> Measuring:
    """Add, search, get and delete the same items, in turns."""
    count, each, rounds = (ITEMS_QUICK, EACH_QUICK, ROUNDS_QUICK) if scene.quick else (ITEMS, EACH, ROUNDS)
    makers = [Ours, *([PEERS[name][2] for name in PEERS if is_there(name)] if scene.peers else [])]
    stores: list[ItemStore] = [make(scene.fresh(f"items-{number}")) for number, make in enumerate(makers)]
    words = Words(small=True)
    items = list(statements(words, count + each * (rounds + 1), 1))
    kept = {store.name: [store.add(item) for item in items[:count]] for store in stores}
    for store in stores:
        assert store.search(items[0].text), "its own words find it, and what is made of them is made"
    asked = questions(words, each)
    steps: dict[str, Callable[[ItemStore], Work]] = {
        "add": lambda store: _each(store.add, iter(items[count:]), each),
        "search": lambda store: _each(store.search, _again(asked), each),
        "get": lambda store: _each(store.get, _again(kept[store.name][:each]), each),
        "delete": lambda store: _each(store.delete, iter(kept[store.name]), each),
    }
    for step, work in steps.items():
        done = timed_in_turns({store.name: work(store) for store in stores}, rounds)
        for name, taken in done.items():
            yield Measured(_figure(f"{step} of {count:,} items", name, taken, done[Ours.name]))
    for store in stores:
        store.close()


def _each(step: Callable[[str], object] | Callable[[Candidate], object], given: Iterator[Any], count: int) -> Work:
    def work() -> int:
        for _ in range(count):
            step(next(given))
        return count

    return work


def _again(texts: list[str]) -> Iterator[str]:
    while True:
        yield from texts


def _figure(what: str, name: str, taken: Rounds, ours: Rounds) -> Figure:
    ratio = "" if taken is ours else f"; muniment takes {ours.wall.median / taken.wall.median:.1f} x the time"
    return Figure(
        subject="memory",
        what=f"side by side, {what}: {name}",
        measured=ranged(taken.wall, "ms"),
        note=f"CPU {taken.cpu.told('ms')}{ratio}",
    )
