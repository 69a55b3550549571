"""Reading an archive: every line is checked, by itself and against the others, before anything is done with it.

What a document must be: canonical line by line, the root equal to what is behind it, names canonical and none twice,
turns dense, changes about turns and events that are there, words exactly where nothing calls them erased, and every
conversation within the scope that the root names. What a notebook must be, `archived_notebook` says, and what a tool
registry must be, `registry_lines`.
"""

from __future__ import annotations

from collections.abc import Iterator

from muniment.errors import ArchiveRefused
from muniment.events.archive import ArchiveScope, PrivateMaterial, ScopeKind
from muniment.events.tool_registries import ToolsRegistered
from muniment.operations.archives.archived_conversation import ArchivedEvent, CheckedConversation, check_names
from muniment.operations.archives.archived_notebook import CheckedNotebook
from muniment.operations.archives.document import (
    ArchiveRoot,
    ChunkLine,
    DocumentLine,
    EventLine,
    NotebookLine,
    Tally,
    holds_chunk,
    holds_registry,
    opens_document,
    opens_notebook,
    parse_chunk,
    parse_document,
    parse_event,
    parse_notebook,
    parse_root,
)
from muniment.operations.archives.registry_lines import checked_registry
from muniment.operations.archives.scopes import holds_memory, holds_registries

ArchivedLine = DocumentLine | NotebookLine | ArchivedEvent


class Checking:
    """A document that is read: `root`, then `events` one after the other; what they add up to is checked at the end."""

    def __init__(self, source: Iterator[bytes]) -> None:
        self.root: ArchiveRoot = parse_root(next(source, b""))
        self.turns = 0
        self.registries = 0
        self.items: set[str] = set()  # the ids of memory items
        self._source = source
        self._tally = Tally()
        self._last: tuple[str, str] = ("", "")
        self._last_plane = self._last_registry = ""
        part = (self.root.scope, self.root.private)
        if (self.root.notebooks is not None and not holds_memory(*part)) or (
            self.root.registries is not None and not holds_registries(*part)
        ):
            raise ArchiveRefused(at="line 1", problem="foreign_scope")

    def events(self) -> Iterator[ArchivedLine]:
        """Yield every conversation and notebook with its events, as `lines`, without the chunks of attachments."""
        for line in self.lines():
            if not isinstance(line, ChunkLine):
                yield line

    def lines(self) -> Iterator[ArchivedLine | ChunkLine]:
        """Yield each conversation and notebook with its events behind it; raises `ArchiveRefused` at what is wrong."""
        current: CheckedConversation | CheckedNotebook | None = None
        for number, line in enumerate(self._source, start=2):
            self._tally.take(line)
            if opens_document(line):
                if current is not None:
                    current.end()
                document = self._next(parse_document(line, number), number)
                current = CheckedConversation(self.root, document, number)
                yield document
            elif opens_notebook(line):
                if current is not None:
                    current.end()
                notebook = self._next_notebook(parse_notebook(line, number), number)
                current = CheckedNotebook(notebook, self.items, number)
                yield notebook
            elif holds_registry(line):
                if current is not None:
                    current.end()
                current = None
                yield self._next_registry(parse_event(line, number), number)
            elif current is None:
                raise ArchiveRefused(at=f"line {number}", problem="no_conversation")
            elif isinstance(current, CheckedNotebook):
                event = parse_event(line, number)
                place, meta, content = current.take(event, number)
                yield ArchivedEvent(number=place, line=event, meta=meta, content=content)
            elif holds_chunk(line):
                chunk = parse_chunk(line, number)
                current.take_chunk(chunk, number)
                yield chunk
            else:
                archived = current.take(parse_event(line, number), number)
                self.turns += archived.line.turn is not None
                yield archived
        if current is not None:
            current.end()
        says = {"has_memory": self.root.notebooks is not None, "has_registries": self.root.registries is not None}
        if self._tally.root(self.root.scope, self.root.private, **says) != self.root:
            raise ArchiveRefused(at="line 1", problem="root")

    def _next(self, document: DocumentLine, number: int) -> DocumentLine:
        at, names = f"line {number}", (document.channel, document.conversation)
        check_names(at, *names)
        if names <= self._last or self._last_plane or self._last_registry:
            raise ArchiveRefused(at=at, problem="order")
        self._last = names
        scope = self.root.scope
        if scope.kind is ScopeKind.CONVERSATION and names != (scope.channel, scope.conversation):
            raise ArchiveRefused(at=at, problem="foreign_scope")
        return document

    def _next_notebook(self, notebook: NotebookLine, number: int) -> NotebookLine:
        at = f"line {number}"
        check_names(at, notebook.subject)
        if self.root.notebooks is None or notebook.subject != self.root.scope.subject:
            raise ArchiveRefused(at=at, problem="foreign_scope")
        if notebook.plane <= self._last_plane or self._last_registry:
            raise ArchiveRefused(at=at, problem="order")
        self._last_plane = notebook.plane
        return notebook

    def _next_registry(self, line: EventLine, number: int) -> ArchivedEvent:
        archived = checked_registry(self.root, line, number)
        assert isinstance(archived.meta, ToolsRegistered), "a registry has this body"
        registry = archived.meta.registry.registry
        if registry <= self._last_registry:
            raise ArchiveRefused(at=f"line {number}", problem="order")
        self._last_registry = registry
        self.registries += 1
        return archived


def check_root(root: ArchiveRoot, scope: ArchiveScope, private: PrivateMaterial) -> None:
    """Refuse an archive that is not of the scope and policy that were asked for."""
    if root.scope != scope:
        raise ArchiveRefused(at="line 1", problem="other_scope")
    if root.private is not private:
        raise ArchiveRefused(at="line 1", problem="other_policy")
