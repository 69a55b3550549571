"""The request of a context for a prompt and its report. Nothing here computes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct

from muniment.events.identity import ConversationKey
from muniment.events.message import Role
from muniment.governance.budgets import BudgetApplied
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.operations.place import Place
from muniment.operations.transcripts.hits import SemanticCoverage

Tokens = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Percent = Annotated[int, Meta(ge=0, le=100)]

MESSAGE_OVERHEAD_TOKENS = 4  # what an interface adds to a message: its role and the marks around it
REFERENCE_PERCENT = 25
CONTEXT_TURNS_MAX = 10_000  # read for one context


class Shape(StrEnum):
    """The interface that the messages are for."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    OTEL = "otel"


class SystemText(StrEnum):
    """Whether system text comes along."""

    KEEP = "keep"
    LEAVE_OUT = "leave_out"


class Gaps(StrEnum):
    """What replaces content that is masked, erased or redacted as a whole: a short marker, or nothing."""

    MARKER = "marker"
    LEAVE_OUT = "leave_out"


class QuoteScope(StrEnum):
    """Where earlier messages are searched."""

    CONVERSATION = "conversation"
    CHANNEL = "channel"
    SPACE = "space"


class Composition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a context is made.

    `reference_percent` is the share of the budget for earlier messages, `reach` where they are looked for.
    `overhead_tokens` is counted for each message beside its words. Files, images and sounds stand as short words,
    unless `file_tokens` says how many tokens each counts. With `begins` a conversation that is not there yet has no
    turns. With `record` it is put on record what was given.
    """

    system: Annotated[SystemText, Meta(description="What happens to system messages.")] = SystemText.KEEP
    gaps: Annotated[Gaps, Meta(description="What replaces content that is masked, erased or redacted.")] = Gaps.MARKER
    lifecycle: Annotated[LifecycleFilter, Meta(description="Use active turns only, or archived ones too.")] = (
        LifecycleFilter.ACTIVE
    )
    reach: Annotated[QuoteScope, Meta(description="Where to look for earlier messages.")] = QuoteScope.CONVERSATION
    reference_percent: Annotated[Percent, Meta(description="Share of the budget for earlier messages, in percent.")] = (
        REFERENCE_PERCENT
    )
    overhead_tokens: Annotated[Tokens, Meta(description="Tokens that each message takes beside its text.")] = (
        MESSAGE_OVERHEAD_TOKENS
    )
    file_tokens: Annotated[
        Tokens | None,
        Meta(description="Keep files, images and sounds and count each as this many tokens. Without it: a short note."),
    ] = None
    begins: Annotated[
        bool, Meta(description="The conversation may be new: then it has no turns. Without it, it must exist.")
    ] = False
    record: Annotated[
        bool, Meta(description="Record what was given as `context.issued`; needs the right to append.")
    ] = False


class PromptRequest(Struct, frozen=True, kw_only=True):
    """The context to make: of which conversation, for which budget, question, shape and view."""

    conversation: ConversationKey
    budget_tokens: int
    query: str | None
    shape: Shape
    view: View
    composition: Composition


class ContextPart(StrEnum):
    """What a context is made of, in this order."""

    SYSTEM = "system"
    REFERENCE = "reference"
    TURNS = "turns"


class MissingReason(StrEnum):
    """Why a part of a context is not there."""

    NOTHING_THERE = "nothing_there"
    NOT_ASKED = "not_asked"
    NO_ROOM = "no_room"
    NOT_FOUND = "not_found"
    QUERY_REFUSED = "query_refused"
    ALL_INCLUDED = "all_included"


class StopReason(StrEnum):
    """What ended the run of turns: the budget of tokens, the characters of the profile, or the most that is read."""

    TOKENS = "tokens"
    CHARS = "chars"
    TURNS = "turns"


class Section(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a context: how large it is, or why it is not there. `messages` are counted before any are joined."""

    part: ContextPart
    included: bool
    messages: int
    tokens: int
    chars: int
    miss: MissingReason | None = None


class Quoted(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An earlier message in the reference block; `cut` when it is only an excerpt."""

    place: Place
    role: Role
    cut: bool = False


class Context(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Messages for a prompt, and what was put in, cut and withheld.

    `system` are the text blocks for the field of that name, where the shape has one. The turns are those from
    `first_sequence` to `last_sequence`; `turns_before` are older and not there, because of `cut_by`. `withheld` counts
    messages, parts and ranges of the turns in between by reason, `left_out` what the shape has no place for: calls
    and results without their counterpart, files, reasoning. `hits` is how many earlier messages were considered;
    `semantic` tells whether their meaning counted. `tokens` is counted by `counter` and never above `budget_tokens`,
    `chars` are the characters of everything that was counted. `revision` counts the events of the conversation,
    `digest` is the leaf of the newest one. `recorded` is the position of the record, where one is kept.
    """

    conversation: ConversationKey
    shape: Shape
    view: View
    messages: list[dict[str, Any]]
    sections: list[Section]
    tokens: int
    budget_tokens: int
    chars: int
    counter: str
    turns: int
    turns_before: int
    system: list[dict[str, Any]] = []
    first_sequence: int | None = None
    last_sequence: int | None = None
    cut_by: StopReason | None = None
    withheld: dict[str, int] = {}
    left_out: dict[str, int] = {}
    quoted: list[Quoted] = []
    hits: int = 0
    semantic: SemanticCoverage | None = None
    revision: int = 0
    digest: str | None = None
    recorded: int | None = None
    budget_applied: list[BudgetApplied] = []

    def covered(self) -> CoveredTurns:
        """Return the turns that the messages were made of."""
        first, last = self.first_sequence or 1, self.last_sequence or 0
        quoted = (quoted.place.position for quoted in self.quoted)
        return CoveredTurns(sequences=range(first, last + 1), positions=quoted, recorded=self.recorded)
