"""A conversation of an archive on its way in; what was erased here comes without its words (decision 0093)."""

from __future__ import annotations

from msgspec.structs import replace

from muniment.errors import ArchiveConflict
from muniment.events.changes import Transition, TurnLifecycle, TurnSpan, span_of
from muniment.events.identity import ConversationKey, conversation_mark, message_id
from muniment.events.records import (
    AliasRecorded,
    ContentBody,
    ConversationOpened,
    EventKind,
    TurnContent,
    TurnMeta,
    worded_no_more,
)
from muniment.events.references import RefDerived
from muniment.operations.archives.archived_conversation import ArchivedEvent
from muniment.operations.archives.document import POSITIONS, DocumentLine
from muniment.operations.archives.incoming_events import IncomingEvents
from muniment.operations.archives.replacing import Fenced


class IncomingConversation:
    """One conversation on its way in."""

    def __init__(
        self, into: IncomingEvents, line: DocumentLine, target: ConversationKey, fences: dict[str, list[Fenced]]
    ) -> None:
        self._into = into
        self._key = target
        self._fences = fences
        digest = into.space.transcript.conversation_digest(target.channel, target.conversation)
        if into.writer.find(digest) is not None:
            raise ArchiveConflict(at="conversation", problem="of_another_scope")
        names = ConversationOpened(channel=target.channel, conversation=target.conversation)
        placed = into.append(into.drafted(EventKind.CONVERSATION_OPENED, line.t, names), None)
        into.claim(digest, placed)
        into.counts["came"] += 1
        self._stream = placed.stream
        self._positions: dict[int, int] = {}
        self._turns = 0
        self._fenced: dict[int, list[Fenced]] = {}
        self._gone: set[tuple[int, int | None]] = set()  # turns, or messages of turns

    def take(self, archived: ArchivedEvent) -> None:
        """Append the next event."""
        if isinstance(archived.meta, TurnMeta):
            self._turn(archived, archived.meta)
        elif isinstance(archived.meta, AliasRecorded):
            self._alias(archived, archived.meta)
        else:
            self._change(archived)

    def _turn(self, archived: ArchivedEvent, meta: TurnMeta) -> None:
        self._turns += 1
        content = self._allowed(archived.content, self._fences.get(meta.delivery.turn, []))
        placed = self._into.append_turn(archived.line.t, meta, content, self._stream)
        self._into.claim(self._into.space.transcript.turn_digest(self._key, meta.delivery.turn), placed)

    def _allowed(self, content: ContentBody | None, fences: list[Fenced]) -> ContentBody | None:
        """Return what of a turn's content may come in."""
        if not isinstance(content, TurnContent) or not fences:
            return content
        whole = [fence for fence in fences if fence.message is None or fence.message >= len(content.parts)]
        if whole:
            self._fenced[self._turns] = [Fenced(request=whole[0].request, message=None)]
            self._gone.add((self._turns, None))
            return None
        alone = {fence.message: fence for fence in fences if fence.message is not None and content.parts[fence.message]}
        if alone:
            self._fenced[self._turns] = list(alone.values())
            self._gone.update((self._turns, place) for place in alone)
        left = [[] if place in alone else parts for place, parts in enumerate(content.parts)]
        return replace(content, parts=left, digest=b"" if alone else content.digest)

    def _alias(self, archived: ArchivedEvent, meta: AliasRecorded) -> None:
        if self._into.renamed:
            return  # the chat id stands for the conversation under its own name
        digest = self._into.space.transcript.alias_digest(meta.subject, meta.channel, meta.chat)
        placed = self._into.append(self._into.drafted(EventKind.ALIAS_RECORDED, archived.line.t, meta), self._stream)
        self._into.claim_alias(digest, placed)

    def _change(self, archived: ArchivedEvent) -> None:
        line, refs = archived.line, dict(archived.line.refs)
        for name in POSITIONS & refs.keys():
            refs[name] = self._positions[refs[name]]
        kind = EventKind(line.kind)
        gone = self._is_gone(span_of(refs), refs.get("message"))
        meta = archived.meta
        if isinstance(meta, RefDerived):  # its digest stays behind: the leaves here are others
            space, names = self._into.space.name, self._key
            source = replace(meta.source, space=space, channel=names.channel, conversation=names.conversation)
            if source.message is not None:
                mark = conversation_mark(names.channel, names.conversation)
                source = replace(source, message=message_id(mark, source.turn, refs["message"]))
            meta = replace(meta, source=source)
        if gone and line.reason != Transition.ERASE:
            meta = worded_no_more(meta)
        event = self._into.drafted(kind, line.t, meta, line.reason, None if gone else archived.content)
        placed = self._into.append(event, self._stream, target=line.target, refs=refs)
        self._positions[archived.number] = placed.position

    def _is_gone(self, span: TurnSpan, message: int | None) -> bool:
        """Tell whether any of these turns, or this message, came without its words."""
        return any(span.includes(turn) and place in {None, message} for turn, place in self._gone)

    def end(self) -> None:
        """Erase, as it is said here, what came without its words."""
        for turn, fences in self._fenced.items():
            for fence in fences:
                event = self._into.drafted(
                    EventKind.TURN_LIFECYCLE,
                    self._into.now_ms,
                    TurnLifecycle(request=fence.request),
                    Transition.ERASE,
                )
                refs = {"turn": turn} if fence.message is None else {"turn": turn, "message": fence.message}
                self._into.append(event, self._stream, target=turn, refs=refs)
        self._into.counts["turns"] += self._turns
        self._into.counts["erased"] += len(self._fenced)
