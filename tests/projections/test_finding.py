"""Finding conversations, aliases and turns: where a name leads is proved, and so is it that it leads nowhere."""

from __future__ import annotations

from functools import partial

import pytest

from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.events.records import AliasRecorded, EventKind
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
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


EDITS = {
    "a bucket deleted": "DELETE FROM names",
    "an entry cut out": "UPDATE names SET body = substr(body, 23)",
    "an entry that leads elsewhere": "UPDATE names SET body = CAST(zeroblob(22) || substr(body, 23) AS BLOB)",
    "another stamp": "UPDATE names SET body = CAST(substr(body, 1, 88) || zeroblob(8) || substr(body, -16) AS BLOB)",
    "another tag": "UPDATE names SET body = CAST(substr(body, 1, length(body) - 1) || x'00' AS BLOB)",
    "an empty bucket": "UPDATE names SET body = x''",
    "another number of names": "UPDATE frontier SET seal = CAST(substr(seal, 1, 8) || zeroblob(40) AS BLOB)",
    "no seal": "UPDATE frontier SET seal = x''",
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_neither_a_yes_nor_a_no_is_believed_of_names_that_were_edited(file_book: FileBook, edit: str) -> None:
    file_book.edited(edit)
    for key in (TALK, NOBODY):
        at, _ = refusal(file_book, partial(Transcript.stream_of, key=key))
        assert at in {"names", "frontier"}


# --- aliases and turns ------------------------------------------------------------------------------------------------


def aliased(book: Book, subject: str = "ada", chat: str = "chat-7") -> None:
    """Let a chat id stand for the first conversation."""
    event = book.small(EventKind.ALIAS_RECORDED, AliasRecorded(subject=subject, channel="mail", chat=chat))
    digest = Transcript(book.ledger).alias_digest(subject, "mail", chat)

    def plan(writer: Writer) -> None:
        writer.append(event, stream=1)
        writer.claim(digest, 1, 1)

    book.ledger.transact(plan)


def test_a_chat_id_stands_for_its_conversation_for_its_subject_alone(book: Book) -> None:
    aliased(book)
    transcript = Transcript(book.ledger)
    with book.ledger.reader() as reader:
        for _ in range(2):
            assert transcript.stream_of_alias(reader, "ada", "mail", "chat-7") == 1
            assert transcript.stream_of_alias(reader, "bob", "mail", "chat-7") is None


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


# --- listing ----------------------------------------------------------------------------------------------------------


def test_conversations_are_listed_in_the_order_of_their_opening(book: Book) -> None:
    for name in ("a", "b", "c"):
        book.conversation(name)
    transcript = Transcript(book.ledger)
    with book.ledger.reader() as reader:
        names = [transcript.names(row).conversation for row in transcript.conversations(reader)]
    assert names == ["talk", "a", "b", "c"]
