"""The events of an archive that was checked, appended in one transaction, and the report of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import AliasConflict, ArchiveConflict
from muniment.events.archive import ArchiveImport, ArchiveImported, ImportMode
from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.events.records import (
    ContentBody,
    ConversationOpened,
    EventKind,
    MetaBody,
    TurnMeta,
)
from muniment.ledger.drafts import Change, Draft, draft, encoded
from muniment.operations.archives.archive_reader import Checking
from muniment.operations.archives.document import (
    ArchiveRoot,
    ChunkLine,
    DocumentLine,
    NotebookLine,
)
from muniment.operations.archives.import_conflicts import here, target_of
from muniment.operations.archives.incoming_conversation import IncomingConversation
from muniment.operations.archives.incoming_files import IncomingFiles
from muniment.operations.archives.incoming_notebook import IncomingNotebook, notebooks_here
from muniment.operations.archives.replacing import Replacing
from muniment.operations.archives.scopes import conversations
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.ledger.heads import Placed
    from muniment.ledger.ledger import Writer

FLUSH_EVENTS = 64


class ArchiveImportReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an import of an archive did. `first` to `last` are the positions of what came in, absent for nothing.

    `erased_turns` and `forgotten_items` of the inserted ones came without their words, because they had been erased or
    forgotten here. The words of the deleted ones are erased; their events stay.
    """

    root: ArchiveRoot
    mode: ImportMode
    conversations_inserted: int
    turns_inserted: int
    conversations_deleted: int
    turns_deleted: int
    erased_turns: int
    position: int
    items_inserted: int = 0
    items_deleted: int = 0
    forgotten_items: int = 0
    first: int | None = None
    last: int | None = None


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
        self._counts: Counter[str] = Counter()

    def run(self, digest: Callable[[], str]) -> ArchiveImportReport:
        """Retire what is replaced, append the archive, and record the import; its digest is known once it was read."""
        self._retire()
        current: IncomingConversation | IncomingNotebook | None = None
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
            elif isinstance(archived, NotebookLine):
                if current is not None:
                    current.end()
                current = IncomingNotebook(self, archived)
            else:
                assert current is not None, "an event behind no conversation was refused"
                current.take(archived)
            self._session.progress("import", done, self._root.events)
        if current is not None:
            current.end()
        return self._report(self._record(digest()))

    def _retire(self) -> None:
        """Retire what is here of the scope, or refuse the archive because it is there."""
        for conversation in conversations(self._space, self._writer.tx, here(self._root.scope, self._into)):
            if self._mode is ImportMode.BOOTSTRAP:
                raise ArchiveConflict(at="scope", problem="not_empty")
            self._counts["went"] += 1
            self._counts["turns went"] += self._replacing.retire(conversation.key, conversation.stream)
        for notebook, head in notebooks_here(self._space, self._writer.tx, self._root):
            if self._mode is ImportMode.BOOTSTRAP:
                raise ArchiveConflict(at="scope", problem="not_empty")
            self._counts["items went"] += self._replacing.retire_notebook(notebook, head.stream)

    def _opened(self, line: DocumentLine) -> IncomingConversation:
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
        return IncomingConversation(self, target, placed.stream, fences)

    # --- for a conversation -------------------------------------------------------------------------------------------

    @property
    def writer(self) -> Writer:
        """What appends."""
        return self._writer

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

    def count(self, what: str, number: int) -> None:
        """Count what came: `turns` and `erased` ones of them, `items` and `forgotten` ones of them."""
        self._counts[what] += number

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
            items_inserted=self._counts["items"],
            items_deleted=self._counts["items went"],
            forgotten_items=self._counts["forgotten"],
            position=position,
            first=self._first,
            last=self._last,
        )
