"""Who received what, when, under which view: the disclosures of a space, page by page.

They are events of the stream of the space, in log order: certified exports, words that were revealed, contexts for
models that were recorded, attempts that were refused. The stream is walked without a gap and every row of it is proved,
so that no disclosure can be hidden by an edit at rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import asdict, replace

from muniment.declaration.session import Session
from muniment.errors import Corrupt, CursorInvalid
from muniment.events.disclosures import AccessRefused, ContentRevealed, ContextIssued
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.events.records import EventKind, ExportIssued
from muniment.ledger.ledger import SPACE_STREAM, OpenedEvent
from muniment.log.port import Reader
from muniment.operations.page import Page
from muniment.projections.conversation import Conversation, opened
from muniment.space.space import Space

DISCLOSURES = frozenset(
    {EventKind.EXPORT_ISSUED, EventKind.CONTENT_REVEALED, EventKind.CONTEXT_ISSUED, EventKind.ACCESS_DENIED}
)


class DisclosureEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One disclosure, or one that was refused.

    `export.issued`: `conversation` up to its event `through`, under the view in `views`, to `recipient` for `purpose`.
    `content.revealed`: `turn` or one `message` of it, to `requester` for `reason`, whose access had `views`.
    `context.issued`: turns `first` to `last` of `conversation` as it was at its event `through`, and messages quoted of
    the turns at the positions in `quoted`, under the view in `views`; a conversation that was not there has no name.
    `access.denied`: `operation` for want of `right`, perhaps by `policy`, `attempts` times since `since_ms`.
    `subject` is the one that the access spoke for.
    """

    position: int
    kind: EventKind
    at_ms: int
    conversation: ConversationKey | None = None
    through: int | None = None
    turn: TurnId | None = None
    sequence: int | None = None
    message: int | None = None
    views: list[str] = []
    first: int | None = None
    last: int | None = None
    quoted: list[int] = []
    tokens: int | None = None
    recipient: str | None = None
    purpose: str | None = None
    requester: str | None = None
    reason: str | None = None
    operation: str | None = None
    right: str | None = None
    policy: str | None = None
    subject: str | None = None
    attempts: int | None = None
    since_ms: int | None = None


class Disclosures(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of disclosures, the oldest first. `next_cursor` is absent on the last page."""

    disclosures: list[DisclosureEntry]
    has_more: bool
    next_cursor: str | None = None


class DisclosuresMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """Where a page of disclosures ended: the seq of its last event in the stream of the space."""

    after: int


def list_disclosures(session: Session, key: ConversationKey | None, limit: int, cursor: str | None) -> Disclosures:
    """Return a page of the disclosures of the space, or of one conversation."""
    if key is not None:
        session.check_key(key)
    space = session.space
    page = Page(session, "disclosures", DisclosuresMark, limit, cursor)
    with space.ledger.reader() as reader:
        named = () if key is None else (key.channel, key.conversation)
        mark = page.begin(reader, str(page.limit), *named)
        last = 0 if mark is None else mark.after
        stream = None if key is None else opened(space.transcript, reader, key).stream
        entries: list[DisclosureEntry] = []
        for event, refs in _disclosed(space, reader, last):
            if stream is not None and refs.get("stream") != stream:
                continue
            if len(entries) == page.limit:
                following = page.cursor_to(DisclosuresMark(after=last))
                return Disclosures(disclosures=entries, has_more=True, next_cursor=following)
            entries.append(_entry(space, reader, event, refs))
            last = event.row.seq
        return Disclosures(disclosures=entries, has_more=False)


def _disclosed(space: Space, reader: Reader, after: int) -> Iterator[tuple[OpenedEvent, dict[str, int]]]:
    """Yield every disclosure after an event of the stream, with the references of its header."""
    ledger = space.ledger
    head = space.transcript.head(reader, SPACE_STREAM)
    if after > head.seq:
        raise CursorInvalid
    reached = after
    for row in reader.in_stream(SPACE_STREAM, after + 1, head.seq):
        reached += 1
        if row.kind in DISCLOSURES:
            yield ledger.open(row), ledger.header(row)[0].refs
        else:
            ledger.keys_of(row)  # proves that it is of another kind
    if reached != head.seq:
        raise Corrupt(at=f"stream {SPACE_STREAM}", problem="events_missing", limit=head.seq, found=reached)


def _entry(space: Space, reader: Reader, event: OpenedEvent, refs: dict[str, int]) -> DisclosureEntry:
    row, meta = event.row, event.meta
    entry = DisclosureEntry(position=row.position, kind=EventKind(row.kind), at_ms=row.time)
    if isinstance(meta, AccessRefused):
        return replace(entry, **asdict(meta.denial))
    stream = refs.get("stream")
    key = None if stream is None else _key_of(space, reader, stream)
    entry = replace(entry, conversation=key, through=refs.get("through"))
    if isinstance(meta, ContextIssued):
        return replace(
            entry,
            first=refs.get("first"),
            last=refs.get("last"),
            quoted=meta.context.quoted,
            tokens=meta.context.tokens,
            views=[meta.context.view],
            subject=meta.caller.subject,
        )
    assert key is not None, "everything else is of a conversation"
    if isinstance(meta, ExportIssued):
        grant = meta.export
        return replace(entry, views=[grant.view], recipient=grant.recipient, purpose=grant.purpose)
    assert isinstance(meta, ContentRevealed), "the table has four kinds"
    read = Conversation(space.transcript, reader, key, refs["stream"]).at(refs["turn"])
    return replace(
        entry,
        turn=TurnId(read.record.meta.delivery.turn),
        sequence=refs["turn"],
        message=refs.get("message"),
        views=meta.caller.views,
        subject=meta.caller.subject,
        requester=meta.request.requester,
        reason=meta.request.reason,
    )


def _key_of(space: Space, reader: Reader, stream: int) -> ConversationKey:
    """Return the key of the conversation whose stream this is."""
    row = reader.sealed(stream)
    if row is None:
        raise Corrupt(at=f"position {stream}", problem="rows_missing")
    names = space.transcript.names(row)
    return ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))
