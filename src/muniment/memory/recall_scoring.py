"""The score of what is recalled: the components of items and messages, and their weighted sum.

1. What an index found has the components that depend on its words: `lexical`, `similarity`, `context`, `time` and
   `recency`. They are shares of the best hit over all planes, so that there is one ranking.
2. Items have further components, which are functions of the item and of the question.
3. The score is the sum of the weighted components in the order of `COMPONENTS`, times the decay. No component drops a
   hit, and a better match never scores less: all weights are 0 or more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from muniment.events.memory_items import Freshness, ItemScope, ItemSourceType, MemoryPlane
from muniment.memory.fold import EvidenceState, MemoryItem
from muniment.memory.kinds import DAY_MS, WHOLE
from muniment.memory.likeness import normalised
from muniment.memory.recall_weights import COMPONENTS, PENALTIES, RecallWeights

Parts = Mapping[str, float]  # component -> from 0 to 1

# how an item was learned -> how much that counts
AUTHORITIES: dict[ItemSourceType, float] = {
    ItemSourceType.CONVERSATION: 1.0,
    ItemSourceType.MANUAL_TOOL: 1.0,
    ItemSourceType.SYSTEM_RUNTIME: 0.8,
    ItemSourceType.EXTERNAL_OBSERVATION: 0.6,
    ItemSourceType.IMPORTED: 0.6,
}
# how far a reader may rely on an item -> what is subtracted
STALENESS: dict[EvidenceState, float] = {
    EvidenceState.STABLE_FACT: 0.0,
    EvidenceState.RECENT_STATE: 0.0,
    EvidenceState.POSSIBLY_STALE: 0.5,
    EvidenceState.NEEDS_REVIEW: 1.0,
}
SOURCES_ENOUGH = 2


class AskedQuestion(NamedTuple):
    """What a question is compared by: its text, its terms as an index has them, and what makes terms of a text."""

    text: str
    terms: Collection[str]
    terms_of: Callable[[str], list[str]]

    @classmethod
    def of(cls, text: str, phrases: Iterable[list[str]], terms_of: Callable[[str], list[str]]) -> AskedQuestion:
        """Return the question of a text and the phrases that are searched for it."""
        return cls(text, frozenset(chain.from_iterable(phrases)), terms_of)

    def has(self, text: str) -> bool:
        """Tell whether the question has every word of a text, which has some."""
        terms = self.terms_of(text)
        return bool(terms) and all(term in self.terms for term in terms)


class ItemCircumstances(NamedTuple):
    """What is known of an item beside itself: how far to rely on it, its sources that are shown, and where it is of."""

    state: EvidenceState
    sources_shown: int
    is_of_conversation: bool


def item_parts(item: MemoryItem, question: AskedQuestion, known: ItemCircumstances) -> dict[str, float]:
    """Return the components of an item that do not depend on what else was found."""
    assert item.content is not None, "an item that was found has words"
    assert item.text is not None, "the same"
    said = item.content
    return {
        "exact": float(question.has(said.topic) or normalised(question.text) == normalised(item.text)),
        "keyword": _share(question, [*said.keywords, *said.tags]),
        "entity": _share(question, said.entities),
        "confidence": item.confidence / WHOLE,
        "scope": float(item.scope is not ItemScope.CHAT or known.is_of_conversation),
        "governance": 1.0 if item.pinned else item.meta.importance / WHOLE,
        "evidence": min(known.sources_shown, SOURCES_ENOUGH) / SOURCES_ENOUGH,
        "authority": AUTHORITIES[item.meta.source_type],
        "stale": STALENESS[known.state],
    }


def ages(item: MemoryItem) -> bool:
    """Tell whether the score of an item decays."""
    return item.meta.freshness is not Freshness.STABLE or item.plane is MemoryPlane.DIARY


def weighted(parts: Parts, weights: RecallWeights) -> dict[str, float]:
    """Return what each component adds to a score, or, for a penalty, takes from it; without zeros."""
    found = {name: parts.get(name, 0.0) * getattr(weights, name) for name in COMPONENTS}
    return {name: -part if name in PENALTIES else part for name, part in found.items() if part}


def score(added: Parts, weights: RecallWeights, age_ms: int | None) -> float:
    """Return the score of what its components add; `age_ms` is the age of what decays, None for what does not."""
    total = 0.0
    for name in COMPONENTS:
        total += added.get(name, 0.0)
    total = max(total, 0.0)
    if weights.half_life_days and age_ms is not None and age_ms > 0:
        total *= 0.5 ** (age_ms / (weights.half_life_days * DAY_MS))
    return total


def _share(question: AskedQuestion, words: list[str]) -> float:
    """Return which share of some words a question has."""
    return sum(map(question.has, words)) / len(words) if words else 0.0
