"""Importing an archive: it is read to its end and checked, then appended in one write transaction.

1. The document is read and checked by every rule (`archive_reader`), and against the scope and policy of the request;
   nothing is written before that.
2. In one transaction: what is here of the scope is a conflict (`bootstrap`) or replaced (`restore`); the document is
   read again, to the same root, and every event is appended with its own time, under fresh salts and keys. Turns that
   were erased here come without their words. An event names the archive and the positions that came from it.

Either all of it is there or nothing. Conversations of other scopes are not touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from muniment.crypto.envelope import Envelope
from muniment.declaration.session import Session
from muniment.errors import AliasConflict, ArchiveConflict, ArchiveRefused
from muniment.events.archive import ArchiveImport, ArchiveImported, ArchiveScope, ImportMode, PrivateMaterial, ScopeKind
from muniment.events.changes import Transition, TurnLifecycle, TurnSpan, span_of
from muniment.events.identity import Channel, ConversationId, ConversationKey, conversation_mark, message_id
from muniment.events.records import (
    AliasRecorded,
    ContentBody,
    ConversationOpened,
    EventKind,
    MetaBody,
    RotationCause,
    TurnContent,
    TurnMeta,
    worded_no_more,
)
from muniment.events.references import RefDerived
from muniment.ledger.drafts import Change, Draft, draft, encoded
from muniment.operations.archives.archive_reader import ArchivedEvent, Checking, check_root
from muniment.operations.archives.document import (
    CONTEXT,
    POSITIONS,
    ArchiveRoot,
    ChunkLine,
    DocumentLine,
    HashedFile,
    opened_document,
)
from muniment.operations.archives.incoming_files import IncomingFiles
from muniment.operations.archives.replacing import Fenced, Replacing, check_holds
from muniment.operations.archives.scopes import checked, conversations
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.ledger.heads import Placed
    from muniment.ledger.ledger import Writer

FLUSH_EVENTS = 64


class ArchiveImportReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an import of an archive did. `first` to `last` are the positions of what came in, absent for nothing.

    `erased_turns` of the inserted ones came without their words, because they had been erased here. The words of the
    deleted ones are erased; their events stay.
    """

    root: ArchiveRoot
    mode: ImportMode
    conversations_inserted: int
    turns_inserted: int
    conversations_deleted: int
    turns_deleted: int
    erased_turns: int
    position: int
    first: int | None = None
    last: int | None = None


class ArchiveFile:
    """An archive to be read, several times; what opens it is asked for once."""

    def __init__(self, session: Session, file: BinaryIO, sealed_by: str | None) -> None:
        self._session = session
        self._file = file
        self._start = self._file.tell()
        self._sealed_by = sealed_by
        self._key: bytes | None = None
        self._hashed: HashedFile | None = None

    @property
    def digest(self) -> str:
        """Return the digest of the sealed file, which was read to its end."""
        assert self._hashed is not None, "it was read"
        return self._hashed.digest

    @contextmanager
    def checking(self) -> Iterator[Checking]:
        """Read the document from its beginning."""
        self._file.seek(self._start)
        self._hashed = HashedFile(self._file)
        with opened_document(self._hashed, self._open) as lines:
            yield Checking(lines)

    def _open(self, envelope: Envelope) -> bytes:
        if self._key is None:
            root, _ = self._session.store.seal(self._sealed_by, envelope.descriptor)
            self._key = envelope.open(root, CONTEXT)
        return self._key


def inspect_archive(archive: ArchiveFile) -> tuple[ArchiveRoot, int]:
    """Check an archive; return its root and how many turns it holds."""
    with archive.checking() as check:
        for _ in check.events():
            pass
    return check.root, check.turns


def import_archive(
    session: Session,
    archive: ArchiveFile,
    scope: ArchiveScope,
    private: PrivateMaterial,
    mode: ImportMode,
    into: ConversationId | None,
) -> ArchiveImportReport:
    """Check an archive, append it, and report."""
    space, scope = session.space, checked(scope, session.access)
    conflicts = ImportConflicts(space, mode, into)
    with archive.checking() as check:
        check_root(check.root, scope, private)
        root = check.root
        for done, line in enumerate(check.events(), start=1):
            conflicts.take(line)
            session.progress("check", done, root.events)
    conflicts.check(scope)

    def plan(writer: Writer) -> ArchiveImportReport:
        with archive.checking() as again:
            if again.root != root:
                raise ArchiveRefused(at="line 1", problem="changed_meanwhile")
            return ArchiveAppender(session, writer, again, mode, into).run(archive)

    if mode is ImportMode.RESTORE:
        return space.rotate(RotationCause.ERASURE, plan).outcome  # what is replaced is erased
    return space.ledger.transact(plan)


