"""The events of an archive that was checked, appended in one transaction, and the report of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.events.archive import ArchiveImport, ArchiveImported, ImportMode
from muniment.events.records import EventKind
from muniment.events.tool_registries import ToolsRegistered
from muniment.ledger.drafts import Change
from muniment.operations.archives.archive_reader import Checking
from muniment.operations.archives.document import (
    ArchiveRoot,
    ChunkLine,
    DocumentLine,
    NotebookLine,
)
from muniment.operations.archives.import_conflicts import check_present, present_of, target_of
from muniment.operations.archives.incoming_conversation import IncomingConversation
from muniment.operations.archives.incoming_events import IncomingEvents
from muniment.operations.archives.incoming_notebook import IncomingNotebook
from muniment.operations.archives.incoming_registries import IncomingRegistries
from muniment.operations.archives.replaced_registries import retire_registries
from muniment.operations.archives.replacing import Replacing

if TYPE_CHECKING:
    from muniment.events.identity import ConversationId
    from muniment.ledger.ledger import Writer
    from muniment.space.space import Space


class ArchiveImportReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an import of an archive did. `first` to `last` are the positions of what came in, absent for nothing.

    `erased_turns` and `forgotten_items` of the inserted ones came without their words, because they had been erased or
    forgotten here; `erased_registries` did not come in, for the same reason. The words of the deleted ones are erased;
    their events stay.
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
    registries_inserted: int = 0
    registries_deleted: int = 0
    erased_registries: int = 0
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
        registries = IncomingRegistries(self._events)
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
            elif isinstance(archived.meta, ToolsRegistered):
                registries.take(archived)
            else:
                assert current is not None, "an event behind no conversation was refused"
                current.take(archived)
            self._session.progress("import", done, self._root.events)
        if current is not None:
            current.end()
        return self._report(self._record(digest()))

    def _retire(self) -> None:
        """Retire what is here of the scope, or refuse the archive because it is there."""
        present = present_of(self._space, self._writer.tx, self._root, self._into)
        check_present(self._space, self._writer.tx, present, self._mode)
        replacing, counts = self._replacing, self._events.counts
        for conversation in present.conversations:
            counts["went"] += 1
            counts["turns went"] += replacing.retire(conversation.key, conversation.stream)
        for notebook, head in present.notebooks:
            counts["items went"] += replacing.retire_notebook(notebook, head.stream)
        counts["registries went"] += retire_registries(self._space, self._writer, present.registries, replacing.request)

    def _opened(self, line: DocumentLine) -> IncomingConversation:
        key, target = target_of(line, None), target_of(line, self._into)
        fences = self._replacing.fences(key)
        if target != key:
            for turn, more in self._replacing.fences(target).items():
                fences.setdefault(turn, []).extend(more)
        return IncomingConversation(self._events, line, target, fences)

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
            registries_inserted=counts["registries"],
            registries_deleted=counts["registries went"],
            erased_registries=counts["registries erased"],
            position=position,
            first=events.first,
            last=events.last,
        )
