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
from muniment.errors import Corrupt, CursorInvalid, UnknownConversation
from muniment.events.disclosures import AccessRefused, ContentRevealed, ContextIssued
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.events.records import EventKind, ExportIssued
from muniment.ledger.ledger import SPACE_STREAM, OpenedEvent
from muniment.log.port import Reader
from muniment.operations.page import binding, limit_of_query
from muniment.operations.place import turn_at

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


class Disclosing:
    """One page of disclosures on its way."""

    def __init__(self, session: Session, conversation: ConversationKey | None, limit: int) -> None:
        if conversation is not None:
            session.check_key(conversation)
        self._session = session
        self._space = session.space
        self._key = conversation
        self._limit = limit_of_query(limit, session.space.limits.page_turns_max)

    def run(self, cursor: str | None) -> Disclosures:
        """Return the page."""
        with self._space.ledger.reader() as reader:
            named = () if self._key is None else (self._key.channel, self._key.conversation)
            bound = binding(self._session, reader, str(self._limit), *named)
            cursors = self._space.cursors
            after = 0 if cursor is None else cursors.accept("disclosures", bound, cursor, DisclosuresMark).after
            stream = None
            if self._key is not None:
                stream = self._space.transcript.stream_of(reader, self._key)
                if stream is None:
                    raise UnknownConversation(at="conversation")
            found: list[DisclosureEntry] = []
            last = after
            for opened, refs in self._walked(reader, after):
                if stream is not None and refs.get("stream") != stream:
                    continue
                if len(found) == self._limit:
                    following = cursors.issue("disclosures", bound, DisclosuresMark(after=last))
                    return Disclosures(disclosures=found, has_more=True, next_cursor=following)
                found.append(self._entry(reader, opened, refs))
                last = opened.row.seq
            return Disclosures(disclosures=found, has_more=False)

    def _walked(self, reader: Reader, after: int) -> Iterator[tuple[OpenedEvent, dict[str, int]]]:
        """Yield every disclosure behind an event of the stream, with the references of its header."""
        ledger = self._space.ledger
        head = self._space.transcript.head(reader, SPACE_STREAM)
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

    def _entry(self, reader: Reader, opened: OpenedEvent, refs: dict[str, int]) -> DisclosureEntry:
        row, meta = opened.row, opened.meta
        entry = DisclosureEntry(position=row.position, kind=EventKind(row.kind), at_ms=row.time)
        if isinstance(meta, AccessRefused):
            return replace(entry, **asdict(meta.denial))
        if isinstance(meta, ContextIssued):
            return self._of_context(reader, entry, meta, refs)
        entry = replace(entry, conversation=self._conversation(reader, refs["stream"]))
        if isinstance(meta, ExportIssued):
            grant = meta.export
            return replace(
                entry,
                through=refs["through"],
                views=[grant.view],
                recipient=grant.recipient,
                purpose=grant.purpose,
            )
        assert isinstance(meta, ContentRevealed), "the table has four kinds"
        transcript, sequence = self._space.transcript, refs["turn"]
        read = turn_at(transcript, reader, transcript.head(reader, refs["stream"]), sequence)
        return replace(
            entry,
            turn=TurnId(read.record.meta.delivery.turn),
            sequence=sequence,
            message=refs.get("message"),
            views=meta.caller.views,
            subject=meta.caller.subject,
            requester=meta.request.requester,
            reason=meta.request.reason,
        )

    def _of_context(
        self, reader: Reader, entry: DisclosureEntry, meta: ContextIssued, refs: dict[str, int]
    ) -> DisclosureEntry:
        stream = refs.get("stream")
        return replace(
            entry,
            conversation=None if stream is None else self._conversation(reader, stream),
            through=refs.get("through"),
            first=refs.get("first"),
            last=refs.get("last"),
            quoted=meta.context.quoted,
            tokens=meta.context.tokens,
            views=[meta.context.view],
            subject=meta.caller.subject,
        )

    def _conversation(self, reader: Reader, stream: int) -> ConversationKey:
        """Return the key of the conversation whose stream this is."""
        row = reader.sealed(stream)
        if row is None:
            raise Corrupt(at=f"position {stream}", problem="rows_missing")
        names = self._space.transcript.names(row)
        return ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))
