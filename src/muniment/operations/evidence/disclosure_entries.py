"""Disclosures as they are listed: one entry for each event that says who received what, and the walk over them.

The stream of the space is walked without a gap, and every row of it is proved.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import asdict, replace

from muniment.errors import Corrupt, CursorInvalid
from muniment.events.approving import APPROVAL, ApprovalDecided, ApprovalRequested, ApprovalSet
from muniment.events.archive import ArchiveExported, ArchiveScope, PrivateMaterial
from muniment.events.disclosures import (
    AccessRefused,
    ContentExported,
    ContentRead,
    ContentRevealed,
    ContextIssued,
    ErasureRefused,
)
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.events.memory_items import MemoryPlane, NotebookOpened
from muniment.events.records import ConversationOpened, EventKind, ExportIssued, MetaBody
from muniment.ledger.ledger import SPACE_STREAM, OpenedEvent
from muniment.log.port import Reader
from muniment.operations.evidence.recipients import REACHES
from muniment.projections.conversation import Conversation
from muniment.space.space import Space

ASKED = frozenset(
    {
        EventKind.ERASURE_REFUSED,
        EventKind.APPROVAL_SET,
        EventKind.APPROVAL_REQUESTED,
        EventKind.APPROVAL_DECIDED,
    }
)
DISCLOSURES = frozenset({*REACHES, *ASKED, EventKind.ACCESS_DENIED})


class DisclosureEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One disclosure, or one that was refused.

    `export.issued`: `conversation`, or what is remembered of `subject` in `plane`, up to its event `through`, under the
    view in `views`, to `recipient` for `purpose`.
    `content.exported`: the same by another `way`: a bundle, a document, the receipt of `turn`, or a backup of the log
    up to the position `through`. `archive.exported`: the conversations of `scope`, with private material or without.
    `content.revealed`: `turn` or one `message` of it, to `requester` for `reason`, whose access had `views`.
    `context.issued`: turns `first` to `last` of `conversation` as it was at its event `through`, and messages quoted of
    the turns at the positions in `quoted`, under the view in `views`; a conversation that was not there has no name.
    `content.read`: `turns` of them were returned by `operation` under the view in `views`: of `conversation` those
    between `first` and `last`, and those at the positions in `found`.
    `access.denied`: `operation` for want of `right`, perhaps by `policy`, `attempts` times since `since_ms`.
    `erasure.refused`: turns `first` to `last` of `conversation` (or the space) to `requester` for `reason`; the events
    at `kept_by` kept them. `approval.set`: `acts` take two persons. `approval.requested`: `requester` asked for
    `operation`; `approval.decided`: the request at `approval` was `decision` by `requester`.
    `subject` is the one that the access spoke for; of an export, the only one whose turns it had.
    """

    position: int
    kind: EventKind
    at_ms: int
    conversation: ConversationKey | None = None
    plane: MemoryPlane | None = None
    through: int | None = None
    turn: TurnId | None = None
    sequence: int | None = None
    message: int | None = None
    way: str | None = None
    views: list[str] = []
    turns: int | None = None
    first: int | None = None
    last: int | None = None
    quoted: list[int] = []
    found: list[int] = []
    tokens: int | None = None
    scope: ArchiveScope | None = None
    private: PrivateMaterial | None = None
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
    kept_by: list[int] = []
    acts: list[str] = []
    approval: int | None = None
    decision: str | None = None


def disclosure_events(
    space: Space, reader: Reader, after: int, kinds: frozenset[str] = DISCLOSURES
) -> Iterator[tuple[OpenedEvent, dict[str, int]]]:
    """Yield every event of these kinds after one of the stream of the space, with the references of its header."""
    ledger = space.ledger
    head = space.transcript.head(reader, SPACE_STREAM)
    if after > head.seq:
        raise CursorInvalid
    reached = after
    for row in reader.in_stream(SPACE_STREAM, after + 1, head.seq):
        reached += 1
        if row.kind in kinds:
            yield ledger.open(row), ledger.header(row)[0].about
        else:
            ledger.unsealed(row)  # proves that it is of another kind
    if reached != head.seq:
        raise Corrupt(at=f"stream {SPACE_STREAM}", problem="events_missing", limit=head.seq, found=reached)


