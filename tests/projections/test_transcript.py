"""The transcript fold: complete or corrupt, and read no more often than needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import Corrupt, Kind, MunimentError
from muniment.events.changes import Transition
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.events.message import TextPart
from muniment.events.records import AliasRecorded, EventKind, TurnMeta
from muniment.evidence.header import Header
from muniment.governance.lifecycle import Phase, Step, phase_of
from muniment.log.ledger import Ledger, Writer
from muniment.log.port import EventRow, Reader
from muniment.projections import transcript as transcripts
from muniment.projections.transcript import ReadTurn, Transcript
from tests.log.ledgers import BOOKS, Book, FileBook, memory_book, sqlite_book, turn_id

TALK = ConversationKey(conversation=ConversationId("talk"), channel=Channel("mail"))
OTHER = ConversationKey(conversation=ConversationId("other"), channel=Channel("mail"))
NOBODY = ConversationKey(conversation=ConversationId("nobody"), channel=Channel("mail"))


def every(_phase: Phase, _meta: TurnMeta) -> bool:
    return True


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


def steps_of(transcript: Transcript, reader: Reader, stream: int = 1) -> tuple[Step, ...]:
    return transcript.changes(reader, transcript.head(reader, stream)).steps


def page_of(
    transcript: Transcript, reader: Reader, wanted: Callable[[Phase, TurnMeta], bool] = every
) -> list[ReadTurn]:
    head = transcript.head(reader, 1)
    return transcript.page(reader, head, 1, head.turns, wanted)


def words_of(read: list[ReadTurn]) -> list[str | None]:
    said: list[str | None] = []
    for one in read:
        part = None if one.record.content is None else one.record.content.parts[0][0]
        said.append(part.content if isinstance(part, TextPart) else None)
    return said


# --- pages ------------------------------------------------------------------------------------------------------------


def test_a_page_holds_the_turns_of_its_range_in_order(book: Book) -> None:
    transcript = Transcript(book.ledger)
    with book.ledger.reader() as reader:
        head = transcript.head(reader, 1)
        read = transcript.page(reader, head, 2, 3, every)
        assert transcript.page(reader, head, 4, 3, every) == []
    assert [(one.record.sequence, one.record.position, one.record.phase) for one in read] == [
        (2, 3, Phase.ACTIVE),
        (3, 4, Phase.ACTIVE),
    ]
    assert words_of(read) == ["words 2 of talk", "words 3 of talk"]
    assert [one.record.meta.delivery.turn for one in read] == [turn_id("words 2 of talk"), turn_id("words 3 of talk")]
    assert all(one.content_salts is not None and one.opened.row.time == one.record.time_ms for one in read)


def test_words_are_read_only_where_they_are_wanted(book: Book) -> None:
    """What nobody asked for is not opened, so that it cannot be shown by mistake; an erased turn has none."""
    book.change(1, Transition.MASK, turn=2)
    book.change(1, Transition.DELETE_RAW, turn=3)
    asked: list[Phase] = []

    def wanted(phase: Phase, _meta: TurnMeta) -> bool:
        asked.append(phase)
        return phase is Phase.ACTIVE

    with book.ledger.reader() as reader:
        read = page_of(Transcript(book.ledger), reader, wanted)
    assert [one.record.phase for one in read] == [Phase.ACTIVE, Phase.MASKED, Phase.RAW_DELETED]
    assert words_of(read) == ["words 1 of talk", None, None]
    assert [one.content_salts is None for one in read] == [False, True, True]
    assert asked == [Phase.ACTIVE, Phase.MASKED]


@given(st.lists(st.tuples(st.sampled_from(Transition), st.integers(0, 4)), max_size=8))
def test_the_phase_of_a_turn_is_the_fold_of_what_was_asked(growing: Book, asked: list[tuple[Transition, int]]) -> None:
    """Steps come back as they were appended: of one turn, or (0) of all so far; whatever was known before."""
    stream = growing.conversation(str(growing.head().size))
    growing.say(stream, *(f"{stream} {n}" for n in range(3)))
    transcript = Transcript(growing.ledger)
    steps = []
    for transition, turn in asked:
        growing.change(stream, transition, turn=turn or None, through=3)
        steps.append(Step(transition, turn or 1, turn or 3))
        with growing.ledger.reader() as reader:
            assert steps_of(transcript, reader, stream) == steps_of(Transcript(growing.ledger), reader, stream)
    with growing.ledger.reader() as reader:
        assert steps_of(transcript, reader, stream) == tuple(steps)
        head = transcript.head(reader, stream)
        read = transcript.page(reader, head, 1, 3, lambda _phase, _meta: False)
    assert [one.record.phase for one in read] == [phase_of(turn, steps) for turn in (1, 2, 3)]


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """Return a book that every example adds a conversation to."""
    return memory_book(tmp_path_factory.mktemp("growing"))


# --- the steps that are kept ------------------------------------------------------------------------------------------


class CountingLedger(Ledger):
    """Counts the changes that are opened, by seq."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger.store, ledger.keys, ledger.entropy, ledger.witness)
        self.opened: list[int] = []

    def header(self, row: EventRow) -> tuple[Header, bytes]:
        if row.target_seq is not None:
            self.opened.append(row.seq)
        return super().header(row)


