"""What is asked of a search, and what it answers. Nothing here computes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from muniment.events.identity import Channel, ConversationId
from muniment.events.message import Role
from muniment.governance.budgets import BudgetApplied
from muniment.governance.listing import LifecycleFilter
from muniment.operations.place import Moment, Place
from muniment.ranking.weights import Weights


class Sort(StrEnum):
    """In which order hits come: the best first, or the latest."""

    RELEVANCE = "relevance"
    TIME = "time"


class Preset(StrEnum):
    """Weights that have a name (`ranking.weights.PRESETS`)."""

    WORDS = "words"
    MEANING = "meaning"
    SEED = "seed"


class SemanticCoverage(StrEnum):
    """Whether what was searched could be found by meaning: not at all, as far as it has vectors yet, or all of it."""

    ABSENT = "absent"
    PARTIAL = "partial"
    FULL = "full"


class SearchScope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where to search: a channel, a conversation (of that channel, or the default one), what a role or speaker said.

    Times are UTC milliseconds, `until_ms` not included.
    """

    channel: Annotated[Channel | None, Meta(description="Search this channel only.")] = None
    conversation: Annotated[
        ConversationId | None,
        Meta(description="Search this conversation only: one of the channel, or of the default channel."),
    ] = None
    role: Annotated[Role | None, Meta(description="Who said it: user or assistant.")] = None
    speaker: Annotated[str | None, Meta(description="Name of the speaker.")] = None
    from_ms: Annotated[Moment | None, Meta(description="Not before this time, in UTC milliseconds.")] = None
    until_ms: Annotated[Moment | None, Meta(description="Before this time, in UTC milliseconds.")] = None
    lifecycle: Annotated[LifecycleFilter, Meta(description="Search active turns only, or archived ones too.")] = (
        LifecycleFilter.ACTIVE
    )


class SearchRanking(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How to rank: in which order, as asked when (UTC milliseconds), explained or not.

    Weights have a name or are given one by one; without either, those count that fit what the index has. By time, words
    alone count.
    """

    sort: Annotated[Sort, Meta(description="Order of the hits. By time, only keywords decide what is found.")] = (
        Sort.RELEVANCE
    )
    preset: Annotated[
        Preset | None, Meta(description="Named weights. Without preset and weights: the ones that fit the index.")
    ] = None
    weights: Annotated[Weights | None, Meta(description="Weight of each signal, instead of a preset.")] = None
    asked_ms: Annotated[
        Moment | None,
        Meta(
            description="When the question is asked, in UTC milliseconds; `last week` counts from there. Default: now."
        ),
    ] = None
    explain: Annotated[bool, Meta(description="Explain each score and how the query was understood.")] = False


class Excerpt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of what a view shows of a message. Highlights are code points of `text`, the end not included."""

    text: str
    highlights: list[tuple[int, int]] = []
    cut_before: bool = False
    cut_after: bool = False


class Hit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message that was found. `signals` says what its score was made of, where that was asked for.

    `beside`: nothing in it was looked for; it stands beside what was found, as the answer to a question often does.
    """

    place: Place
    role: Role
    speaker: str
    excerpt: Excerpt
    score: float
    beside: bool = False
    signals: dict[str, float] | None = None


class CappedItem(StrEnum):
    """What a query had too much of: words, places at which its words stand, messages that were found."""

    WORDS = "words"
    PLACES = "places"
    HITS = "hits"


class Cap(Struct, frozen=True, kw_only=True):
    """A limit that a query ran into: `limit` were used of `found`, or of more."""

    what: CappedItem
    limit: int
    found: int


class QueryReading(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a query was understood.

    `terms` are what is searched for, as it is indexed; the words in `left_out` are not: they are in every sentence, or
    name somebody (`speakers`, whose messages count for more) or a time (`dates`, half-open in UTC milliseconds). `role`
    is whose words are asked for. `taken_as_words` looked like filters whose values could not be read.
    """

    terms: list[str] = []
    left_out: list[str] = []
    speakers: list[str] = []
    role: Role | None = None
    dates: list[tuple[int, int]] = []
    phrases: list[str] = []
    excluded: list[str] = []
    filters: list[str] = []
    taken_as_words: list[str] = []


class SearchPage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of hits. `total` counts what a run leads through, `semantic` tells whether meaning counted.

    `semantic_flaw` says why meaning did not count although it should. `capped` lists the limits that the query ran
    into; `understood` is there when the ranking is explained.
    """

    hits: list[Hit]
    total: int
    semantic: SemanticCoverage
    semantic_flaw: str | None = None
    has_more: bool = False
    next_cursor: str | None = None
    capped: list[Cap] = []
    understood: QueryReading | None = None
    budget_applied: list[BudgetApplied] = []
