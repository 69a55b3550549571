"""Commit many: several delivered turns become events in one transaction, or none of them does.

All are prepared first: what is refused there is refused before anything is written. Then their plans run one after the
other inside one write transaction, each on what the ones before it left, so that a turn that is in a batch twice is
found the second time. Whatever raises rolls all of it back, and the error names the place of the turn in the batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded, MunimentError
from muniment.events.binding import deterministic
from muniment.events.turn import Turn
from muniment.ledger.ledger import Writer
from muniment.operations.transcripts.commit import CommitReceipt, PreparedTurn, append, prepare, receipt_of_skipped

PROGRESS_STAGE = "commit"
PROGRESS_TURNS = 100  # prepared between two reports


DeliveredTurns = Annotated[list[Turn], Meta(description="The delivered turns, in their order.")]


class BatchReceipt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a batch: how many turns were committed now, and the receipt of each, in the given order."""

    committed: int
    receipts: list[CommitReceipt]


def commit_many(session: Session, turns: list[Turn]) -> BatchReceipt:
    """Commit turns in one transaction, or none of them."""
    limits, size = session.space.limits, 0
    if not turns:
        raise InvalidInput(at="turns", problem="empty")
    if len(turns) > limits.batch_turns_max:
        raise LimitExceeded(at="turns", problem="too_many", limit=limits.batch_turns_max, found=len(turns))
    prepared: list[PreparedTurn | CommitReceipt] = []
    for place, turn in enumerate(turns):
        with _named(place):
            ready = prepare(session, turn)
            prepared.append(ready if isinstance(ready, PreparedTurn) else receipt_of_skipped(session.space, ready))
        size += len(deterministic(turn))
        if size > limits.batch_bytes_max:
            raise LimitExceeded(at="turns", problem="too_large", limit=limits.batch_bytes_max)
        if not place % PROGRESS_TURNS:
            session.progress(PROGRESS_STAGE, place, len(turns))

    def plan(writer: Writer) -> list[CommitReceipt]:
        """Append all of them; runs inside the write transaction."""
        receipts: list[CommitReceipt] = []
        seen: set[bytes] = set()
        for place, ready in enumerate(prepared):
            with _named(place):
                if not isinstance(ready, PreparedTurn):
                    receipts.append(ready)
                    continue
                if ready.found_by in seen:
                    writer.flush()  # a plan must see the turn that it repeats
                seen.add(ready.found_by)
                receipts.append(append(ready, writer))
        return receipts

    receipts = session.space.ledger.transact(plan)
    session.progress(PROGRESS_STAGE, len(turns), len(turns))
    return BatchReceipt(committed=sum(receipt.committed for receipt in receipts), receipts=receipts)


@contextmanager
def _named(place: int) -> Iterator[None]:
    """Let an error name the place of the turn that it is about."""
    try:
        yield
    except MunimentError as error:
        error.at = f"turns[{place}]" if error.at is None else f"turns[{place}].{error.at}"
        raise
