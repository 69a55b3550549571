"""The conversation handle: opened once, then every way to a turn leads to the same one."""

from __future__ import annotations

import pytest

from muniment.errors import UnknownConversation, UnknownPlace
from muniment.events.changes import Transition
from muniment.events.identity import TurnId
from muniment.governance.phases import Phase
from muniment.governance.views import View
from muniment.projections.conversation import find, opened
from muniment.projections.transcript import Transcript
from tests.log.ledgers import Book, turn_id
from tests.projections.test_transcript import NOBODY, TALK, every


def test_every_way_to_a_turn_leads_to_the_same_turn(book: Book) -> None:
    book.change(1, Transition.ARCHIVE, turn=2)
    name = TurnId(turn_id("words 2 of talk"))
    with book.ledger.reader() as reader:
        conversation = opened(Transcript(book.ledger), reader, TALK)
        sequence, commit = conversation.known_turn(name)
        bare = conversation.at(sequence)
        assert (sequence, conversation.sequence_of(name), conversation.head.turns) == (2, 2, 3)
        assert (bare.record.phase, bare.record.content) == (Phase.ARCHIVED, None)
        whole = conversation.read(commit, every).record
        pages = [conversation.page(2, 2, every), conversation.shown(2, 2, View.RAW_OWNER)]
        assert [[read.record for read in page] for page in pages] == [[whole], [whole]]
        assert whole.content is not None


def test_what_is_not_there_is_refused_by_the_name_that_the_caller_gave(book: Book) -> None:
    transcript = Transcript(book.ledger)
    with book.ledger.reader() as reader:
        assert find(transcript, reader, NOBODY) is None
        with pytest.raises(UnknownConversation) as unknown:
            opened(transcript, reader, NOBODY, at="within.conversation")
        conversation = opened(transcript, reader, TALK)
        assert conversation.turn(TurnId("none")) is None
        assert conversation.sequence_of(TurnId("none")) is None
        with pytest.raises(UnknownPlace) as nowhere:
            conversation.known_turn(TurnId("none"), at="passage.turn")
    assert (unknown.value.at, nowhere.value.at) == ("within.conversation", "passage.turn")


def test_changes_are_read_once_and_belong_to_one_state_of_the_log(book: Book) -> None:
    with book.ledger.reader() as reader:
        conversation = opened(Transcript(book.ledger), reader, TALK)
        before = conversation.changes
        book.change(1, Transition.MASK, turn=1)
        assert conversation.changes is before
        assert before.steps == ()
