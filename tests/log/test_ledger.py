"""The ledger: what is appended through plans is what is read, and what was edited at rest does not open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from muniment.errors import Corrupt, KeyMissing, Kind, MunimentError, StoreFault, TurnConflict
from muniment.events.changes import Transition
from muniment.events.records import ConversationOpened, EventKind, KeyRotated, RotationCause
from muniment.evidence.notes import origin_of
from muniment.evidence.pin import FilePin
from muniment.evidence.tree import frontier_at
from muniment.evidence.verifier import open_checkpoint
from muniment.ledger.ledger import CHECKPOINT_EVENTS, SPACE_STREAM, Writer
from muniment.log.port import WHOLE_CONVERSATION, EventRow, SealedRow
from muniment.log.sqlite import SqliteStore
from tests.log.ledgers import BOOKS, Book, FileBook, memory_book, space_keys, sqlite_book
from tests.log.worlds import Disk

# --- plans ------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=sorted(BOOKS))
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Book]:
    """Return a book with a pin over each store."""
    made: Book = BOOKS[request.param](tmp_path, FilePin(tmp_path / "pins"))
    yield made
    made.store.close()


@pytest.fixture
def file_book(tmp_path: Path) -> Iterator[FileBook]:
    """Return a book with a conversation of three turns in a file."""
    made = sqlite_book(tmp_path).with_turns(3)
    yield made
    made.store.close()


def everything(book: Book) -> tuple[Any, ...]:
    with book.ledger.reader() as reader:
        heads = [reader.stream_head(stream) for stream in range(10)]
        return reader.frontier(), list(reader.sealed_events(0, 10_000)), heads, reader.checkpoints(), reader.count()


@pytest.mark.parametrize("flushed", [True, False])
def test_a_plan_that_raises_leaves_nothing(book: Book, flushed: bool) -> None:
    """Rows, heads, tree and checkpoints are as they were, and the next plan takes the places."""
    stream = book.conversation()
    before = everything(book)

    def plan(writer: Writer) -> None:
        writer.append(book.said("words"), stream=stream, messages=1)
        writer.append(
            book.small(EventKind.CONVERSATION_OPENED, ConversationOpened(channel="", conversation="")), stream=None
        )
        if flushed:
            writer.flush()
        raise TurnConflict(at="turn")

    with pytest.raises(TurnConflict):
        book.ledger.transact(plan)
    assert everything(book) == before
    assert book.say(stream, "words")[0].position == before[0].size


def test_nothing_of_a_plan_shows_in_its_transaction_before_it_is_flushed(book: Book) -> None:
    """The writer knows the heads that it is going to write; the state it decides on is the one before."""
    stream = book.conversation()

    def plan(writer: Writer) -> None:
        before, head = writer.tx.frontier(), writer.tx.stream_head(stream)
        first = writer.append(book.said("one"), stream=stream, messages=1)
        second = writer.append(book.said("two"), stream=stream, messages=4)
        assert (first.turn_seq, second.turn_seq, second.position) == (1, 2, first.position + 1)
        assert (writer.tx.frontier(), writer.tx.sealed(first.position)) == (before, None)
        assert writer.tx.stream_head(stream) == head
        coming = writer.head(stream)
        assert coming is not None
        assert (coming.turns, coming.messages, coming.leaf) == (2, 5, second.leaf)
        writer.flush()
        assert writer.tx.frontier().size == before.size + 2
        assert writer.tx.stream_head(stream) == writer.head(stream) == book.ledger.heads.sealed(coming)
        writer.flush()
        assert writer.tx.frontier().size == before.size + 2

    book.ledger.transact(plan)
    with book.ledger.reader() as reader:
        assert [row.turn_seq for row in reader.turns(stream, 1, 9)] == [1, 2]


def test_a_plan_that_appends_nothing_writes_nothing(book: Book) -> None:
    before = everything(book)
    assert book.ledger.transact(lambda writer: writer.tx.frontier().size) == before[0].size
    assert everything(book) == before


def test_a_stream_that_is_not_open_is_not_appended_to(book: Book) -> None:
    with pytest.raises(Corrupt) as refused:
        book.say(7, "words")
    assert (refused.value.at, refused.value.problem) == ("stream 7", "head_missing")
    with book.ledger.reader() as reader:
        assert book.ledger.head(reader, 7) is None


# --- checkpoints ------------------------------------------------------------------------------------------------------


def sizes(book: Book) -> list[int]:
    with book.ledger.reader() as reader:
        return [row.size for row in reader.checkpoints()]


def pinned_size(book: Book) -> int | None:
    pinned = book.notary.pinned()
    return None if pinned is None else pinned.size


def test_a_log_is_signed_and_pinned_whenever_it_passes_a_multiple(book: Book) -> None:
    book.grow(CHECKPOINT_EVENTS - 2)
    assert (book.head().size, sizes(book), pinned_size(book)) == (CHECKPOINT_EVENTS - 1, [], None)
    book.grow(1)
    assert (sizes(book), pinned_size(book)) == ([CHECKPOINT_EVENTS], CHECKPOINT_EVENTS)
    book.grow(1)
    assert sizes(book) == [CHECKPOINT_EVENTS]
    book.grow(2 * CHECKPOINT_EVENTS)
    assert sizes(book) == [CHECKPOINT_EVENTS, 3 * CHECKPOINT_EVENTS + 1]
    assert pinned_size(book) == 3 * CHECKPOINT_EVENTS + 1
    with book.ledger.reader() as reader:
        for row in reader.checkpoints():
            checkpoint = open_checkpoint(row.note, book.notary.key)
            assert (checkpoint.size, checkpoint.origin) == (row.size, origin_of(book.ledger.log))
            assert checkpoint.root == frontier_at(reader, row.size).root()


def test_a_checkpoint_of_a_plan_that_raises_is_neither_kept_nor_pinned(book: Book) -> None:
    """A pin that is ahead of its store would say that the store was rolled back."""

    def plan(writer: Writer) -> None:
        for _ in range(CHECKPOINT_EVENTS):
            writer.append(book.small(EventKind.KEY_ROTATED, KeyRotated(version=2)), stream=SPACE_STREAM)
        writer.flush()
        assert writer.note is not None
        raise TurnConflict(at="turn")

    with pytest.raises(TurnConflict):
        book.ledger.transact(plan)
    assert (sizes(book), pinned_size(book)) == ([], None)


def test_a_checkpoint_that_the_disk_refused_is_not_pinned(store: SqliteStore, disk: Disk, tmp_path: Path) -> None:
    book = Book(store, space_keys(tmp_path / "keys"), FilePin(tmp_path / "pins"))
    book.grow(CHECKPOINT_EVENTS - 2)
    disk.broken["xSync", "-wal"] = apsw.IOError
    with pytest.raises(StoreFault):
        book.grow(1)
    assert pinned_size(book) is None
    disk.broken.clear()
    book.notary.checkpoint(book.ledger)
    assert pinned_size(book) == book.attest().size in {CHECKPOINT_EVENTS - 1, CHECKPOINT_EVENTS}


# --- what was edited does not open ------------------------------------------------------------------------------------


def open_all(book: Book, row: SealedRow) -> None:
    """Read everything that a row holds."""
    opened = book.ledger.open(row)
    book.ledger.header(row)
    if row.turn_seq is not None:
        book.ledger.content(opened)


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8 % len(data)] ^= 1 << bit % 8
    return bytes(changed)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Book, list[SealedRow]]:
    """Return a book and its rows: of the space, of a conversation, of turns, of changes."""
    book = memory_book(tmp_path_factory.mktemp("sound")).with_turns(2)
    book.change(1, Transition.MASK, turn=2)
    book.change(1, Transition.ARCHIVE, through=2)
    rows = [book.row(position) for position in range(book.head().size)]
    for row in rows:
        open_all(book, row)
    return book, rows


NUMBERS = st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5)
COLUMNS = [*EventRow.__struct_fields__, "envelope", "content"]


@given(st.integers(0, 5), st.sampled_from(COLUMNS), st.data())
@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
def test_a_row_with_anything_edited_does_not_open(
    sound: tuple[Book, list[SealedRow]], position: int, column: str, data: st.DataObject
) -> None:
    """One column or one bit of what is sealed changed: an error of kind corrupt, whatever was put there."""
    book, rows = sound
    old = asdict(rows[position])[column]
    new: Any
    if isinstance(old, bytes):
        new = data.draw(st.integers(0, len(old) * 8 - 1).map(lambda bit: flipped(old, bit)) | st.binary(max_size=80))
    elif column == "kind":
        new = data.draw(st.sampled_from(EventKind) | st.text(max_size=5))
    elif column == "content":
        return  # there is none, and nothing asks for it
    else:
        new = data.draw(NUMBERS if column in {"turn_seq", "target_seq"} else NUMBERS.filter(lambda n: n is not None))
    if new == old:
        return
    with pytest.raises(MunimentError) as refused:
        open_all(book, replace(rows[position], **{column: new}))
    assert refused.value.kind is Kind.CORRUPT


@pytest.mark.parametrize("column", ["envelope", "content"])
def test_what_is_missing_without_an_erasure_is_a_missing_key(sound: tuple[Book, list[SealedRow]], column: str) -> None:
    book, rows = sound
    with pytest.raises(KeyMissing) as refused:
        open_all(book, replace(rows[2], **{column: None}))
    assert refused.value.at == "position 2"


def test_no_row_opens_in_the_place_of_another(sound: tuple[Book, list[SealedRow]]) -> None:
    """Envelope and content of one row belong to it alone."""
    book, rows = sound
    for other in (row for row in rows if row.position != 2):
        for column in ("envelope", "content"):
            if asdict(other)[column] is not None:
                with pytest.raises(MunimentError) as refused:
                    open_all(book, replace(rows[2], **{column: asdict(other)[column]}))
                assert refused.value.kind is Kind.CORRUPT


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *((column, value) for column in ("seq", "turns", "messages", "changes") for value in (1, -1, 2**63 - 1)),
        ("leaf", bytes(32)), ("leaf", b""), ("tag", bytes(16)), ("tag", b""),
    ],
    ids=str,
)  # fmt: skip
def test_a_head_that_was_edited_is_corrupt(file_book: FileBook, column: str, value: int | bytes) -> None:
    file_book.edited(f"UPDATE streams SET {column} = ? WHERE stream = 1", value)  # noqa: S608 - a name of the table
    with file_book.ledger.reader() as reader, pytest.raises(Corrupt) as refused:
        file_book.ledger.head(reader, 1)
    assert (refused.value.at, refused.value.problem) == ("stream 1", "head")
    with pytest.raises(Corrupt):
        file_book.say(1, "more")


def test_a_head_that_was_moved_to_another_stream_is_corrupt(file_book: FileBook) -> None:
    file_book.with_turns(3, "other")
    other = "(SELECT {0} FROM streams WHERE stream = 5)"
    columns = ", ".join(
        f"{name} = {other.format(name)}" for name in ("seq", "turns", "messages", "changes", "leaf", "tag")
    )
    file_book.edited(f"UPDATE streams SET {columns} WHERE stream = 1")  # noqa: S608 - names of the table
    with file_book.ledger.reader() as reader, pytest.raises(Corrupt):
        file_book.ledger.head(reader, 1)


# --- destroying -------------------------------------------------------------------------------------------------------


def destroyed(book: Book, position: int) -> bool:
    row = book.row(position)
    return book.ledger.transact(lambda writer: writer.destroy_content(row))


def test_destroying_takes_key_and_ciphertext_and_leaves_the_rest(book: Book) -> None:
    """The words are gone permanently; the event, its meta and its commitments stand as they were."""
    book.with_turns(2)
    before = book.row(2)
    assert destroyed(book, 2)
    row = book.row(2)
    assert row.content is None
    assert replace(row, envelope=before.envelope, content=before.content) == before
    opened = book.ledger.open(row)
    assert opened.key is None
    assert opened.meta == book.ledger.open(before).meta
    with pytest.raises(KeyMissing):
        book.ledger.content(opened)
    with pytest.raises(KeyMissing):
        book.ledger.content(book.ledger.open(replace(row, content=before.content)))
    assert book.ledger.header(row) == book.ledger.header(before)
    assert book.attest().size == 4
    open_all(book, book.row(3))


def test_destroying_again_is_a_no_op(book: Book) -> None:
    book.with_turns(1)
    assert destroyed(book, 2)
    before = everything(book)
    assert not destroyed(book, 2)
    assert not destroyed(book, 1)  # a conversation that was opened has no content
    assert everything(book) == before


def ciphertext_again(book: FileBook, old: SealedRow) -> None:
    assert old.content is not None
    book.edited("UPDATE events SET content = ? WHERE position = ?", old.content, old.position)


def key_again(book: FileBook, old: SealedRow) -> None:
    assert old.envelope is not None
    book.edited("UPDATE envelopes SET sealed = ? WHERE position = ?", old.envelope, old.position)


@pytest.mark.parametrize("restored", [[ciphertext_again], [key_again], [ciphertext_again, key_again]])
def test_whatever_came_back_of_the_content_is_destroyed_again(
    file_book: FileBook, restored: list[Callable[[FileBook, SealedRow], None]]
) -> None:
    """Key or ciphertext alone count as something that was there."""
    old = file_book.row(2)
    assert destroyed(file_book, 2)
    for restore in restored:
        restore(file_book, old)
    assert destroyed(file_book, 2)
    assert not destroyed(file_book, 2)
    row = file_book.row(2)
    assert row.content is None
    assert file_book.ledger.unsealed(row).key is None


# --- names ------------------------------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=3), max_size=3), st.lists(st.text(max_size=3), max_size=3))
def test_no_two_names_share_a_digest(sound: tuple[Book, list[SealedRow]], one: list[str], other: list[str]) -> None:
    """Digests are injective in purpose and parts, and never that of words (SC-04, TR-20)."""
    ledger = sound[0].ledger
    assert (ledger.name_digest("turn", *one) == ledger.name_digest("turn", *other)) == (one == other)
    assert ledger.name_digest("turn", *one) != ledger.name_digest("alias", *one)
    words = "".join(one).encode()
    assert not ledger.words_digest(words).startswith(ledger.name_digest("turn", *one))


def test_causes_of_rotation_are_words_that_a_header_takes(book: Book) -> None:
    """What is written as a reason is read as the same reason."""
    for cause in RotationCause:
        placed = book.append(book.small(EventKind.KEY_ROTATED, KeyRotated(version=2), cause), SPACE_STREAM)
        assert book.ledger.header(book.row(placed.position))[0].reason == cause
        assert book.row(placed.position).target_seq != WHOLE_CONVERSATION
