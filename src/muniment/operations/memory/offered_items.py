"""The items of a subject that a prompt may hold, section by section in the order of their standing, read when wanted.

Nobody else reads the index meanwhile, so that what is read is what it knows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.events.memory_items import MemoryPlane
from muniment.governance.views import View
from muniment.memory.fold import MemoryItem
from muniment.memory.memory_block import BlockSection
from muniment.memory.standing import NOT_IN_PROMPTS, NUMBERS, PLACES, section_of, standing
from muniment.operations.memory.shown_item import ItemShower, ShownItem
from muniment.search.index_status import Indexed
from muniment.search.item_documents import known_partitions

BATCH = 8  # items that are read at once

PLANES = [plane for plane in MemoryPlane if plane is not MemoryPlane.TOOL_EXPERIENCE]  # that is offered as hints
SECTION_OF = {number: section for section, number in NUMBERS.items()}
Place = tuple[int, int]  # stream and number of an item


class OfferedItems(NamedTuple):
    """The items of a subject by section, the best first, and how many more there are that a prompt may not hold."""

    shower: ItemShower
    places: dict[BlockSection, list[Place]]
    withheld: int

    def shown(self, section: BlockSection) -> Iterator[ShownItem]:
        """Yield the items of a section as the view shows them, each when somebody comes to it."""
        places, space = self.places.get(section, []), self.shower.space
        for first in range(0, len(places), BATCH):
            for stream, of_stream in groupby(places[first : first + BATCH], itemgetter(0)):
                numbers = [number for _, number in of_stream]
                head = space.transcript.head(self.shower.reader, stream)
                items = {item.number: item for item in space.notebooks.items(self.shower.reader, head, numbers)}
                shown = (self.shower.shown(items[number]) for number in numbers)
                yield from (item for item in shown if item.text is not None)

    def named(self, item: str) -> tuple[BlockSection, ShownItem] | None:
        """Return an item by its id with its section, if a prompt may hold it."""
        found = self.shower.space.notebooks.item(self.shower.reader, item)
        if found is None or not self._holds(found):
            return None
        return section_of(found), self.shower.shown(found)

    def _holds(self, item: MemoryItem) -> bool:
        return item.is_active and item.text is not None and standing(item) != NOT_IN_PROMPTS


@contextmanager
def offered_items(session: Session, subject: str, view: View) -> Iterator[OfferedItems]:
    """Yield the items of a subject, in one state of the log."""
    space = session.space
    with space.indexes.caught_up(view, session.progress, Indexed.ITEMS) as (index, reader):
        now_ms = space.sources.clock.now_ms()
        places: defaultdict[BlockSection, list[Place]] = defaultdict(list)
        shown, hidden = (
            [name for plane in PLANES for name in known_partitions(index, plane, subject, is_hidden=is_hidden)]
            for is_hidden in (False, True)
        )
        withheld = len(index.within(hidden, now_ms))
        for number, stream, entry in zip(*index.standing(index.within(shown, now_ms)), strict=True):
            section = SECTION_OF.get(number // PLACES)
            if section is None:
                withheld += 1
            else:
                places[section].append((stream, entry))
        yield OfferedItems(ItemShower(space, reader, view, subject), places, withheld)
