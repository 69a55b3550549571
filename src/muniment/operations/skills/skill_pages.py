"""List and show the runtime skills of a subject through a view; nothing is executed (RS-01, RS-03, RS-04)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import UnknownPlace
from muniment.events.identity import SubjectId, check_name
from muniment.events.memory_items import MemoryPlane, Retirement
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.item_visibility import hides_item
from muniment.governance.views import Reason, View
from muniment.memory.fold import EvidenceState, ItemChange, MemoryItem
from muniment.memory.likeness import words_in
from muniment.memory.skills import SkillStatus, skill_status
from muniment.operations.memory.list_items import ItemRevision, changes_of, history_of
from muniment.operations.memory.selection import ItemFilter, ItemSelection, items_of
from muniment.operations.memory.shown_item import ItemShower, ShownEvidence, ShownItem
from muniment.operations.page import check_limit
from muniment.operations.skills.skill_lookup import check_skill, lineage_of, present_skill

ALL_SKILLS = ItemSelection(planes=[MemoryPlane.RUNTIME_SKILL], state=ItemFilter.ALL)


class ListedSkill(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A runtime skill in short; `withheld` says why its words are missing. `item` is the id that `memory` knows it by.

    `state` says how far a reader may rely on it, `confidence` is from 0 to 1. `updated_ms` is when it last changed.
    """

    name: str
    item: str
    position: int
    status: SkillStatus
    enabled: bool
    state: EvidenceState
    confidence: float
    revision: int
    recorded_ms: int
    updated_ms: int
    evidence_count: int
    title: str | None = None
    topic: str | None = None
    summary: str | None = None
    withheld: Reason | None = None


class SkillsPage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The runtime skills of a subject that match, the last changed first. `left_out` matched beyond the limit.

    `total`, `active`, `disabled`, `expired` and `retired` count those that the view shows, whatever was asked for;
    `withheld` those that it does not show.
    """

    skills: list[ListedSkill]
    total: int
    active: int
    disabled: int
    retired: int
    withheld: int
    expired: int = 0
    left_out: int = 0

    def covered(self) -> CoveredTurns:
        """Return the items that this shows."""
        return CoveredTurns(positions=[skill.position for skill in self.skills])


class FormerSkill(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was known under the name before: the item, when it was recorded, and why it went out of use."""

    item: str
    recorded_ms: int
    retired: Retirement
    successor: str | None = None


class SkillDetail(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A runtime skill with its procedure, its evidence, what was known under its name before, and its history.

    Without a skill, `missing` says why the view shows none.
    """

    skill: ListedSkill | None = None
    procedure: str | None = None
    citations: list[ShownEvidence] = []
    lineage: list[FormerSkill] = []
    revisions: list[ItemRevision] = []
    missing: Reason | None = None

    def covered(self) -> CoveredTurns:
        """Return the item that this shows."""
        return CoveredTurns(positions=[] if self.skill is None else [self.skill.position])


class SkillQuery(Struct, frozen=True, kw_only=True):
    """Which skills of a subject are listed, and how many at most."""

    words: str | None
    statuses: frozenset[SkillStatus]
    limit: int


def list_skills(session: Session, subject: SubjectId, query: SkillQuery, view: View) -> SkillsPage:
    """Return the skills of a subject, each once, as it is now."""
    space = session.space
    check_name(subject, at="subject")
    session.access.require_subjects(subject)
    session.access.require_view(view)
    check_limit(query.limit, space.limits.report_items_max)
    with space.ledger.reader() as reader:
        present: dict[str, MemoryItem] = {}
        for item in items_of(space, reader, subject, ALL_SKILLS):  # the newest last
            known = present.get(item.name or "")
            if known is None or not known.is_active:
                present[item.name or ""] = item
        head = space.notebooks.head(reader, subject, MemoryPlane.RUNTIME_SKILL)
        changes = {} if head is None else space.notebooks.changes(reader, head)
        visible = [item for item in present.values() if hides_item(view, item.privacy) is None]
        shower, now_ms = ItemShower(space, reader, view), space.sources.clock.now_ms()
        shown = [
            (skill_status(item, now_ms), _updated_ms(item, changes.get(item.number, [])), shower.shown(item))
            for item in visible
        ]
    words = words_in(query.words)
    asked = [each for each in shown if each[0] in query.statuses]
    found = [(status, at_ms, item) for status, at_ms, item in asked if words <= _words(item)]
    found.sort(key=lambda each: (-each[1], each[2].position))
    statuses = [status for status, _, _ in shown]
    return SkillsPage(
        skills=[_summary(item, status, at_ms) for status, at_ms, item in found[: query.limit]],
        total=len(shown),
        active=statuses.count(SkillStatus.ACTIVE),
        disabled=statuses.count(SkillStatus.DISABLED),
        retired=statuses.count(SkillStatus.RETIRED),
        expired=statuses.count(SkillStatus.EXPIRED),
        withheld=len(present) - len(visible),
        left_out=max(0, len(found) - query.limit),
    )


def show_skill(session: Session, subject: SubjectId, name: str, view: View) -> SkillDetail:
    """Return a skill by its name; one that was forgotten is unknown."""
    space = session.space
    check_skill(session, subject, name)
    session.access.require_view(view)
    with space.ledger.reader() as reader:
        lineage = lineage_of(session, reader, subject, name)
        item = present_skill(lineage)
        if item is None:
            raise UnknownPlace(at="name")
        hidden = hides_item(view, item.privacy)
        if hidden is not None:
            return SkillDetail(missing=hidden)
        shower = ItemShower(space, reader, view)
        shown, changes = shower.shown(item), changes_of(session, reader, item)
        return SkillDetail(
            skill=_summary(shown, skill_status(item, space.sources.clock.now_ms()), _updated_ms(item, changes)),
            procedure=shown.text,
            citations=shown.evidence,
            lineage=list(_former(lineage, item, view)),
            revisions=list(history_of(shower, item, changes)),
        )


def _former(lineage: list[MemoryItem], present: MemoryItem, view: View) -> Iterator[FormerSkill]:
    for item in lineage:
        if item is not present and item.retired is not None and hides_item(view, item.privacy) is None:
            yield FormerSkill(
                item=item.id, recorded_ms=item.recorded_ms, retired=item.retired, successor=item.successor
            )


def _updated_ms(item: MemoryItem, changes: Sequence[ItemChange]) -> int:
    """Return when a skill was recorded or last changed."""
    return changes[-1].time_ms if changes else item.recorded_ms


def _summary(shown: ShownItem, status: SkillStatus, updated_ms: int) -> ListedSkill:
    return ListedSkill(
        name=shown.name or "",
        item=shown.id,
        position=shown.position,
        status=status,
        enabled=not shown.disabled,
        state=shown.state,
        confidence=shown.confidence,
        revision=shown.revision,
        recorded_ms=shown.recorded_ms,
        updated_ms=updated_ms,
        evidence_count=shown.evidence_count,
        title=shown.title,
        topic=shown.topic,
        summary=shown.summary,
        withheld=shown.withheld,
    )


def _words(shown: ShownItem) -> set[str]:
    """Return the words of a skill that the view shows, and those of its name."""
    texts = (shown.name, shown.title, shown.topic, shown.summary, shown.text, *shown.keywords, *shown.tags)
    return words_in(shown.name, *(text.replace("_", " ") for text in texts if text is not None))