class Counting(Transcript):
    """Counts the steps that are opened."""

    def __init__(self, ledger: Ledger) -> None:
        counting = CountingLedger(ledger)
        super().__init__(counting)
        self.opened = counting.opened


def test_steps_are_opened_once_and_continued(book: Book) -> None:
    transcript = Counting(book.ledger)
    for turn, opened in ((1, [5]), (2, [5, 6]), (3, [5, 6, 7])):
        book.change(1, Transition.MASK, turn=turn)
        for _ in range(2):
            with book.ledger.reader() as reader:
                assert len(steps_of(transcript, reader)) == turn
        assert transcript.opened == opened
    book.say(1, "more")
    with book.ledger.reader() as reader:
        assert len(steps_of(transcript, reader)) == 3
        assert [one.record.phase for one in page_of(transcript, reader)] == [Phase.MASKED] * 3 + [Phase.ACTIVE]
    assert transcript.opened == [5, 6, 7]


def test_a_snapshot_sees_the_steps_of_its_own_time(book: Book) -> None:
    """An older snapshot is not shown what a newer one has seen, and does not take it from the newer one."""
    transcript = Counting(book.ledger)
    book.change(1, Transition.MASK, turn=1)
    with book.ledger.reader() as older:
        book.change(1, Transition.UNMASK, turn=1)
        with book.ledger.reader() as newer:
            assert [step.transition for step in steps_of(transcript, newer)] == [Transition.MASK, Transition.UNMASK]
            assert [step.transition for step in steps_of(transcript, older)] == [Transition.MASK]
            assert page_of(transcript, older)[0].record.phase is Phase.MASKED
            before = len(transcript.opened)
            assert page_of(transcript, newer)[0].record.phase is Phase.ACTIVE
            assert len(transcript.opened) == before


def test_steps_end_at_the_head_that_was_asked_for(book: Book) -> None:
    """A head may be older than the snapshot that it is used with."""
    transcript = Transcript(book.ledger)
    book.change(1, Transition.MASK, turn=1)
    with book.ledger.reader() as reader:
        older = transcript.head(reader, 1)
    book.change(1, Transition.UNMASK, turn=1)
    with book.ledger.reader() as reader:
        assert transcript.changes(reader, older).steps == (Step(Transition.MASK, 1, 1),)
        assert len(steps_of(transcript, reader)) == 2


def test_an_older_snapshot_with_as_many_steps_reads_nothing_again(book: Book) -> None:
    transcript = Counting(book.ledger)
    book.change(1, Transition.MASK, turn=1)
    with book.ledger.reader() as older:
        book.say(1, "more")
        with book.ledger.reader() as newer:
            steps = steps_of(transcript, newer)
        assert steps_of(transcript, older) == steps
    assert transcript.opened == [5]