class ImportConflicts:
    """What an archive conflicts with, found out before the key of the space is rotated for it.

    The plan of the import finds it out again, in the state that it writes to.
    """

    def __init__(self, space: Space, mode: ImportMode, into: ConversationId | None) -> None:
        self._space = space
        self._mode = mode
        self._into = into
        self._keys: list[ConversationKey] = []
        self._aliases: list[AliasRecorded] = []

    def take(self, archived: DocumentLine | ArchivedEvent) -> None:
        """Note the names of the archive."""
        if isinstance(archived, DocumentLine):
            self._keys.append(target_of(archived, self._into))
        elif isinstance(archived.meta, AliasRecorded) and self._into is None:
            self._aliases.append(archived.meta)

    def check(self, scope: ArchiveScope) -> None:
        """Raise `ArchiveConflict` or `AliasConflict` for what is in the way."""
        transcript = self._space.transcript
        with self._space.ledger.reader() as reader:
            present = conversations(self._space, reader, here(scope, self._into))
            if present and self._mode is ImportMode.BOOTSTRAP:
                raise ArchiveConflict(at="scope", problem="not_empty")
            going = {conversation.stream for conversation in present}
            for conversation in present:
                check_holds(self._space, reader, conversation.key, conversation.stream)
            for key in self._keys:
                if transcript.stream_of(reader, key) not in {None, *going}:
                    raise ArchiveConflict(at="conversation", problem="of_another_scope")
            for alias in self._aliases:
                named = (alias.subject, alias.channel, alias.chat)
                if transcript.stream_of_alias(reader, *named) not in {None, *going}:
                    raise AliasConflict(at="chat")


def target_of(line: DocumentLine, into: ConversationId | None) -> ConversationKey:
    """Return the conversation that one of an archive comes into."""
    conversation = ConversationId(line.conversation) if into is None else into
    return ConversationKey(conversation=conversation, channel=Channel(line.channel))


def here(scope: ArchiveScope, into: ConversationId | None) -> ArchiveScope:
    """Return the scope that an archive of this one comes into."""
    if into is None:
        return scope
    return ArchiveScope(kind=ScopeKind.CONVERSATION, channel=scope.channel, conversation=into)


