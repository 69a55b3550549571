"""One conversation of a document that is read: its lines are checked by themselves and against the others."""

from __future__ import annotations

from msgspec import UNSET, Struct

from muniment.errors import ArchiveRefused, InvalidInput
from muniment.events.archive import PrivateMaterial, ScopeKind
from muniment.events.attributes import AttributeContent, AttributeRecorded
from muniment.events.changes import REPLACED, Custody, TurnSpan, span_of
from muniment.events.identity import check_name, conversation_mark, message_id
from muniment.events.records import (
    CHANGES,
    CONTENT_BODIES,
    FROM_ARCHIVE,
    META_BODIES,
    AliasRecorded,
    ContentBody,
    EventKind,
    MetaBody,
    TurnContent,
    TurnMeta,
)
from muniment.events.references import RefDerived
from muniment.governance.annotation import flaw
from muniment.governance.change_rules import StreamState, flaws_of
from muniment.log.port import WHOLE_CONVERSATION
from muniment.operations.archives.archived_erasures import ArchivedErasures
from muniment.operations.archives.archived_files import ArchivedFiles
from muniment.operations.archives.document import (
    ARCHIVED,
    PRIVATE_KINDS,
    ArchiveRoot,
    ChunkLine,
    DocumentLine,
    EventLine,
    body_of,
)
from muniment.operations.archives.omissions import without_private_hints
from muniment.operations.archives.scopes import mounted, within


class ArchivedEvent(Struct, frozen=True, kw_only=True):
    """An event of an archive, its bodies read. `number` is its number in its conversation."""

    number: int
    line: EventLine
    meta: MetaBody
    content: ContentBody | None


