"""The request of a search and its report. Nothing here computes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from muniment.events.identity import Channel, ConversationId
from muniment.events.message import Role
from muniment.governance.budgets import BudgetApplied
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.kernel.canonical import encode_plain
from muniment.operations.place import Moment, Place
from muniment.ranking.weights import Weights
from muniment.search.query import Cap


class Sort(StrEnum):
    """The order of hits: the best first, or the latest."""

    RELEVANCE = "relevance"
    TIME = "time"


class Preset(StrEnum):
    """Weights with a name (`ranking.weights.PRESETS`)."""

    WORDS = "words"
    MEANING = "meaning"
    SEED = "seed"


class SemanticCoverage(StrEnum):
    """Whether messages could be found by meaning: none, those that have vectors yet, or all."""

    ABSENT = "absent"
    PARTIAL = "partial"
    FULL = "full"


class SearchScope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where to search: a channel, a conversation (of that channel, or the default one), messages of a role or speaker.

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

    Weights come as a preset or one by one; without either, those count that suit an index with or without vectors. By
    time, words alone count.
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
    """A message that was found. With `explain`, `signals` are the parts of its score.

    `is_context`: it does not match itself but is next to a message that does, as the answer to a question often is.
    """

    place: Place
    role: Role
    speaker: str
    excerpt: Excerpt
    score: float
    is_context: bool = False
    signals: dict[str, float] | None = None


class SearchRequest(Struct, frozen=True, kw_only=True):
    """What to search for, where, and how many hits of it a page holds."""

    query: str
    view: View
    within: SearchScope
    ranking: SearchRanking
    limit: int

    def spelled(self) -> str:
        """Return the request as text that is equal for equal requests alone; cursors are bound to it."""
        return encode_plain(self).decode()


class QueryReading(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a query was understood.

    `terms` are searched for, as they are indexed; the words in `left_out` are not: they are in every sentence, or name
    a time (`dates`, half-open in UTC milliseconds). Words that name somebody (`speakers`, whose messages count for
    more) are searched for as well. `role` is whose messages are asked for. `taken_as_words` look like filters with
    unreadable values.
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
    """A page of hits. `total` counts the messages that match, `semantic` tells whether meaning counted.

    The total is that of all pages, and of what is beyond them; hits with `is_context` are not in it. `total_is_least`:
    there may be more, since the most frequent words of the query were only looked up in what other words had found.

    `semantic_reason` says why meaning did not count although an embedder is chosen. `capped` lists the limits that the
    query reached; `understood` is there with `explain`.
    """

    hits: list[Hit]
    total: int
    semantic: SemanticCoverage
    semantic_reason: str | None = None
    total_is_least: bool = False
    has_more: bool = False
    next_cursor: str | None = None
    capped: list[Cap] = []
    understood: QueryReading | None = None
    budget_applied: list[BudgetApplied] = []

    def covered(self) -> CoveredTurns:
        """Return the turns of which this shows an excerpt."""
        return CoveredTurns(positions=[hit.place.position for hit in self.hits])
