"""Derivations: that an item of memory was derived from turns, checked against them and appended beside them.

Turns never change, so everything but the repetition is decided before the transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

from msgspec import Meta, Struct
from msgspec.structs import replace

from muniment.errors import InvalidInput, LimitExceeded, UnknownConversation, UnknownPlace
from muniment.events.changes import TurnSpan, span_refs
from muniment.events.identity import (
    ConversationKey,
    SubjectId,
    TurnId,
    check_name,
    conversation_mark,
    message_id,
    named_message,
)
from muniment.events.message import Authority
from muniment.events.records import EventKind, TurnMeta
from muniment.events.references import Plane, RefDerived, SourceEvidence
from muniment.evidence.verifier import source_digest
from muniment.governance.judgement import authority_of
from muniment.ledger.drafts import Change, Draft
from muniment.ledger.ledger import OpenedEvent, Writer
from muniment.log.port import Reader, SealedRow, StreamHead
from muniment.projections.link_checks import Phases, phase_left, turn_of, turns_of
from muniment.space.seen_part import SeenPart
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.declaration.session import Session


class Derivation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """That an item of memory was derived from a turn, from the turns `turn` to `through`, or from a message.

    `key` is the id of the item in its plane, `subject` whose it is; `message` is the id of a message of the turn,
    `authority` one with which something was said there. Ids outlive the words: nothing that was said belongs into them.
    """

    plane: Annotated[Plane, Meta(description="Plane of the memory item.")]
    key: Annotated[str, Meta(description="Id of the item in its plane.")]
    subject: Annotated[SubjectId, Meta(description="Subject of the item; one that a turn of the source names.")]
    conversation: Annotated[ConversationKey, Meta(description="Conversation of the source.")]
    turn: Annotated[TurnId, Meta(description="Id of the turn, or of the first turn.")]
    through: Annotated[TurnId | None, Meta(description="Id of the last turn. Without it: one turn.")] = None
    message: Annotated[str | None, Meta(description="Id of a message of the turn.")] = None
    authority: Annotated[Authority | None, Meta(description="An authority with which something was said there.")] = None


class RecordedDerivation(Struct, frozen=True, kw_only=True):
    """The position of a reference in the log, how many turns it names, and the digest that is made of their leaves."""

    plane: Plane
    key: str
    position: int
    changed: bool
    turns: int
    digest: str


Positions = dict[tuple[int, RefDerived], int]  # of references that a plan has appended, by stream and body


class PreparedDerivation(NamedTuple):
    """A reference that was checked against its source: what is appended unless it is there already."""

    head: StreamHead
    span: TurnSpan
    body: RefDerived
    known: int | None  # its position, when it was there before the transaction
    change: Change
    event: Draft
    is_new: bool  # its key was just drawn, so that nobody can have recorded it
    phases: Phases  # what was left of the turns, or of the message, when it was checked


def check_derivation(session: Session, given: Derivation, at: str) -> None:
    """Refuse malformed names, and subjects that the caller may not speak for."""
    session.check_key(given.conversation)
    names = (("key", given.key), ("subject", given.subject), ("turn", given.turn), ("through", given.through))
    for name, text in names:
        if text is not None:
            check_name(text, at=f"{at}.{name}")
    session.access.require_subjects(given.subject)
    if given.message is not None and given.through is not None:
        raise InvalidInput(at=f"{at}.message", problem="of_one_turn_alone")
    if given.message is not None and given.plane is Plane.PRIVATE_GARDEN:
        raise InvalidInput(at=f"{at}.message", problem="private")


# --- before the transaction: turns never change, so all but the repetition is decided here ----------------------------


def prepared_derivation(
    seen: SeenPart, reader: Reader, given: Derivation, at: str, now_ms: int, *, is_new: bool = False
) -> PreparedDerivation:
    """Return a reference, checked against the turns that it names; `at` is its path in the request.

    `is_new` says that its key was just drawn.
    """
    space, key = seen.space, given.conversation
    stream = space.transcript.stream_of(reader, key)
    if stream is None or not seen.access.shows_channel(key.channel):
        raise UnknownConversation(at=f"{at}.conversation")
    head = space.transcript.head(reader, stream)
    named = _found(seen, reader, head, key, (given.turn, f"{at}.turn"))
    through = None if given.through is None else _found(seen, reader, head, key, (given.through, f"{at}.through"))
    span = TurnSpan(_sequence(named), _sequence(named if through is None else through))
    turns = _length(space, span, f"{at}.through")
    leaves: list[bytes] = []
    phases: Phases = frozenset()
    subjects: set[str | None] = set()
    authorities: set[Authority] = set()
    message = None
    for read in (
        turns_of(space.transcript, reader, head, span) if through else [turn_of(space.transcript, reader, head, named)]
    ):
        meta = read.record.meta
        if not seen.access.shows_subject(meta.actor.subject):
            raise UnknownPlace(at=f"{at}.turn")
        leaves.append(read.opened.row.leaf)
        subjects |= {meta.actor.subject, meta.actor.acting_subject, meta.actor.mounted_subject}
        message = None if given.message is None else _place_of_message(meta, given, f"{at}.message")
        authorities |= {
            authority_of(message_head) for place, message_head in enumerate(meta.messages) if message in {None, place}
        }
        phases |= {phase_left(read, message)}
    assert len(leaves) == turns, "a page is whole"
    if given.subject not in subjects:
        raise InvalidInput(at=f"{at}.subject", problem="not_of_the_source")
    if given.authority is not None and given.authority not in authorities:
        raise InvalidInput(at=f"{at}.authority", problem="not_of_the_source")
    body = RefDerived(
        plane=given.plane,
        key=given.key,
        subject=given.subject,
        source=SourceEvidence(
            space=space.name,
            channel=key.channel,
            conversation=key.conversation,
            turn=given.turn,
            through=given.through if span.last != span.first else None,
            message=None if message is None else message_id(_mark(key), given.turn, message),
            subject=given.subject,
            authority=given.authority,
        ),
        created_ms=now_ms,
        digest=source_digest(space.ledger.log, leaves, message),
    )
    refs = span_refs(span) | ({} if message is None else {"message": message})
    change = Change(EventKind.REF_DERIVED, now_ms, body, refs)
    event = change.drafted(space.sources.entropy)
    known = None if is_new else _known(space, reader, head, span, body)
    return PreparedDerivation(head, span, body, known, change, event, is_new, phases)


def _found(
    seen: SeenPart, reader: Reader, head: StreamHead, key: ConversationKey, named: tuple[TurnId, str]
) -> OpenedEvent:
    """Return a turn, or raise what is unknown: the turn, or the conversation where a bound shows nothing of it."""
    turn, at = named
    opened = seen.space.transcript.turn(reader, head, key, turn)
    if (
        opened is not None
        and isinstance(opened.meta, TurnMeta)
        and seen.access.shows_subject(opened.meta.actor.subject)
    ):
        return opened
    bound = seen.access.subject is not None and head.turns > 0
    every = turns_of(seen.space.transcript, reader, head, TurnSpan(1, head.turns)) if bound else ()
    if bound and not any(seen.access.shows_subject(read.record.meta.actor.subject) for read in every):
        raise UnknownConversation(at=f"{at.rpartition('.')[0]}.conversation")
    raise UnknownPlace(at=at)


def _sequence(turn: OpenedEvent) -> int:
    assert turn.row.turn_seq is not None, "it was found among the turns"
    return turn.row.turn_seq


def _length(space: Space, span: TurnSpan, at: str) -> int:
    assert span.last is not None, "a source has both ends"
    turns, limit = span.last - span.first + 1, space.limits.source_turns_max
    if turns < 1:
        raise InvalidInput(at=at, problem="reversed")
    if turns > limit:
        raise LimitExceeded(at=at, problem="too_many", limit=limit, found=turns)
    return turns


def _place_of_message(turn: TurnMeta, given: Derivation, at: str) -> int:
    named = named_message(given.message or "", _mark(given.conversation))
    if named is None or named.turn != given.turn or named.place >= len(turn.messages):
        raise UnknownPlace(at=at)
    return named.place


def _mark(key: ConversationKey) -> str:
    return conversation_mark(key.channel, key.conversation)


def _known(space: Space, reader: Reader, head: StreamHead, span: TurnSpan, body: RefDerived) -> int | None:
    """Return the position of the same reference, if it is recorded already."""
    for noted in space.transcript.changes(reader, head).noted.get(EventKind.REF_DERIVED, ()):
        row = reader.sealed(noted.position) if noted.span == span else None
        if row is not None and _is_same(space, row, body):
            return row.position
    return None


def _is_same(space: Space, row: SealedRow, body: RefDerived) -> bool:
    """Tell whether an event is the same reference, whenever it was created."""
    recorded = space.ledger.open(row).meta
    return isinstance(recorded, RefDerived) and replace(recorded, created_ms=body.created_ms) == body


# --- inside the transaction -------------------------------------------------------------------------------------------


def append_derivation(
    space: Space, writer: Writer, reference: PreparedDerivation, positions: Positions
) -> RecordedDerivation:
    """Append a reference unless it is there; `positions` are those that the same plan has appended."""
    stream, body, span = reference.head.stream, reference.body, reference.span
    position = reference.known if reference.known is not None else positions.get((stream, body))
    if position is None and not reference.is_new:
        position = _arrived(space, writer, reference)
    changed = position is None
    if position is None:
        position = writer.change(reference.change, stream, reference.event).position
    positions[stream, body] = position
    return RecordedDerivation(
        plane=body.plane,
        key=body.key,
        position=position,
        changed=changed,
        turns=(span.last or 0) - span.first + 1,
        digest=body.digest,
    )


def _arrived(space: Space, writer: Writer, reference: PreparedDerivation) -> int | None:
    """Return the position of the same reference, if somebody recorded it since it was looked for."""
    for row in writer.tx.changes(reference.head.stream, reference.head.seq):
        if row.kind == EventKind.REF_DERIVED and _is_same(space, row, reference.body):
            return row.position
    return None