class ArchiveAppender:
    """The plan of an import: runs inside the write transaction."""

    def __init__(
        self, session: Session, writer: Writer, check: Checking, mode: ImportMode, into: ConversationId | None
    ) -> None:
        self._session = session
        self._space: Space = session.space
        self._writer = writer
        self._check = check
        self._root = check.root
        self._mode = mode
        self._into = into
        self._now_ms = self._space.sources.clock.now_ms()
        self._replacing = Replacing(self._space, writer, self._now_ms)
        self._first: int | None = None
        self._last: int | None = None
        self._files = IncomingFiles(writer)
        self._counts = dict.fromkeys(("came", "turns", "went", "turns went", "erased"), 0)

    def run(self, archive: ArchiveFile) -> ArchiveImportReport:
        """Retire what is replaced, append the events of the archive, and record the import."""
        self._retire()
        current: _IncomingConversation | None = None
        done = 0
        for archived in self._check.lines():
            if isinstance(archived, ChunkLine):
                self._files.take(archived)
                continue
            done += 1
            if isinstance(archived, DocumentLine):
                if current is not None:
                    current.end()
                current = self._opened(archived)
            else:
                assert current is not None, "an event behind no conversation was refused"
                current.take(archived)
            self._session.progress("import", done, self._root.events)
        if current is not None:
            current.end()
        return self._report(self._record(archive.digest))

    def _retire(self) -> None:
        """Retire what is here of the scope, or refuse the archive because it is there."""
        for conversation in conversations(self._space, self._writer.tx, here(self._root.scope, self._into)):
            if self._mode is ImportMode.BOOTSTRAP:
                raise ArchiveConflict(at="scope", problem="not_empty")
            self._counts["went"] += 1
            self._counts["turns went"] += self._replacing.retire(conversation.key, conversation.stream)

    def _opened(self, line: DocumentLine) -> _IncomingConversation:
        key = ConversationKey(conversation=ConversationId(line.conversation), channel=Channel(line.channel))
        target, transcript = target_of(line, self._into), self._space.transcript
        digest = transcript.conversation_digest(target.channel, target.conversation)
        if self._writer.find(digest) is not None:
            raise ArchiveConflict(at="conversation", problem="of_another_scope")
        fences = self._replacing.fences(key)
        if target != key:
            for turn, more in self._replacing.fences(target).items():
                fences.setdefault(turn, []).extend(more)
        names = ConversationOpened(channel=target.channel, conversation=target.conversation)
        placed = self.append(self.drafted(EventKind.CONVERSATION_OPENED, line.t, names), None)
        self._writer.claim(digest, placed.stream, placed.position)
        self._counts["came"] += 1
        return _IncomingConversation(self, target, placed.stream, fences)

    # --- for a conversation -------------------------------------------------------------------------------------------

    @property
    def space(self) -> Space:
        """The space that takes the archive."""
        return self._space

    @property
    def renamed(self) -> bool:
        """Whether the conversation comes under another id."""
        return self._into is not None

    @property
    def now_ms(self) -> int:
        """When the import takes place."""
        return self._now_ms

    def drafted(
        self,
        kind: EventKind,
        time_ms: int,
        meta: MetaBody,
        reason: str | None = None,
        body: ContentBody | None = None,
    ) -> Draft:
        """Return an event without a place."""
        content = None if body is None else encoded(body, self._files.own_salts())
        return draft(self._space.sources.entropy, kind, time_ms, meta, reason=reason, content=content)

    def append_turn(self, time_ms: int, meta: TurnMeta, body: ContentBody | None, stream: int) -> Placed:
        """Append a turn with the attachments that came before it."""
        body = self._files.of(body)
        event = self.drafted(EventKind.TURN_COMMITTED, time_ms, meta, body=body)
        placed = self.append(event, stream, messages=len(meta.messages))
        self._files.attach(placed.position)
        return placed

    def append(
        self,
        event: Draft,
        stream: int | None,
        *,
        messages: int = 0,
        target: int | None = None,
        refs: dict[str, int] | None = None,
    ) -> Placed:
        """Append an event; what was appended is handed over now and then, so that memory stays flat."""
        placed = self._writer.append(event, stream=stream, messages=messages, target=target, refs=refs)
        self._first = placed.position if self._first is None else self._first
        self._last = placed.position
        if placed.position % FLUSH_EVENTS == 0 or stream is None:
            self._writer.flush()
        return placed

    def claim(self, digest: bytes, placed: Placed) -> None:
        """Let a name lead to an event that was appended."""
        self._writer.claim(digest, placed.stream, placed.position)

    def claim_alias(self, digest: bytes, placed: Placed) -> None:
        """Let a chat id lead to the conversation; one that stands for another conversation is a conflict."""
        if self._writer.find(digest) is not None:
            raise AliasConflict(at="chat")
        self._writer.claim(digest, placed.stream, placed.stream)

    def count(self, turns: int, erased: int) -> None:
        """Count what came of a conversation."""
        self._counts["turns"] += turns
        self._counts["erased"] += erased

    # --- reporting ----------------------------------------------------------------------------------------------------

    def _record(self, digest: str) -> int:
        root, counts = self._root, self._counts
        body = ArchiveImport(
            scope=root.scope,
            private=root.private,
            digest=digest,
            mode=self._mode,
            into=self._into,
            erased=counts["erased"],
        )
        refs = {} if self._first is None or self._last is None else {"first": self._first, "last": self._last}
        self._writer.flush()
        change = Change(EventKind.ARCHIVE_IMPORTED, self._now_ms, ArchiveImported(archive=body), refs)
        placed = self._writer.change(change)
        self._writer.flush()
        return placed.position

    def _report(self, position: int) -> ArchiveImportReport:
        return ArchiveImportReport(
            root=self._root,
            mode=self._mode,
            conversations_inserted=self._counts["came"],
            turns_inserted=self._counts["turns"],
            conversations_deleted=self._counts["went"],
            turns_deleted=self._counts["turns went"],
            erased_turns=self._counts["erased"],
            position=position,
            first=self._first,
            last=self._last,
        )


class _IncomingConversation:
    """One conversation on its way in."""

    def __init__(
        self, into: ArchiveAppender, key: ConversationKey, stream: int, fences: dict[str, list[Fenced]]
    ) -> None:
        self._into = into
        self._key = key
        self._stream = stream
        self._fences = fences
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
        self._into.count(self._turns, len(self._fenced))
