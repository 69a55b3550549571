"""What the indexes have found for a recall, before it is ranked: candidates with their components, plane by plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from muniment.memory.fold import MemoryItem
from muniment.operations.memory.recall_report import RecallPlane
from muniment.operations.skills.skill_package import SkillPackage
from muniment.operations.transcripts.hits import Hit, SemanticCoverage

POOL_FACTOR = 2  # so many times as many as are wanted are looked at whole


class Recalled(NamedTuple):
    """A candidate with its components (0 to 1), its relevance, and its time; `ages`: its score may decay.

    `source` is the item, the message as a search shows it, or the agent skill.
    """

    plane: RecallPlane
    id: str
    position: int
    observed_ms: int
    relevance: float
    parts: dict[str, float]
    ages: bool
    source: MemoryItem | Hit | SkillPackage


class PlaneCount(NamedTuple):
    """How many candidates a plane has, how many match, how many the view withholds, and how many give no hint.

    `findings` counts what is broken.
    """

    candidates: int = 0
    matched: int = 0
    withheld: int = 0
    findings: int = 0
    without_hint: int = 0


class RecalledBatch(NamedTuple):
    """What one index has found. `words_best` and `semantic_best` say how good its best document is."""

    candidates: list[Recalled]
    counts: Mapping[RecallPlane, PlaneCount]
    words_best: float = 0.0
    semantic_best: float = 0.0
    semantic: SemanticCoverage = SemanticCoverage.ABSENT
    semantic_reason: str | None = None
