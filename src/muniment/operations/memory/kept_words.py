"""Words as the store keeps them: with markers where it replaces something before a commit.

An item is in the slot of its topic as that is kept, so that everybody who reads the item finds its slot.
"""

from __future__ import annotations

from collections.abc import Callable

from muniment.governance.detection.parts import marked_text
from muniment.space.space import Space


def kept_words(space: Space, subject: str) -> Callable[[str], str]:
    """Return what makes of the words about a subject those that are kept."""
    detectors = space.detection.before_commit.detectors_beside(frozenset({subject}))
    return lambda words: marked_text(words, detectors)
