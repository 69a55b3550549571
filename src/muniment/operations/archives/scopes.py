"""Scopes: which conversations, notebooks and tool registries an archive is about.

Each conversation is in exactly one of the scopes that cut a space into parts: that of a subject, when all of its turns
have this mounted subject, or the shared one. A conversation by its names is a scope of its own. A notebook is in the
scope of its subject. A tool registry is in the scope of its owner, a `global` one in the shared one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from muniment.errors import InvalidInput
from muniment.events.archive import ArchiveScope, PrivateMaterial, ScopeKind
from muniment.events.identity import DEFAULT_CHANNEL, Channel, ConversationId, ConversationKey, SubjectId, check_name
from muniment.events.memory_items import MemoryPlane
from muniment.events.records import TurnMeta
from muniment.events.tool_registries import RegistryRecord, RegistryScope
from muniment.governance.phases import Phase
from muniment.log.port import Reader, StreamHead
from muniment.operations.lifecycle.scope import NotebookKey
from muniment.operations.tools.registry_log import KnownRegistry, latest_registries

if TYPE_CHECKING:
    from muniment.space.space import Space

PAGE_TURNS = 500
IN_ORDER = sorted(MemoryPlane)  # of the notebooks of an archive


class ScopedConversation(NamedTuple):
    """A conversation as it is found now."""

    key: ConversationKey
    stream: int
    t: int


def checked(scope: ArchiveScope) -> ArchiveScope:
    """Return a scope with its defaults filled in, or refuse one that is malformed."""
    wanted = {
        ScopeKind.SUBJECT: {"subject"},
        ScopeKind.SHARED: set[str](),
        ScopeKind.CONVERSATION: {"conversation", "channel"},
    }[scope.kind]
    if scope.kind is ScopeKind.CONVERSATION and scope.channel is None:
        scope = ArchiveScope(kind=scope.kind, channel=DEFAULT_CHANNEL, conversation=scope.conversation)
    for name in ("subject", "channel", "conversation"):
        given: str | None = getattr(scope, name)
        if (given is not None) != (name in wanted):
            raise InvalidInput(at=name, problem="not_of_this_scope" if given is not None else "missing")
        if given is not None:
            check_name(given, at=name)
    return scope


def check_into(scope: ArchiveScope, into: ConversationId | None) -> None:
    """Refuse another id for what is not one conversation."""
    if into is not None:
        check_name(into, at="into")
        if scope.kind is not ScopeKind.CONVERSATION:
            raise InvalidInput(at="into", problem="not_of_this_scope")


def mounted(meta: TurnMeta) -> str:
    """Return the mounted subject of a turn."""
    return meta.actor.mounted_subject or meta.actor.subject or ""


def within(scope: ArchiveScope, subjects: Iterable[str]) -> bool:
    """Tell whether a conversation whose turns have these mounted subjects is in a scope that cuts a space."""
    first: str | None = None
    for subject in subjects:
        if first is not None and subject != first:
            return scope.kind is ScopeKind.SHARED
        first = subject
        if scope.kind is ScopeKind.SUBJECT and subject != scope.subject:
            return False
    return (scope.kind is ScopeKind.SUBJECT) == (first is not None)


def conversations(space: Space, reader: Reader, scope: ArchiveScope) -> list[ScopedConversation]:
    """Return the conversations of a scope as they are found now, in the order of channel and id."""
    found = []
    for row in space.transcript.conversations(reader):
        names = space.transcript.names(row)
        key = ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))
        if scope.kind is ScopeKind.CONVERSATION:
            wanted = (names.channel, names.conversation) == (scope.channel, scope.conversation)
        else:
            wanted = within(scope, mounted_subjects(space, reader, row.stream))
        if wanted and space.transcript.is_current(reader, row):
            found.append(ScopedConversation(key, row.stream, row.time))
    return sorted(found, key=lambda one: (one.key.channel, one.key.conversation))


def holds_memory(scope: ArchiveScope, private: PrivateMaterial) -> bool:
    """Tell whether an archive that is written says something of memory: of a subject, with private material."""
    return scope.kind is ScopeKind.SUBJECT and private is PrivateMaterial.INCLUDE


def notebooks_of(space: Space, reader: Reader, scope: ArchiveScope) -> list[tuple[NotebookKey, StreamHead]]:
    """Return the notebooks of a scope as they are found now, in the order of their planes."""
    if scope.kind is not ScopeKind.SUBJECT or scope.subject is None:
        return []
    heads = ((plane, space.notebooks.head(reader, scope.subject, plane)) for plane in IN_ORDER)
    return [
        (NotebookKey(subject=SubjectId(scope.subject), plane=plane), head) for plane, head in heads if head is not None
    ]


def holds_registries(scope: ArchiveScope, private: PrivateMaterial) -> bool:
    """Tell whether an archive that is written says something of tool registries."""
    return scope.kind is not ScopeKind.CONVERSATION and private is PrivateMaterial.INCLUDE


def has_registry(scope: ArchiveScope, registry: RegistryRecord) -> bool:
    """Tell whether a tool registry is in a scope."""
    if registry.scope is RegistryScope.GLOBAL:
        return scope.kind is ScopeKind.SHARED
    return scope.kind is ScopeKind.SUBJECT and scope.subject == registry.owner


def registries_of(space: Space, reader: Reader, scope: ArchiveScope) -> list[KnownRegistry]:
    """Return the tool registries of a scope as they are now, in the order of their ids."""
    return [
        known
        for known in latest_registries(space, reader)
        if known.registered is not None and has_registry(scope, known.registered.registry)
    ]


def mounted_subjects(space: Space, reader: Reader, stream: int) -> Iterable[str]:
    """Yield the mounted subject of each turn of a conversation."""
    head = space.transcript.head(reader, stream)
    for first in range(1, head.turns + 1, PAGE_TURNS):
        last = min(head.turns, first + PAGE_TURNS - 1)
        for read in space.transcript.page(reader, head, first, last, _no_words):
            yield mounted(read.record.meta)


def _no_words(_phase: Phase, _meta: TurnMeta) -> bool:
    return False
