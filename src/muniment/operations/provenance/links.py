"""Evidence links, both ways: where an item of memory came from, and what was derived from a turn.

A link shows what was recorded, what is left of its source today, and whether the source is proved: whether the turns
that it names are there and their leaves give the digest that was recorded. It shows ids and no content.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, UnknownPlace
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId, check_name
from muniment.events.references import Plane, SourceEvidence
from muniment.governance.budgets import BudgetApplied, applied
from muniment.governance.profiles import Ceiling
from muniment.governance.views import SHOWS_LINKS, shown_planes
from muniment.log.port import Reader
from muniment.operations.page import Page
from muniment.operations.provenance.derived_refs import SourceState, citation, state_of
from muniment.projections.conversation import Conversation, opened
from muniment.projections.evidence_links import Reference
from muniment.projections.link_checks import faults_of
from muniment.space.space import Space

SEE_LINKS = frozenset(view for view, planes in SHOWS_LINKS.items() if planes)  # links are structure; no slice has them


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
    """A page of links, in the order of their creation. `links_redacted` of all are of planes that no view shows."""

    links: list[Link]
    has_more: bool
    links_redacted: int = 0
    next_cursor: str | None = None
    budget_applied: list[BudgetApplied] = []


class LinksMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """Where a page of links ended."""

    created_ms: int
    position: int


def list_links(
    session: Session,
    memory: MemoryKey | None,
    key: ConversationKey | None,
    turn: TurnId | None,
    limit: int,
    cursor: str | None,
) -> LinkPage:
    """Return a page of links: of an item of memory, of a conversation, of a turn, or all of the space."""
    if memory is not None and key is not None:
        raise InvalidInput(at="memory", problem="memory_or_conversation")
    if turn is not None and key is None:
        raise InvalidInput(at="turn", problem="without_conversation")
    page = Page(session, "links", LinksMark, limit, cursor)
    if memory is not None:
        check_name(memory.key, at="memory.key")
    if key is not None:
        session.check_key(key)
    if turn is not None:
        check_name(turn, at="turn")
    with session.space.catalogue.caught_up(session.progress) as caught:
        if memory is not None:
            references = caught.links.of_memory(memory.plane, memory.key)
            return _page(session, caught.reader, page, references, ("memory", memory.plane, memory.key))
        if key is None:
            return _page(session, caught.reader, page, caught.links.every(), ("all",))
        conversation = opened(session.space.transcript, caught.reader, key)
        references = caught.links.of_stream(conversation.stream)
        request: tuple[str, ...] = ("turns", key.channel, key.conversation)
        if turn is not None:
            sequence = conversation.sequence_of(turn)
            if sequence is None:
                raise UnknownPlace(at="turn")
            references = [reference for reference in references if reference.span.includes(sequence)]
            request = (*request, turn)
        return _page(session, caught.reader, page, references, request)


def _page(
    session: Session, reader: Reader, page: Page[LinksMark], known: Sequence[Reference], request: tuple[str, ...]
) -> LinkPage:
    space, planes = session.space, shown_planes(session.access.open_views)
    references = [reference for reference in known if reference.meta.plane in planes]
    redacted = len(known) - len(references)
    mark = page.begin(reader, *request)
    if mark is not None:
        after = (mark.created_ms, mark.position)
        references = [reference for reference in references if (reference.created_ms, reference.position) > after]
    size = page.limit if page.budget.derived_refs is None else min(page.limit, page.budget.derived_refs)
    shown, more = references[:size], len(references) > size
    following = None
    if more:
        following = page.cursor_to(LinksMark(created_ms=shown[-1].created_ms, position=shown[-1].position))
    return LinkPage(
        links=[_link(space, reader, reference) for reference in shown],
        has_more=more,
        next_cursor=following,
        links_redacted=redacted,
        budget_applied=applied(page.budget, {Ceiling.DERIVED_REFS: min(len(references), page.limit)}),
    )


def _link(space: Space, reader: Reader, reference: Reference) -> Link:
    meta, transcript, source = reference.meta, space.transcript, reference.meta.source
    key = ConversationKey(conversation=ConversationId(source.conversation), channel=Channel(source.channel))
    conversation = Conversation(transcript, reader, key, reference.stream)
    return Link(
        position=reference.position,
        plane=meta.plane,
        key=meta.key,
        subject=meta.subject,
        source=source,
        citation=citation(source),
        created_ms=meta.created_ms,
        digest=meta.digest,
        verified=bool(meta.digest) and not faults_of(transcript, reader, space.ledger.log, space.name, reference),
        from_archive=not meta.digest,
        state=state_of(conversation.head, conversation.changes, reference.span, reference.message),
    )
