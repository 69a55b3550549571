"""Where an item stands in a block for a prompt: its section, and its place among the items of that section.

Both are one number, which an index keeps for each item, so that the best of many items are found without reading them:
pinned ones first, then by confidence, then by importance. Of equal ones the latest comes first.
"""

from __future__ import annotations

from muniment.events.memory_items import Freshness, ItemKind, MemoryPlane
from muniment.memory.amendment import is_in_prompts
from muniment.memory.fold import MemoryItem
from muniment.memory.kinds import WHOLE
from muniment.memory.memory_block import BlockSection

# plane -> the section of its items, where that does not depend on the item
SECTIONS: dict[MemoryPlane, BlockSection] = {
    MemoryPlane.RUNTIME_SKILL: BlockSection.SKILLS,
    MemoryPlane.TOOL_EXPERIENCE: BlockSection.TOOL_HINTS,
    MemoryPlane.SUMMARY: BlockSection.EVIDENCE,
    MemoryPlane.DIARY: BlockSection.EVIDENCE,
}
NUMBERS: dict[BlockSection, int] = {section: number for number, section in enumerate(BlockSection, start=1)}
NOT_IN_PROMPTS = 0
PLACES = 2 * (WHOLE + 1) * (WHOLE + 1)  # in a section


def section_of(item: MemoryItem) -> BlockSection:
    """Return the section that an item belongs to."""
    if item.plane in SECTIONS:
        return SECTIONS[item.plane]
    if item.meta.kind is ItemKind.CORRECTION:
        return BlockSection.CORRECTIONS
    return BlockSection.FACTS if item.meta.freshness is Freshness.STABLE else BlockSection.RECENT_STATE


def standing(item: MemoryItem) -> int:
    """Return where an item stands: the greater, the better, within its section; `NOT_IN_PROMPTS` for one in none."""
    if not is_in_prompts(item):
        return NOT_IN_PROMPTS
    place = (item.pinned * (WHOLE + 1) + item.confidence) * (WHOLE + 1) + item.meta.importance
    return NUMBERS[section_of(item)] * PLACES + place
