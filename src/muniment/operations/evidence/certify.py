"""How an export of a bundle is put on record: certified before it is made, any other when it is made.

A certificate says how far the conversation went at the certificate's own place in the log. So the checkpoint of the
bundle is signed in the same transaction, and the certificate is the last event under it: nothing can stand between what
was certified and what was signed (decision 0147).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.identity import ConversationKey
from muniment.events.records import EventKind, ExportGrant, ExportIssued
from muniment.evidence.bundle import event_line
from muniment.evidence.header import disclosures
from muniment.governance.views import View
from muniment.kernel.canonical import decode_plain
from muniment.ledger.drafts import draft
from muniment.ledger.ledger import SPACE_STREAM, Writer
from muniment.ledger.worded import readable_fields
from muniment.log.port import SealedRow
from muniment.projections.conversation import opened as opened_conversation
from muniment.space.outgoing import ContentGrant, ExportWay, record_export
from muniment.space.space import Space

BUNDLE_EVENTS_MAX = 100_000


class Certificate(NamedTuple):
    """An `export.issued` event: its position, how far the stream went, and the checkpoint that ends with it."""

    position: int
    through: int
    note: str


class EventRange(NamedTuple):
    """Which events of a conversation are exported; without a last one, all up to its end."""

    first: int = 1
    last: int | None = None

    def within(self, through: int) -> tuple[int, int]:
        """Return the first and the last event, both of which a conversation of so many has."""
        last = through if self.last is None else self.last
        for at, number, highest in (("first_event", self.first, last), ("last_event", last, through)):
            if not 1 <= number <= highest:
                raise InvalidInput(at=at, problem="out_of_range", limit=highest)
        if last - self.first >= BUNDLE_EVENTS_MAX:
            found = last - self.first + 1
            raise LimitExceeded(at="conversation", problem="too_many_events", limit=BUNDLE_EVENTS_MAX, found=found)
        return self.first, last


def certify(space: Space, key: ConversationKey, grant: ExportGrant, events: EventRange) -> Certificate:
    """Append `export.issued` for a conversation as it is now, and sign the log that ends with it."""
    now_ms = space.sources.clock.now_ms()
    event = draft(space.sources.entropy, EventKind.EXPORT_ISSUED, now_ms, ExportIssued(export=grant))

    def plan(writer: Writer) -> Certificate:
        conversation = opened_conversation(space.transcript, writer.tx, key)
        through = conversation.head.seq
        refs = {"stream": conversation.stream, "through": through}
        first, last = events.within(through)
        if (first, last) != (1, through):
            refs |= {"first": first, "last": last}
        position = writer.append(event, stream=SPACE_STREAM, refs=refs).position
        return Certificate(position, through, writer.sign())

    return space.ledger.transact(plan)


def certificate_line(space: Space, row: SealedRow) -> tuple[dict[str, Any], bytes]:
    """Return what an `export.issued` event says was exported, and the line that discloses it."""
    header, exact = space.ledger.header(row)
    opened = space.ledger.open(row)
    fields = readable_fields(space.ledger, opened)
    (covers,) = [value for _, some in fields for label, value in some if label == "export"]
    return decode_plain(covers), event_line(exact, disclosures(header, fields))


def record_bundle(session: Session, grant: ExportGrant, turns: int, stream: int, through: int) -> None:
    """Append `content.exported` for a bundle that is not certified."""
    sent = ContentGrant(
        way=ExportWay.BUNDLE, view=View(grant.view), turns=turns, recipient=grant.recipient, purpose=grant.purpose
    )
    record_export(session.space, session.access, sent, {"stream": stream, "through": through})
