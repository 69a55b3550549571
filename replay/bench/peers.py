"""Other people's stores, each through its own front door, where it is installed (dependency group `bench-peers`).

All of them lie on SQLite in WAL mode; where a peer does not set `synchronous`, SQLite's default FULL holds, which is
what ours has. None of them is asked for what it does not offer: none keeps evidence, and only two of them encrypt.
Imports are inside: a peer that is not installed is left out and reported as not measured.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from muniment.events.turn import Turn
from replay.bench.contestants import PAGE_TURNS, Contestant, database
from replay.bench.memory import beside as of_items
from replay.machine import is_installed, version
from replay.words import plain


class AgentsSession:
    """OpenAI Agents SDK: `SQLiteSession`, and `EncryptedSession` (Fernet) around it. A turn is two items."""

    def __init__(self, directory: Path, *, encrypted: bool) -> None:
        memory = importlib.import_module("agents.memory")
        self._loop = asyncio.new_event_loop()
        self.name = "openai-agents " + ("EncryptedSession" if encrypted else "SQLiteSession")
        self._plain: Any = memory.SQLiteSession("c", directory / f"agents-{encrypted}.db")
        self._session: Any = self._plain
        if encrypted:
            module = importlib.import_module("agents.extensions.memory.encrypt_session")
            key = base64.b64encode(os.urandom(32)).decode()
            self._session = module.EncryptedSession("c", self._session, encryption_key=key)

    def append(self, turn: Turn) -> None:
        """Add the items of a turn."""
        items = [{"role": str(message.role), "content": message.content} for message in turn.messages]
        self._loop.run_until_complete(self._session.add_items(items))

    def page(self) -> int:
        """Get the newest items; the session knows no other page."""
        return len(self._loop.run_until_complete(self._session.get_items(limit=2 * PAGE_TURNS))) // 2

    def close(self) -> None:
        """Close session and loop."""
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._plain.close()
        self._loop.close()


class SourcedEvents:
    """eventsourcing: one aggregate, one event a turn, SQLite recorder with its AES cipher."""

    name = "eventsourcing, SQLite + AES"

    def __init__(self, directory: Path) -> None:
        application = importlib.import_module("eventsourcing.application")
        domain = importlib.import_module("eventsourcing.domain")
        cryptography = importlib.import_module("eventsourcing.cryptography")
        self._application: Any = application.Application(
            env={
                "PERSISTENCE_MODULE": "eventsourcing.sqlite",
                "SQLITE_DBNAME": str(directory / "eventsourcing.db"),
                "CIPHER_TOPIC": "eventsourcing.cryptography:AESCipher",
                "CIPHER_KEY": cryptography.AESCipher.create_key(32),
            }
        )
        self._event: Any = domain.DomainEvent
        self._id = uuid5(NAMESPACE_URL, "conversation")
        self._version = 0

    def append(self, turn: Turn) -> None:
        """Put one event into the event store."""
        self._version += 1
        event = _turn_event()(
            originator_id=self._id,
            originator_version=self._version,
            timestamp=self._event.create_timestamp(),
            turn=plain(turn),
        )
        self._application.events.put([event])

    def page(self) -> int:
        """Get the first events of the aggregate."""
        return len(list(self._application.events.get(self._id, gt=0, lte=PAGE_TURNS)))

    def close(self) -> None:
        """Close the application."""
        self._application.close()


class GraphStore:
    """LangGraph: `SqliteStore`, one item a turn."""

    name = "langgraph SqliteStore"

    def __init__(self, directory: Path) -> None:
        module = importlib.import_module("langgraph.store.sqlite")
        self._database = database(directory / "langgraph.db")
        self._store: Any = module.SqliteStore(self._database)
        self._store.setup()

    def append(self, turn: Turn) -> None:
        """Put one item."""
        self._store.put(("conversation",), turn.turn, plain(turn), index=False)

    def page(self) -> int:
        """Search the first items of the namespace."""
        return len(self._store.search(("conversation",), limit=PAGE_TURNS))

    def close(self) -> None:
        """Close the database."""
        self._database.close()


def _turn_event() -> Any:
    """Return the event class, which must live in a module under a stable name for eventsourcing to find it again."""
    known = globals().get("TurnHappened")
    if known is None:
        domain = importlib.import_module("eventsourcing.domain")
        known = type("TurnHappened", (domain.DomainEvent,), {"__module__": __name__, "__annotations__": {"turn": dict}})
        globals()["TurnHappened"] = known
    return known


# name in the report -> (module that must be there, its distribution, how to open it)
PEERS: dict[str, tuple[str, str, Callable[[Path], Contestant]]] = {
    "openai-agents SQLiteSession": ("agents", "openai-agents", lambda at: AgentsSession(at, encrypted=False)),
    "openai-agents EncryptedSession": ("agents", "openai-agents", lambda at: AgentsSession(at, encrypted=True)),
    "eventsourcing, SQLite + AES": ("eventsourcing", "eventsourcing", SourcedEvents),
    "langgraph SqliteStore": ("langgraph.store.sqlite", "langgraph-checkpoint-sqlite", GraphStore),
}


def installed() -> Iterator[tuple[str, Callable[[Path], Contestant]]]:
    """Yield the peers that can be measured here."""
    for name, (module, _, make) in PEERS.items():
        if is_installed(module):
            yield name, make


def missing() -> list[str]:
    """Return the peers that cannot be measured here."""
    return [name for name, (module, _, _) in PEERS.items() if not is_installed(module)] + of_items.missing()


def versions() -> str:
    """Return the versions of the peers that are installed."""
    distributions = {distribution for module, distribution, _ in PEERS.values() if is_installed(module)}
    known = {name: version(name) for name in distributions} | of_items.versions()
    return ", ".join(f"{name} {found}" for name, found in sorted(known.items()))
