"""What erasures that have begun still have to do is kept with the log, and nobody edits it unseen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.errors import Corrupt
from muniment.ledger.ledger import Writer
from muniment.ledger.owed import OWED, Owed
from tests.log.ledgers import BOOKS, Book, FileBook, sqlite_book


@pytest.fixture(params=BOOKS)
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Book]:
    """Return a book over each store."""
    made: Book = BOOKS[request.param](tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def file_book(tmp_path: Path) -> Iterator[FileBook]:
    """Return a book in a file."""
    made = sqlite_book(tmp_path)
    yield made
    made.store.close()


def noted(book: Book, owed: Owed) -> Owed:
    """Note what is owed, and read it in the same transaction."""

    def plan(writer: Writer) -> Owed:
        book.ledger.segments.owed.put(writer.tx, owed)
        return book.ledger.segments.owed.of(writer.tx)

    return book.ledger.transact(plan)


def test_what_is_owed_is_remembered(book: Book) -> None:
    """Erasures by the positions of their first events, segments by their numbers, as long as there are any."""
    with book.ledger.reader() as reader:
        assert book.ledger.segments.owed.of(reader) == Owed()
    for owed in (Owed((5, 2**40), (3, 70_000)), Owed((9,)), Owed((), (1,)), Owed()):
        assert noted(book, owed) == owed


def test_what_is_owed_within_an_erasure_and_behind_it() -> None:
    """Each erasure is noted once; others that go on, and segments, stay."""
    owed = Owed((7,), (2,)).within(3, {4, 2}).within(3, {1})
    assert owed == Owed((3, 7), (1, 2, 4))
    assert owed.without(3) == Owed((7,), (1, 2, 4))
    assert owed.without(8) == owed


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM meta WHERE name = 'erasing'",
        "UPDATE meta SET value = x'' WHERE name = 'erasing'",
        "UPDATE meta SET value = substr(value, 1, 12) WHERE name = 'erasing'",
        "UPDATE meta SET value = zeroblob(4) WHERE name = 'erasing'",  # as it is when nothing is owed
        "UPDATE meta SET value = CAST(value || x'00000001' AS BLOB) WHERE name = 'erasing'",
    ],
)
def test_what_is_owed_is_not_edited_unseen(file_book: FileBook, edit: str) -> None:
    """Nobody without the key takes anything away from an erasure that has begun, or adds to it."""
    noted(file_book, Owed((1,), (0, 1)))
    file_book.edited(edit)
    with file_book.store.reader() as reader, pytest.raises(Corrupt) as refused:
        file_book.ledger.segments.owed.of(reader)
    assert refused.value.at == OWED


def test_an_older_state_of_the_seal_is_no_help_to_who_hides_an_erasure(file_book: FileBook) -> None:
    """The row of the frontier that said that nothing was owed belongs to an older state of the log."""
    with file_book.store.reader() as reader:
        seal = reader.log_seal()
    noted(file_book, Owed((1,), ()))
    file_book.grow(1)
    file_book.edited("UPDATE meta SET value = zeroblob(4) WHERE name = 'erasing'")
    file_book.edited("UPDATE frontier SET seal = ?", seal)
    with file_book.store.reader() as reader, pytest.raises(Corrupt):
        file_book.ledger.segments.owed.of(reader)
