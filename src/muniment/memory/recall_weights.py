"""How much each component counts in the score of a hit. Every number has a name, and a request may set it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

Weight = Annotated[float, Meta(ge=0, le=10)]


class RecallWeights(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each component adds to a score. Each is a number from 0 to 1; one that a hit does not have is 0.

    - `lexical`: BM25 of the words, as a share of the best hit.
    - `similarity`: how far the cosine is above the mean, as a share of the best hit; 0 without an embedder.
    - `context`: what the messages before and after, and the best ones of the session, lend a message.
    - `source`: what the turns that it rests on lend an item: the score of the best one, as a share of the best message;
      in views that show where something was said.
    - `exact`: 1 if the question has every word of the topic, or is the statement itself.
    - `keyword`, `entity`: the share of the keywords and tags, and of the entities, that the question has.
    - `time`: 1 if it is of a time that the question names, less with the distance from it.
    - `recency`: 1 for now, a half for 30 days ago.
    - `confidence`: the confidence of an item.
    - `scope`: 1 for an item of the conversation, of the subject or of the world; 0 for one of another conversation.
    - `governance`: 1 for a pinned item, else its importance.
    - `evidence`: 1 for two sources that are still shown or more, a half for one.
    - `authority`: 1 for what a user said or a person attested; see `AUTHORITIES`.
    - `stale`: subtracted: 1 if an item needs a review, a half if it is possibly stale.

    With `half_life_days` the score of what ages (dynamic and volatile items, diaries, messages) is halved after so many
    days; 0 turns that off. What has less than `least` is dropped.
    """

    lexical: Weight = 1.0
    similarity: Weight = 0.7
    context: Weight = 0.4
    source: Weight = 1.0
    exact: Weight = 0.3
    keyword: Weight = 0.15
    entity: Weight = 0.15
    time: Weight = 0.8
    recency: Weight = 0.05
    confidence: Weight = 0.15
    scope: Weight = 0.05
    governance: Weight = 0.05
    evidence: Weight = 0.05
    authority: Weight = 0.2
    stale: Weight = 0.15
    half_life_days: Annotated[float, Meta(ge=0, le=36500)] = 0.0
    least: Weight = 0.0


COMPONENTS = (
    "lexical",
    "similarity",
    "context",
    "source",
    "exact",
    "keyword",
    "entity",
    "time",
    "recency",
    "confidence",
    "scope",
    "governance",
    "evidence",
    "authority",
    "stale",
)  # in the order in which they are added up
PENALTIES = frozenset({"stale"})


class RecallPreset(StrEnum):
    """Weights with a name."""

    BALANCED = "balanced"
    SIMILARITY = "similarity"
    DECAY = "decay"


NO_WEIGHTS = RecallWeights(**dict.fromkeys(COMPONENTS, 0.0))
# `similarity` is the plain sum of many memories, `decay` one that forgets; both know nothing but words and times.
RECALL_PRESETS: dict[RecallPreset, RecallWeights] = {
    RecallPreset.BALANCED: RecallWeights(),
    RecallPreset.SIMILARITY: replace(NO_WEIGHTS, similarity=0.55, lexical=0.35, recency=0.1),
    RecallPreset.DECAY: replace(NO_WEIGHTS, similarity=0.7, lexical=0.3, half_life_days=30.0, least=0.1),
}
