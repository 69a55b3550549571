"""Evidence links, both ways: where an item of memory came from, and what was derived from a turn.

A link tells what was recorded, what is left of its source today, and whether the
source is proved: whether the turns that it names are there and their leaves give the digest that was recorded. It shows
ids and no words.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import AccessDenied, InvalidInput, UnknownConversation, UnknownPlace
from muniment.events.changes import RedactionTarget, TurnSpan
from muniment.events.identity import ConversationKey, TurnId, check_name
from muniment.events.records import EventKind
from muniment.events.references import Plane, RefDerived, SourceEvidence
from muniment.governance.budgets import BudgetApplied, applied
from muniment.governance.phases import MASKED_PHASES, Phase, runs
from muniment.governance.profiles import Ceiling
from muniment.governance.views import View
from muniment.log.port import Reader, StreamHead
from muniment.operations.page import binding, limit_of_query
from muniment.projections.change_fold import Changes
from muniment.projections.conversation_catalogue import CaughtUpCatalogue
from muniment.projections.evidence_links import Reference, faults_of
from muniment.space.space import Space

CITED = "transcript"
SEE_LINKS = frozenset({View.RAW_OWNER, View.OPERATOR_AUDIT})  # links are structure; no slice shows them


class MemoryKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names an item of memory: its plane and its key there."""

    plane: Plane
    key: str


