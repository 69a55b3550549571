"""Inspect what memory holds of a subject: counts, and as much of what matches a query as fits (IN-01, IN-02).

What the view does not show is counted without saying what it is. Words are looked for in what the view shows, so no
count tells of words that it hides. Of an item whose turn was masked or erased nothing is written out.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.identity import SubjectId, check_name
from muniment.events.memory_items import MemoryPlane
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.item_visibility import hides_item
from muniment.governance.views import View
from muniment.memory.fold import EvidenceState
from muniment.memory.likeness import words_in
from muniment.operations.memory.selection import ItemFilter, ItemSelection, items_of
from muniment.operations.memory.shown_item import ItemShower, ShownItem
from muniment.operations.skills.mounted_skills import MountedSkills, mounted
from muniment.operations.tools.register import RegistryList, list_registries

LENGTH_MAX = 1_000_000  # characters
EVERY_ITEM = ItemSelection(state=ItemFilter.ALL)


class PlaneCounts(Struct, frozen=True, kw_only=True):
    """The items of a plane that are in use, by how far to rely on them; and the others, by why they are not in use."""

    plane: MemoryPlane
    in_use: int
    states: dict[str, int]
    disabled: int
    expired: int
    retired: dict[str, int]


class MemoryInspection(Struct, frozen=True, kw_only=True):
    """What memory holds of a subject, as far as the view shows it.

    `operations` are those of memory that the caller may use. `text` has the items in use that match, one a line, in
    `length` characters; `matching` counts them, `written` those that fitted. `withheld` counts items that the view does
    not show.
    """

    operations: list[str]
    planes: list[PlaneCounts]
    withheld: int
    needs_review: int
    matching: int
    written: int
    length: int
    length_max: int
    text: str
    skills: MountedSkills
    registries: RegistryList
    positions: list[int]

    def covered(self) -> CoveredTurns:
        """Return the items that this shows."""
        return CoveredTurns(positions=self.positions)


def inspect_memory(
    session: Session, subject: SubjectId, view: View, query: str | None, length_max: int
) -> MemoryInspection:
    """Return counts, and the items that match within a length."""
    check_name(subject, at="subject")
    session.access.require_subjects(subject)
    session.access.require_view(view)
    if not 0 <= length_max <= LENGTH_MAX:
        raise InvalidInput(at="length_max", problem="out_of_range", limit=LENGTH_MAX, found=length_max)
    now_ms, space = session.space.sources.clock.now_ms(), session.space
    with space.ledger.reader() as reader:
        found = list(items_of(space, reader, subject, EVERY_ITEM))
        visible = [item for item in found if hides_item(view, item.privacy) is None]
        shower = ItemShower(space, reader, view)
        shown = [(item, shower.shown(item)) for item in visible]
    words = words_in(query)
    used = [one for item, one in shown if item.holds_at(now_ms)]
    matching = [one for one in used if words <= _words(one)]
    telling = [one for one in matching if one.text is not None and one.state is not EvidenceState.NEEDS_REVIEW]
    text, written = _written(telling, length_max)
    planes = []
    for plane in MemoryPlane:
        of_plane = [item for item in visible if item.plane is plane]
        active = [item for item in of_plane if item.is_active]
        states = Counter(one.state for one in used if one.plane is plane)
        retired = Counter(item.retired for item in of_plane if item.retired is not None)
        planes.append(
            PlaneCounts(
                plane=plane,
                in_use=states.total(),
                states=dict(sorted(states.items())),
                disabled=sum(item.disabled for item in active),
                expired=sum(not item.disabled and not item.holds_at(now_ms) for item in active),
                retired=dict(sorted(retired.items())),
            )
        )
    return MemoryInspection(
        operations=_operations(session),
        planes=planes,
        withheld=len(found) - len(visible),
        needs_review=sum(one.state is EvidenceState.NEEDS_REVIEW for one in used),
        matching=len(matching),
        written=len(written),
        length=len(text),
        length_max=length_max,
        text=text,
        skills=mounted(session),
        registries=list_registries(session, space.limits.report_items_max),
        positions=[one.position for one in written],
    )


def _operations(session: Session) -> list[str]:
    """Return the operations about memory, skills and tools for which the caller has the right."""
    return [
        operation.path
        for operation in session.catalogue()
        if operation.group in {"memory", "skills", "tools"} and operation.effect in session.access.effects
    ]


def _written(items: list[ShownItem], length_max: int) -> tuple[str, list[ShownItem]]:
    """Return whole lines, the last recorded first, until one does not fit; and the items that they are of."""
    text, written = "", list[ShownItem]()
    for item in reversed(items):
        line = " ".join(f"{item.plane} {item.kind} {item.topic}: {item.text}".split()) + "\n"
        if len(text) + len(line) > length_max:
            break
        text += line
        written.append(item)
    return text, written


def _words(shown: ShownItem) -> set[str]:
    named = (shown.topic, shown.text, shown.title, shown.summary)
    return words_in(*named, *shown.keywords, *shown.tags, *shown.entities)
