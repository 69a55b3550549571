"""Skills by their names: what is and what was known under each."""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.identity import SubjectId, check_name
from muniment.events.memory_items import MemoryPlane
from muniment.log.port import Reader
from muniment.memory.fold import MemoryItem
from muniment.memory.merging import in_use
from muniment.memory.skills import SKILL_PREFIX, is_skill_name


def check_skill(session: Session, subject: SubjectId, name: str) -> None:
    """Refuse a malformed subject or one that the caller may not speak for, and a name that is none of a skill."""
    check_name(subject, at="subject")
    session.access.require_subjects(subject)
    if not is_skill_name(name):
        raise InvalidInput(at="name", problem="no_skill_name", choices=[SKILL_PREFIX])


def lineage_of(session: Session, reader: Reader, subject: SubjectId, name: str) -> list[MemoryItem]:
    """Return what is and what was known under the name of a skill, the newest first."""
    notebooks = session.space.notebooks
    return notebooks.in_slot(reader, notebooks.named_slot(subject, MemoryPlane.RUNTIME_SKILL, name))


def present_skill(lineage: list[MemoryItem]) -> MemoryItem | None:
    """Return the skill that is in use, or else the last one that was not forgotten."""
    return in_use(lineage) or next((item for item in lineage if item.text is not None), None)
