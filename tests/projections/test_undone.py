"""What a plan folds inside a transaction that comes to nothing is in no log, and nobody is told it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.events.changes import LifecycleRequest, Transition, TurnLifecycle
from muniment.events.records import EventKind
from muniment.governance.phases import Step
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.projections.transcript import Transcript
from tests.log.ledgers import BOOKS, Book


@pytest.fixture(params=sorted(BOOKS))
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Book]:
    """Return a book over each store, with a conversation of three turns."""
    made: Book = BOOKS[request.param](tmp_path).with_turns(3)
    yield made
    made.store.close()


def steps_of(transcript: Transcript, reader: Reader) -> tuple[Step, ...]:
    return transcript.changes(reader, transcript.head(reader, 1)).steps


class Undone(Exception):
    """A plan that comes to nothing."""


@pytest.mark.parametrize("kept", [0, 1])
@pytest.mark.parametrize("more", [0, 1, 2])
@pytest.mark.parametrize("after", ["mask", "unmask", "say"])
def test_what_a_plan_has_read_that_came_to_nothing_is_not_kept(book: Book, kept: int, more: int, after: str) -> None:
    """Steps that were folded inside a transaction that failed are nobody's, however the log goes on at their place."""
    transcript = Transcript(book.ledger)
    if kept:
        book.change(1, Transition.MASK, turn=1)

    def plan(writer: Writer) -> None:
        body = TurnLifecycle(request=LifecycleRequest(reason="why", requester="who", requested_ms=1))
        event = book.small(EventKind.TURN_LIFECYCLE, body, Transition.ERASE)
        writer.append(event, stream=1, target=2, refs={"turn": 2})
        for number in range(more):
            writer.append(book.said(f"words that were not said {number}"), stream=1, messages=1)
        writer.flush()
        assert steps_of(transcript, writer.tx)[-1].transition is Transition.ERASE
        raise Undone

    for _ in range(2):
        with pytest.raises(Undone):
            book.ledger.transact(plan)
        with book.ledger.reader() as reader:
            assert len(steps_of(transcript, reader)) == kept
    for number in range(4):
        if after == "say":
            book.say(1, f"said {number}")
        else:
            book.change(1, Transition(after), turn=3)
        with book.ledger.reader() as reader:
            assert steps_of(transcript, reader) == steps_of(Transcript(book.ledger), reader)
