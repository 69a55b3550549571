"""The catalogue: every operation of every noun group; transports and the guide are loops over it."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING

from muniment.declaration.operation import Group, Operation, operations_of

if TYPE_CHECKING:
    from muniment.space.space import Space

# noun group -> the module and class that declare it, in the order in which they are shown
GROUPS: dict[str, tuple[str, str]] = {
    "transcripts": ("muniment.operations.transcripts.transcripts", "Transcripts"),
    "attachments": ("muniment.operations.attachments", "Attachments"),
    "conversations": ("muniment.operations.conversations.conversations", "ConversationGroup"),
    "events": ("muniment.operations.events.event_group", "EventGroup"),
    "subjects": ("muniment.operations.subjects.subjects", "Subjects"),
    "redactions": ("muniment.operations.redactions.redactions", "Redactions"),
    "memory": ("muniment.operations.memory.memory_group", "MemoryGroup"),
    "notebook": ("muniment.operations.notebook.notebook_group", "NotebookGroup"),
    "skills": ("muniment.operations.skills.skills_group", "SkillGroup"),
    "tools": ("muniment.operations.tools.tools_group", "ToolGroup"),
    "lifecycle": ("muniment.operations.lifecycle.lifecycle", "Lifecycle"),
    "evidence": ("muniment.operations.evidence.evidence", "Evidence"),
    "disclosure": ("muniment.operations.disclosure", "Disclosure"),
    "approvals": ("muniment.operations.approvals.approvals", "ApprovalGroup"),
    "tables": ("muniment.operations.tables", "Tables"),
    "provenance": ("muniment.operations.provenance.provenance", "Provenance"),
    "spaces": ("muniment.operations.spaces.spaces", "Spaces"),
    "archives": ("muniment.operations.archives.archives", "Archives"),
    "clients": ("muniment.operations.clients.clients_group", "ClientGroup"),
    "system": ("muniment.operations.system.system", "System"),
}


def group_class(name: str) -> type[Group]:
    """Return the class of a noun group."""
    module, attribute = GROUPS[name]
    group: type[Group] = getattr(importlib.import_module(module), attribute)
    return group


@functools.cache
def catalogue() -> tuple[Operation, ...]:
    """Return every operation, group by group, in the order of their definition."""
    return tuple(operation for name in GROUPS for operation in operations_of(group_class(name)))


def resume_erasure(space: Space, position: int) -> None:
    """Complete the erasure whose first event is at a position; only after a crash it is imported at all."""
    importlib.import_module("muniment.operations.lifecycle.resume").resume_erasure(space, position)
