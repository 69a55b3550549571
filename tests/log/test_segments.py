"""The keys of segments: which event is under which, what replacing one takes along, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.crypto.cell import ENVELOPE_BODY_AT, envelope_key_id
from muniment.crypto.keyring import SpaceKeys
from muniment.crypto.segment import SEGMENT_EVENTS, open_segments
from muniment.errors import Corrupt, KeyMissing
from muniment.events.records import EventKind, KeyRotated
from muniment.kernel.sources import SystemEntropy
from muniment.ledger.ledger import SPACE_STREAM, Ledger, Writer
from muniment.ledger.segments import row_of
from muniment.log.port import EnvelopeRow, SealedRow, SegmentsRow
from tests.log.ledgers import BOOKS, Book, FileBook, keys_again, sqlite_book

EDGES = (0, SEGMENT_EVENTS - 1, SEGMENT_EVENTS, 2 * SEGMENT_EVENTS - 1, 2 * SEGMENT_EVENTS)


@pytest.fixture(params=BOOKS)
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Book]:
    """Return a book over each store."""
    made: Book = BOOKS[request.param](tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def long_book(tmp_path: Path) -> Iterator[FileBook]:
    """Return a book of three segments in a file."""
    made = sqlite_book(tmp_path)
    made.grow(2 * SEGMENT_EVENTS + 9)
    yield made
    made.store.close()


def rekeyed(book: Book, keys: SpaceKeys, *segments: int) -> None:
    """Replace keys as another process does it that has the same store open."""
    other = Ledger(book.store, keys, SystemEntropy(), book.notary)
    other.transact(lambda writer: writer.rekey(keys.begin_rotation(), segments, every_row=True))


def again(book: Book) -> Ledger:
    """Return a ledger of the same log that has met no key yet."""
    return Ledger(book.store, book.keys, SystemEntropy(), book.notary)


def key_id(row: EnvelopeRow) -> bytes:
    assert row.envelope is not None
    return envelope_key_id(row.envelope)


def segment_rows(book: Book) -> list[SegmentsRow]:
    with book.ledger.reader() as reader:
        return reader.segment_rows()


# --- which key --------------------------------------------------------------------------------------------------------


def test_the_events_of_a_segment_share_a_key_and_no_other_has_it(long_book: FileBook) -> None:
    """A segment is 1,024 positions, counted from 0."""
    with long_book.ledger.reader() as reader:
        ids = [key_id(row) for row in reader.envelopes(0, 3 * SEGMENT_EVENTS)]
    parts = [ids[at : at + SEGMENT_EVENTS] for at in range(0, len(ids), SEGMENT_EVENTS)]
    assert [len(set(part)) for part in parts] == [1, 1, 1]
    assert len({part[0] for part in parts}) == 3


def test_a_plan_seals_under_the_newest_key_of_its_segment(book: Book, tmp_path: Path) -> None:
    """Another process has replaced the key of the segment that grows, and destroyed the space key before it."""
    book.with_turns(1)
    before, keys = book.row(2), keys_again(tmp_path)
    rekeyed(book, keys, 0)
    keys.finish_rotation(2)
    placed = book.say(1, "words")[0]
    rows = [book.row(position) for position in (2, placed.position)]
    assert len({key_id(row) for row in rows}) == 1
    assert key_id(before) != key_id(rows[0])
    for row in rows:
        assert book.ledger.open(row).key is not None
    with pytest.raises(KeyMissing):
        book.ledger.open(before)


def test_a_key_that_was_made_in_a_plan_that_failed_is_not_used(book: Book) -> None:
    """A segment that begins in a plan that is undone begins again, with another key."""
    book.grow(SEGMENT_EVENTS - book.head().size)
    made: list[bytes] = []

    def failing(writer: Writer) -> None:
        event = book.small(EventKind.KEY_ROTATED, KeyRotated(version=1), "requested")
        placed = writer.append(event, stream=SPACE_STREAM)
        writer.flush()
        row = writer.tx.sealed(placed.position)
        assert row is not None
        made.append(key_id(row))
        book.ledger.open(row)  # a plan reads what it wrote
        raise LookupError

    with pytest.raises(LookupError):
        book.ledger.transact(failing)
    book.grow(2)
    rows = [book.row(position) for position in (SEGMENT_EVENTS - 1, SEGMENT_EVENTS, SEGMENT_EVENTS + 1)]
    for row in rows:
        again(book).open(row)
        assert key_id(row) not in made


def test_a_segment_begins_behind_all_others(long_book: FileBook) -> None:
    """Where rows of keys are missing or were put back, nothing is appended that could not be read again."""
    long_book.grow(3 * SEGMENT_EVENTS - long_book.head().size)
    long_book.edited("DELETE FROM segments")
    with pytest.raises(Corrupt):
        long_book.grow(1)


# --- replacing --------------------------------------------------------------------------------------------------------


def test_replacing_a_key_reaches_from_the_first_position_of_a_segment_to_the_last(long_book: FileBook) -> None:
    """Of the positions at both edges, those inside get other envelopes, and those outside keep theirs."""
    before = {position: long_book.row(position) for position in EDGES}
    rekeyed(long_book, long_book.keys, 1)
    after = {position: long_book.row(position) for position in EDGES}
    changed = [position for position in EDGES if after[position].envelope != before[position].envelope]
    assert changed == [SEGMENT_EVENTS, 2 * SEGMENT_EVENTS - 1]
    for position in EDGES:
        again(long_book).open(after[position])
        long_book.edited("UPDATE envelopes SET sealed = ? WHERE position = ?", before[position].envelope, position)
        if position in changed:
            with pytest.raises(KeyMissing):
                again(long_book).open(long_book.row(position))
        else:
            again(long_book).open(long_book.row(position))


def test_no_key_of_a_segment_seals_two_things_with_one_nonce(long_book: FileBook) -> None:
    """Neither when events are appended, nor when content is destroyed, nor when a segment gets a fresh key."""
    sealed: dict[bytes, bytes] = {}

    def look() -> None:
        with long_book.ledger.reader() as reader:
            rows = list(reader.envelopes(0, long_book.head().size))
        for row in rows:
            assert row.envelope is not None
            began = row.envelope[:ENVELOPE_BODY_AT]  # the id of the key, and the nonce
            assert sealed.setdefault(began, row.envelope) == row.envelope
        assert len({row.envelope[:ENVELOPE_BODY_AT] for row in rows if row.envelope is not None}) == len(rows)

    stream = long_book.conversation()
    turns = long_book.say(stream, "some words", "other words")
    look()
    rows = [long_book.row(placed.position) for placed in turns]
    assert all(long_book.ledger.transact(lambda writer: [writer.destroy_content(row) for row in rows]))
    look()
    for _ in range(2):
        rekeyed(long_book, long_book.keys, 0, 2)
        look()


def test_old_rows_and_old_segment_keys_open_nothing_of_a_segment_that_got_a_fresh_key(long_book: FileBook) -> None:
    """Law: a copy of the rows of before, put back with their segment keys, needs a space key that is nowhere."""
    before, keys_before = [long_book.row(position) for position in EDGES], segment_rows(long_book)
    former = long_book.keys.current
    rekeyed(long_book, long_book.keys, 1)
    long_book.keys.finish_rotation(2)
    for row in keys_before:
        with pytest.raises(KeyMissing):
            open_segments(long_book.keys, row.row, row.sealed)
        long_book.edited("UPDATE segments SET keys = ? WHERE id = ?", row.sealed, row.row)
    for event in before:
        long_book.edited("UPDATE envelopes SET sealed = ? WHERE position = ?", event.envelope, event.position)
        with pytest.raises(KeyMissing):
            again(long_book).open(event)
    assert former.version not in long_book.keys.versions


def test_a_envelope_opens_in_its_place_alone(long_book: FileBook) -> None:
    """Bundles that change places open nothing, in the same segment or in another."""
    rows = [long_book.row(position) for position in (5, 6, SEGMENT_EVENTS + 5)]
    for here in rows:
        for there in rows:
            if here is not there:
                long_book.edited("UPDATE envelopes SET sealed = ? WHERE position = ?", there.envelope, here.position)
                with pytest.raises((Corrupt, KeyMissing)):
                    again(long_book).open(long_book.row(here.position))


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM segments",
        "UPDATE segments SET keys = zeroblob(length(keys))",
        "UPDATE segments SET keys = substr(keys, 1, length(keys) - 1)",
        "UPDATE segments SET id = 1",
    ],
)
def test_keys_of_segments_that_were_edited_open_nothing(long_book: FileBook, edit: str) -> None:
    """Without the keys nothing is read, nothing appended, and no key is replaced."""
    long_book.edited(edit)
    for use in (
        lambda: again(long_book).open(long_book.row(5)),
        lambda: again(long_book).transact(lambda writer: writer.segment_key(long_book.head().size)),
        lambda: rekeyed(long_book, long_book.keys, 1),
    ):
        with pytest.raises((Corrupt, KeyMissing)):
            use()


def test_damage_stops_the_replacing_of_a_key(long_book: FileBook) -> None:
    """What does not open cannot be sealed again, so its key is not lost; in other segments it is in nobody's way."""
    long_book.edited("UPDATE envelopes SET sealed = zeroblob(60) WHERE position = ?", SEGMENT_EVENTS)
    with pytest.raises(Corrupt) as refused:
        rekeyed(long_book, long_book.keys, 1)
    assert refused.value.at == f"position {SEGMENT_EVENTS}"
    rekeyed(long_book, long_book.keys, 0, 2)


def test_a_row_of_segment_keys_spans_65536_positions() -> None:
    assert [row_of(position) for position in (0, 65_535, 65_536, 131_072)] == [0, 0, 1, 2]


def test_a_row_that_is_full_is_followed_by_another(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rules with rows of one segment: each has its own key, and all of them are sealed again together."""
    for module in ("muniment.ledger.segments", "muniment.crypto.segment"):
        monkeypatch.setattr(f"{module}.SEGMENTS_IN_ROW", 1)
    book.grow(2 * SEGMENT_EVENTS)
    assert [row.row for row in segment_rows(book)] == [0, 1, 2]
    former = {row.row: row.sealed for row in segment_rows(book)}
    rekeyed(book, book.keys, 1)
    assert all(row.sealed != former[row.row] for row in segment_rows(book))
    book.keys.finish_rotation(2)
    rows: list[SealedRow] = [book.row(position) for position in EDGES]
    for row in rows:
        again(book).open(row)
