"""The events of an archive that was checked, appended in one transaction, and the report of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import ArchiveConflict
from muniment.events.archive import ArchiveImport, ArchiveImported, ImportMode
from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.events.records import ConversationOpened, EventKind
from muniment.ledger.drafts import Change
from muniment.operations.archives.archive_reader import Checking
from muniment.operations.archives.document import (
    ArchiveRoot,
    ChunkLine,
    DocumentLine,
    NotebookLine,
)
from muniment.operations.archives.import_conflicts import here, target_of
from muniment.operations.archives.incoming_conversation import IncomingConversation
from muniment.operations.archives.incoming_events import IncomingEvents
from muniment.operations.archives.incoming_notebook import IncomingNotebook, notebooks_here
from muniment.operations.archives.replacing import Replacing
from muniment.operations.archives.scopes import conversations
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.ledger.ledger import Writer


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
        self._events = IncomingEvents(self._space, writer, renamed=into is not None)
        self._replacing = Replacing(self._space, writer, self._events.now_ms)

    def run(self, digest: Callable[[], str]) -> ArchiveImportReport:
        """Retire what is replaced, append the archive, and record the import; its digest is known once it was read."""
        self._retire()
        current: IncomingConversation | IncomingNotebook | None = None
        done = 0
        for archived in self._check.lines():
            if isinstance(archived, ChunkLine):
                self._events.files.take(archived)
                continue
            done += 1
            if isinstance(archived, DocumentLine):
                if current is not None:
                    current.end()
                current = self._opened(archived)
            elif isinstance(archived, NotebookLine):
                if current is not None:
                    current.end()
                current = IncomingNotebook(self._events, archived)
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
            self._events.counts["went"] += 1
            self._events.counts["turns went"] += self._replacing.retire(conversation.key, conversation.stream)
        for notebook, head in notebooks_here(self._space, self._writer.tx, self._root):
            if self._mode is ImportMode.BOOTSTRAP:
                raise ArchiveConflict(at="scope", problem="not_empty")
            self._events.counts["items went"] += self._replacing.retire_notebook(notebook, head.stream)

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
        placed = self._events.append(self._events.drafted(EventKind.CONVERSATION_OPENED, line.t, names), None)
        self._events.claim(digest, placed)
        self._events.counts["came"] += 1
        return IncomingConversation(self._events, target, placed.stream, fences)

    # --- reporting ----------------------------------------------------------------------------------------------------

    def _record(self, digest: str) -> int:
        root, events = self._root, self._events
        body = ArchiveImport(
            scope=root.scope,
            private=root.private,
            digest=digest,
            mode=self._mode,
            into=self._into,
            erased=events.counts["erased"],
        )
        refs = {} if events.first is None or events.last is None else {"first": events.first, "last": events.last}
        self._writer.flush()
        change = Change(EventKind.ARCHIVE_IMPORTED, events.now_ms, ArchiveImported(archive=body), refs)
        placed = self._writer.change(change)
        self._writer.flush()
        return placed.position

    def _report(self, position: int) -> ArchiveImportReport:
        events, counts = self._events, self._events.counts
        return ArchiveImportReport(
            root=self._root,
            mode=self._mode,
            conversations_inserted=counts["came"],
            turns_inserted=counts["turns"],
            conversations_deleted=counts["went"],
            turns_deleted=counts["turns went"],
            erased_turns=counts["erased"],
            items_inserted=counts["items"],
            items_deleted=counts["items went"],
            forgotten_items=counts["forgotten"],
            position=position,
            first=events.first,
            last=events.last,
        )
