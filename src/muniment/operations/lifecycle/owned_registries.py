"""Tool registries that go with the subject whose they are: what people wrote in them, and experience with their tools.

A registry is for its owner alone, unless it is `global`. What goes is recorded as a removal with the reason `erase`,
which takes the words of everything that was said of it before (`projections.registry_words`). Where somebody else has
it by now, what that one registered is registered again. A hold of the subject, or of the space, keeps all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from muniment.events.changes import LifecycleRequest, Transition
from muniment.events.identity import SubjectId
from muniment.events.memory_items import MemoryPlane
from muniment.events.records import EventKind
from muniment.events.tool_registries import RegistryScope, ToolsRegistered
from muniment.governance.phases import Hold
from muniment.ledger.drafts import NO_REFS
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.memory.fold import MemoryItem
from muniment.operations.lifecycle.scope import NotebookKey, Turns
from muniment.operations.lifecycle.targets import spans_of
from muniment.operations.tools.registry_log import (
    KnownRegistry,
    append_removal,
    append_snapshot,
    content_of,
    known_registry,
)
from muniment.projections.registry_words import lost_with_registries
from muniment.space.space import Space


class OwnedRegistries(NamedTuple):
    """The registries of a subject, by id: those that go, with the positions of the snapshots, and those that stay."""

    going: dict[str, list[int]]
    kept: list[str]


NO_REGISTRIES = OwnedRegistries({}, [])


def owned_registries(
    space: Space, reader: Reader, subject: str | None, holds: Collection[Hold], before: int | None = None
) -> OwnedRegistries:
    """Return the registries of a subject that still have words; `before`: registered before this position."""
    if subject is None:
        return NO_REGISTRIES
    found: dict[str, list[int]] = {}
    for row in reader.of_kind(EventKind.TOOLS_REGISTERED):
        if row.content is None or (before is not None and row.position >= before):
            continue
        body = space.ledger.open(row).meta
        assert isinstance(body, ToolsRegistered), "rows of this kind have this body"
        if body.registry.owner == subject and body.registry.scope is not RegistryScope.GLOBAL:
            found.setdefault(body.registry.registry, []).append(row.position)
    if any(hold.subject in {None, subject} for hold in holds):
        return OwnedRegistries({}, sorted(found))
    return OwnedRegistries(dict(sorted(found.items())), [])


def erase_registries(
    space: Space,
    writer: Writer,
    going: dict[str, list[int]],
    request: LifecycleRequest,
    refs: dict[str, int] = NO_REFS,
) -> Iterator[int]:
    """Remove registries and destroy their words; yield the positions of the removals.

    `refs` say why, where nobody asked for it.
    """
    for registry, snapshots in going.items():
        known = known_registry(space, writer.tx, registry)
        assert known is not None, "it was registered"
        removed = append_removal(space, writer, known, request, Transition.ERASE, refs)
        if known.registered is not None and known.position not in snapshots:
            _register_again(space, writer, known, removed)
        yield removed.position
    writer.flush()
    for position in lost_with_registries(space.ledger, writer.tx):
        row = writer.tx.sealed(position)
        assert row is not None, "it was found in the log"
        writer.destroy_content(row)


def _register_again(space: Space, writer: Writer, known: KnownRegistry, removed: KnownRegistry) -> None:
    """Register what somebody else has in place of what goes, as it was."""
    assert known.registered is not None, "a removed registry is not registered again"
    content = content_of(space, writer.tx, known)
    append_snapshot(space, writer, removed, known.registered, content)


def experience_with(space: Space, reader: Reader, subject: str, registries: Collection[str]) -> list[Turns]:
    """Return what others than a subject have experienced with the tools of its registries."""
    found: list[Turns] = []
    for head in space.notebooks.every_head(reader) if registries else ():
        opened = space.notebooks.opening(reader, head.stream)
        if opened.plane is not MemoryPlane.TOOL_EXPERIENCE or opened.subject == subject:
            continue
        items = space.notebooks.items(reader, head)
        numbers = sorted(item.number for item in items if item.text is not None and _registry(item) in registries)
        if numbers:
            key = NotebookKey(subject=SubjectId(opened.subject), plane=opened.plane)
            found.append(Turns(key, head, tuple(spans_of(numbers))))
    return found


def _registry(item: MemoryItem) -> str | None:
    named = item.meta.entry.named
    return None if named is None or named.tool is None else named.tool.registry
