"""What was sought and found: the places of a text in one state of the log, and the token that stands for them."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from msgspec import Meta, Struct
from msgspec.structs import asdict

from muniment.declaration.session import Session
from muniment.events.changes import RedactionTarget
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.governance.cursor_lifetime import CursorLifetime, check_term, check_unchanged, term
from muniment.governance.views import View
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import b64url, sha256
from muniment.operations.redactions.matching import Matching
from muniment.operations.redactions.occurrences import Extent
from muniment.operations.transcripts.redact import Passage

PURPOSE = "redactions"


class SoughtText(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A text to find: how it may be spelled, and where."""

    text: Annotated[str, Meta(description="The text, number, wildcard or type of a detector.")]
    matching: Annotated[
        Matching,
        Meta(description="As it is, in any case, by digits alone, with ? and *, or what a detector finds."),
    ] = Matching.LITERAL
    channel: Annotated[Channel | None, Meta(description="Search this channel only.")] = None
    conversation: Annotated[
        ConversationId | None,
        Meta(description="Search this conversation only: one of the channel, or of the default channel."),
    ] = None

    def spelled(self, views: frozenset[View]) -> str:
        """Return the request as text that is equal for equal requests alone; tokens are bound to it."""
        return encode_plain([asdict(self), sorted(views)]).decode()


class FoundPassage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A place at which the text occurs: what would be withheld there, and what stands around it.

    `already`: it is withheld from all the views. Of an attribute nothing can be withheld; it is named by its id.
    """

    conversation: ConversationKey
    turn: TurnId
    sequence: int
    extent: Extent
    passage: Passage
    excerpt: str
    already: bool = False
    attribute: str | None = None


class PendingRedaction(NamedTuple):
    """What is to be withheld: of which turn of which stream."""

    stream: int
    sequence: int
    target: RedactionTarget


class PreviewMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """What a token carries: a digest of what was to be withheld."""

    pending: str
    term: CursorLifetime


class SearchedSpace(Struct, frozen=True, kw_only=True):
    """What was found in one state of the log, of `size` events."""

    size: int
    bound: tuple[str, ...]
    views: frozenset[View]
    passages: list[FoundPassage]
    pending: list[PendingRedaction]
    masked_turns: int

    @property
    def already(self) -> int:
        """How many places are withheld from all the views."""
        return sum(passage.already for passage in self.passages)

    def count(self, extent: Extent) -> int:
        """Return how many places there are of an extent."""
        return sum(passage.extent is extent for passage in self.passages)

    def digest(self) -> str:
        """Return a digest of what is to be withheld; it is only given away encrypted."""
        return b64url(sha256(encode_plain([[one.stream, one.sequence, asdict(one.target)] for one in self.pending])))

    def token(self, session: Session) -> str:
        """Return the token that stands for this set of places."""
        mark = PreviewMark(pending=self.digest(), term=term(session.space.sources.clock.now_ms()))
        return session.space.cursors.issue(PURPOSE, self.bound, mark)

    def check(self, session: Session, token: str) -> None:
        """Refuse a token of another request, and one of other places; where none is left, there is nothing to see."""
        mark = session.space.cursors.accept(PURPOSE, self.bound, token, PreviewMark)
        check_term(mark.term, session.space.sources.clock.now_ms())
        if self.pending:
            check_unchanged(mark.pending, self.digest())