def test_steps_are_kept_of_so_many_streams_and_no_more(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not looked at for the longest time is read again."""
    monkeypatch.setattr(transcripts, "STREAMS_KEPT_MAX", 2)
    streams = [book.conversation(name) for name in ("a", "b", "c")]
    for stream in streams:
        book.say(stream, f"words of {stream}")
        book.change(stream, Transition.MASK, turn=1)
    transcript = Counting(book.ledger)
    first, second, third = streams
    with book.ledger.reader() as reader:
        for stream, opened in ((first, 1), (second, 2), (first, 2), (third, 3), (first, 3), (second, 4), (third, 5)):
            assert steps_of(transcript, reader, stream) == (Step(Transition.MASK, 1, 1),)
            assert len(transcript.opened) == opened


# --- what is missing shows --------------------------------------------------------------------------------------------


def refusal(book: Book, read: Callable[[Transcript, Reader], object]) -> tuple[str | None, str | None]:
    """Return what a transcript that is made anew says of a log that is not whole."""
    with book.ledger.reader() as reader, pytest.raises(MunimentError) as refused:
        read(Transcript(book.ledger), reader)
    assert refused.value.kind is Kind.CORRUPT
    return refused.value.at, refused.value.problem


@pytest.mark.parametrize(
    "edit",
    ["DELETE FROM events WHERE position = 9", "UPDATE events SET target_seq = NULL WHERE position = 9"],
)
def test_a_mask_that_was_taken_away_is_missed_and_nothing_is_shown(file_book: FileBook, edit: str) -> None:
    assert file_book.change(1, Transition.MASK, turn=1).position == 9
    file_book.edited(edit)
    assert refusal(file_book, page_of) == ("stream 1", "changes_missing")


def test_a_change_that_was_moved_to_another_turn_is_not_believed(file_book: FileBook) -> None:
    file_book.change(1, Transition.MASK, turn=1)
    file_book.edited("UPDATE events SET target_seq = 2 WHERE position = 9")
    assert refusal(file_book, page_of) == ("position 9", "not_authentic")


def test_a_change_whose_header_was_edited_is_not_believed(file_book: FileBook) -> None:
    file_book.change(1, Transition.MASK, turn=1)
    file_book.edited("UPDATE events SET header = zeroblob(40) WHERE position = 9")
    assert refusal(file_book, page_of) == ("position 9", "header")


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM events WHERE position = 3",
        "UPDATE events SET turn_seq = NULL WHERE position = 3",
        "UPDATE events SET turn_seq = 9 WHERE position = 4",
        "UPDATE events SET stream = 0, seq = 9 WHERE position = 2",
    ],
)
def test_a_turn_that_was_taken_away_is_missed(file_book: FileBook, edit: str) -> None:
    file_book.edited(edit)
    assert refusal(file_book, page_of) == ("stream 1", "turns_missing")


def test_a_turn_that_stands_twice_for_one_that_is_gone_is_missed(file_book: FileBook) -> None:
    """Without its index the table takes a number twice."""
    file_book.edited("DROP INDEX events_by_turn")
    file_book.edited("UPDATE events SET turn_seq = 1 WHERE position = 3")
    assert refusal(file_book, page_of) == ("position 3", "turns_missing")


def test_a_head_that_is_gone_is_missed(file_book: FileBook) -> None:
    file_book.edited("DELETE FROM streams WHERE stream = 1")
    assert refusal(file_book, page_of) == ("stream 1", "head_missing")


def test_words_that_are_gone_without_an_erasure_are_missed(file_book: FileBook) -> None:
    file_book.edited("DELETE FROM cells WHERE id = 3 * 2 + 1")
    assert refusal(file_book, page_of) == ("position 3", None)


# --- finding ----------------------------------------------------------------------------------------------------------


def test_a_conversation_is_found_by_its_names_and_nothing_else_is(book: Book) -> None:
    transcript = Transcript(book.ledger)
    with book.ledger.reader() as reader:
        for _ in range(2):
            assert transcript.stream_of(reader, TALK) == 1
            assert transcript.stream_of(reader, NOBODY) is None
            elsewhere = ConversationKey(conversation=TALK.conversation, channel=Channel("elsewhere"))
            assert transcript.stream_of(reader, elsewhere) is None


def test_the_first_no_checks_every_name_and_later_ones_none(
    file_book: FileBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "NAMES_BATCH", 1)
    file_book.edited("DELETE FROM lookups WHERE position = 5")
    transcript = Transcript(file_book.ledger)
    with file_book.ledger.reader() as reader:
        assert transcript.stream_of(reader, TALK) == 1
        for _ in range(2):
            with pytest.raises(Corrupt) as refused:
                transcript.stream_of(reader, NOBODY)
            assert (refused.value.at, refused.value.problem) == ("position 5", "lookup_missing")


def test_a_name_that_was_checked_is_not_checked_again(file_book: FileBook) -> None:
    """What happens to a file while it is open is seen by the next opening."""
    transcript = Transcript(file_book.ledger)
    with file_book.ledger.reader() as reader:
        assert transcript.stream_of(reader, NOBODY) is None
    file_book.edited("DELETE FROM lookups WHERE position = 5")
    with file_book.ledger.reader() as reader:
        assert transcript.stream_of(reader, OTHER) is None
    assert refusal(file_book, lambda anew, reader: anew.stream_of(reader, OTHER)) == ("position 5", "lookup_missing")


SWAPPED = "UPDATE lookups SET (stream, position) = (SELECT 6 - stream, {} - position) WHERE position IN ({})"


def test_conversations_that_changed_places_are_not_taken_for_each_other(file_book: FileBook) -> None:
    file_book.edited(SWAPPED.format(6, "1, 5"))
    assert refusal(file_book, lambda anew, reader: anew.stream_of(reader, TALK)) == ("position 5", "lookup")
    assert refusal(file_book, lambda anew, reader: anew.stream_of(reader, OTHER)) == ("position 1", "lookup")


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE lookups SET position = 2 WHERE position = 1",
        "UPDATE lookups SET position = 99 WHERE position = 1",
        "UPDATE lookups SET position = -1 WHERE position = 1",
        "UPDATE lookups SET stream = 5 WHERE position = 1",
    ],
)
def test_a_lookup_that_leads_elsewhere_is_not_followed(file_book: FileBook, edit: str) -> None:
    file_book.edited(edit)
    _, problem = refusal(file_book, lambda anew, reader: anew.stream_of(reader, TALK))
    assert problem == "lookup"


def test_names_are_proved_of_so_many_and_kept_no_longer(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "NAMES_KEPT_MAX", 1)
    book.conversation("other")
    transcript = Transcript(book.ledger)
    with book.ledger.reader() as reader:
        for _ in range(2):
            assert transcript.stream_of(reader, TALK) == 1
            assert transcript.stream_of(reader, OTHER) == 5
            assert len(transcript._names) == 1


# --- aliases and turns ------------------------------------------------------------------------------------------------


def aliased(book: Book, subject: str = "ada", chat: str = "chat-7") -> None:
    """Let a chat id stand for the first conversation."""
    event = book.small(EventKind.ALIAS_RECORDED, AliasRecorded(subject=subject, channel="mail", chat=chat))
    digest = Transcript(book.ledger).alias_digest(subject, "mail", chat)

    def plan(writer: Writer) -> None:
        placed = writer.append(event, stream=1)
        writer.tx.claim(digest, 1, placed.position)

    book.ledger.transact(plan)


def test_a_chat_id_stands_for_its_conversation_for_its_subject_alone(book: Book) -> None:
    aliased(book)
    transcript = Transcript(book.ledger)
    with book.ledger.reader() as reader:
        for _ in range(2):
            assert transcript.stream_of_alias(reader, "ada", "mail", "chat-7") == 1
            assert transcript.stream_of_alias(reader, "bob", "mail", "chat-7") is None


def test_an_alias_that_leads_elsewhere_is_not_followed(file_book: FileBook) -> None:
    aliased(file_book)
    aliased(file_book, "bob")
    file_book.edited("UPDATE lookups SET position = 10 WHERE position = 9")
    assert refusal(file_book, lambda anew, reader: anew.stream_of_alias(reader, "ada", "mail", "chat-7")) == (
        "position 10",
        "lookup",
    )


def found_turn(transcript: Transcript, reader: Reader, words: str) -> int | None:
    found = transcript.turn(reader, transcript.head(reader, 1), TALK, TurnId(turn_id(words)))
    return None if found is None else found.row.position


def test_a_turn_is_found_by_its_id_and_nothing_else_is(book: Book) -> None:
    transcript = Transcript(book.ledger)
    with book.ledger.reader() as reader:
        assert [found_turn(transcript, reader, f"words {n} of talk") for n in (1, 2, 3, 4)] == [2, 3, 4, None]
    book.say(1, "more")
    with book.ledger.reader() as reader:
        assert found_turn(transcript, reader, "more") == 5
        assert found_turn(transcript, reader, "words 4 of talk") is None


@pytest.mark.parametrize("position", [2, 4])
def test_a_turn_that_cannot_be_found_is_missed_before_a_no(
    file_book: FileBook, position: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "TURNS_BATCH", 2)
    file_book.edited("DELETE FROM lookups WHERE position = ?", position)
    missing = (f"position {position}", "lookup_missing")
    assert refusal(file_book, lambda anew, reader: found_turn(anew, reader, "words 9 of talk")) == missing


@pytest.mark.parametrize("elsewhere", [3, 1, 6, 99])
def test_a_turn_that_leads_elsewhere_is_not_followed(file_book: FileBook, elsewhere: int) -> None:
    """To another turn, to what is no turn, to a turn of another conversation, to nothing."""
    file_book.edited("UPDATE lookups SET position = ? WHERE position = 2", elsewhere)
    assert refusal(file_book, lambda anew, reader: found_turn(anew, reader, "words 1 of talk")) == (
        f"position {elsewhere}",
        "lookup",
    )


def test_a_turn_of_another_conversation_is_not_taken_for_one_of_the_same_id(file_book: FileBook) -> None:
    placed = file_book.say(5, "words 1 of talk")[0]
    file_book.edited("UPDATE lookups SET position = ? WHERE position = 2", placed.position)
    at = f"position {placed.position}"
    assert refusal(file_book, lambda anew, reader: found_turn(anew, reader, "words 1 of talk")) == (at, "lookup")


def test_turns_that_were_checked_are_not_checked_again(file_book: FileBook) -> None:
    """A "no" costs a conversation once; what came since is checked by the next one."""
    transcript = Transcript(file_book.ledger)
    with file_book.ledger.reader() as reader:
        assert found_turn(transcript, reader, "nothing like it") is None
    file_book.edited("DELETE FROM lookups WHERE position = 2")
    with file_book.ledger.reader() as reader:
        assert found_turn(transcript, reader, "nothing like it") is None
    placed = file_book.say(1, "more")[0]
    file_book.edited("DELETE FROM lookups WHERE position = ?", placed.position)
    with file_book.ledger.reader() as reader, pytest.raises(Corrupt) as refused:
        found_turn(transcript, reader, "nothing like it")
    assert refused.value.at == f"position {placed.position}"


# --- listing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 2, 500])
def test_conversations_are_listed_in_the_order_of_their_opening(
    book: Book, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "NAMES_BATCH", batch)
    for name in ("a", "b", "c"):
        book.conversation(name)
    transcript = Transcript(book.ledger)
    with book.ledger.reader() as reader:
        rows = transcript.conversations(reader, -1, None)
        assert [transcript.names(row).conversation for row in rows] == ["talk", "a", "b", "c"]
        assert transcript.conversations(reader, rows[0].position, 2) == rows[1:3]
        assert transcript.conversations(reader, -1, 0) == []
        assert transcript.conversations(reader, rows[-1].position, 5) == []
        assert transcript.conversations(reader, -1, 100) == rows
