"""Receipts of erasures: the proof that the event which erased something is under a signed head of its log.

A receipt discloses what the view shows of the event: for operators who asked and why, for everybody else nothing. The
header alone says that it is an erasure, and of which turn or item of its stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from muniment.errors import Corrupt
from muniment.evidence import verifier
from muniment.evidence.bundle import event_line, receipt
from muniment.evidence.header import disclosures
from muniment.evidence.tree import inclusion_proof
from muniment.governance.views import SHOWS_ORIGIN, View
from muniment.ledger.worded import readable_fields
from muniment.log.port import CheckpointRow, Reader
from muniment.operations.events.space_event import SpaceEvent
from muniment.space.space import Space


def with_receipts(space: Space, events: list[SpaceEvent], provable: set[int], view: View) -> list[SpaceEvent]:
    """Return events, those at provable positions with their receipts."""
    wanted = sorted({event.position for event in events if event.position in provable})
    with space.ledger.reader() as reader:
        over = _over(space, reader, wanted[-1])
    if over is None:
        signed = space.checkpoint()
        over = CheckpointRow(size=signed.checkpoint.size, note=signed.note)
    with space.ledger.reader() as reader:
        made = _receipts(space, reader, wanted, over, view)
    return [replace(event, receipt=made.get(event.position)) for event in events]


def _over(space: Space, reader: Reader, position: int) -> CheckpointRow | None:
    """Return the newest checkpoint, where it covers an event and the present key of the log signed it."""
    kept = reader.latest_checkpoint()
    is_over = kept is not None and kept.size > max(position, space.notary.signers.since)
    return kept if is_over else None


def _receipts(
    space: Space, reader: Reader, positions: Iterable[int], over: CheckpointRow, view: View
) -> Mapping[int, str]:
    """Return the receipts of the events at some positions, each checked as its reader will check it."""
    signers = space.notary.announced(space.ledger, reader, over.size)
    made: dict[int, str] = {}
    for position in positions:
        row = reader.sealed(position)
        assert row is not None, "a log only grows"
        header, exact = space.ledger.header(row)
        fields = readable_fields(space.ledger, space.ledger.open(row)) if view in SHOWS_ORIGIN else []
        line = event_line(exact, disclosures(header, fields))
        text = receipt(line, position, inclusion_proof(reader, position, over.size), over.note, signers)
        try:  # a wrong node in the store must not go out as a proof
            verifier.verify_receipt(text.encode(), str(space.notary.key))
        except verifier.Refused as refused:
            raise Corrupt(at="proof", problem=refused.code) from None
        made[position] = text
    return made
