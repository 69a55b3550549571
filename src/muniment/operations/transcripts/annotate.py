"""Annotate: attributes on their way into the log, each accepted or refused by itself.

What an attribute is by itself is judged before the transaction, what the conversation allows inside it; a dry run
judges both on a snapshot and appends nothing. Everything that is accepted of one request is appended in one
transaction.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, NamedTuple

from msgspec import Meta, Struct

from muniment.declaration.session import Session
from muniment.errors import LimitExceeded
from muniment.events.attributes import Attribute
from muniment.events.identity import ConversationKey, TurnId, check_name, conversation_mark
from muniment.events.records import EventKind
from muniment.governance.annotation import (
    AcceptedAttribute,
    AttributeRefusal,
    KnownAttribute,
    ResolvedTarget,
    admit_attribute,
    is_erased,
    refused_by_target,
)
from muniment.governance.attribute_visibility import judge_attribute
from muniment.governance.judgement import TurnRecord, standing
from muniment.governance.limits import Limits
from muniment.governance.slices import RedactionItem, attribute_item
from muniment.governance.views import View
from muniment.ledger.drafts import Draft, EncodedContent, draft
from muniment.log.port import Reader
from muniment.projections.conversation import Conversation, opened
from muniment.projections.transcript import no_words

if TYPE_CHECKING:
    from muniment.ledger.ledger import Writer

Attributes = Annotated[list[Attribute], Meta(description="The attributes to record.")]


class Annotation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one attribute of a request: recorded at a position, or refused for a reason without a trace.

    `replaces` is the position of the attribute of the same id that it replaces from now on.
    """

    id: str
    accepted: bool
    reason: AttributeRefusal | None = None
    replaces: int | None = None
    position: int | None = None


class AnnotationReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a request, attribute by attribute in its order.

    `withheld` says what each view does not show of the values that were accepted. `audit_position` is the place in the
    log where the request was decided: that of its first event, or in a dry run the one that it would have.
    """

    conversation: ConversationKey
    dry_run: bool
    accepted: int
    refused: int
    audit_position: int
    attributes: list[Annotation]
    withheld: list[RedactionItem]
    idempotency_key: str | None = None


class DecidedAttribute(NamedTuple):
    """One attribute of a request, decided: refused, or to be recorded of a turn."""

    refusal: AttributeRefusal | None
    record: TurnRecord | None = None
    replaces: int | None = None


class AnnotationRequest(NamedTuple):
    """Attributes that were checked by themselves, on their way into one conversation.

    `admitted` are in the order of `attributes`. `drafts` are the events made so far, by place in that order.
    """

    session: Session
    key: ConversationKey
    attributes: list[Attribute]
    admitted: list[AcceptedAttribute | AttributeRefusal]
    idempotency_key: str | None
    now_ms: int
    drafts: dict[int, Draft]

    def accepted(self, place: int) -> AcceptedAttribute:
        """Return an attribute that was not refused by itself."""
        admitted = self.admitted[place]
        assert isinstance(admitted, AcceptedAttribute), "what is refused by itself goes no further"
        return admitted

    def draft(self, place: int) -> Draft:
        """Return the event of an attribute; made once, and before the transaction unless something changed since."""
        if place not in self.drafts:
            meta, content, fields = self.accepted(place)
            entropy = self.session.space.sources.entropy
            self.drafts[place] = draft(
                entropy, EventKind.ATTR_RECORDED, self.now_ms, meta, content=EncodedContent(content, fields)
            )
        return self.drafts[place]


def annotate(
    session: Session, key: ConversationKey, attributes: list[Attribute], idempotency_key: str | None, *, dry: bool
) -> AnnotationReport:
    """Decide about each attribute; and unless it is a dry run, append what was accepted."""
    request = checked(session, key, attributes, idempotency_key)
    session.seen.require(key)
    ledger = session.space.ledger
    with ledger.reader() as reader:
        decisions = decide(request, reader)
        size = reader.frontier().size
    if dry or all(decision.refusal for decision in decisions):
        return _report(request, size, decisions, dry=dry)
    for place, decision in enumerate(decisions):
        if decision.refusal is None:
            request.draft(place)
    return ledger.transact(lambda writer: append(request, writer))


def checked(
    session: Session, key: ConversationKey, attributes: list[Attribute], idempotency_key: str | None
) -> AnnotationRequest:
    """Return a request whose attributes were each checked by themselves."""
    session.check_key(key)
    space, count = session.space, len(attributes)
    if idempotency_key is not None:
        check_name(idempotency_key, at="idempotency_key")
    limits = space.limits
    if count > limits.attributes_max:
        raise LimitExceeded(at="attributes", problem="too_many", limit=limits.attributes_max, found=count)
    now_ms, mark = space.sources.clock.now_ms(), conversation_mark(key.channel, key.conversation)
    admitted = [admit_attribute(attribute, mark, now_ms, idempotency_key, limits) for attribute in attributes]
    return AnnotationRequest(session, key, attributes, admitted, idempotency_key, now_ms, {})


def append(request: AnnotationRequest, writer: Writer) -> AnnotationReport:
    """Decide again on the present state, and append; runs inside the write transaction."""
    size = writer.tx.frontier().size
    state = _state(request, writer.tx)
    decisions = _decisions(request, state)
    for place, decision in enumerate(decisions):
        if decision.record is not None:
            turn, message = decision.record.sequence, request.accepted(place).meta.attribute.message
            refs = {"turn": turn} if message is None else {"turn": turn, "message": message}
            writer.append(request.draft(place), stream=state.conversation.stream, target=turn, refs=refs)
    return _report(request, size, decisions, dry=False)


def decide(request: AnnotationRequest, reader: Reader) -> list[DecidedAttribute]:
    """Decide every attribute on one state of the log."""
    return _decisions(request, _state(request, reader))


def _state(request: AnnotationRequest, reader: Reader) -> AnnotationState:
    space = request.session.space
    return AnnotationState(space.limits, opened(space.transcript, reader, request.key))


def _decisions(request: AnnotationRequest, state: AnnotationState) -> list[DecidedAttribute]:
    """Decide every attribute; an id that occurs twice is refused wherever it occurs."""
    access = request.session.access
    times = Counter(attribute.id for attribute in request.attributes)
    decisions: list[DecidedAttribute] = []
    for given, admitted in zip(request.attributes, request.admitted, strict=True):
        if times[given.id] > 1:
            decisions.append(DecidedAttribute(AttributeRefusal.ID_REPEATED))
        elif isinstance(admitted, AttributeRefusal):
            decisions.append(DecidedAttribute(admitted))
        elif (record := state.turn(given.target.turn)) is None or not access.shows_subject(record.meta.actor.subject):
            decisions.append(DecidedAttribute(AttributeRefusal.UNKNOWN_TURN))
        else:
            actor = record.meta.actor
            access.require_subjects(actor.subject, actor.acting_subject, actor.mounted_subject)
            decisions.append(state.decide(record, admitted))
    return decisions


def _report(request: AnnotationRequest, size: int, decisions: list[DecidedAttribute], *, dry: bool) -> AnnotationReport:
    attributes: list[Annotation] = []
    withheld: list[RedactionItem] = []
    position = size
    for place, (given, decision) in enumerate(zip(request.attributes, decisions, strict=True)):
        if decision.record is None:
            attributes.append(Annotation(id=given.id, accepted=False, reason=decision.refusal))
            continue
        at = None if dry else position
        attributes.append(Annotation(id=given.id, accepted=True, replaces=decision.replaces, position=at))
        withheld += _withheld(decision.record, request.accepted(place))
        position += 1
    return AnnotationReport(
        conversation=request.key,
        dry_run=dry,
        accepted=position - size,
        refused=len(decisions) - (position - size),
        audit_position=size,
        attributes=attributes,
        withheld=withheld,
        idempotency_key=request.idempotency_key,
    )


class AnnotationState:
    """The conversation as one snapshot has it, and what of the request was accepted on it so far."""

    def __init__(self, limits: Limits, conversation: Conversation) -> None:
        self.conversation = conversation
        self._limits = limits
        self._turns: dict[TurnId, TurnRecord | None] = {}
        self._new: Counter[int] = Counter()

    def turn(self, turn: TurnId) -> TurnRecord | None:
        """Return a turn by its id, without its words; None for one that is not there."""
        if turn not in self._turns:
            event = self.conversation.turn(turn)
            self._turns[turn] = None if event is None else self.conversation.read(event, no_words).record
        return self._turns[turn]

    def decide(self, record: TurnRecord, admitted: AcceptedAttribute) -> DecidedAttribute:
        """Decide what becomes of an attribute of a turn; one that is accepted counts for those that follow."""
        head, turn = admitted.meta.attribute, record.sequence
        index = self.conversation.changes.attributes
        before = index.of(turn).get(head.id)
        others = len(index.of(turn)) + self._new[turn] - (before is not None)
        erased = is_erased(record.phase, head.message, record.erased)
        target = ResolvedTarget(turn, head.message, len(record.meta.messages), erased)
        refusal = refused_by_target(target, KnownAttribute(index.known(head.id), others), self._limits)
        if refusal is not None:
            return DecidedAttribute(refusal)
        self._new[turn] += before is None
        return DecidedAttribute(None, record, None if before is None else before.position)


def _withheld(record: TurnRecord, admitted: AcceptedAttribute) -> list[RedactionItem]:
    """Return what each view does not show of an attribute."""
    meta, turn = admitted.meta, TurnId(record.meta.delivery.turn)
    judged = {view: judge_attribute(view, standing(record, view, meta.attribute.message), meta) for view in View}
    return [attribute_item(turn, meta, reason, view) for view, (_, reason) in judged.items() if reason is not None]
