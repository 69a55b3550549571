"""Redacting: something of a turn is withheld from named views from now on; its words stay until they are erased."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput, LimitExceeded, UnknownConversation, UnknownPlace, WordsErased
from muniment.events.changes import LifecycleRequest, RedactionReason, RedactionTarget, TurnRedacted
from muniment.events.identity import ConversationKey, TurnId, check_name
from muniment.events.records import EventKind
from muniment.governance.phases import Phase, phase_of
from muniment.governance.redaction import RedactionExtent, check_form, is_said, reach, withheld_from
from muniment.governance.views import View
from muniment.ledger.ledger import Draft, Writer, draft
from muniment.projections.change_fold import NOTHING

NOTE_BYTES_MAX = 4096

Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]


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


class Redacting:
    """One redaction on its way."""

    def __init__(
        self,
        session: Session,
        conversation: ConversationKey,
        passage: Passage,
        views: list[View],
        why: RedactionRequest,
    ) -> None:
        session.check_key(conversation)
        check_name(passage.turn, at="passage.turn")
        check_name(why.requester, at="requester")
        if len(why.note.encode()) > NOTE_BYTES_MAX:
            raise LimitExceeded(at="note", problem="too_long", limit=NOTE_BYTES_MAX, found=len(why.note.encode()))
        if not views:
            raise InvalidInput(at="views", problem="empty")
        for view in views:
            session.access.require_view(view)
        check_form(passage.target())
        self._space = session.space
        self._conversation = conversation
        self._passage = passage
        self._views = withheld_from(frozenset(views))
        self._why = why
        self._now_ms = self._space.sources.clock.now_ms()

    def run(self) -> RedactionReport:
        """Redact, or say that it was done before."""
        event = draft(
            self._space.sources.entropy,
            EventKind.TURN_REDACTED,
            self._now_ms,
            TurnRedacted(
                target=self._passage.target(),
                views=sorted(self._views),
                request=LifecycleRequest(
                    reason=self._why.note, requester=self._why.requester, requested_ms=self._now_ms
                ),
            ),
            reason=self._why.reason,
        )
        return self._space.ledger.transact(lambda writer: self._plan(writer, event))

    def _plan(self, writer: Writer, event: Draft) -> RedactionReport:
        """Hold the passage against the words and append; runs inside the write transaction."""
        space, turn = self._space, self._passage.turn
        stream = space.transcript.stream_of(writer.tx, self._conversation)
        if stream is None:
            raise UnknownConversation(at="conversation")
        head = space.transcript.head(writer.tx, stream)
        opened = space.transcript.turn(writer.tx, head, self._conversation, turn)
        if opened is None:
            raise UnknownPlace(at="passage.turn")
        sequence = opened.row.turn_seq
        assert sequence is not None, "a turn has a place among the turns"
        changes = space.transcript.changes(writer.tx, head)
        if phase_of(sequence, changes.steps) is Phase.ERASED:
            raise WordsErased(at="passage.turn")
        _, content = space.ledger.words(opened)
        target, earlier = self._passage.target(), changes.redactions.get(sequence, ())
        reached = reach(target, content, changes.erased.get(sequence, NOTHING))
        if is_said(target, self._why.reason, self._views, earlier):
            return self._report(reached, None)
        placed = writer.append(event, stream=stream, target=sequence, refs={"turn": sequence})
        return self._report(reached, placed.position)

    def _report(self, reached: RedactionExtent, position: int | None) -> RedactionReport:
        return RedactionReport(
            conversation=self._conversation,
            passage=self._passage,
            views=sorted(self._views),
            reason=self._why.reason,
            changed=position is not None,
            messages=reached.messages,
            parts=reached.parts,
            fields=reached.fields,
            requester=self._why.requester,
            requested_ms=self._now_ms,
            position=position,
        )
