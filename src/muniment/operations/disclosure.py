"""The noun group `disclosure`: words outside the views of a caller, handed out on record."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from muniment.declaration.operation import SUBJECT_AND_CHANNELS, Effect, Family, Group, operation
from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded, UnknownPlace, WordsErased
from muniment.events.changes import LifecycleRequest
from muniment.events.disclosures import ContentRevealed
from muniment.events.identity import ConversationKey, Count, TurnId, check_name
from muniment.events.records import EventKind
from muniment.governance.judgement import TurnRecord
from muniment.governance.phases import Phase
from muniment.governance.slices import RedactionItem, SliceTurn, uncovered
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Writer
from muniment.operations.approvals.gate import GuardedAct, GuardedRequest, caller_of
from muniment.operations.parameters import InConversation, Requester, Why
from muniment.projections.conversation import opened

REASON_BYTES_MAX = 4096


class Revealed(Struct, frozen=True, kw_only=True):
    """Words that were revealed, and the position of the event that says so.

    `turn` shows everything that is not erased, as if it were not masked and nothing of it redacted; its phase is the
    real one. `items` name the messages that are erased.
    """

    position: int
    turn: SliceTurn
    items: list[RedactionItem]
    reason: str
    requester: str
    requested_ms: int


class Disclosure(Group):
    """Show content that no view of a caller shows; this is recorded."""

    name = "disclosure"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.REVEAL, family=Family.REVEAL, heeds=SUBJECT_AND_CHANNELS)
    def reveal(
        self,
        conversation: InConversation,
        turn: Annotated[TurnId, Meta(description="Id of the turn.")],
        reason: Why,
        requester: Requester,
        message: Annotated[
            Count | None, Meta(description="A message of the turn, counted from 0. Without it: the whole turn.")
        ] = None,
    ) -> Revealed:
        """Show the content of a turn that no view of the caller shows; this is recorded first.

        Appends `content.revealed` with the views of the caller, reason and requester; it is durable before anything is
        returned, and a repeat is another event. Where a rule takes two persons (`approvals`), somebody else confirms
        each use first (`approval.needed`). Shows masked and redacted content and that of private planes, of one
        message if it is named; never what is erased. Needs the right to reveal and no view. Raises
        `transcript.unknown_conversation`, `transcript.unknown_place`, `transcript.words_erased`.
        """
        return reveal(self._session, conversation, turn, message, reason, requester)


def reveal(
    session: Session, key: ConversationKey, turn: TurnId, message: int | None, reason: str, requester: str
) -> Revealed:
    """Append the event; when it is durable return the content."""
    session.check_key(key)
    check_name(turn, at="turn")
    check_name(requester, at="requester")
    if not reason.strip():
        raise InvalidInput(at="reason", problem="empty")
    if (size := len(reason.encode())) > REASON_BYTES_MAX:
        raise LimitExceeded(at="reason", problem="too_long", limit=REASON_BYTES_MAX, found=size)
    space = session.space
    request = LifecycleRequest(reason=reason, requester=requester, requested_ms=space.sources.clock.now_ms())
    guarded = _guarded(session, key, turn, message, request)
    with space.ledger.reader() as reader:
        session.seen.opened(reader, key).known_turn(turn)  # what is not there is not asked for
    guarded.ask()
    body = ContentRevealed(request=request, caller=caller_of(session))
    change = Change(EventKind.CONTENT_REVEALED, request.requested_ms, body)
    event = change.drafted(space.sources.entropy)

    def plan(writer: Writer) -> tuple[int, TurnRecord]:
        """Find the content and append; runs inside the write transaction, so that both are of one state."""
        conversation = opened(space.transcript, writer.tx, key)
        sequence, commit = conversation.known_turn(turn)
        record = conversation.read(commit, lambda _phase, _meta: True).record
        _check_revealable(record, message)
        guarded.spend(writer)
        refs = {"stream": conversation.stream, "turn": sequence}
        if message is not None:
            refs["message"] = message
        return writer.change(change._replace(refs=refs), event=event).position, record

    position, record = space.ledger.transact(plan)
    shown, items = uncovered(record)
    if message is not None:
        shown = replace(shown, messages=[shown.messages[message]], tools=[], host_refs=[])
        items = []
    return Revealed(
        position=position,
        turn=replace(shown, phase=record.phase),
        items=items,
        reason=request.reason,
        requester=request.requester,
        requested_ms=request.requested_ms,
    )


def _guarded(
    session: Session, key: ConversationKey, turn: TurnId, message: int | None, request: LifecycleRequest
) -> GuardedRequest:
    about = {"channel": str(key.channel), "conversation": str(key.conversation), "turn": str(turn)}
    about |= {} if message is None else {"message": str(message)}
    return GuardedRequest(session=session, act=GuardedAct.REVEAL, about=about, request=request)


def _check_revealable(record: TurnRecord, message: int | None) -> None:
    """Refuse to reveal what is not there, or is erased."""
    count = len(record.meta.messages)
    if message is not None and message >= count:
        raise UnknownPlace(at="message", limit=count, found=message)
    if record.phase is Phase.ERASED or len(record.erased) == count:
        raise WordsErased(at="turn")
    if message in record.erased:
        raise WordsErased(at="message")