def entry_of(space: Space, reader: Reader, event: OpenedEvent, refs: dict[str, int]) -> DisclosureEntry:
    """Return a disclosure as it is listed."""
    row, meta = event.row, event.meta
    entry = DisclosureEntry(position=row.position, kind=EventKind(row.kind), at_ms=row.time)
    if isinstance(meta, AccessRefused):
        return replace(entry, **asdict(meta.denial))
    if isinstance(meta, ArchiveExported):
        scope = meta.archive.scope
        return replace(entry, scope=scope, private=meta.archive.private, through=refs.get("through"))
    stream = refs.get("stream")
    opened = None if stream is None else _opening(space, reader, stream)
    key = _key_of(opened) if isinstance(opened, ConversationOpened) else None
    if isinstance(opened, NotebookOpened):
        entry = replace(entry, subject=opened.subject, plane=opened.plane)
    if isinstance(meta, ErasureRefused | ApprovalSet | ApprovalRequested | ApprovalDecided):
        return _asked(space, replace(entry, conversation=key), event, refs)
    entry = replace(entry, conversation=key, through=refs.get("through"))
    if isinstance(meta, ContextIssued | ContentRead):
        return _of_reading(entry, meta, refs)
    if isinstance(meta, ExportIssued):
        grant = meta.export
        return replace(
            entry,
            views=[grant.view],
            recipient=grant.recipient,
            purpose=grant.purpose,
            subject=grant.subject or entry.subject,
        )
    if "turn" in refs:
        assert key is not None, "a turn is one of a conversation"
        read = Conversation(space.transcript, reader, key, refs["stream"]).at(refs["turn"])
        entry = replace(entry, turn=TurnId(read.record.meta.delivery.turn), sequence=refs["turn"])
    if isinstance(meta, ContentExported):
        sent, caller = meta.export, meta.caller
        views, subject = [] if sent.view is None else [sent.view], caller.subject or entry.subject
        told = {"way": sent.way, "turns": sent.turns, "recipient": sent.recipient, "purpose": sent.purpose}
        return replace(entry, views=views, subject=subject, **told)
    assert isinstance(meta, ContentRevealed), "the table has no other kinds"
    return replace(
        entry,
        message=refs.get("message"),
        views=meta.caller.views,
        subject=meta.caller.subject,
        requester=meta.request.requester,
        reason=meta.request.reason,
    )


def _asked(space: Space, entry: DisclosureEntry, event: OpenedEvent, refs: dict[str, int]) -> DisclosureEntry:
    """Return the entry of what somebody asked for: an erasure that was refused, or what takes two persons."""
    meta = event.meta
    assert isinstance(meta, ErasureRefused | ApprovalSet | ApprovalRequested | ApprovalDecided), "was checked"
    entry = replace(entry, requester=meta.request.requester, reason=meta.request.reason)
    if isinstance(meta, ErasureRefused):
        spanned = {} if entry.conversation is None else {"first": refs.get("first"), "last": refs.get("through")}
        subject, kept_by = meta.request.subject, meta.refusal.kept_by
        return replace(entry, **spanned, message=refs.get("message"), subject=subject, kept_by=kept_by)
    if isinstance(meta, ApprovalSet):
        return replace(entry, acts=list(meta.rule.acts))
    entry = replace(entry, subject=meta.caller.subject, views=meta.caller.views)
    if isinstance(meta, ApprovalRequested):
        return replace(entry, operation=str(meta.act))
    return replace(entry, approval=refs[APPROVAL], decision=space.ledger.header(event.row)[0].reason)


def _of_reading(entry: DisclosureEntry, meta: ContextIssued | ContentRead, refs: dict[str, int]) -> DisclosureEntry:
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
    read = meta.read
    return replace(
        entry,
        operation=read.operation,
        turns=read.turns,
        first=read.spans[0].first if read.spans else None,
        last=read.spans[-1].last if read.spans else None,
        found=read.found,
        views=read.views,
        subject=meta.caller.subject,
    )


def _opening(space: Space, reader: Reader, stream: int) -> MetaBody:
    """Return what opened a stream: a conversation or a notebook."""
    row = reader.sealed(stream)
    if row is None:
        raise Corrupt(at=f"position {stream}", problem="rows_missing")
    return space.ledger.open(row).meta


def _key_of(names: ConversationOpened) -> ConversationKey:
    return ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))
