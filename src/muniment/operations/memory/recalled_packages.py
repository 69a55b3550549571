"""The agent skills that a recall finds: those that the host mounts, by what each says of itself (AS-03, AS-04).

They are in no log and have no vectors, so they are found by words alone, in an index that is made for one recall. What
they were at a time in the past nobody knows; a recall of the past has none.
"""

from __future__ import annotations

from muniment.events.memory_items import ItemSourceType
from muniment.events.message import Role
from muniment.memory.recall_scoring import AUTHORITIES, AskedQuestion
from muniment.operations.memory.recall_report import AskedRecall, RecallPlane
from muniment.operations.memory.recalled import POOL_FACTOR, PlaneCount, Recalled, RecalledBatch
from muniment.operations.memory.recalled_messages import index_weights
from muniment.operations.skills.mounted_skills import OfferedSkills
from muniment.operations.skills.skill_package import SkillPackage
from muniment.ranking.question import Question
from muniment.search.document_table import SearchDocument
from muniment.search.found_documents import FoundDocument, found_documents
from muniment.search.index import Index

PLANE = RecallPlane.AGENT_SKILL
STREAM = 0  # of the only stream of the index


def recalled_packages(asked: AskedRecall, skills: OfferedSkills, question: Question) -> RecalledBatch:
    """Return the packages whose names and descriptions match best."""
    if asked.scope.as_of_ms is not None:
        return RecalledBatch([], {})
    if not skills.packages:  # as with most hosts
        return RecalledBatch([], {PLANE: PlaneCount(0, 0, skills.withheld, skills.findings)})
    index = Index(linked=False)
    for number, package in enumerate(skills.packages, 1):
        text = f"{package.name}\n{package.description}"
        index.put(STREAM, number, [SearchDocument(message=0, role=Role.SYSTEM, speaker="", time_ms=0, text=text)])
    weights = index_weights(asked.weights, linked=False)
    found = found_documents(index, question, index.every(), weights, POOL_FACTOR * asked.limit)
    asked_for = AskedQuestion.of(question.text, found.question.searched, index.terms)
    candidates = [_candidate(skills.packages[each.entry - 1], each, asked_for) for each in found.documents]
    count = PlaneCount(len(skills.packages), sum(found.matched.values()), skills.withheld, skills.findings)
    return RecalledBatch(candidates, {PLANE: count}, found.words_best)


def _candidate(package: SkillPackage, document: FoundDocument, question: AskedQuestion) -> Recalled:
    parts = {
        "lexical": document.parts["lexical"],
        "exact": float(question.has(package.name)),
        "scope": 1.0,
        "authority": AUTHORITIES[ItemSourceType.IMPORTED],
    }
    return Recalled(
        plane=PLANE,
        id=package.name,
        position=-document.entry,  # of equal ones the first that is mounted
        observed_ms=0,
        relevance=document.relevance,
        parts=parts,
        ages=False,
        source=package,
    )
