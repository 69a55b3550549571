"""The transcript fold: complete or corrupt, and read no more often than needed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.events.changes import Transition
from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.events.message import TextPart
from muniment.events.records import TurnMeta
from muniment.evidence.header import Header
from muniment.governance.phases import Phase, Step, phase_of
from muniment.ledger.ledger import Ledger
from muniment.log.port import EventRow, Reader
from muniment.projections import transcript as transcripts
from muniment.projections.transcript import ReadTurn, Transcript
from tests.log.ledgers import Book, FileBook, memory_book, turn_id
from tests.projections.refusals import refusal

TALK = ConversationKey(conversation=ConversationId("talk"), channel=Channel("mail"))
OTHER = ConversationKey(conversation=ConversationId("other"), channel=Channel("mail"))
NOBODY = ConversationKey(conversation=ConversationId("nobody"), channel=Channel("mail"))


def every(_phase: Phase, _meta: TurnMeta) -> bool:
    return True


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
    book.change(1, Transition.ERASE, turn=3)
    asked: list[Phase] = []

    def wanted(phase: Phase, _meta: TurnMeta) -> bool:
        asked.append(phase)
        return phase is Phase.ACTIVE

    with book.ledger.reader() as reader:
        read = page_of(Transcript(book.ledger), reader, wanted)
    assert [one.record.phase for one in read] == [Phase.ACTIVE, Phase.MASKED, Phase.ERASED]
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
    """The table takes a number twice."""
    file_book.edited("UPDATE events SET turn_seq = 1 WHERE position = 3")
    assert refusal(file_book, page_of) == ("position 3", "turns_missing")


def test_a_head_that_is_gone_is_missed(file_book: FileBook) -> None:
    file_book.edited("DELETE FROM streams WHERE stream = 1")
    assert refusal(file_book, page_of) == ("stream 1", "head_missing")


def test_words_that_are_gone_without_an_erasure_are_missed(file_book: FileBook) -> None:
    file_book.edited("UPDATE events SET content = NULL WHERE position = 3")
    assert refusal(file_book, page_of) == ("position 3", None)
