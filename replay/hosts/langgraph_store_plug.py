"""LangGraph's own tests of its SQLite store and of how long values live, run against the store of muniment."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests import test_store, test_ttl

from muniment.host.langgraph_store import MunimentStore

OF_SQL = {
    "test_nonnull_migrations",
    "test_escape_glob_literal",
    "test_namespace_match_pattern",
    "test_list_namespaces_prefix_uses_indexable_condition",
}


class PluggedStore(MunimentStore):
    """Opens as the SQLite store does."""

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, place: str, *, index: Any = None, ttl: Any = None
    ) -> Generator["PluggedStore", None, None]:
        if index is not None:
            index = {**index, "fields": index.get("text_fields")}
        with TemporaryDirectory() as folder:
            with cls("memory:" if place == ":memory:" else Path(folder, "store"), index=index, ttl=ttl) as opened:
                yield opened

    def setup(self) -> None:
        """Nothing is to be set up."""


class AwaitedStore(PluggedStore):
    """Opens as the awaited SQLite store does."""

    @classmethod
    def from_conn_string(cls, place: str, **given: Any) -> "Awaited":
        return Awaited(PluggedStore.from_conn_string.__func__(cls, place, **given))

    async def setup(self) -> None:
        """Nothing is to be set up."""

    async def sweep_ttl(self) -> int:
        return PluggedStore.sweep_ttl(self)


class Awaited:
    """A context that is entered with `async with`."""

    def __init__(self, context: Any) -> None:
        self._context = context

    async def __aenter__(self) -> Any:
        return self._context.__enter__()

    async def __aexit__(self, *raised: Any) -> None:
        self._context.__exit__(*raised)


for module in (test_store, test_ttl):
    module.SqliteStore, module.AsyncSqliteStore = PluggedStore, AwaitedStore
    plugged = {name: one for name, one in vars(module).items() if name.lower().startswith("test")}
    globals().update({name: one for name, one in plugged.items() if name not in OF_SQL})
store = test_store.store
fake_embeddings = test_store.fake_embeddings
temp_db_file = test_ttl.temp_db_file
