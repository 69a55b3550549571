"""Annotating: attributes on their way into the log, each taken or refused alone.

What an attribute is by itself is judged before the transaction, what the conversation allows inside it; a dry run asks
the same of a snapshot and appends nothing. All that is taken of one request is appended in one transaction.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import LimitExceeded, UnknownConversation
from muniment.events.attributes import Attribute
from muniment.events.identity import ConversationKey, TurnId, check_name
from muniment.events.records import EventKind, TurnMeta
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
from muniment.governance.phases import Phase
from muniment.governance.slices import RedactionItem, attribute_item
from muniment.governance.views import View
from muniment.ledger.ledger import Draft, Writer, draft
from muniment.log.port import Reader
from muniment.space.space import Space


class Annotation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one attribute of a request: recorded at a position, or refused for a reason without a trace.

    `replaces` is the position of the attribute of the same id that it stands for from now on.
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


class Annotating:
    """One request for annotations on its way."""

    def __init__(
        self, session: Session, conversation: ConversationKey, attributes: list[Attribute], key: str | None
    ) -> None:
        session.check_key(conversation)
        self._session = session
        self._space = session.space
        self._conversation = conversation
        self._attributes = attributes
        self._key = key
        if key is not None:
            check_name(key, at="idempotency_key")
        limits = self._space.limits
        if len(attributes) > limits.attributes_max:
            found = len(attributes)
            raise LimitExceeded(at="attributes", problem="too_many", limit=limits.attributes_max, found=found)
        self._now_ms = self._space.sources.clock.now_ms()
        self._admitted = [admit_attribute(each, self._now_ms, key, limits) for each in attributes]
        self._drafts: dict[int, Draft] = {}

    def run(self, *, dry: bool) -> AnnotationReport:
        """Decide; and unless it is a dry run, append what was accepted."""
        with self._space.ledger.reader() as reader:
            decided = self._decided(reader)
            size = reader.frontier().size
        if dry or all(each.refusal for each in decided):
            return self._report(size, decided, dry=dry)
        for place, each in enumerate(decided):
            if each.refusal is None:
                self._draft(place)
        return self._space.ledger.transact(self._plan)

    def _plan(self, writer: Writer) -> AnnotationReport:
        """Decide again on the present state, and append; runs inside the write transaction."""
        size, stream = writer.tx.frontier().size, self._stream(writer.tx)
        decided = self._decided(writer.tx)
        for place, each in enumerate(decided):
            if each.record is not None:
                turn, message = each.record.sequence, self._taken(place).meta.attribute.message
                refs = {"turn": turn} if message is None else {"turn": turn, "message": message}
                writer.append(self._draft(place), stream=stream, target=turn, refs=refs)
        return self._report(size, decided, dry=False)

    def _taken(self, place: int) -> AcceptedAttribute:
        admitted = self._admitted[place]
        assert isinstance(admitted, AcceptedAttribute), "what is refused by itself goes no further"
        return admitted

    def _draft(self, place: int) -> Draft:
        """Return the event of an attribute; made once, and before the transaction unless something changed since."""
        if place not in self._drafts:
            meta, content, fields = self._taken(place)
            self._drafts[place] = draft(
                self._space.sources.entropy, EventKind.ATTR_RECORDED, self._now_ms, meta, content=(content, fields)
            )
        return self._drafts[place]

    def _stream(self, reader: Reader) -> int:
        stream = self._space.transcript.stream_of(reader, self._conversation)
        if stream is None:
            raise UnknownConversation(at="conversation")
        return stream

    def _decided(self, reader: Reader) -> list[DecidedAttribute]:
        """Decide every attribute; an id that occurs twice is refused wherever it occurs."""
        state = AnnotationState(self._space, reader, self._conversation, self._stream(reader))
        times = Counter(each.id for each in self._attributes)
        decided: list[DecidedAttribute] = []
        for given, admitted in zip(self._attributes, self._admitted, strict=True):
            if times[given.id] > 1:
                decided.append(DecidedAttribute(AttributeRefusal.ID_REPEATED))
            elif isinstance(admitted, AttributeRefusal):
                decided.append(DecidedAttribute(admitted))
            else:
                decided.append(self._placed(state, given, admitted))
        return decided

    def _placed(self, state: AnnotationState, given: Attribute, admitted: AcceptedAttribute) -> DecidedAttribute:
        record = state.turn(given.target.turn)
        if record is None:
            return DecidedAttribute(AttributeRefusal.UNKNOWN_TURN)
        actor = record.meta.actor
        self._session.access.require_subjects(actor.subject, actor.acting_subject, actor.mounted_subject)
        return state.decide(record, admitted)

    def _report(self, size: int, decided: list[DecidedAttribute], *, dry: bool) -> AnnotationReport:
        attributes: list[Annotation] = []
        withheld: list[RedactionItem] = []
        position = size
        for place, (given, each) in enumerate(zip(self._attributes, decided, strict=True)):
            if each.record is None:
                attributes.append(Annotation(id=given.id, accepted=False, reason=each.refusal))
                continue
            at = None if dry else position
            attributes.append(Annotation(id=given.id, accepted=True, replaces=each.replaces, position=at))
            withheld += _withheld(each.record, self._taken(place))
            position += 1
        return AnnotationReport(
            conversation=self._conversation,
            dry_run=dry,
            accepted=position - size,
            refused=len(decided) - (position - size),
            audit_position=size,
            attributes=attributes,
            withheld=withheld,
            idempotency_key=self._key,
        )


class AnnotationState:
    """The conversation as one snapshot has it, and what of the request was accepted on it so far."""

    def __init__(self, space: Space, reader: Reader, conversation: ConversationKey, stream: int) -> None:
        self._transcript = space.transcript
        self._limits = space.limits
        self._reader = reader
        self._conversation = conversation
        self._head = space.transcript.head(reader, stream)
        self._changes = space.transcript.changes(reader, self._head)
        self._turns: dict[TurnId, TurnRecord | None] = {}
        self._new: Counter[int] = Counter()

    def turn(self, turn: TurnId) -> TurnRecord | None:
        """Return a turn by its id, without its words; None for one that is not there."""
        if turn not in self._turns:
            opened = self._transcript.turn(self._reader, self._head, self._conversation, turn)
            self._turns[turn] = None
            if opened is not None and opened.row.turn_seq is not None:
                read = self._transcript.read(opened.row, opened.row.turn_seq, self._changes, _no_words)
                self._turns[turn] = read.record
        return self._turns[turn]

    def decide(self, record: TurnRecord, admitted: AcceptedAttribute) -> DecidedAttribute:
        """Decide what becomes of an attribute of a turn; one that is accepted counts for those behind it."""
        head, turn = admitted.meta.attribute, record.sequence
        known = self._changes.attributes
        others = len(known.of(turn)) + self._new[turn] - (head.id in known.of(turn))
        aim = ResolvedTarget(
            turn, head.message, len(record.meta.messages), is_erased(record.phase, head.message, record.erased)
        )
        refusal = refused_by_target(aim, KnownAttribute(known.known(head.id), others), self._limits)
        if refusal is not None:
            return DecidedAttribute(refusal)
        before = known.of(turn).get(head.id)
        self._new[turn] += before is None
        return DecidedAttribute(None, record, None if before is None else before.position)


def _withheld(record: TurnRecord, admitted: AcceptedAttribute) -> list[RedactionItem]:
    """Return what each view does not show of an attribute."""
    meta, turn = admitted.meta, TurnId(record.meta.delivery.turn)
    judged = {view: judge_attribute(view, standing(record, view, meta.attribute.message), meta) for view in View}
    return [attribute_item(turn, meta, reason, view) for view, (_, reason) in judged.items() if reason is not None]


def _no_words(_phase: Phase, _meta: TurnMeta) -> bool:
    return False
