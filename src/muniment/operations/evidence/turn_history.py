"""What happened to one turn, what it fed and who received it: the events that name it, from two streams.

The stream of its conversation has the changes; their fold counts them, so that none is missing. The stream of the space
has holds and retention policies of the space, and every disclosure; it is walked without a gap.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from muniment.events.attributes import AttributeRecorded
from muniment.events.changes import LifecycleRequest, PolicySet, TurnLifecycle, TurnRedacted, span_of
from muniment.events.disclosures import ContentRevealed, ErasureRefused
from muniment.events.records import EventKind
from muniment.events.references import Plane, RefDerived
from muniment.governance.custody import subjects_of
from muniment.ledger.ledger import OpenedEvent
from muniment.operations.evidence.disclosure_entries import DISCLOSURES, DisclosureEntry, disclosure_events, entry_of
from muniment.operations.evidence.recipients import Refs, TracedContent, reached
from muniment.operations.evidence.turn_search import FoundTurn
from muniment.space.space import Space

OF_THE_SPACE = frozenset({
    EventKind.TURN_LIFECYCLE,
    EventKind.POLICY_SET,
    EventKind.ARCHIVE_IMPORTED,
    EventKind.SPACE_RESTORED,
    EventKind.ERASURE_REFUSED,
})  # fmt: skip


class HistoryEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event that is about the turn: `action` is what it did, or the code of its reason.

    `first` to `last` are the turns that it was about, `message` the one message, `hold` the hold that a release ended.
    """

    position: int
    kind: str
    at_ms: int
    action: str | None = None
    first: int | None = None
    last: int | None = None
    message: int | None = None
    hold: int | None = None
    views: list[str] = []
    attribute: str | None = None
    attribute_key: str | None = None
    requester: str | None = None
    reason: str | None = None
    subject: str | None = None


class FedMemory(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item of memory that was derived from the turn, or from the turns `first` to `last` with it."""

    position: int
    plane: Plane
    key: str
    subject: str
    created_ms: int
    first: int
    last: int | None = None
    message: int | None = None


class TurnTrail:
    """The events about one turn, read once; of items of memory those of some planes, the others are counted."""

    def __init__(self, space: Space, found: FoundTurn, planes: frozenset[Plane]) -> None:
        self.history: list[HistoryEntry] = []
        self.received: list[DisclosureEntry] = []
        self.contexts: list[DisclosureEntry] = []
        self.memory: list[FedMemory] = []
        self.memory_redacted = 0
        self._planes = planes
        self._space = space
        self._found = found
        conversation = found.conversation
        record = conversation.at(found.sequence).record
        self._subjects = subjects_of(record.meta.actor)
        self._holds: set[int] = set()
        self._of_conversation()
        self._of_space()
        self.history.sort(key=lambda entry: entry.position)

    def _of_conversation(self) -> None:
        found, ledger = self._found, self._space.ledger
        row, conversation = found.row, found.conversation
        commit = HistoryEntry(position=row.position, kind=row.kind, at_ms=row.time)
        self.history.append(commit)
        for change in self._space.transcript.change_rows(conversation.reader, conversation.head):
            refs = ledger.header(change)[0].about
            if span_of(refs).includes(found.sequence):
                self._take(ledger.open(change), refs)

    def _of_space(self) -> None:
        space, found = self._space, self._found
        reader, row = found.conversation.reader, found.row
        traced = TracedContent(space, reader, found.conversation.key, found.conversation.stream, row)
        for event, refs in disclosure_events(space, reader, 0, DISCLOSURES | OF_THE_SPACE):
            kind = event.row.kind
            if kind in OF_THE_SPACE:
                if self._is_about(event, refs):
                    self._take(event, refs)
            elif reached(event, refs, traced):
                entry = entry_of(space, reader, event, refs)
                (self.contexts if kind == EventKind.CONTEXT_ISSUED else self.received).append(entry)
                if kind == EventKind.CONTENT_REVEALED:
                    self._take(event, refs)

    def _is_about(self, event: OpenedEvent, refs: Refs) -> bool:
        """Tell whether an event of the stream of the space is about the turn, too."""
        meta, position = event.meta, self._found.row.position
        if isinstance(meta, TurnLifecycle):
            is_mine = meta.request.subject is None or meta.request.subject in self._subjects
            return refs["hold"] in self._holds if "hold" in refs else is_mine
        if isinstance(meta, PolicySet):
            key, policy = self._found.conversation.key, meta.policy
            return policy.channel in {None, key.channel} and policy.conversation in {None, key.conversation}
        if isinstance(meta, ErasureRefused):
            is_here = refs.get("stream", self._found.conversation.stream) == self._found.conversation.stream
            return is_here and span_of(refs).includes(self._found.sequence)
        if event.row.kind == EventKind.ARCHIVE_IMPORTED:
            return refs.get("first", 0) <= position <= refs.get("last", -1)
        return position < event.row.position  # a restore, which put the turn back

    def _take(self, event: OpenedEvent, refs: Refs) -> None:
        meta, row, span = event.meta, event.row, span_of(refs)
        message = refs.get("message")
        if isinstance(meta, RefDerived):
            if meta.plane not in self._planes:
                self.memory_redacted += 1
                return
            fed = FedMemory(
                position=row.position,
                plane=meta.plane,
                key=meta.key,
                subject=meta.subject,
                created_ms=meta.created_ms,
                first=span.first,
                last=span.last if span.last != span.first else None,
                message=message,
            )
            self.memory.append(fed)
            return
        is_of_turns = row.stream == self._found.conversation.stream
        entry = HistoryEntry(
            position=row.position,
            kind=row.kind,
            at_ms=row.time,
            action=self._space.ledger.header(row)[0].reason,
            first=span.first if is_of_turns else None,
            last=span.last if is_of_turns else None,
            message=message,
            hold=refs.get("hold"),
        )
        if isinstance(meta, TurnLifecycle | TurnRedacted | PolicySet | ContentRevealed | ErasureRefused):
            entry = _requested(entry, meta.request)
        if isinstance(meta, TurnRedacted):
            entry = replace(entry, views=meta.views)
        elif isinstance(meta, ContentRevealed):
            entry = replace(entry, views=meta.caller.views, subject=meta.caller.subject)
        elif isinstance(meta, AttributeRecorded):
            head = meta.attribute
            entry = replace(entry, attribute=head.id, attribute_key=head.key, requester=meta.source.writer)
        if entry.action == "hold":
            self._holds.add(row.position)
        self.history.append(entry)


def _requested(entry: HistoryEntry, request: LifecycleRequest) -> HistoryEntry:
    return replace(entry, requester=request.requester, reason=request.reason, subject=request.subject)
