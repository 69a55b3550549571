"""The catalogue: every operation of every noun group; transports and the guide are loops over it."""

from __future__ import annotations

import functools
import importlib

from muniment.runtime.operation import Group, Operation, operations_of

# noun group -> the module and class that declare it, in the order in which they are shown
GROUPS: dict[str, tuple[str, str]] = {
    "transcripts": ("muniment.runtime.transcripts", "Transcripts"),
    "lifecycle": ("muniment.runtime.lifecycle", "Lifecycle"),
    "evidence": ("muniment.runtime.evidence", "Evidence"),
    "disclosure": ("muniment.runtime.disclosure", "Disclosure"),
    "provenance": ("muniment.runtime.provenance", "Provenance"),
    "spaces": ("muniment.runtime.spaces", "Spaces"),
    "archives": ("muniment.runtime.archives", "Archives"),
    "system": ("muniment.runtime.system", "System"),
}


def group_class(name: str) -> type[Group]:
    """Return the class of a noun group."""
    module, attribute = GROUPS[name]
    found: type[Group] = getattr(importlib.import_module(module), attribute)
    return found


@functools.cache
def catalogue() -> tuple[Operation, ...]:
    """Return every operation, group by group, in the order of their definition."""
    return tuple(each for name in GROUPS for each in operations_of(group_class(name)))
