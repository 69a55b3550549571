"""The noun group `provenance`: where what a host remembers came from.

Provenance is the field's word for it (W3C PROV): an item of memory *was derived from* turns. It is written here, by
whoever keeps the memory, and read by `evidence.links`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.operation import SUBJECT_AND_CHANNELS, Effect, Family, Group, operation
from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded
from muniment.ledger.ledger import Writer
from muniment.operations.examples import DERIVATION
from muniment.operations.provenance.derivations import (
    Derivation,
    Positions,
    RecordedDerivation,
    append_derivation,
    check_derivation,
    prepared_derivation,
)


class DerivationReport(Struct, frozen=True, kw_only=True):
    """What became of each derivation, in their order; `recorded` of them are new."""

    recorded: int
    references: list[RecordedDerivation]


class Provenance(Group):
    """Record what memory items were derived from."""

    name = "provenance"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(
        Effect.APPEND,
        family=Family.COMMIT,
        heeds=SUBJECT_AND_CHANNELS,
        idempotent=True,
        request="RecordDerivationsRequest",
    )
    def record(
        self,
        derivations: Annotated[
            list[Derivation], Meta(description="What was derived from what.", examples=[[DERIVATION]])
        ],
    ) -> DerivationReport:
        """Record that memory items were derived from turns of this space.

        For memory writes that were accepted, and for handoffs. Appends one `ref.derived` for each to the conversation
        that it names, all in one atomic step; one that already exists is not stored again and has `changed` false. Each
        carries a digest over the leaves of its turns, which proves it later, even when their content is erased
        (`evidence.links`). The subject must be one that a turn of the source names. A private item names no message.
        Raises `transcript.unknown_conversation`, `transcript.unknown_place`, `request.invalid`,
        `request.limit_exceeded`, `access.denied`; then nothing was appended.
        """
        return _record(self._session, derivations)


def _record(session: Session, derivations: list[Derivation]) -> DerivationReport:
    """Check all derivations, then append what is new."""
    space = session.space
    now_ms, limit = space.sources.clock.now_ms(), space.limits.derivations_max
    if not derivations:
        raise InvalidInput(at="derivations", problem="empty")
    if len(derivations) > limit:
        raise LimitExceeded(at="derivations", problem="too_many", limit=limit, found=len(derivations))
    for number, derivation in enumerate(derivations):
        check_derivation(session, derivation, f"derivations[{number}]")
    with space.ledger.reader() as reader:
        prepared = [
            prepared_derivation(session.seen, reader, derivation, f"derivations[{number}]", now_ms)
            for number, derivation in enumerate(derivations)
        ]

    def plan(writer: Writer) -> list[RecordedDerivation]:
        positions: Positions = {}
        return [append_derivation(space, writer, reference, positions) for reference in prepared]

    recorded = space.ledger.transact(plan)
    return DerivationReport(recorded=sum(reference.changed for reference in recorded), references=recorded)
