"""The entries of a block for a prompt: items, messages, hints about tools, and agent skills, each as one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from muniment.kernel.times import written
from muniment.memory.memory_block import BlockEntry, BlockSection, Offer
from muniment.operations.memory.offered_items import OfferedItems
from muniment.operations.memory.recall_report import RecallHit, RecallPlane
from muniment.operations.memory.recent_messages import RecentMessage
from muniment.operations.memory.shown_item import ShownItem
from muniment.operations.skills.mounted_skills import OfferedSkills
from muniment.operations.tools.tool_hints import ToolHint


class ItemEntries:
    """The items of a section as entries: those that were recalled, then the others, read when somebody comes to them.

    `positions` are those of the items that were read, by id.
    """

    def __init__(self, items: OfferedItems, section: BlockSection, recalled: Sequence[ShownItem]) -> None:
        self._items = items
        self._section = section
        self._recalled = recalled
        self.positions: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._items.places.get(self._section, ()))

    def __iter__(self) -> Iterator[BlockEntry]:
        for item in self._in_order():
            self.positions[item.id] = item.position
            yield entry_of_item(item)

    def _in_order(self) -> Iterator[ShownItem]:
        yield from self._recalled
        known = {item.id for item in self._recalled}
        yield from (item for item in self._items.shown(self._section) if item.id not in known)


class JoinedEntries:
    """Entries of several kinds in one section, one kind after the other."""

    def __init__(self, *parts: Offer) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[BlockEntry]:
        return chain.from_iterable(self._parts)


def entry_of_item(item: ShownItem) -> BlockEntry:
    """Return what an item says."""
    return BlockEntry(
        id=item.id,
        text=f"{item.topic}: {item.text}",
        date=written(item.observed_ms)[:10],
        state=item.state,
        confidence=item.confidence,
    )


def entry_of_hit(hit: RecallHit) -> BlockEntry:
    """Return what was said, and by whom."""
    return BlockEntry(
        id=hit.id, text=hit.text, source=_said_by(hit.role, hit.speaker), date=written(hit.observed_ms or 0)[:10]
    )


def entry_of_message(message: RecentMessage) -> BlockEntry:
    """Return what was said last, and by whom."""
    return BlockEntry(
        id=message.id,
        text=message.text,
        source=_said_by(message.role, message.speaker),
        date=written(message.observed_ms)[:16],
    )


def entry_of_hint(hint: ToolHint) -> BlockEntry:
    """Return what was observed how often; what a tool said is text from outside and stays outside."""
    seen = hint.observations
    return BlockEntry(
        id=hint.item,
        text=f"{hint.tool}: {hint.reason}, {seen.succeeded} of {seen.succeeded + seen.failed} calls succeeded",
        source=hint.registry,
        confidence=hint.confidence,
    )


def entries_of_skills(skills: OfferedSkills, hits: Sequence[RecallHit]) -> list[BlockEntry]:
    """Return agent skills as hints, those that were recalled before the others."""
    recalled = [hit.id for hit in hits if hit.plane is RecallPlane.AGENT_SKILL]
    place = {name: place for place, name in enumerate(recalled)}
    in_order = sorted(skills.packages, key=lambda package: place.get(package.name, len(place)))
    return [
        BlockEntry(id=each.name, text=f"{each.name}: {each.description}", source="agent skill") for each in in_order
    ]


def _said_by(role: str | None, speaker: str | None) -> str:
    return " ".join(filter(None, (role, speaker)))
