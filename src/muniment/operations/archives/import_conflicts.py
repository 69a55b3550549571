"""What is in the way of an archive, and where its parts go."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from muniment.errors import AliasConflict, ArchiveConflict
from muniment.events.archive import ArchiveScope, ImportMode, ScopeKind
from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.events.records import (
    AliasRecorded,
)
from muniment.operations.approvals.gate import GuardedAct, known_approvals
from muniment.operations.archives.archive_reader import ArchivedLine
from muniment.operations.archives.archived_conversation import ArchivedEvent
from muniment.operations.archives.document import (
    ArchiveRoot,
    DocumentLine,
)
from muniment.operations.archives.incoming_notebook import notebooks_here
from muniment.operations.archives.replaced_registries import check_registries, registries_here
from muniment.operations.archives.replacing import check_holds
from muniment.operations.archives.scopes import conversations
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.log.port import Reader, StreamHead
    from muniment.operations.archives.scopes import ScopedConversation
    from muniment.operations.lifecycle.scope import NotebookKey
    from muniment.operations.tools.registry_log import KnownRegistry


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

    def take(self, archived: ArchivedLine) -> None:
        """Note the names of the archive."""
        if isinstance(archived, DocumentLine):
            self._keys.append(target_of(archived, self._into))
        elif isinstance(archived, ArchivedEvent) and isinstance(archived.meta, AliasRecorded) and self._into is None:
            self._aliases.append(archived.meta)

    def check(self, root: ArchiveRoot) -> None:
        """Raise `ArchiveConflict` or `AliasConflict` for what is in the way."""
        transcript = self._space.transcript
        with self._space.ledger.reader() as reader:
            present = present_of(self._space, reader, root, self._into)
            check_present(self._space, reader, present, self._mode)
            for notebook, head in present.notebooks:
                check_holds(self._space, reader, notebook, head.stream)
            check_registries(self._space, reader, present.registries)
            going = {conversation.stream for conversation in present.conversations}
            for conversation in present.conversations:
                check_holds(self._space, reader, conversation.key, conversation.stream)
            for key in self._keys:
                if transcript.stream_of(reader, key) not in {None, *going}:
                    raise ArchiveConflict(at="conversation", problem="of_another_scope")
            for alias in self._aliases:
                named = (alias.subject, alias.channel, alias.chat)
                if transcript.stream_of_alias(reader, *named) not in {None, *going}:
                    raise AliasConflict(at="chat")


class Present(NamedTuple):
    """What is here of the scope of an archive."""

    conversations: list[ScopedConversation]
    notebooks: list[tuple[NotebookKey, StreamHead]]
    registries: list[KnownRegistry]


def present_of(space: Space, reader: Reader, root: ArchiveRoot, into: ConversationId | None) -> Present:
    """Return what an archive takes the place of."""
    return Present(
        conversations=conversations(space, reader, here(root.scope, into)),
        notebooks=notebooks_here(space, reader, root),
        registries=registries_here(space, reader, root),
    )


def check_present(space: Space, reader: Reader, present: Present, mode: ImportMode) -> None:
    """Raise `ArchiveConflict` where anything is here and may not be, or takes two persons to erase."""
    if not any(present):
        return
    if mode is ImportMode.BOOTSTRAP:
        raise ArchiveConflict(at="scope", problem="not_empty")
    if known_approvals(space, reader).takes_two(GuardedAct.ERASE):  # an archive is asked for by nobody by name
        raise ArchiveConflict(at="mode", problem="erasing_takes_two_persons")


def target_of(line: DocumentLine, into: ConversationId | None) -> ConversationKey:
    """Return the conversation that one of an archive comes into."""
    conversation = ConversationId(line.conversation) if into is None else into
    return ConversationKey(conversation=conversation, channel=Channel(line.channel))


def here(scope: ArchiveScope, into: ConversationId | None) -> ArchiveScope:
    """Return the scope that an archive of this one comes into."""
    if into is None:
        return scope
    return ArchiveScope(kind=ScopeKind.CONVERSATION, channel=scope.channel, conversation=into)
