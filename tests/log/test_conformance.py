"""Both stores of the product pass the kit that every store has to pass."""

from __future__ import annotations

from muniment.log.conformance import conformance
from muniment.log.memory import MemoryStore
from muniment.log.sqlite import SqliteStore

TestSqliteStore = conformance(lambda place: SqliteStore(place / "log.db"))
TestMemoryStore = conformance(lambda _place: MemoryStore(), durable=False)
