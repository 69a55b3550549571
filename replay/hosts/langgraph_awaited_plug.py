"""LangGraph's own tests of its awaited SQLite store, run against the store of muniment."""

from langgraph_store_plug import AwaitedStore
from tests import test_async_store

test_async_store.AsyncSqliteStore = AwaitedStore
globals().update({name: one for name, one in vars(test_async_store).items() if name.startswith("test")})
store = test_async_store.store
conn_string = test_async_store.conn_string
fake_embeddings = test_async_store.fake_embeddings
