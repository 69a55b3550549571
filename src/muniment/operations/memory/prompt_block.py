"""What memory holds of a subject, as a block for a prompt: the items that a prompt may hold, in their sections.

The order of items depends on nothing that they say. So all of them are ordered without their words, and the words of
those alone are read that the block gets to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.identity import SubjectId, check_name
from muniment.events.memory_items import Freshness, ItemKind, MemoryPlane
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.item_visibility import SHOWS_PRIVACIES, SHOWS_STATEMENTS
from muniment.governance.views import View
from muniment.kernel.times import written
from muniment.log.port import Reader
from muniment.memory.fold import MemoryItem
from muniment.memory.kinds import IN_PROMPTS, WHOLE
from muniment.memory.memory_block import BlockSection, SectionReport, memory_block
from muniment.operations.context.cost import counter_name, counter_or_estimate
from muniment.operations.memory.shown_item import ItemShower, ShownItem
from muniment.space.space import Space

# plane -> the section of its items, where that does not depend on the item
SECTIONS: dict[MemoryPlane, BlockSection] = {
    MemoryPlane.RUNTIME_SKILL: BlockSection.SKILLS,
    MemoryPlane.TOOL_EXPERIENCE: BlockSection.TOOL_HINTS,
    MemoryPlane.SUMMARY: BlockSection.EVIDENCE,
    MemoryPlane.DIARY: BlockSection.EVIDENCE,
}


READ_AT_ONCE = 16  # items of a section


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
    now_ms, shown = space.sources.clock.now_ms(), IN_PROMPTS & SHOWS_PRIVACIES[view]
    with space.ledger.reader() as reader:
        holding = [item for item in _standing(space, reader, subject) if item.holds_at(now_ms)]
        offered = [item for item in holding if item.privacy in shown]
        shower = ItemShower(space, reader, view)
        entries = _by_section(offered, reader, shower) if view in SHOWS_STATEMENTS else {}
        block = memory_block(entries, budget_tokens, counter_or_estimate(session.token_counter), is_ranked=True)
    included = {name for section in block.sections for name in section.ids}
    read = [item for section in entries.values() for item in section.shown_items]
    return PromptBlock(
        text=block.text,
        tokens=block.size,
        budget_tokens=budget_tokens,
        counter=counter_name(session.token_counter),
        cut=block.cut,
        withheld=len(holding) - len(offered),
        sections=block.sections,
        positions=sorted(item.position for item in read if item.id in included),
    )


class SectionItems(Sequence["ItemEntry"]):
    """The items of a section, the best first. Their words are read when they are asked for, some at once."""

    def __init__(self, items: Sequence[MemoryItem], reader: Reader, shower: ItemShower) -> None:
        self._items = items
        self._reader = reader
        self._shower = shower
        self._shown: dict[int, ShownItem] = {}

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> ItemEntry: ...
    @overload
    def __getitem__(self, place: slice) -> list[ItemEntry]: ...
    def __getitem__(self, place: int | slice) -> ItemEntry | list[ItemEntry]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        return ItemEntry(self._items[place], self, place)

    @property
    def shown_items(self) -> Iterable[ShownItem]:
        """The items whose words were read."""
        return self._shown.values()

    def shown(self, place: int) -> ShownItem:
        """Return an item as the view shows it; those behind it are read with it."""
        position = self._items[place].position
        if position not in self._shown:
            self._read(self._items[place : place + READ_AT_ONCE])
        return self._shown[position]

    def _read(self, items: Sequence[MemoryItem]) -> None:
        notebooks, numbers = self._shower.space.notebooks, defaultdict[MemoryPlane, list[int]](list)
        for item in items:
            numbers[item.plane].append(item.number)
        for plane, of_plane in numbers.items():
            head = notebooks.head(self._reader, items[0].subject, plane)
            assert head is not None, "the items are in it"
            for item in notebooks.items(self._reader, head, of_plane):
                self._shown[item.position] = self._shower.shown(item)


class ItemEntry(NamedTuple):
    """An item in its section, as a block asks for it (`memory_block.OfferedEntry`)."""

    item: MemoryItem
    section: SectionItems
    place: int

    @property
    def id(self) -> str:
        """The id of the item."""
        return self.item.id

    @property
    def text(self) -> str:
        """What it says."""
        shown = self.section.shown(self.place)
        return f"{shown.topic}: {shown.text}"

    @property
    def source(self) -> str:
        """Nothing: a prompt does not say in which turn something was said."""
        return ""

    @property
    def date(self) -> str:
        """When it was true."""
        return written(self.item.meta.observed_ms)[:10]

    @property
    def state(self) -> str:
        """How far to rely on it."""
        return self.section.shown(self.place).state

    @property
    def confidence(self) -> float | None:
        """The confidence, from 0 to 1."""
        return self.item.confidence / WHOLE


def _standing(space: Space, reader: Reader, subject: str) -> Iterator[MemoryItem]:
    """Yield all items of a subject, without words."""
    for head in space.notebooks.heads(reader, subject):
        yield from space.notebooks.standings(reader, head)


def _by_section(items: Iterable[MemoryItem], reader: Reader, shower: ItemShower) -> dict[BlockSection, SectionItems]:
    """Return items in their sections, the best first."""
    listed = defaultdict[BlockSection, list[MemoryItem]](list)
    for item in items:
        listed[section_of(item)].append(item)
    return {
        section: SectionItems(sorted(found, key=RANKS.get(section, _rank)), reader, shower)
        for section, found in listed.items()
    }


def section_of(item: MemoryItem) -> BlockSection:
    """Return the section that an item belongs to."""
    if item.plane in SECTIONS:
        return SECTIONS[item.plane]
    if item.meta.kind is ItemKind.CORRECTION:
        return BlockSection.CORRECTIONS
    return BlockSection.FACTS if item.meta.freshness is Freshness.STABLE else BlockSection.RECENT_STATE


def _rank(item: MemoryItem) -> tuple[bool, int, int, int]:
    """Return what sorts the best items first: pinned, important, recent ones; ties in the order of the log."""
    meta = item.meta
    return not item.pinned, -meta.importance, -max(meta.observed_ms, item.confirmed_ms), item.position


def _fact_rank(item: MemoryItem) -> tuple[int, bool, int, int, int]:
    """Return what sorts facts: by confidence, then as all others."""
    return -item.confidence, *_rank(item)


RANKS = {BlockSection.FACTS: _fact_rank}