class CheckedConversation:
    """One conversation of a document, as far as it was read."""

    def __init__(self, root: ArchiveRoot, document: DocumentLine, number: int) -> None:
        self._root = root
        self._document = document
        self._at = f"line {number}"
        self._number = 1
        self._turns: dict[str, int] = {}
        self._messages: list[int] = []
        self._subjects: dict[str, None] = {}
        self._worded: set[int] = set()
        self._erasures = ArchivedErasures()
        self._cut: set[int] = set()
        self._attributes: dict[str, tuple[int, int | None]] = {}
        self._valued: list[tuple[int, int | None, bool]] = []
        self._holds: set[int] = set()
        self._files = ArchivedFiles()

    def take_chunk(self, line: ChunkLine, number: int) -> None:
        """Read a chunk of an attachment of the next turn."""
        self._files.take(line, f"line {number}")

    def take(self, line: EventLine, number: int) -> ArchivedEvent:
        """Read the next event."""
        at = f"line {number}"
        self._number += 1
        if line.kind not in ARCHIVED or (self._root.private is PrivateMaterial.EXCLUDE and line.kind in PRIVATE_KINDS):
            raise ArchiveRefused(at=at, problem="foreign_kind")
        kind = EventKind(line.kind)
        meta, content = body_of(line.meta, META_BODIES[kind], number), None
        if self._root.private is PrivateMaterial.EXCLUDE and without_private_hints(meta) != meta:
            raise ArchiveRefused(at=at, problem="content")
        if line.content is not UNSET:
            if not isinstance(meta, TurnMeta | AttributeRecorded) or self._root.private is PrivateMaterial.EXCLUDE:
                raise ArchiveRefused(at=at, problem="content")
            content = body_of(line.content, CONTENT_BODIES[kind], number)
        self._files.require(content, at)
        if isinstance(meta, TurnMeta):
            self._turn(line, meta, content, at)
        elif isinstance(meta, AliasRecorded):
            check_names(at, meta.channel, meta.chat)
            if line.refs or line.target is not None:
                raise ArchiveRefused(at=at, problem="references")
        else:
            self._change(line, meta, at)
            if not self._names_what_is_there(line, meta, content):
                raise ArchiveRefused(at=at, problem="references")
        if (line.turn is not None) != isinstance(meta, TurnMeta) or (kind not in CHANGES and line.reason is not None):
            raise ArchiveRefused(at=at, problem="references")
        return ArchivedEvent(number=self._number, line=line, meta=meta, content=content)

    def _turn(self, line: EventLine, meta: TurnMeta, content: ContentBody | None, at: str) -> None:
        check_names(at, meta.delivery.turn)
        if meta.delivery.turn in self._turns:
            raise ArchiveRefused(at=at, problem="turn_twice")
        self._turns[meta.delivery.turn] = len(self._turns) + 1
        self._messages.append(len(meta.messages))
        self._subjects[mounted(meta)] = None
        if line.turn != len(self._messages) or line.refs or line.target is not None:
            raise ArchiveRefused(at=at, problem="references")
        if content is not None:
            self._worded.add(line.turn)
            if not _fits(content, meta):
                raise ArchiveRefused(at=at, problem="content")
            if isinstance(content, TurnContent) and not content.digest:
                self._cut.add(line.turn)

    def _change(self, line: EventLine, meta: MetaBody, at: str) -> None:
        """Check a change against the turns and events that are there."""
        refs, turn = line.refs, line.refs.get("turn")
        state = StreamState(len(self._messages), self._holds, lambda turn: self._messages[turn - 1])
        is_sound = (
            line.kind in CHANGES
            and line.target == (WHOLE_CONVERSATION if turn is None else turn)
            and REPLACED not in refs
            and not any(flaws_of(line.kind, line.reason, refs, state))
        )
        if not is_sound:
            raise ArchiveRefused(at=at, problem="references")
        self._erasures.take(self._number, line.reason, refs, meta)
        if line.reason == Custody.HOLD:
            self._holds.add(self._number)

    def _names_what_is_there(self, line: EventLine, meta: MetaBody, content: ContentBody | None) -> bool:
        """Tell whether an attribute or a derived reference is one, and of the turns that its references name."""
        span, message = span_of(line.refs), line.refs.get("message")
        if isinstance(meta, RefDerived):
            return self._is_source(meta, span, message)
        if not isinstance(meta, AttributeRecorded):
            return True
        target, head = (span.first, message), meta.attribute
        self._valued.append((*target, content is not None))
        sound = content is None or (isinstance(content, AttributeContent) and flaw(meta, content) is None)
        return (
            sound
            and span.first == span.last
            and (head.message, self._attributes.setdefault(head.id, target))
            == (
                message,
                target,
            )
        )

    def _is_source(self, meta: RefDerived, span: TurnSpan, message: int | None) -> bool:
        """Tell whether a derived reference names its turns, as it would here, and nothing of another log."""
        source = meta.source
        last = source.turn if source.through is None else source.through
        mark = conversation_mark(source.channel, source.conversation)
        named = None if message is None else message_id(mark, source.turn, message)
        return (
            bool(meta.key.strip() and meta.subject)
            and (source.space, meta.digest) == ("", "")
            and (source.channel, source.conversation) == (self._document.channel, self._document.conversation)
            and (self._turns.get(source.turn), self._turns.get(last)) == (span.first, span.last)
            and (source.through is None) == (span.first == span.last)
            and source.message == named
            and source.subject in {None, meta.subject}
        )

    def end(self) -> None:
        """Check what was read of a conversation as a whole."""
        self._files.require(None, self._at)
        turns = set(range(1, len(self._messages) + 1))
        gone, alone = set(filter(self._erasures.includes, turns)), self._erasures.messages
        cut = {turn for turn, _ in alone}
        if self._worded | gone != turns or self._worded & gone or self._cut != cut - gone:
            raise ArchiveRefused(at=self._at, problem="erased")
        if any((turn in gone or (turn, message) in alone) == valued for turn, message, valued in self._valued):
            raise ArchiveRefused(at=self._at, problem="erased")
        if self._erasures.left_words():
            raise ArchiveRefused(at=self._at, problem="erased")
        if self._root.scope.kind is not ScopeKind.CONVERSATION and not within(self._root.scope, self._subjects):
            raise ArchiveRefused(at=self._at, problem="foreign_scope")


def _fits(content: ContentBody, meta: TurnMeta) -> bool:
    """Tell whether content is that of a turn with this head."""
    if not isinstance(content, TurnContent) or content.digest not in {b"", FROM_ARCHIVE}:
        return False
    sizes = (len(content.parts), len(content.summaries))
    return sizes == (len(meta.messages), len(meta.tools)) and len(content.labels) in {0, len(meta.host_refs)}


def check_names(at: str, *names: str) -> None:
    """Refuse names that are not canonical."""
    for name in names:
        try:
            check_name(name, at=at)
        except InvalidInput as invalid:
            raise ArchiveRefused(at=at, problem=invalid.problem) from None
