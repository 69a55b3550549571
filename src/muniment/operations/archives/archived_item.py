"""An item of a document that is read, by itself: whether it is one that could be recorded here."""

from __future__ import annotations

from collections.abc import Iterator

from muniment.events.memory_items import EntryRole, ItemMeta, MemoryPlane, NamedSlot, Observations
from muniment.memory.amendment import PRIVATE
from muniment.memory.audience import audience_flaw
from muniment.memory.experience import experience_slot
from muniment.memory.kinds import KINDS, NAMED_PLANES, WHOLE
from muniment.memory.skills import is_skill_name

TIME_MS_MAX = 2**53 - 1


def is_item_of(meta: ItemMeta, subject: str, plane: MemoryPlane) -> bool:
    """Tell whether an item of a subject and plane could be recorded here."""
    return all(_soundness(meta, subject, plane))


def _soundness(meta: ItemMeta, subject: str, plane: MemoryPlane) -> Iterator[bool]:
    """Yield what is true of every item that could."""
    yield audience_flaw(meta.entry.audience, plane, subject) is None
    yield meta.kind in KINDS[plane]
    yield _is_named(meta.entry.named, plane)
    yield is_share(meta.confidence)
    yield is_share(meta.importance)
    yield meta.privacy not in PRIVATE
    yield meta.entry.role is EntryRole.ITEM and meta.entry.slot is None
    yield 0 <= meta.observed_ms <= TIME_MS_MAX
    yield 0 <= meta.expires_ms <= TIME_MS_MAX


def _is_named(named: NamedSlot | None, plane: MemoryPlane) -> bool:
    """Tell whether an item has the name that the slots of its plane ask for, and no other."""
    if named is None or plane not in NAMED_PLANES:
        return named is None and plane not in NAMED_PLANES
    if plane is MemoryPlane.RUNTIME_SKILL:
        return is_skill_name(named.name) and named == NamedSlot(name=named.name)
    return named.tool is not None and named == experience_slot(named.tool, named.observations or Observations())


def is_share(thousandths: int) -> bool:
    """Tell whether a number is a share in thousandths."""
    return 0 <= thousandths <= WHOLE
