"""Redact: withhold something of a turn from named views from now on; its words stay until they are erased."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded, WordsErased
from muniment.events.changes import LifecycleRequest, RedactionReason, RedactionTarget, TurnRedacted, refs_of
from muniment.events.identity import ConversationKey, Count, TurnId, check_name
from muniment.events.records import EventKind
from muniment.governance.phases import Phase, phase_of
from muniment.governance.redaction import check_form, is_said, reach, withheld_from
from muniment.governance.views import View
from muniment.ledger.drafts import draft
from muniment.ledger.ledger import Writer
from muniment.projections.change_fold import NOTHING
from muniment.projections.conversation import opened

NOTE_BYTES_MAX = 4096


ReasonCode = Annotated[RedactionReason, Meta(description="Kind of reason; recorded.")]


class Passage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A turn, or one thing in it: a message, a part, a range of the text of a part, or a field.

    `message` and `part` count from 0. `start` and `end` are code points of the text of a part as it was committed, the
    end not included; only text and reasoning have such a range, a tool call and what it returned are named whole.
    `field` is the summary of a tool observation or the label of a host reference: `tools/0/summary`,
    `host_ref/1/label`.
    """

    turn: Annotated[TurnId, Meta(description="Id of the turn.")]
    message: Annotated[
        Count | None, Meta(description="A message of the turn, counted from 0. Without it: the whole turn.")
    ] = None
    part: Annotated[Count | None, Meta(description="A part of the message, counted from 0.")] = None
    start: Annotated[
        Count | None, Meta(description="First character of a range of the part's text, counted from 0.")
    ] = None
    end: Annotated[Count | None, Meta(description="End of the range: the first character that is not redacted.")] = None
    field: Annotated[str | None, Meta(description="A summary or label: tools/0/summary, host_ref/1/label.")] = None

    def target(self) -> RedactionTarget:
        """Return what is named of the turn."""
        return RedactionTarget(message=self.message, part=self.part, start=self.start, end=self.end, field=self.field)


class RedactionReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a redaction did. `views` are all those that it withholds from.

    `messages` are withheld as a whole, `parts` as a whole or some of their text, `fields` are summaries and labels; all
    of them count what the passage names, whether a view showed it before or not.
    """

    conversation: ConversationKey
    passage: Passage
    views: list[View]
    reason: RedactionReason
    changed: bool
    messages: int
    parts: int
    fields: int
    requester: str
    requested_ms: int
    position: int | None = None


class RedactionRequest(Struct, frozen=True, kw_only=True):
    """Why something is redacted, and who asks."""

    reason: RedactionReason
    requester: str
    note: str


def check_request(request: RedactionRequest) -> None:
    """Refuse a requester that is no name, and a note that is too long."""
    check_name(request.requester, at="requester")
    if (size := len(request.note.encode())) > NOTE_BYTES_MAX:
        raise LimitExceeded(at="note", problem="too_long", limit=NOTE_BYTES_MAX, found=size)


def redact(
    session: Session, key: ConversationKey, passage: Passage, views: list[View], request: RedactionRequest
) -> RedactionReport:
    """Redact, or say that it was done before."""
    session.check_key(key)
    check_name(passage.turn, at="passage.turn")
    check_request(request)
    if not views:
        raise InvalidInput(at="views", problem="empty")
    for view in views:
        session.access.require_view(view)
    target, space = passage.target(), session.space
    check_form(target)
    session.seen.require(key, passage.turn, at="passage.turn")
    hidden_from, now_ms = withheld_from(frozenset(views)), space.sources.clock.now_ms()
    event = draft(
        space.sources.entropy,
        EventKind.TURN_REDACTED,
        now_ms,
        TurnRedacted(
            target=target,
            views=sorted(hidden_from),
            request=LifecycleRequest(reason=request.note, requester=request.requester, requested_ms=now_ms),
        ),
        reason=request.reason,
    )

    def plan(writer: Writer) -> RedactionReport:
        """Compare the passage with the words and append; runs inside the write transaction."""
        conversation = opened(space.transcript, writer.tx, key)
        sequence, turn = conversation.known_turn(passage.turn, at="passage.turn")
        changes = conversation.changes
        if phase_of(sequence, changes.steps) is Phase.ERASED:
            raise WordsErased(at="passage.turn")
        _, content = space.ledger.words(turn)
        reached = reach(target, content, changes.erased.get(sequence, NOTHING))
        position = None
        if not is_said(target, request.reason, hidden_from, changes.redactions.get(sequence, ())):
            refs = refs_of(sequence, target)
            position = writer.append(event, stream=conversation.stream, target=sequence, refs=refs).position
        return RedactionReport(
            conversation=key,
            passage=passage,
            views=sorted(hidden_from),
            reason=request.reason,
            changed=position is not None,
            messages=reached.messages,
            parts=reached.parts,
            fields=reached.fields,
            requester=request.requester,
            requested_ms=now_ms,
            position=position,
        )

    return space.ledger.transact(plan)
