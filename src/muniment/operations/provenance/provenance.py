"""The noun group `provenance`: where what a host remembers came from.

Provenance is the field's word for it (W3C PROV): an item of memory *was derived from* turns. It is written here, by
whoever keeps the memory, and read by `evidence.links`.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from muniment.declaration.operation import Group, operation
from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded, UnknownConversation, UnknownPlace
from muniment.events.changes import TurnSpan, span_refs
from muniment.events.identity import ConversationKey, SubjectId, TurnId, check_name, message_id
from muniment.events.message import Authority
from muniment.events.records import EventKind, TurnMeta
from muniment.events.references import Plane, RefDerived, SourceEvidence
from muniment.evidence.verifier import source_digest
from muniment.governance.access import Effect
from muniment.governance.judgement import authority_of
from muniment.ledger.ledger import Draft, Writer, draft
from muniment.log.port import WHOLE_CONVERSATION, Reader, SealedRow, StreamHead
from muniment.projections.link_checks import turns_of


class Derivation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """That an item of memory was derived from a turn, from the turns `turn` to `through`, or from a message.

    `key` is the id of the item in its plane, `subject` whose it is; `message` is the id of a message of the turn,
    `authority` one with which something was said there. Ids outlive the words: nothing that was said belongs into them.
    """

    plane: Plane
    key: str
    subject: SubjectId
    conversation: ConversationKey
    turn: TurnId
    through: TurnId | None = None
    message: str | None = None
    authority: Authority | None = None


class RecordedDerivation(Struct, frozen=True, kw_only=True):
    """Where a reference stands in the log, how many turns it names, and the digest that is made of their leaves."""

    plane: Plane
    key: str
    position: int
    changed: bool
    turns: int
    digest: str


class DerivationReport(Struct, frozen=True, kw_only=True):
    """What became of each derivation, in their order; `recorded` of them are new."""

    recorded: int
    references: list[RecordedDerivation]


class Provenance(Group):
    """Record where what a host remembers came from."""

    name = "provenance"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.APPEND)
    def record(self, derivations: list[Derivation]) -> DerivationReport:
        """Record that items of memory were derived from turns of this space.

        For writes of memory that were finally accepted, and for handoffs. Appends one `ref.derived` for each to the
        conversation that it names, all in one atomic step; one that is there already is not stored again and has
        `changed` false. Each carries a digest over the leaves of its turns, by which it can be proved later, also when
        their words are erased (`evidence.links`). The subject is one that a turn of the source names. A private item
        names no message. Raises `transcript.unknown_conversation`, `transcript.unknown_place`, `request.invalid`,
        `request.limit_exceeded`, `access.denied`; then nothing was appended.
        """
        return RecordingDerivations(self._session).run(derivations)


class PreparedDerivation(NamedTuple):
    """A reference that was checked against its source: what is appended unless it is there already."""

    head: StreamHead
    span: TurnSpan
    message: int | None
    meta: RefDerived
    known: int | None  # its position, when it was there before the transaction
    event: Draft


class RecordingDerivations:
    """One recording on its way. Turns never change, so all but the repetition is decided before the transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._space = session.space
        self._now_ms = self._space.sources.clock.now_ms()

    def run(self, derivations: list[Derivation]) -> DerivationReport:
        """Check all, then append what is new."""
        most = self._space.limits.derivations_max
        if not derivations:
            raise InvalidInput(at="derivations", problem="empty")
        if len(derivations) > most:
            raise LimitExceeded(at="derivations", problem="too_many", limit=most, found=len(derivations))
        for place, each in enumerate(derivations):
            self._check(each, f"derivations[{place}]")
        with self._space.ledger.reader() as reader:
            prepared = [self._prepared(reader, one, f"derivations[{n}]") for n, one in enumerate(derivations)]

        def plan(writer: Writer) -> list[RecordedDerivation]:
            found: dict[tuple[int, RefDerived], int] = {}
            return [self._append(writer, one, found) for one in prepared]

        told = self._space.ledger.transact(plan)
        return DerivationReport(recorded=sum(one.changed for one in told), references=told)

    def _check(self, one: Derivation, at: str) -> None:
        self._session.check_key(one.conversation)
        for name, text in (("key", one.key), ("subject", one.subject), ("turn", one.turn), ("through", one.through)):
            if text is not None:
                check_name(text, at=f"{at}.{name}")
        self._session.access.require_subjects(one.subject)
        if one.message is not None and one.through is not None:
            raise InvalidInput(at=f"{at}.message", problem="of_one_turn_alone")
        if one.message is not None and one.plane is Plane.PRIVATE_GARDEN:
            raise InvalidInput(at=f"{at}.message", problem="private")

    # --- before the transaction ---------------------------------------------------------------------------------------

    def _prepared(self, reader: Reader, one: Derivation, at: str) -> PreparedDerivation:
        space, names = self._space, one.conversation
        stream = space.transcript.stream_of(reader, names)
        if stream is None:
            raise UnknownConversation(at=f"{at}.conversation")
        head = space.transcript.head(reader, stream)
        span = TurnSpan(
            self._sequence(reader, head, names, (one.turn, f"{at}.turn")),
            self._sequence(reader, head, names, (one.through or one.turn, f"{at}.through")),
        )
        turns = self._length(span, f"{at}.through")
        leaves: list[bytes] = []
        subjects: set[str | None] = set()
        said: set[Authority] = set()
        message = None
        for read in turns_of(space.transcript, reader, head, span):
            meta = read.record.meta
            leaves.append(read.opened.row.leaf)
            subjects |= {meta.actor.subject, meta.actor.acting_subject, meta.actor.mounted_subject}
            message = None if one.message is None else _place_of_message(meta, one, f"{at}.message")
            said |= {authority_of(each) for place, each in enumerate(meta.messages) if message in {None, place}}
        assert len(leaves) == turns, "a page is whole"
        if one.subject not in subjects:
            raise InvalidInput(at=f"{at}.subject", problem="not_of_the_source")
        if one.authority is not None and one.authority not in said:
            raise InvalidInput(at=f"{at}.authority", problem="not_of_the_source")
        meta_of_it = RefDerived(
            plane=one.plane,
            key=one.key,
            subject=one.subject,
            source=SourceEvidence(
                space=space.name,
                channel=names.channel,
                conversation=names.conversation,
                turn=one.turn,
                through=one.through if span.last != span.first else None,
                message=one.message,
                subject=one.subject,
                authority=one.authority,
            ),
            created_ms=self._now_ms,
            digest=source_digest(space.ledger.log, leaves, message),
        )
        event = draft(space.sources.entropy, EventKind.REF_DERIVED, self._now_ms, meta_of_it)
        known = self._known(reader, head, span, meta_of_it)
        return PreparedDerivation(head, span, message, meta_of_it, known, event)

    def _sequence(self, reader: Reader, head: StreamHead, key: ConversationKey, named: tuple[TurnId, str]) -> int:
        turn, at = named
        opened = self._space.transcript.turn(reader, head, key, turn)
        if opened is None or opened.row.turn_seq is None:
            raise UnknownPlace(at=at)
        return opened.row.turn_seq

    def _length(self, span: TurnSpan, at: str) -> int:
        assert span.last is not None, "a source has both ends"
        turns, most = span.last - span.first + 1, self._space.limits.source_turns_max
        if turns < 1:
            raise InvalidInput(at=at, problem="reversed")
        if turns > most:
            raise LimitExceeded(at=at, problem="too_many", limit=most, found=turns)
        return turns

    def _known(self, reader: Reader, head: StreamHead, span: TurnSpan, meta: RefDerived) -> int | None:
        """Return where the same reference stands already."""
        for noted in self._space.transcript.changes(reader, head).noted.get(EventKind.REF_DERIVED, ()):
            row = reader.sealed(noted.position) if noted.span == span else None
            if row is not None and self._is_same(row, meta):
                return row.position
        return None

    def _is_same(self, row: SealedRow, meta: RefDerived) -> bool:
        """Tell whether an event is the same reference, whenever it was created."""
        found = self._space.ledger.open(row).meta
        return isinstance(found, RefDerived) and replace(found, created_ms=meta.created_ms) == meta

    # --- inside it ----------------------------------------------------------------------------------------------------

    def _append(
        self, writer: Writer, one: PreparedDerivation, found: dict[tuple[int, RefDerived], int]
    ) -> RecordedDerivation:
        stream = one.head.stream
        position = one.known if one.known is not None else found.get((stream, one.meta))
        if position is None:
            position = self._arrived(writer, one)
        changed = position is None
        if position is None:
            refs = span_refs(one.span) | ({} if one.message is None else {"message": one.message})
            target = refs.get("turn", WHOLE_CONVERSATION)
            position = writer.append(one.event, stream=stream, target=target, refs=refs).position
        found[stream, one.meta] = position
        return RecordedDerivation(
            plane=one.meta.plane,
            key=one.meta.key,
            position=position,
            changed=changed,
            turns=(one.span.last or 0) - one.span.first + 1,
            digest=one.meta.digest,
        )

    def _arrived(self, writer: Writer, one: PreparedDerivation) -> int | None:
        """Return where the same reference came to stand since it was looked for."""
        for row in writer.tx.changes(one.head.stream, one.head.seq):
            if row.kind == EventKind.REF_DERIVED and self._is_same(row, one.meta):
                return row.position
        return None


def _place_of_message(turn: TurnMeta, one: Derivation, at: str) -> int:
    for place in range(len(turn.messages)):
        if message_id(one.turn, place) == one.message:
            return place
    raise UnknownPlace(at=at)
