"""The part of a space that an archive is made of: conversations, notebooks and tool registries, line by line.

Each of them is one snapshot of the log, so that an erasure waits for no more than one; all registries are one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from muniment.declaration.session import Session
from muniment.events.archive import ArchiveScope, PrivateMaterial
from muniment.log.port import Reader
from muniment.operations.archives.archive_lines import ConversationLines
from muniment.operations.archives.document import ArchiveRoot, ChunkLine, DocumentLine, EventLine, NotebookLine, Tally
from muniment.operations.archives.notebook_lines import notebook_lines
from muniment.operations.archives.omissions import ArchiveOmissions, OmissionReason
from muniment.operations.archives.registry_lines import registry_line
from muniment.operations.archives.scopes import (
    ScopedConversation,
    conversations,
    holds_memory,
    holds_registries,
    notebooks_of,
    registries_of,
)
from muniment.operations.lifecycle.scope import NotebookKey


class ScopePart:
    """A part of a space: `left_out` is what is not in its lines, `through` up to which position they reach."""

    def __init__(self, session: Session, scope: ArchiveScope, private: PrivateMaterial) -> None:
        self.left_out = ArchiveOmissions()
        self.through = 0
        self._session = session
        self._space = session.space
        self._scope = scope
        self._private = private
        self._has_memory = holds_memory(scope, private)
        self._has_registries = holds_registries(scope, private)

    def lines(self) -> Iterator[DocumentLine | NotebookLine | EventLine | ChunkLine]:
        """Yield everything behind the root."""
        with self._snapshot() as reader:
            scoped = conversations(self._space, reader, self._scope)
            notebooks = notebooks_of(self._space, reader, self._scope)
        count = len(scoped) + len(notebooks)
        for done, conversation in enumerate(scoped):
            self._session.progress("archive", done, count)
            yield from self._conversation(conversation)
        for done, (notebook, _) in enumerate(notebooks, start=len(scoped)):
            self._session.progress("archive", done, count)
            yield from self._notebook(notebook)
        yield from self._registries()
        self._session.progress("archive", count, count)

    def root(self, tally: Tally) -> ArchiveRoot:
        """Return the root over the lines."""
        says = {"has_memory": self._has_memory, "has_registries": self._has_registries}
        return tally.root(self._scope, self._private, **says)

    def _conversation(self, conversation: ScopedConversation) -> Iterator[DocumentLine | EventLine | ChunkLine]:
        names = conversation.key
        with self._snapshot() as reader:
            yield DocumentLine(channel=names.channel, conversation=names.conversation, t=conversation.t)
            yield from ConversationLines(self._space, reader, conversation.stream, self._private, self.left_out).lines()

    def _notebook(self, notebook: NotebookKey) -> Iterator[NotebookLine | EventLine]:
        with self._snapshot() as reader:
            head = self._space.notebooks.head(reader, notebook.subject, notebook.plane)
            if head is None:  # an archive took its place meanwhile
                return
            if self._has_memory:
                yield from notebook_lines(self._space, reader, head, self.left_out)
            else:
                self.left_out.items(OmissionReason.PRIVATE, head.turns)

    def _registries(self) -> Iterator[EventLine]:
        with self._snapshot() as reader:
            registries = registries_of(self._space, reader, self._scope)
            if self._has_registries:
                yield from (registry_line(self._space, reader, known) for known in registries)
            else:
                self.left_out.registries(OmissionReason.PRIVATE, len(registries))

    @contextmanager
    def _snapshot(self) -> Iterator[Reader]:
        with self._space.ledger.reader() as reader:
            self.through = max(self.through, reader.frontier().size - 1)
            yield reader
