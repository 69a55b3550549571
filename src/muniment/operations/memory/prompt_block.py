"""What memory holds of a subject, as a block for a prompt: the items that a prompt may hold, in their sections."""

from __future__ import annotations

from collections import defaultdict

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.identity import SubjectId, check_name
from muniment.events.memory_items import Freshness, ItemKind, MemoryPlane
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.item_visibility import hides_item
from muniment.governance.views import View
from muniment.kernel.times import written
from muniment.memory.amendment import is_in_prompts
from muniment.memory.memory_block import BlockEntry, BlockSection, SectionReport, memory_block
from muniment.operations.context.cost import counter_name, counter_or_estimate
from muniment.operations.memory.selection import EVERYTHING, items_of
from muniment.operations.memory.shown_item import ItemShower, ShownItem

# plane -> the section of its items, where that does not depend on the item
SECTIONS: dict[MemoryPlane, BlockSection] = {
    MemoryPlane.RUNTIME_SKILL: BlockSection.SKILLS,
    MemoryPlane.TOOL_EXPERIENCE: BlockSection.TOOL_HINTS,
    MemoryPlane.SUMMARY: BlockSection.EVIDENCE,
    MemoryPlane.DIARY: BlockSection.EVIDENCE,
}


class PromptBlock(Struct, frozen=True, kw_only=True):
    """A block for a prompt, and what is in it.

    `tokens` is what `counter` says of exactly this text; it is never above `budget_tokens`. Items that may not stand in
    prompts are not offered: `withheld` counts them.
    """

    text: str
    tokens: int
    budget_tokens: int
    counter: str
    cut: bool
    withheld: int
    sections: list[SectionReport]
    positions: list[int]

    def covered(self) -> CoveredTurns:
        """Return the items that this shows."""
        return CoveredTurns(positions=self.positions)


def prompt_block(session: Session, subject: SubjectId, budget_tokens: int, view: View) -> PromptBlock:
    """Return the block of a subject."""
    space = session.space
    check_name(subject, at="subject")
    session.access.require_subjects(subject)
    session.access.require_view(view)
    if budget_tokens < 0:
        raise InvalidInput(at="budget_tokens", problem="negative", found=budget_tokens)
    with space.ledger.reader() as reader:
        found, shower = list(items_of(space, reader, subject, EVERYTHING)), ItemShower(space, reader, view)
        offered = [item for item in found if is_in_prompts(item) and hides_item(view, item.privacy) is None]
        shown = [shower.shown(item) for item in offered]
    entries: defaultdict[BlockSection, list[BlockEntry]] = defaultdict(list)
    for item in sorted(shown, key=_rank):
        if item.text is not None:
            entries[section_of(item)].append(_entry(item))
    block = memory_block(entries, budget_tokens, counter_or_estimate(session.token_counter))
    included = {name for section in block.sections for name in section.ids}
    return PromptBlock(
        text=block.text,
        tokens=block.size,
        budget_tokens=budget_tokens,
        counter=counter_name(session.token_counter),
        cut=block.cut,
        withheld=len(found) - len(offered),
        sections=block.sections,
        positions=[item.position for item in shown if item.id in included],
    )


def section_of(item: ShownItem) -> BlockSection:
    """Return the section that an item belongs to."""
    if item.plane in SECTIONS:
        return SECTIONS[item.plane]
    if item.kind is ItemKind.CORRECTION:
        return BlockSection.CORRECTIONS
    return BlockSection.FACTS if item.freshness is Freshness.STABLE else BlockSection.RECENT_STATE


def _rank(item: ShownItem) -> tuple[bool, float, int, int]:
    """Return what sorts the best items first: pinned, important, recent ones; ties in the order of the log."""
    return not item.pinned, -item.importance, -max(item.observed_ms, item.confirmed_ms or 0), item.position


def _entry(item: ShownItem) -> BlockEntry:
    return BlockEntry(
        id=item.id,
        text=f"{item.topic}: {item.text}",
        date=written(item.observed_ms)[:10],
        state=item.state,
        confidence=item.confidence,
    )
