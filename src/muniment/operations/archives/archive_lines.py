"""A conversation as the lines of a document: its events as the log has them, without what depends on the log.

Two things never leave: content that the policy excludes, with what hints at it, and messages of soul governance. Events
of the archive itself follow the others and record that, as an erasure of all turns or of each message, so that whoever
folds the events gets a complete result. Their time is that of the last event, so that a repeat gives the same lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext

from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from muniment.events.archive import PrivateMaterial
from muniment.events.attributes import AttributeRecorded
from muniment.events.changes import OMITTED, LifecycleRequest, Transition, TurnLifecycle, TurnSpan, span_refs
from muniment.events.message import AttachmentPart, Authority
from muniment.events.records import CHANGES, FROM_ARCHIVE, EventKind, MetaBody, TurnContent, TurnMeta, worded_no_more
from muniment.events.references import RefDerived
from muniment.governance.phases import Phase, phase_of
from muniment.ledger.attached_files import attachments_of, chunks_of, with_roots
from muniment.ledger.ledger import OpenedEvent
from muniment.log.port import WHOLE_CONVERSATION, Reader
from muniment.operations.archives.document import ARCHIVED, POSITIONS, PRIVATE_KINDS, ChunkLine, EventLine, encode
from muniment.operations.archives.omissions import (
    LEFT_OUT,
    ArchiveOmissions,
    OmissionReason,
    without_private_hints,
)
from muniment.projections.change_fold import NOTHING, Changes
from muniment.space.space import Space

REQUESTER = "archive"


class ConversationLines:
    """The lines of one conversation, as one snapshot has it."""

    def __init__(
        self, space: Space, reader: Reader, stream: int, private: PrivateMaterial, left_out: ArchiveOmissions
    ) -> None:
        self._space = space
        self._left_out = left_out
        self._reader = reader
        self._private = private
        self._head = space.transcript.head(reader, stream)
        self._changes: Changes = space.transcript.changes(reader, self._head)
        self._numbers: dict[int, int] = {}
        self._omitted: dict[tuple[int, int], None] = {}
        self._withheld = False
        self._files: list[tuple[str, AttachmentPart]] = []

    def lines(self) -> Iterator[EventLine | ChunkLine]:
        """Yield the events behind the one that opened the conversation."""
        number, last_ms = 1, 0
        for row in self._reader.in_stream(self._head.stream, 2, self._head.seq):
            last_ms = row.time
            if row.kind not in ARCHIVED or (self._private is PrivateMaterial.EXCLUDE and row.kind in PRIVATE_KINDS):
                continue
            number += 1
            if row.kind in CHANGES:
                self._numbers[row.position] = number
            opened = self._space.ledger.open(row)
            self._files.clear()
            line = self._line(opened)
            yield from self._chunks(opened)
            yield line
        if self._withheld:
            yield _erasure(span_refs(TurnSpan(1, self._head.turns)), last_ms)
        for turn, message in self._omitted:
            yield _erasure({"turn": turn, "message": message, OMITTED: 1}, last_ms)

    def _chunks(self, opened: OpenedEvent) -> Iterator[ChunkLine]:
        """Yield the chunks of the attachments that the line of a turn names."""
        if self._files:
            salts, _ = self._space.ledger.words(opened)
            for label, part in self._files:
                for chunk in chunks_of(lambda: nullcontext(self._reader), opened.row.position, salts, label, part):
                    yield ChunkLine(attachment=label, chunk=chunk)

    def _line(self, opened: OpenedEvent) -> EventLine:
        row = opened.row
        header, _ = self._space.ledger.header(row)
        refs = dict(header.about)
        for name in POSITIONS & refs.keys():
            refs[name] = self._numbers[refs[name]]
        return EventLine(
            kind=row.kind,
            t=row.time,
            meta=Raw(encode(self._meta(opened.meta, refs))),
            reason=header.reason,
            refs=refs,
            turn=row.turn_seq,
            target=row.target_seq,
            content=self._content(opened, refs),
        )

    def _meta(self, meta: MetaBody, refs: Mapping[str, int]) -> MetaBody:
        """Return a meta body as it leaves: a derived reference names neither the space nor the leaves of this log."""
        if self._private is PrivateMaterial.EXCLUDE:
            return without_private_hints(meta)
        if (refs.get("turn", 0), refs.get("message", -1)) in self._omitted:
            return worded_no_more(meta)
        return replace(meta, source=replace(meta.source, space=""), digest="") if isinstance(meta, RefDerived) else meta

    def _content(self, opened: OpenedEvent, refs: Mapping[str, int]) -> Raw | UnsetType:
        row = opened.row
        if row.turn_seq is None and not isinstance(opened.meta, AttributeRecorded):
            return UNSET  # the words of a change stand in its body
        if row.turn_seq is None:
            about = (refs.get("turn", 0), refs.get("message", -1))
            if about in self._omitted:  # a message of soul governance
                return UNSET
            return Raw(encode(self._space.ledger.content(opened)[1])) if opened.key is not None else UNSET
        assert isinstance(opened.meta, TurnMeta), "only turns have a turn sequence"
        if phase_of(row.turn_seq, self._changes.steps) is Phase.ERASED:
            self._left_out.whole(OmissionReason.ERASED, opened.meta)
            return UNSET
        if self._private is PrivateMaterial.EXCLUDE:
            self._withheld = True
            self._left_out.whole(OmissionReason.PRIVATE, opened.meta)
            return UNSET
        _, content = self._space.ledger.words(opened)
        content = self._without_soul(opened, row.turn_seq, content)
        self._files += attachments_of(content)
        return Raw(encode(with_roots(content, {})))

    def _without_soul(self, opened: OpenedEvent, turn: int, content: TurnContent) -> TurnContent:
        assert isinstance(opened.meta, TurnMeta), "only turns have a turn sequence"
        gone = self._changes.erased.get(turn, NOTHING)
        soul = [
            place
            for place, head in enumerate(opened.meta.messages)
            if head.authority is Authority.SOUL_GOVERNANCE and place not in gone
        ]
        self._omitted.update(dict.fromkeys((turn, place) for place in soul))
        self._left_out.messages(OmissionReason.ERASED, gone)
        self._left_out.messages(OmissionReason.SOUL_GOVERNANCE, soul)
        return replace(
            content,
            parts=[[] if place in soul else parts for place, parts in enumerate(content.parts)],
            digest=b"" if gone or soul else FROM_ARCHIVE,
        )


def _erasure(refs: dict[str, int], time_ms: int) -> EventLine:
    request = LifecycleRequest(reason=LEFT_OUT, requester=REQUESTER, requested_ms=time_ms)
    return EventLine(
        kind=EventKind.TURN_LIFECYCLE,
        t=time_ms,
        meta=Raw(encode(TurnLifecycle(request=request))),
        reason=Transition.ERASE,
        refs=refs,
        target=refs.get("turn", WHOLE_CONVERSATION),
    )
