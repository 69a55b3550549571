"""Finding conversations, aliases and turns: a lookup is believed where the event it leads to says the same."""

from __future__ import annotations

import pytest

from muniment.errors import Corrupt
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.events.records import AliasRecorded, EventKind
from muniment.ledger.ledger import Writer
from muniment.log import sqlite_reader
from muniment.log.port import Reader
from muniment.projections import transcript as transcripts
from muniment.projections.transcript import Transcript
from tests.log.ledgers import Book, FileBook, turn_id
from tests.projections.refusals import refusal

TALK = ConversationKey(conversation=ConversationId("talk"), channel=Channel("mail"))
OTHER = ConversationKey(conversation=ConversationId("other"), channel=Channel("mail"))
NOBODY = ConversationKey(conversation=ConversationId("nobody"), channel=Channel("mail"))


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
    monkeypatch.setattr(sqlite_reader, "BATCH_SEALED_MAX", 1)
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
    assert refusal(file_book, lambda rebuilt, reader: rebuilt.stream_of(reader, OTHER)) == (
        "position 5",
        "lookup_missing",
    )


SWAPPED = "UPDATE lookups SET (stream, position) = (SELECT 6 - stream, {} - position) WHERE position IN ({})"


def test_conversations_that_changed_places_are_not_taken_for_each_other(file_book: FileBook) -> None:
    file_book.edited(SWAPPED.format(6, "1, 5"))
    assert refusal(file_book, lambda rebuilt, reader: rebuilt.stream_of(reader, TALK)) == ("position 5", "lookup")
    assert refusal(file_book, lambda rebuilt, reader: rebuilt.stream_of(reader, OTHER)) == ("position 1", "lookup")


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
    _, problem = refusal(file_book, lambda rebuilt, reader: rebuilt.stream_of(reader, TALK))
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
    assert refusal(file_book, lambda rebuilt, reader: rebuilt.stream_of_alias(reader, "ada", "mail", "chat-7")) == (
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
    assert refusal(file_book, lambda rebuilt, reader: found_turn(rebuilt, reader, "words 9 of talk")) == missing


@pytest.mark.parametrize("elsewhere", [3, 1, 6, 99])
def test_a_turn_that_leads_elsewhere_is_not_followed(file_book: FileBook, elsewhere: int) -> None:
    """To another turn, to what is no turn, to a turn of another conversation, to nothing."""
    file_book.edited("UPDATE lookups SET position = ? WHERE position = 2", elsewhere)
    assert refusal(file_book, lambda rebuilt, reader: found_turn(rebuilt, reader, "words 1 of talk")) == (
        f"position {elsewhere}",
        "lookup",
    )


def test_a_turn_of_another_conversation_is_not_taken_for_one_of_the_same_id(file_book: FileBook) -> None:
    placed = file_book.say(5, "words 1 of talk")[0]
    file_book.edited("UPDATE lookups SET position = ? WHERE position = 2", placed.position)
    at = f"position {placed.position}"
    assert refusal(file_book, lambda rebuilt, reader: found_turn(rebuilt, reader, "words 1 of talk")) == (at, "lookup")


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


def test_conversations_are_listed_in_the_order_of_their_opening(book: Book) -> None:
    for name in ("a", "b", "c"):
        book.conversation(name)
    transcript = Transcript(book.ledger)
    with book.ledger.reader() as reader:
        names = [transcript.names(row).conversation for row in transcript.conversations(reader)]
    assert names == ["talk", "a", "b", "c"]
