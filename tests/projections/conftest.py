"""Books with a conversation in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.log.ledgers import BOOKS, Book, FileBook, sqlite_book


@pytest.fixture(params=sorted(BOOKS))
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Book]:
    """Return a book over each store, with a conversation of three turns."""
    made: Book = BOOKS[request.param](tmp_path).with_turns(3)
    yield made
    made.store.close()


@pytest.fixture
def file_book(tmp_path: Path) -> Iterator[FileBook]:
    """Return a book in a file with two conversations of three turns each."""
    made = sqlite_book(tmp_path).with_turns(3).with_turns(3, "other")
    yield made
    made.store.close()
