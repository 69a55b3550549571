"""The noun group `disclosure`: words outside the views of a caller, handed out on record."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from muniment.declaration.operation import Effect, Family, Group, operation
from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded, UnknownConversation, UnknownPlace, WordsErased
from muniment.events.changes import LifecycleRequest
from muniment.events.disclosures import Caller, ContentRevealed
from muniment.events.identity import ConversationKey, TurnId, check_name
from muniment.events.records import EventKind
from muniment.governance.detection.detection import NOWHERE
from muniment.governance.judgement import TurnRecord
from muniment.governance.phases import Phase
from muniment.governance.slices import RedactionItem, SliceTurn, cut
from muniment.governance.views import View
from muniment.ledger.ledger import SPACE_STREAM, Draft, Writer, draft
from muniment.operations.parameters import InConversation, Requester, Why
from muniment.operations.transcripts.redact import Count

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

    @operation(Effect.REVEAL, family=Family.REVEAL)
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
        returned, and a repeat is another event. Shows masked and redacted content and that of private planes, of one
        message if it is named; never what is erased. Needs the right to reveal and no view. Raises
        `transcript.unknown_conversation`, `transcript.unknown_place`, `transcript.words_erased`.
        """
        self._session.check_key(conversation)
        check_name(turn, at="turn")
        check_name(requester, at="requester")
        if not reason.strip():
            raise InvalidInput(at="reason", problem="empty")
        if len(reason.encode()) > REASON_BYTES_MAX:
            raise LimitExceeded(at="reason", problem="too_long", limit=REASON_BYTES_MAX, found=len(reason.encode()))
        return Revealing(self._session, conversation, turn, message).run(
            LifecycleRequest(
                reason=reason, requester=requester, requested_ms=self._session.space.sources.clock.now_ms()
            )
        )


class Revealing:
    """One disclosure on its way."""

    def __init__(self, session: Session, conversation: ConversationKey, turn: TurnId, message: int | None) -> None:
        self._space = session.space
        self._access = session.access
        self._conversation = conversation
        self._turn = turn
        self._message = message

    def run(self, request: LifecycleRequest) -> Revealed:
        """Append the event; when it is durable return the words."""
        caller = Caller(views=sorted(self._access.views), subject=self._access.subject)
        body = ContentRevealed(request=request, caller=caller)
        event = draft(self._space.sources.entropy, EventKind.CONTENT_REVEALED, request.requested_ms, body)
        position, record = self._space.ledger.transact(lambda writer: self._plan(writer, event))
        whole = replace(record, phase=Phase.ACTIVE, redactions=())
        shown, items = cut(whole, View.RAW_OWNER, detection=NOWHERE)
        if self._message is not None:
            shown = replace(shown, messages=[shown.messages[self._message]], tools=[], host_refs=[])
            items = []
        return Revealed(
            position=position,
            turn=replace(shown, phase=record.phase),
            items=items,
            reason=request.reason,
            requester=request.requester,
            requested_ms=request.requested_ms,
        )

    def _plan(self, writer: Writer, event: Draft) -> tuple[int, TurnRecord]:
        """Find the words and append; runs inside the write transaction, so that both are of one state."""
        transcript = self._space.transcript
        stream = transcript.stream_of(writer.tx, self._conversation)
        if stream is None:
            raise UnknownConversation(at="conversation")
        head = transcript.head(writer.tx, stream)
        opened = transcript.turn(writer.tx, head, self._conversation, self._turn)
        if opened is None:
            raise UnknownPlace(at="turn")
        sequence = opened.row.turn_seq
        assert sequence is not None, "a turn has a place among the turns"
        changes = transcript.changes(writer.tx, head)
        record = transcript.read(opened.row, sequence, changes, lambda _phase, _meta: True).record
        self._check(record)
        refs = {"stream": stream, "turn": sequence}
        if self._message is not None:
            refs["message"] = self._message
        return writer.append(event, stream=SPACE_STREAM, refs=refs).position, record

    def _check(self, record: TurnRecord) -> None:
        """Refuse to reveal what is not there, or is erased."""
        count = len(record.meta.messages)
        if self._message is not None and self._message >= count:
            raise UnknownPlace(at="message", limit=count, found=self._message)
        if record.phase is Phase.ERASED or len(record.erased) == count:
            raise WordsErased(at="turn")
        if self._message in record.erased:
            raise WordsErased(at="message")
