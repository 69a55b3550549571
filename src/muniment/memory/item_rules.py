"""What is true of every memory item that could be recorded, and of every change of one, as tables.

Writers keep these rules, an archive that breaks one is refused, and an inspection names the rule. What an item says is
not looked at: only ids, names, numbers and times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from muniment.events.changes import Transition
from muniment.events.memory_items import (
    EntryRole,
    ItemMeta,
    ItemRetired,
    ItemRevised,
    MemoryPlane,
    NamedSlot,
    Observations,
    Retirement,
)
from muniment.memory.audience import audience_flaw
from muniment.memory.experience import experience_slot
from muniment.memory.kinds import KINDS, NAMED_PLANES, WHOLE
from muniment.memory.skills import is_skill_name

TIME_MS_MAX = 2**53 - 1


def _is_share(thousandths: int | None) -> bool:
    return thousandths is None or 0 <= thousandths <= WHOLE


def _is_time(time_ms: int) -> bool:
    return 0 <= time_ms <= TIME_MS_MAX


def _is_named(named: NamedSlot | None, plane: MemoryPlane) -> bool:
    """Tell whether an item has the name that the slots of its plane ask for, and no other."""
    if named is None or plane not in NAMED_PLANES:
        return named is None and plane not in NAMED_PLANES
    if plane is MemoryPlane.RUNTIME_SKILL:
        return is_skill_name(named.name) and named == NamedSlot(name=named.name)
    return named.tool is not None and named == experience_slot(named.tool, named.observations or Observations())


# rule -> whether an item of a subject and plane keeps it
ITEM_RULES: dict[str, Callable[[ItemMeta, str, MemoryPlane], bool]] = {
    "item": lambda meta, _subject, _plane: bool(meta.item.strip()),
    "writer": lambda meta, _subject, _plane: bool(meta.writer.strip()),
    "kind": lambda meta, _subject, plane: meta.entry.role is EntryRole.POLICY or meta.kind in KINDS[plane],
    "name": lambda meta, _subject, plane: _is_named(meta.entry.named, plane),
    "slot": lambda meta, _subject, _plane: (meta.entry.slot is None) is not (meta.entry.role is EntryRole.PROPOSAL),
    "audience": lambda meta, subject, plane: audience_flaw(meta.entry.audience, plane, subject) is None,
    "confidence": lambda meta, _subject, _plane: _is_share(meta.confidence),
    "importance": lambda meta, _subject, _plane: _is_share(meta.importance),
    "observed_ms": lambda meta, _subject, _plane: _is_time(meta.observed_ms),
    "expires_ms": lambda meta, _subject, _plane: _is_time(meta.expires_ms),
}

# what the header of `item.retired` says -> what its body may say
CAUSES: dict[str | None, frozenset[Retirement]] = {
    Transition.ARCHIVE: frozenset({
        Retirement.SUPERSEDED,
        Retirement.INVALIDATED,
        Retirement.EVICTED,
        Retirement.UNDONE,
        Retirement.SOURCE_GONE,
        Retirement.WITHDRAWN,
        Retirement.ACCEPTED,
        Retirement.REJECTED,
    }),
    Transition.RESTORE: frozenset({Retirement.RESTORED}),
    Transition.ERASE: frozenset({Retirement.FORGOTTEN, Retirement.REPLACED}),
}  # fmt: skip


def item_flaws(meta: ItemMeta, subject: str, plane: MemoryPlane) -> Iterator[str]:
    """Yield which rules an entry of a notebook breaks; nothing for one that could be recorded."""
    return (rule for rule, is_kept in ITEM_RULES.items() if not is_kept(meta, subject, plane))


def change_flaws(body: ItemRevised | ItemRetired, reason: str | None) -> Iterator[str]:
    """Yield what is wrong with a change of an item, whose header gives this reason."""
    if isinstance(body, ItemRetired):
        if body.cause not in CAUSES.get(reason, ()):
            yield "cause"
    elif not _is_share(body.revision.confidence):
        yield "confidence"
