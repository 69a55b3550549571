"""Turns on their way into the log: many in one transaction, each of which is kept, found or refused by itself."""

from __future__ import annotations

from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.errors import TurnConflict
from muniment.events.identity import TurnId
from muniment.formats.reading.turn_assembler import CompleteTurn
from muniment.ledger.ledger import Writer
from muniment.operations.conversations.describe import record_title, shortened
from muniment.operations.importing.import_report import FileCounts
from muniment.operations.transcripts.commit import (
    ALREADY_ERASED,
    CommitReceipt,
    PreparedTurn,
    SkippedTurn,
    append,
    receipt_of_skipped,
)

BATCH_TURNS_MAX = 128
BATCH_BYTES_MAX = 4 * 2**20
TURN_CONFLICT = "turn_conflict"


class BatchedTurn(NamedTuple):
    """A turn of a batch, where its outcome is counted, and the title of the conversation that begins with it."""

    gathered: CompleteTurn
    prepared: PreparedTurn
    counts: FileCounts
    title: str | None = None


class TurnBatch:
    """The turns that go into the next transaction, also those of several files."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._turns: dict[tuple[str, TurnId], BatchedTurn] = {}
        self._bytes = 0

    def add(self, batched: BatchedTurn) -> None:
        """Add a turn; commit when the batch is full, or has a turn of this name already."""
        place = self._place(batched.gathered, batched.prepared.turn.turn)
        self._turns[place] = batched
        self._bytes += batched.gathered.bytes
        if len(self._turns) >= BATCH_TURNS_MAX or self._bytes >= BATCH_BYTES_MAX:
            self.commit()

    def skip(self, gathered: CompleteTurn, skipped: SkippedTurn, counts: FileCounts) -> None:
        """Count a turn of which nothing is kept: as a repeat or a conflict where its id is committed already."""
        self._place(gathered, skipped.turn.turn)
        try:
            outcome = receipt_of_skipped(self._session.space, skipped)
        except TurnConflict:
            counts.skip_turn(gathered, TURN_CONFLICT)
            return
        if outcome.sequence is None:
            counts.skip_turn(gathered, skipped.reason)
        else:
            counts.count(gathered, None, outcome)

    def _place(self, gathered: CompleteTurn, turn: TurnId) -> tuple[str, TurnId]:
        """Return the place of a turn in the batch, which is committed if it has a turn there: a plan must see it."""
        place = (gathered.conversation, turn)
        if place in self._turns:
            self.commit()
        return place

    def commit(self) -> None:
        """Commit all in one transaction and count what became of each."""
        batch = list(self._turns.values())
        if not batch:
            return

        def plan(writer: Writer) -> list[CommitReceipt | None]:
            return [self._planned(each, writer) for each in batch]

        outcomes = self._session.space.ledger.transact(plan)
        for each, outcome in zip(batch, outcomes, strict=True):
            if outcome is None:
                each.counts.skip_turn(each.gathered, TURN_CONFLICT)
            else:
                each.counts.count(each.gathered, each.prepared, outcome)
        self._turns, self._bytes = {}, 0

    def _planned(self, each: BatchedTurn, writer: Writer) -> CommitReceipt | None:
        """Run one plan of a batch; a conflict is found before anything is appended and leaves the others alone."""
        try:
            receipt = append(each.prepared, writer)
        except TurnConflict:
            return None
        if each.title is not None and receipt.reason != ALREADY_ERASED:
            record_title(self._session, writer, receipt.conversation, receipt.turn, shortened(each.title))
        return receipt
