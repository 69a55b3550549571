"""Attestation and audit: each thing that is accounted for is broken once, alone, and is missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from muniment.crypto.cell import envelope_key_id, seal_envelope
from muniment.crypto.segment import SegmentKey
from muniment.errors import Corrupt, Kind, MunimentError, RolledBack
from muniment.events.changes import Transition
from muniment.evidence.audit import AuditReport
from muniment.evidence.notes import Signer
from muniment.evidence.pin import FilePin
from muniment.evidence.tree import Frontier, extend, frontier_at
from muniment.evidence.verifier import Succession, VerifierKey, open_checkpoint
from muniment.ledger.attest import Notary, audit
from muniment.ledger.packing import place_of
from tests.log.ledgers import FileBook, memory_book, space_keys, sqlite_book

SIGNED = 20  # enough for a stored node of the tree
SIZE = 24
TALK, TAIL_TURN, TAIL_CHANGE = 1, 21, 23


def filled(book: FileBook) -> FileBook:
    """Return the book with a signed part and a tail: turns, one masked, all archived."""
    talk = book.conversation()
    book.say(talk, *(f"words {n}" for n in range(1, SIGNED - 2)))
    book.change(talk, Transition.MASK, turn=3)
    book.notary.checkpoint(book.ledger)
    book.say(talk, "one", "two", "three")
    book.change(talk, Transition.ARCHIVE, through=SIGNED)
    assert book.head().size == SIZE
    return book


@pytest.fixture
def book(tmp_path: Path) -> Iterator[FileBook]:
    """Return a filled book with a pin."""
    made = filled(sqlite_book(tmp_path, FilePin(tmp_path / "pins")))
    yield made
    made.store.close()


@pytest.fixture
def third_party(tmp_path: Path) -> Signer:
    """Return a signer who calls himself by the name of the log."""
    return Signer(Notary(space_keys(tmp_path / "name"), None).origin, bytes(32))


def signed_by(book: FileBook, frontier: Frontier) -> str:
    with book.store.reader() as reader:
        return book.notary.sign(reader, frontier)


def refusal(book: FileBook) -> tuple[str | None, str | None]:
    """Return what attestation says of a log that is not sound."""
    with pytest.raises(Corrupt) as refused:
        book.attest()
    return refused.value.at, refused.value.problem


def put_note(book: FileBook, note: str, size: int = SIGNED) -> None:
    book.edited("UPDATE checkpoints SET note = ?, size = ?", note, size)


# --- what is sound ----------------------------------------------------------------------------------------------------


def test_a_sound_log_is_accounted_for_up_to_its_head(book: FileBook) -> None:
    assert book.attest() == book.head()
    book.notary.checkpoint(book.ledger)
    assert book.attest() == book.head()


def test_a_log_without_a_checkpoint_is_opened_row_by_row(tmp_path: Path) -> None:
    made = memory_book(tmp_path).with_turns(3)
    assert made.attest() == made.head()
    assert made.attest().size == 5


def test_an_empty_store_is_sound(tmp_path: Path) -> None:
    made = memory_book(tmp_path)
    empty = type(made.store)()
    with empty.reader() as reader:
        assert made.notary.attest(made.ledger, reader, None) == Frontier()


def test_what_lies_before_the_checkpoint_is_proved_when_it_is_read(book: FileBook) -> None:
    """Attestation reads the tail alone; a bundle that was edited earlier does not open."""
    book.edited("UPDATE envelopes SET sealed = zeroblob(80) WHERE position = 2")
    book.attest()
    with pytest.raises(MunimentError) as refused:
        book.ledger.open(book.row(2))
    assert refused.value.kind is Kind.CORRUPT


# --- 1. no row is missing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM events WHERE position = 23",
        "DELETE FROM events WHERE position = 5",
        "DELETE FROM events WHERE position = 0",
        "DELETE FROM events",
        "DELETE FROM streams WHERE stream = 1",
        """INSERT INTO events
            SELECT 24, 0, 9, kind, NULL, NULL, time, leaf, header, NULL FROM events WHERE position = 23""",
    ],
)
def test_step_one_finds_that_rows_and_heads_and_tree_disagree(book: FileBook, edit: str) -> None:
    book.edited(edit)
    assert refusal(book) == ("events", "rows_missing")


def test_step_one_finds_a_tree_that_was_cut_back(book: FileBook) -> None:
    with book.ledger.reader() as reader:
        shorter = frontier_at(reader, SIZE - 1)
    book.edited("UPDATE frontier SET range = ?", shorter.to_bytes())
    assert refusal(book) == ("events", "rows_missing")


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM names",
        "INSERT INTO names SELECT 9, body FROM names",
        "UPDATE names SET body = substr(body, 23)",
        "UPDATE names SET body = CAST(zeroblob(22) || body AS BLOB)",
    ],
)
def test_step_one_finds_that_something_cannot_be_found(book: FileBook, edit: str) -> None:
    book.edited(edit)
    at, problem = refusal(book)
    assert at == "names"
    assert problem in {"names_missing", "bucket"}


@pytest.mark.parametrize(
    "edit",
    [
        "seq = seq + iif(stream = 0, 1, -1)",  # moved from one head to another it still adds up
        "seq = seq - 1",
        "names = names + 1",
        "messages = messages + 1",
        "changes = -1",
        "tag = zeroblob(16)",
    ],
)
def test_step_one_finds_a_head_that_nobody_with_the_key_wrote(book: FileBook, edit: str) -> None:
    book.edited(f"UPDATE streams SET {edit}")  # noqa: S608 - words of this file
    assert refusal(book) == ("stream 0", "head")


# --- 2. the checkpoint ------------------------------------------------------------------------------------------------


def test_step_two_finds_a_note_that_another_key_signed(book: FileBook, third_party: Signer) -> None:
    with book.ledger.reader() as reader:
        root = frontier_at(reader, SIGNED).root()
    put_note(book, third_party.sign_checkpoint(book.notary.origin, SIGNED, root))
    assert refusal(book) == ("checkpoint", "signature_missing")


@pytest.mark.parametrize("note", ["", "words", "muniment.example/x\n1\n\n"])
def test_step_two_finds_what_is_no_note(book: FileBook, note: str) -> None:
    put_note(book, note)
    at, _ = refusal(book)
    assert at == "checkpoint"


def test_step_two_finds_a_note_whose_text_was_edited(book: FileBook) -> None:
    book.edited(
        "UPDATE checkpoints SET note = replace(note, char(10) || '20' || char(10), char(10) || '19' || char(10))"
    )
    assert refusal(book) == ("checkpoint", "signature")


def test_step_two_finds_a_note_under_another_size(book: FileBook) -> None:
    book.edited("UPDATE checkpoints SET size = 21")
    assert refusal(book) == ("checkpoint", "size")


def test_step_two_finds_a_checkpoint_of_more_than_there_is(book: FileBook) -> None:
    """A note of the longer past of this very log: the store is an older copy with a newer checkpoint."""
    longer, _ = extend(book.head(), [bytes(32)])
    put_note(book, signed_by(book, longer), longer.size)
    assert refusal(book) == ("checkpoint", "size")


def test_step_two_finds_a_checkpoint_of_another_past(book: FileBook) -> None:
    other, _ = extend(Frontier(), [bytes(32)] * SIGNED)
    put_note(book, signed_by(book, other))
    assert refusal(book) == ("checkpoint", "root")


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE events SET leaf = zeroblob(32) WHERE position = 17",
        "UPDATE events SET leaf = zeroblob(31) WHERE position = 18",
        "UPDATE nodes SET hash = zeroblob(32)",
    ],
)
def test_step_two_finds_a_past_that_was_edited_under_the_checkpoint(book: FileBook, edit: str) -> None:
    book.edited(edit)
    assert refusal(book) == ("checkpoint", "root")


def test_step_two_finds_a_node_that_is_not_there(book: FileBook) -> None:
    book.edited("DELETE FROM nodes")
    assert refusal(book) == ("level 4", "hashes_missing")


# --- 3. the tail ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE events SET stream = 0, seq = 9 WHERE position = 21",
        "UPDATE events SET seq = 99 WHERE position = 21",
        "UPDATE events SET kind = 'turn.lifecycle' WHERE position = 21",
        "UPDATE events SET turn_seq = NULL WHERE position = 21",
        "UPDATE events SET turn_seq = 77 WHERE position = 21",
        "UPDATE events SET target_seq = 1 WHERE position = 21",
        "UPDATE events SET time = time + 1 WHERE position = 21",
        "UPDATE events SET time = -1 WHERE position = 21",
        "UPDATE events SET leaf = zeroblob(32) WHERE position = 21",
        "UPDATE events SET header = zeroblob(9) WHERE position = 21",
        "UPDATE envelopes SET sealed = zeroblob(80) WHERE position = 21",
        "UPDATE envelopes SET sealed = (SELECT sealed FROM envelopes WHERE position = 20) WHERE position = 21",
        "DELETE FROM envelopes WHERE position = 21",
    ],
)
def test_step_three_finds_a_row_of_the_tail_that_was_edited(book: FileBook, edit: str) -> None:
    book.edited(edit)
    with pytest.raises(MunimentError) as refused:
        book.attest()
    assert (refused.value.at, refused.value.kind) == (f"position {TAIL_TURN}", Kind.CORRUPT)


@pytest.mark.parametrize("column", ["turn_seq", "target_seq"])
def test_step_three_finds_a_change_that_was_taken_from_its_turn(book: FileBook, column: str) -> None:
    book.edited(f"UPDATE events SET {column} = 77 WHERE position = 23")  # noqa: S608 - a name of the table
    with pytest.raises(Corrupt) as refused:
        book.attest()
    assert refused.value.at == f"position {TAIL_CHANGE}"


def test_step_three_finds_a_row_that_was_forged_without_the_key(book: FileBook) -> None:
    """Everything else of the forged row fits: its leaf, its header, the tree over it."""
    row = book.row(TAIL_TURN)
    opened = book.ledger.unsealed(row)
    segment_key = SegmentKey(0, envelope_key_id(row.envelope or b"") + bytes(32))
    forged = seal_envelope(segment_key, bytes(12), opened, row.leaf, place_of(row))
    book.edited("UPDATE envelopes SET sealed = ? WHERE position = ?", forged, TAIL_TURN)
    assert refusal(book) == ("position 21", "not_authentic")


def test_step_three_finds_that_one_row_stands_for_another(book: FileBook) -> None:
    """Rows are as many as they should be, but one of them lies behind the head."""
    book.edited("UPDATE events SET position = 24 WHERE position = 21")
    assert refusal(book) == ("position 21", "rows_missing")


def test_step_three_finds_a_head_that_is_not_the_tree_over_the_tail(book: FileBook) -> None:
    other, _ = extend(Frontier(), [bytes(32)] * SIZE)
    book.edited("UPDATE frontier SET range = ?", other.to_bytes())
    assert refusal(book) == ("frontier", "seal")


def test_step_three_reads_nothing_before_the_checkpoint(book: FileBook) -> None:
    """Cells that are not there are not looked for; the tail is what is read."""
    book.notary.checkpoint(book.ledger)
    book.edited("DELETE FROM envelopes")
    assert book.attest() == book.head()


# --- 4. the pin -------------------------------------------------------------------------------------------------------


def test_step_four_finds_a_log_that_is_behind_its_pin(book: FileBook, tmp_path: Path) -> None:
    """An older copy of everything is sound in itself; only the pin knows."""
    book.store.close()
    older = book.path.read_bytes()
    newer = FileBook(book.path.parent, book.keys, FilePin(tmp_path / "pins"))
    newer.say(TALK, "four")
    newer.notary.checkpoint(newer.ledger)
    newer.store.close()
    book.path.write_bytes(older)
    again = FileBook(book.path.parent, book.keys, FilePin(tmp_path / "pins"))
    with pytest.raises(RolledBack) as refused:
        again.attest()
    assert (refused.value.limit, refused.value.found) == (SIZE + 1, SIZE)
    unpinned = FileBook(book.path.parent, book.keys)
    assert unpinned.attest().size == SIZE
    again.store.close()
    unpinned.store.close()


def test_step_four_finds_a_pin_of_another_past(book: FileBook, tmp_path: Path) -> None:
    other, _ = extend(Frontier(), [bytes(32)] * (SIGNED + 1))
    FilePin(tmp_path / "pins").write(book.notary.origin, signed_by(book, other))
    assert refusal(book) == ("checkpoint", "inconsistent")


def test_step_four_finds_a_pin_that_another_key_signed(book: FileBook, third_party: Signer, tmp_path: Path) -> None:
    FilePin(tmp_path / "pins").write(
        book.notary.origin, third_party.sign_checkpoint(book.notary.origin, SIZE, book.head().root())
    )
    assert refusal(book) == ("pin", "signature_missing")


def test_a_log_that_grew_since_it_was_pinned_is_sound(book: FileBook) -> None:
    pinned = book.notary.pinned()
    assert pinned is not None
    assert pinned.size == SIGNED
    book.say(TALK, "four")
    assert book.attest().size == SIZE + 1


def test_without_a_pin_nothing_is_pinned(tmp_path: Path) -> None:
    made = memory_book(tmp_path)
    made.notary.checkpoint(made.ledger)
    assert made.notary.pinned() is None


# --- signing ----------------------------------------------------------------------------------------------------------


def test_a_head_is_signed_once_and_pinned(book: FileBook) -> None:
    signed = book.notary.checkpoint(book.ledger)
    assert signed.checkpoint == open_checkpoint(signed.note, book.notary.key) == book.notary.pinned()
    assert (signed.checkpoint.size, signed.checkpoint.root) == (SIZE, book.head().root())
    assert signed.checkpoint.origin == book.notary.origin == f"muniment.example/{book.ledger.log}"
    again = book.notary.checkpoint(book.ledger)
    assert again == signed
    with book.ledger.reader() as reader:
        assert [row.size for row in reader.checkpoints()] == [SIGNED, SIZE]


def test_a_note_in_the_store_that_is_not_ours_is_not_handed_on(book: FileBook, third_party: Signer) -> None:
    put_note(book, third_party.sign_checkpoint(book.notary.origin, SIZE, book.head().root()), SIZE)
    with pytest.raises(Corrupt) as refused:
        book.notary.checkpoint(book.ledger)
    assert refused.value.at == "checkpoint"


def test_a_pin_that_another_process_moved_on_stays_where_it_is(book: FileBook) -> None:
    """Between making a checkpoint durable and pinning it, a newer one may have been pinned."""
    older = book.notary.checkpoint(book.ledger)
    book.say(TALK, "four")
    newer = book.notary.checkpoint(book.ledger)
    book.notary.remember(older.note, book.store.reader)
    assert book.notary.pinned() == newer.checkpoint


# --- the audit --------------------------------------------------------------------------------------------------------


def audited(book: FileBook, key: VerifierKey | None = None, log: str | None = None) -> AuditReport:
    with book.ledger.reader() as reader:
        return audit(reader, log or book.ledger.log, Succession(key or book.notary.key))


def test_an_audit_counts_what_it_found_sound(book: FileBook) -> None:
    book.notary.checkpoint(book.ledger)
    report = audited(book)
    assert (report.events, report.streams, report.turns, report.checkpoints) == (SIZE, 2, SIGNED, 2)
    assert report.root == book.head().root()


def test_an_audit_tells_how_far_it_is(book: FileBook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muniment.ledger.attest.AUDIT_PROGRESS_EVENTS", 10)
    told: list[tuple[int, int]] = []

    def progress(done: int, of: int) -> None:
        told.append((done, of))

    with book.ledger.reader() as reader:
        audit(reader, book.ledger.log, Succession(book.notary.key), progress)
    assert told == [(0, SIZE), (10, SIZE), (20, SIZE)]


EDITS = [
    "UPDATE events SET position = 99 WHERE position = 23",
    "UPDATE events SET stream = 0, seq = 2 WHERE position = 1",
    "UPDATE events SET seq = 99 WHERE position = 5",
    "UPDATE events SET kind = 'turn.dreamt' WHERE position = 5",
    "UPDATE events SET turn_seq = NULL WHERE position = 5",
    "UPDATE events SET turn_seq = 99 WHERE position = 5",
    "UPDATE events SET turn_seq = 99 WHERE position = 0",
    "UPDATE events SET target_seq = 1 WHERE position = 5",
    "UPDATE events SET target_seq = 0 WHERE position = 1",
    "UPDATE events SET target_seq = NULL WHERE position = 19",
    "UPDATE events SET target_seq = 4 WHERE position = 19",
    "UPDATE events SET target_seq = 0 WHERE position = 19",
    "UPDATE events SET target_seq = NULL WHERE position = 23",
    "UPDATE events SET target_seq = 20 WHERE position = 23",
    "UPDATE events SET time = time + 1 WHERE position = 5",
    "UPDATE events SET leaf = zeroblob(32) WHERE position = 5",
    "UPDATE events SET header = zeroblob(9) WHERE position = 5",
    "UPDATE events SET header = (SELECT header FROM events WHERE position = 6) WHERE position = 5",
    "DELETE FROM events WHERE position = 0",
    "DELETE FROM events WHERE position = 5",
    "DELETE FROM events WHERE position = 23",
    "UPDATE nodes SET hash = zeroblob(32)",
    "DELETE FROM nodes",
    "UPDATE nodes SET id = id + 1",
    "UPDATE frontier SET range = zeroblob(8)",
    "UPDATE checkpoints SET note = ''",
    "UPDATE checkpoints SET size = 19",
    "UPDATE checkpoints SET size = 25",
    "UPDATE checkpoints SET size = 0",
]


@pytest.mark.parametrize("edit", EDITS)
def test_an_audit_finds_every_edit_without_a_key(book: FileBook, edit: str) -> None:
    """Each column, each node, each checkpoint, each row: whatever the header proves is compared with it."""
    audited(book)
    book.edited(edit)
    with pytest.raises(Corrupt):
        audited(book)


def test_an_audit_finds_checkpoints_that_the_log_did_not_sign(book: FileBook, third_party: Signer) -> None:
    with pytest.raises(Corrupt) as refused:
        audited(book, key=third_party.key)
    assert refused.value.at == "checkpoint"
    with book.ledger.reader() as reader:
        root = frontier_at(reader, SIGNED).root()
    put_note(book, third_party.sign_checkpoint(book.notary.origin, SIGNED, root))
    with pytest.raises(Corrupt):
        audited(book)


def test_an_audit_finds_a_checkpoint_of_another_past(book: FileBook) -> None:
    other, _ = extend(Frontier(), [bytes(32)] * SIGNED)
    put_note(book, signed_by(book, other))
    with pytest.raises(Corrupt) as refused:
        audited(book)
    assert (refused.value.at, refused.value.problem) == (f"checkpoint {SIGNED}", "root")


def test_an_audit_of_another_log_finds_another_log(book: FileBook) -> None:
    with pytest.raises(Corrupt):
        audited(book, log="A" * 22)


def sealed_only(book: FileBook) -> None:
    """Take away everything that an audit does without."""
    for table in ("envelopes", "names", "streams"):
        book.edited(f"DELETE FROM {table}")  # noqa: S608 - a name of the schema
    book.edited("UPDATE events SET content = NULL")


def erased(book: FileBook) -> None:
    """Destroy the words of a turn."""
    row = book.row(5)
    assert book.ledger.transact(lambda writer: writer.destroy_content(row))
    assert book.row(5) == replace(book.row(5), content=None)


@pytest.mark.parametrize("change", [sealed_only, erased])
def test_an_audit_needs_headers_alone(book: FileBook, change: Callable[[FileBook], None]) -> None:
    before = audited(book)
    change(book)
    assert audited(book) == before
