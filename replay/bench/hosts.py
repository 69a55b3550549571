"""Fifty items through our adapters and through the frameworks' own SQLite stores, in turns, in one process.

Both sides get the same items through the same methods of the framework, into a conversation of their own each round,
and give them back. Ours encrypts and keeps evidence, theirs does neither. A framework that is not installed is left
out. The ratio is of wall time, as somebody who waits for the framework sees it; the note has both times and CPU.
"""

from __future__ import annotations

import asyncio
import importlib
import sqlite3
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count as numbers
from pathlib import Path
from typing import Any, NamedTuple

from muniment.runtime.runtime import Runtime
from replay.bench.contestants import database
from replay.bench.figures import Amount, Figure, at_most
from replay.bench.scene import Measured, Measuring, Scene
from replay.machine import is_installed
from replay.measure import Rounds, Work, timed_in_turns
from replay.stores import opened

ITEMS = 50
ROUNDS, ROUNDS_QUICK = 15, 1
SESSIONS_MAX, STORE_MAX = 1.5, 4.0
TEXT = "The parcel left the depot in Lyon this morning and is out for delivery; it arrives before noon."


class HostSide(NamedTuple):
    """A store behind the interface of a framework: fifty items into a conversation, and back; then closed."""

    append: Callable[[str], object]
    load: Callable[[str], int]
    close: Callable[[], object]


class HostPair(NamedTuple):
    """What is compared: the module of the framework, how both are opened, and how much slower ours may be."""

    needs: str
    theirs: Callable[[Path], HostSide]
    ours: Callable[[Path], HostSide]
    limit: float
    own: str  # what the framework calls its store


def hosts(scene: Scene) -> Measuring:
    """Compare every pair that is installed."""
    for name, pair in PAIRS.items():
        if is_installed(pair.needs):
            yield from _compared(scene, name, pair)


def _compared(scene: Scene, name: str, pair: HostPair) -> Iterator[Measured]:
    home = scene.fresh(f"host-{name.replace(' ', '-')}")
    sides = {"ours": pair.ours(home), "theirs": pair.theirs(home)}
    rounds = ROUNDS_QUICK if scene.quick else ROUNDS
    works: dict[str, dict[str, Work]] = {
        "append": {which: _appending(side) for which, side in sides.items()},
        "load": {which: _loading(side) for which, side in sides.items()},
    }
    for verb, work in works.items():
        done = timed_in_turns(work, rounds)
        yield Measured(_figure(f"{name}, {verb} {ITEMS} items", pair, done["ours"], done["theirs"]), work["ours"])
    for side in sides.values():
        side.close()


def _appending(side: HostSide) -> Work:
    names = map(str, numbers())

    def work() -> int:
        side.append(next(names))
        return 1

    return work


def _loading(side: HostSide) -> Work:
    def work() -> int:
        assert side.load("0") == ITEMS, "all of them are compared"
        return 1

    return work


def _figure(what: str, pair: HostPair, ours: Rounds, theirs: Rounds) -> Figure:
    ratio = ours.wall.median / theirs.wall.median
    return Figure(
        subject="hosts",
        what=f"{what}, compared with {pair.own}",
        measured=Amount(median=ratio, unit="x", digits=1),
        target=f"<= {pair.limit:g} x",
        met=at_most(ratio, pair.limit),
        note=(
            f"{ours.wall.told('ms', 1)}, theirs {theirs.wall.told('ms', 1)}; "
            f"CPU {ours.cpu.told('ms', 1)}, theirs {theirs.cpu.told('ms', 1)}"
        ),
    )


# --- OpenAI Agents SDK ------------------------------------------------------------------------------------------------


def _agents(make: Callable[[str], Any]) -> HostSide:
    """Add all items in one call, as a run adds what is new."""
    runner, session = asyncio.Runner(), cache(make)
    items = [{"role": ("user", "assistant")[place % 2], "content": _text(place)} for place in range(ITEMS)]
    return HostSide(
        lambda name: runner.run(session(name).add_items(items)),
        lambda name: len(runner.run(session(name).get_items())),
        runner.close,
    )


def _agents_theirs(directory: Path) -> HostSide:
    make = importlib.import_module("agents").SQLiteSession
    return _agents(lambda name: make(name, directory / "agents.db"))


def _agents_ours(directory: Path) -> HostSide:
    runtime, make = opened(directory), importlib.import_module("muniment.host.openai_agents").MunimentSession
    return _closing(runtime, _agents(lambda name: make(name, runtime, subject="ada")))