class SourceState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is left of a source: how many turns it has and in which phase they are.

    `messages_erased` counts messages of the source that were erased alone, `redactions` those that withhold something
    of it from one view or another.
    """

    turns: int
    active: int = 0
    archived: int = 0
    masked: int = 0
    erased: int = 0
    messages_erased: int = 0
    redactions: int = 0


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


class Linking:
    """One page of links on its way."""

    def __init__(self, session: Session, limit: int) -> None:
        if not session.access.views & SEE_LINKS:
            raise AccessDenied(at=View.OPERATOR_AUDIT)
        self._session = session
        self._space = session.space
        self._limit = limit_of_query(limit, self._space.limits.page_turns_max)
        self._budget = session.budget()

    def of_memory(self, memory: MemoryKey, cursor: str | None) -> LinkPage:
        """Return what an item of memory was derived from."""
        check_name(memory.key, at="memory.key")
        with self._space.catalogue.caught_up(self._session.progress) as caught:
            found = caught.links.of_memory(memory.plane, memory.key)
            return self._page(caught, found, ("memory", memory.plane, memory.key), cursor)

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
            found = caught.links.of_stream(stream)
            if turn is not None:
                opened = transcript.turn(caught.reader, transcript.head(caught.reader, stream), key, turn)
                if opened is None or opened.row.turn_seq is None:
                    raise UnknownPlace(at="turn")
                sequence = opened.row.turn_seq
                found = [one for one in found if one.span.includes(sequence)]
            asked = ("turns", key.channel, key.conversation, *([] if turn is None else [turn]))
            return self._page(caught, found, asked, cursor)

    def _page(
        self, caught: CaughtUpCatalogue, found: Sequence[Reference], asked: tuple[str, ...], cursor: str | None
    ) -> LinkPage:
        space, reader = self._space, caught.reader
        bound = binding(self._session, reader, *asked)
        if cursor is not None:
            mark = space.cursors.accept("links", bound, cursor, LinksMark)
            found = [one for one in found if (one.created_ms, one.position) > (mark.created_ms, mark.position)]
        most = self._limit if self._budget.derived_refs is None else min(self._limit, self._budget.derived_refs)
        shown, more = found[:most], len(found) > most
        following = None
        if more:
            mark = LinksMark(created_ms=shown[-1].created_ms, position=shown[-1].position)
            following = space.cursors.issue("links", bound, mark)
        return LinkPage(
            links=[self._link(reader, one) for one in shown],
            has_more=more,
            next_cursor=following,
            budget_applied=applied(self._budget, {Ceiling.DERIVED_REFS: min(len(found), self._limit)}),
        )

    def _link(self, reader: Reader, one: Reference) -> Link:
        space, meta = self._space, one.meta
        head = space.transcript.head(reader, one.stream)
        return Link(
            position=one.position,
            plane=meta.plane,
            key=meta.key,
            subject=meta.subject,
            source=meta.source,
            citation=citation(meta.source),
            created_ms=meta.created_ms,
            digest=meta.digest,
            verified=bool(meta.digest) and not faults_of(space.transcript, reader, space.ledger.log, space.name, one),
            from_archive=not meta.digest,
            state=state_of(head, space.transcript.changes(reader, head), one.span, one.message),
        )


def asked_of_one(memory: MemoryKey | None, conversation: ConversationKey | None, turn: TurnId | None) -> None:
    """Refuse a request for links that asks about both ends, or neither, or about a turn of no conversation."""
    if (memory is None) == (conversation is None):
        raise InvalidInput(at="memory", problem="memory_or_conversation")
    if turn is not None and conversation is None:
        raise InvalidInput(at="turn", problem="without_conversation")


def citation(source: SourceEvidence) -> str:
    """Return a source as people cite it; for showing, never to be read again."""
    place = "/".join(quote(part, safe="") for part in (source.space, source.channel, source.conversation))
    named = {"turn": source.turn, "through": source.through, "message": source.message}
    marks = "".join(f"#{name}={quote(text, safe='')}" for name, text in named.items() if text is not None)
    return f"{CITED}:{place}{marks}"


def state_of(head: StreamHead, changes: Changes, span: TurnSpan, message: int | None) -> SourceState:
    """Count what is left of a source."""
    last = head.turns if span.last is None else min(span.last, head.turns)
    phases: dict[Phase, int] = dict.fromkeys(Phase, 0)
    for run in runs(head.turns, changes.steps):
        phases[run.phase] += max(0, min(run.last, last) - max(run.first, span.first) + 1)
    erased = [places for turn, places in changes.erased.items() if span.includes(turn)]
    redactions = [one.target for turn, each in changes.redactions.items() if span.includes(turn) for one in each]
    return SourceState(
        turns=sum(phases.values()),
        active=phases[Phase.ACTIVE],
        archived=phases[Phase.ARCHIVED],
        masked=sum(phases[phase] for phase in MASKED_PHASES),
        erased=phases[Phase.ERASED],
        messages_erased=sum(len(places) if message is None else message in places for places in erased),
        redactions=sum(message is None or _concerns(target, message) for target in redactions),
    )


def _concerns(target: RedactionTarget, message: int) -> bool:
    """Tell whether a redaction withholds something of a message: it names the message, or the whole turn."""
    return target.field is None and target.message in {None, message}


# --- in the reports of the lifecycle ----------------------------------------------------------------------------------


class DerivedRef(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item of memory that was derived from turns that a change concerns; somebody may want to decide about it."""

    position: int
    plane: Plane
    key: str
    subject: str
    citation: str


def derived_refs(
    space: Space, reader: Reader, head: StreamHead, affected: Sequence[TurnSpan], most: int
) -> tuple[list[DerivedRef], int]:
    """Return the references whose sources are among the affected turns, as many as fit, and how many there are."""
    noted = space.transcript.changes(reader, head).noted.get(EventKind.REF_DERIVED, ())
    found = [one for one in noted if any(_meet(one.span, span) for span in affected)]
    listed: list[DerivedRef] = []
    for one in found[:most]:
        row = reader.sealed(one.position)
        assert row is not None, "it was read when the changes were folded"
        meta = space.ledger.open(row).meta
        assert isinstance(meta, RefDerived), "rows of this kind have this body"
        listed.append(
            DerivedRef(
                position=one.position,
                plane=meta.plane,
                key=meta.key,
                subject=meta.subject,
                citation=citation(meta.source),
            )
        )
    return listed, len(found)


def _meet(one: TurnSpan, other: TurnSpan) -> bool:
    return (other.last is None or one.first <= other.last) and (one.last is None or other.first <= one.last)
