"""What content of a conversation or of one turn went where: whether a disclosure reached it, as a table by kind.

A backup and an archive reach what was in them, by positions and by scope. Where it is not certain whether something
was in one (a turn that was committed while an archive was written), it counts as reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from muniment.events.archive import ArchiveExported, ScopeKind
from muniment.events.disclosures import ContentRead, ContextIssued
from muniment.events.identity import ConversationKey
from muniment.events.records import EventKind
from muniment.ledger.ledger import OpenedEvent
from muniment.log.port import Reader, SealedRow
from muniment.operations.archives.scopes import mounted_subjects, within
from muniment.space.space import Space


class TracedContent(NamedTuple):
    """The conversation, or the one turn of it, of which it is asked who received it."""

    space: Space
    reader: Reader
    key: ConversationKey
    stream: int
    turn: SealedRow | None = None

    @property
    def position(self) -> int:
        """Where it begins in the log."""
        return self.stream if self.turn is None else self.turn.position

    def has_sequence(self, first: int | None, last: int | None) -> bool:
        """Tell whether it is in a range of sequences of its conversation; the whole conversation is in any range."""
        if first is None or last is None:
            return False
        return self.turn is None or first <= (self.turn.turn_seq or 0) <= last

    def is_among(self, positions: Iterable[int]) -> bool:
        """Tell whether it, or a turn of it, is at one of these positions."""
        if self.turn is not None:
            return self.turn.position in positions
        rows = (self.reader.sealed(position) for position in positions)
        return any(row is not None and row.stream == self.stream for row in rows)


Refs = dict[str, int]


def _exported(_event: OpenedEvent, refs: Refs, traced: TracedContent) -> bool:
    """Tell for a conversation up to an event, for a turn of it, and (without a stream) for the log up to a position."""
    if "stream" not in refs:
        return traced.position <= refs.get("through", -1)
    if refs["stream"] != traced.stream:
        return False
    if "turn" in refs:
        return traced.has_sequence(refs["turn"], refs["turn"])
    return traced.turn is None or traced.turn.seq <= refs.get("through", 0)


def _issued(event: OpenedEvent, refs: Refs, traced: TracedContent) -> bool:
    assert isinstance(event.meta, ContextIssued), "events of this kind have this body"
    is_here = refs.get("stream") == traced.stream
    within_turns = is_here and (traced.turn is None or traced.has_sequence(refs.get("first"), refs.get("last")))
    return within_turns or traced.is_among(event.meta.context.quoted)


def _read(event: OpenedEvent, refs: Refs, traced: TracedContent) -> bool:
    assert isinstance(event.meta, ContentRead), "events of this kind have this body"
    read = event.meta.read
    is_here = refs.get("stream") == traced.stream
    in_spans = is_here and (
        traced.turn is None or any(traced.has_sequence(span.first, span.last) for span in read.spans)
    )
    return in_spans or traced.is_among(read.found) or traced.position < refs.get("through", 0)


def _archived(event: OpenedEvent, refs: Refs, traced: TracedContent) -> bool:
    assert isinstance(event.meta, ArchiveExported), "events of this kind have this body"
    scope = event.meta.archive.scope
    if traced.position > refs.get("through", event.row.position):
        return False
    if scope.kind is ScopeKind.CONVERSATION:
        return (scope.channel, scope.conversation) == (traced.key.channel, traced.key.conversation)
    return within(scope, mounted_subjects(traced.space, traced.reader, traced.stream))


# kind of disclosure -> whether one reached what is traced; a refusal reaches nothing
REACHES: dict[str, Callable[[OpenedEvent, Refs, TracedContent], bool]] = {
    EventKind.EXPORT_ISSUED: _exported,
    EventKind.CONTENT_EXPORTED: _exported,
    EventKind.CONTENT_REVEALED: _exported,
    EventKind.CONTEXT_ISSUED: _issued,
    EventKind.CONTENT_READ: _read,
    EventKind.ARCHIVE_EXPORTED: _archived,
}


def reached(event: OpenedEvent, refs: Refs, traced: TracedContent) -> bool:
    """Tell whether a disclosure reached a conversation or a turn of it."""
    reaches = REACHES.get(event.row.kind)
    return reaches is not None and reaches(event, refs, traced)
