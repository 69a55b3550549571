"""LangGraph's own tests of its SQLite store, run against the store of muniment."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests import test_store as upstream
from tests.test_store import *  # noqa: F403 - its tests are what is run

from muniment.host.langgraph_store import MunimentStore


@contextmanager
def create_vector_store(
    fake_embeddings: Any, text_fields: list[str] | None = None, distance_type: str = "cosine", conn_type: str = "memory"
) -> Generator[MunimentStore, None, None]:
    """Open a store that searches by meaning, as the tests ask for it."""
    assert distance_type == "cosine"
    index: Any = {
        "dims": fake_embeddings.dims,
        "embed": fake_embeddings,
        "fields": text_fields,
        "text_fields": text_fields,
    }
    with store_at(conn_type, index) as store:
        yield store


@contextmanager
def store_at(place: str, index: Any = None) -> Generator[MunimentStore, None, None]:
    """Open a store in memory or in a file."""
    with TemporaryDirectory() as folder:
        with MunimentStore("memory:" if place == "memory" else Path(folder, "store"), index=index) as store:
            yield store


upstream.create_vector_store = create_vector_store


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest) -> Generator[MunimentStore, None, None]:
    """Open the store that most tests take."""
    with store_at(request.param) as opened:
        yield opened