# --- Google ADK -------------------------------------------------------------------------------------------------------


def _adk(service: Any) -> HostSide:
    """Append each event with a call, which is the only way."""
    runner = asyncio.Runner()
    events, types = importlib.import_module("google.adk.events"), importlib.import_module("google.genai.types")
    who = {"app_name": "bench", "user_id": "ada"}

    async def append(name: str) -> None:
        session = await service.create_session(session_id=name, **who)
        for place in range(ITEMS):
            content = types.Content(role=("user", "model")[place % 2], parts=[types.Part(text=_text(place))])
            await service.append_event(session, events.Event(author=("user", "bench")[place % 2], content=content))

    async def load(name: str) -> int:
        return len((await service.get_session(session_id=name, **who)).events)

    return HostSide(lambda name: runner.run(append(name)), lambda name: runner.run(load(name)), runner.close)


def _adk_theirs(directory: Path) -> HostSide:
    module = importlib.import_module("google.adk.sessions.sqlite_session_service")
    return _adk(module.SqliteSessionService(str(directory / "adk.db")))


def _adk_ours(directory: Path) -> HostSide:
    runtime = opened(directory)
    service = importlib.import_module("muniment.host.adk_sessions").MunimentSessions(runtime)
    return _closing(runtime, _adk(service))


# --- LangGraph --------------------------------------------------------------------------------------------------------


def _saver(saver: Any, close: Callable[[], object]) -> HostSide:
    """Put a checkpoint an item, in one thread: each has one channel that changed and one that did not."""
    base = importlib.import_module("langgraph.checkpoint.base")

    def append(name: str) -> None:
        config: Any = {"configurable": {"thread_id": name, "checkpoint_ns": ""}}
        for place in range(ITEMS):
            checkpoint = base.empty_checkpoint() | {
                "channel_values": {"words": _text(place), "fixed": TEXT},
                "channel_versions": {"words": place + 1, "fixed": 1},
            }
            changed = {"words": place + 1} | ({} if place else {"fixed": 1})
            config = saver.put(config, checkpoint, {"source": "loop", "step": place, "parents": {}}, changed)

    def load(name: str) -> int:
        return len(list(saver.list({"configurable": {"thread_id": name, "checkpoint_ns": ""}})))

    return HostSide(append, load, close)


def _saver_theirs(directory: Path) -> HostSide:
    connection = sqlite3.connect(directory / "saver.db", check_same_thread=False)
    return _saver(importlib.import_module("langgraph.checkpoint.sqlite").SqliteSaver(connection), connection.close)


def _saver_ours(directory: Path) -> HostSide:
    runtime = opened(directory)
    return _saver(importlib.import_module("muniment.host.langgraph_saver").MunimentSaver(runtime), runtime.close)


def _store(store: Any, close: Callable[[], object]) -> HostSide:
    """Put each item, and search for all of them once."""

    def append(name: str) -> None:
        for place in range(ITEMS):
            store.put(("bench", name), str(place), {"text": _text(place)}, index=False)

    return HostSide(append, lambda name: len(store.search(("bench", name), limit=ITEMS)), close)


def _store_theirs(directory: Path) -> HostSide:
    connection = database(directory / "store.db")
    store = importlib.import_module("langgraph.store.sqlite").SqliteStore(connection)
    store.setup()
    return _store(store, connection.close)


def _store_ours(directory: Path) -> HostSide:
    runtime = opened(directory)
    return _store(importlib.import_module("muniment.host.langgraph_store").MunimentStore(runtime), runtime.close)


# --- all --------------------------------------------------------------------------------------------------------------


def _closing(runtime: Runtime, side: HostSide) -> HostSide:
    """Close the store behind a side after it."""

    def close() -> None:
        side.close()
        runtime.close()

    return side._replace(close=close)


def _text(place: int) -> str:
    return f"{place}. {TEXT}"


PAIRS: dict[str, HostPair] = {
    "openai-agents": HostPair("agents", _agents_theirs, _agents_ours, SESSIONS_MAX, "SQLiteSession"),
    "google-adk": HostPair("google.adk", _adk_theirs, _adk_ours, SESSIONS_MAX, "SqliteSessionService"),
    "langgraph checkpoints": HostPair(
        "langgraph.checkpoint.sqlite", _saver_theirs, _saver_ours, SESSIONS_MAX, "SqliteSaver"
    ),
    "langgraph store": HostPair("langgraph.store.sqlite", _store_theirs, _store_ours, STORE_MAX, "SqliteStore"),
}
