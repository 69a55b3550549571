"""Evidence links, both ways: where an item of memory came from, and what was derived from a turn.

A link says what was recorded, what is left of its source today, and whether the source is
proved: whether the turns that it names are there and their leaves give the digest that was recorded. It shows
ids and no words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, UnknownConversation, UnknownPlace
from muniment.events.identity import ConversationKey, TurnId, check_name
from muniment.events.references import Plane, SourceEvidence
from muniment.governance.budgets import BudgetApplied, applied
from muniment.governance.profiles import Ceiling
from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.operations.page import binding, limit_of_query
from muniment.operations.provenance.derived_refs import SourceState, citation, state_of
from muniment.projections.conversation_catalogue import CaughtUpCatalogue
from muniment.projections.evidence_links import Reference
from muniment.projections.link_checks import faults_of

SEE_LINKS = frozenset({View.RAW_OWNER, View.OPERATOR_AUDIT})  # links are structure; no slice shows them


class MemoryKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names an item of memory: its plane and its key there."""

    plane: Annotated[Plane, Meta(description="Plane of a memory item; needs key.")]
    key: Annotated[str, Meta(description="Key of the item in its plane.")]


class Link(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A derived reference. `verified`: its turns are there and give the recorded digest.

    `from_archive`: it came with an archive, without a digest, since the leaves of its turns are others here. Nothing
    proves it until it is recorded again.
    """

    position: int
    plane: Plane
    key: str
    subject: str
    source: SourceEvidence
    citation: str
    created_ms: int
    digest: str
    verified: bool
    state: SourceState
    from_archive: bool = False


class LinkPage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of links, in the order of their creation."""

    links: list[Link]
    has_more: bool
    next_cursor: str | None = None
    budget_applied: list[BudgetApplied] = []


class LinksMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """Where a page of links ended."""

    created_ms: int
    position: int


class LinkQuery:
    """A query for one page of links."""

    def __init__(self, session: Session, limit: int) -> None:
        self._session = session
        self._space = session.space
        self._limit = limit_of_query(limit, self._space.limits.page_turns_max)
        self._budget = session.budget()

    def of_memory(self, memory: MemoryKey, cursor: str | None) -> LinkPage:
        """Return what an item of memory was derived from."""
        check_name(memory.key, at="memory.key")
        with self._space.catalogue.caught_up(self._session.progress) as caught:
            references = caught.links.of_memory(memory.plane, memory.key)
            return self._page(caught, references, ("memory", memory.plane, memory.key), cursor)

    def of_conversation(self, key: ConversationKey, turn: TurnId | None, cursor: str | None) -> LinkPage:
        """Return what was derived from a conversation, or from a turn of it."""
        self._session.check_key(key)
        if turn is not None:
            check_name(turn, at="turn")
        transcript = self._space.transcript
        with self._space.catalogue.caught_up(self._session.progress) as caught:
            stream = transcript.stream_of(caught.reader, key)
            if stream is None:
                raise UnknownConversation(at="conversation")
            references = caught.links.of_stream(stream)
            if turn is not None:
                opened = transcript.turn(caught.reader, transcript.head(caught.reader, stream), key, turn)
                if opened is None or opened.row.turn_seq is None:
                    raise UnknownPlace(at="turn")
                sequence = opened.row.turn_seq
                references = [reference for reference in references if reference.span.holds(sequence)]
            request = ("turns", key.channel, key.conversation, *([] if turn is None else [turn]))
            return self._page(caught, references, request, cursor)

    def _page(
        self, caught: CaughtUpCatalogue, references: Sequence[Reference], request: tuple[str, ...], cursor: str | None
    ) -> LinkPage:
        space, reader = self._space, caught.reader
        bound = binding(self._session, reader, *request)
        if cursor is not None:
            mark = space.cursors.accept("links", bound, cursor, LinksMark)
            references = [
                reference
                for reference in references
                if (reference.created_ms, reference.position) > (mark.created_ms, mark.position)
            ]
        limit = self._limit if self._budget.derived_refs is None else min(self._limit, self._budget.derived_refs)
        shown, has_more = references[:limit], len(references) > limit
        following = None
        if has_more:
            mark = LinksMark(created_ms=shown[-1].created_ms, position=shown[-1].position)
            following = space.cursors.issue("links", bound, mark)
        return LinkPage(
            links=[self._link(reader, reference) for reference in shown],
            has_more=has_more,
            next_cursor=following,
            budget_applied=applied(self._budget, {Ceiling.DERIVED_REFS: min(len(references), self._limit)}),
        )

    def _link(self, reader: Reader, reference: Reference) -> Link:
        space, meta = self._space, reference.meta
        head = space.transcript.head(reader, reference.stream)
        return Link(
            position=reference.position,
            plane=meta.plane,
            key=meta.key,
            subject=meta.subject,
            source=meta.source,
            citation=citation(meta.source),
            created_ms=meta.created_ms,
            digest=meta.digest,
            verified=bool(meta.digest)
            and not faults_of(space.transcript, reader, space.ledger.log, space.name, reference),
            from_archive=not meta.digest,
            state=state_of(head, space.transcript.changes(reader, head), reference.span, reference.message),
        )


def asked_of_one(memory: MemoryKey | None, conversation: ConversationKey | None, turn: TurnId | None) -> None:
    """Refuse a request for links that asks about both ends, or neither, or about a turn of no conversation."""
    if (memory is None) == (conversation is None):
        raise InvalidInput(at="memory", problem="memory_or_conversation")
    if turn is not None and conversation is None:
        raise InvalidInput(at="turn", problem="without_conversation")
