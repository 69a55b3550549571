"""Holds and releases: whose words must not be erased, whoever asks (decision 0051)."""

from __future__ import annotations

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import Corrupt, HoldMissing, InvalidInput, UnknownConversation, UnknownPlace
from muniment.events.changes import Action, Custody, LifecycleRequest, TurnLifecycle, TurnSpan, span_refs
from muniment.events.identity import Channel, ConversationId, ConversationKey, SpaceName, SubjectId
from muniment.events.records import ConversationOpened, EventKind
from muniment.governance.phases import Hold, Phase, runs
from muniment.ledger.ledger import SPACE_STREAM, Writer, draft
from muniment.log.port import WHOLE_CONVERSATION, Reader
from muniment.operations.lifecycle.guard import Judgements, phase_at, pieces
from muniment.operations.lifecycle.reporting import LifecycleReport, Reporting
from muniment.operations.lifecycle.scope import Scope, Turns, TurnsTarget, aim_of
from muniment.space.space import Space

EVERYTHING = TurnSpan(1, None)


class Holding:
    """One hold on its way."""

    def __init__(self, session: Session, scope: Scope, request: LifecycleRequest | None) -> None:
        if scope.message is not None:
            raise InvalidInput(at="scope.message", problem="not_taken")
        self._space: Space = session.space
        self._budget = session.budget()
        self._scope = scope
        self._request = None if request is None else replace(request, subject=scope.subject)
        self._aim = aim_of(session.space, scope, session.progress)

    def review(self) -> LifecycleReport:
        """Return which words would be held now."""
        self._aim.prepare()
        with self._space.ledger.reader() as reader:
            self._place(reader)
            judged = [with_words(self._space, reader, lot) for lot in self._aim.lots(reader)]
            return Reporting(self._space, reader, self._budget).report(Action.HOLD, self._scope, self._request, judged)

    def run(self) -> LifecycleReport:
        """Append the hold unless the same one is in force, and report."""
        report = self.review()
        position, is_new = self._space.ledger.transact(self._append)
        return replace(report, changed=is_new, position=position)

    def _place(self, reader: Reader) -> tuple[int, TurnSpan]:
        """Return the stream that the hold belongs to, and the turns that it is about."""
        if self._scope.key is None:
            return SPACE_STREAM, EVERYTHING
        stream = self._space.transcript.stream_of(reader, self._scope.key)
        if stream is None:
            raise UnknownConversation(at="scope.conversation")
        if self._scope.turn is None:
            return stream, EVERYTHING
        lots = self._aim.lots(reader)
        if not lots:
            raise UnknownPlace(at="scope.turn")
        return stream, lots[0].spans[0]

    def _append(self, writer: Writer) -> tuple[int, bool]:
        """Return where the hold stands, and whether it had to be appended."""
        assert self._request is not None, "a review appends nothing"
        stream, span = self._place(writer.tx)
        transcript, reporting = self._space.transcript, Reporting(self._space, writer.tx)
        for hold in transcript.changes(writer.tx, transcript.head(writer.tx, stream)).holds.values():
            if hold.span == span and replace(self._request, requested_ms=0) == replace(
                reporting.request_at(hold.position), requested_ms=0
            ):
                return hold.position, False
        return _appended(self._space, writer, stream, Custody.HOLD, self._request, span_refs(span)), True


class Releasing:
    """One release on its way."""

    def __init__(self, session: Session, hold: int, request: LifecycleRequest) -> None:
        self._space: Space = session.space
        self._budget = session.budget()
        self._hold = hold
        self._request = request
        self._session = session

    def run(self) -> LifecycleReport:
        """End the hold unless it has ended, and report what it held."""
        with self._space.ledger.reader() as reader:
            stream, hold = self._found(reader)
            scope = self._scope(reader, stream, hold)
            aim = aim_of(self._space, scope, self._session.progress)
            if scope.key is not None and hold.span.last is not None:
                aim = TurnsTarget(self._space, {scope.key: (stream, [hold.span])})
        aim.prepare()
        with self._space.ledger.reader() as reader:
            judged = [with_words(self._space, reader, lot) for lot in aim.lots(reader)]
            report = Reporting(self._space, reader, self._budget).report(Action.RELEASE, scope, self._request, judged)
        position = self._space.ledger.transact(lambda writer: self._append(writer, stream, hold))
        return replace(report, changed=position is not None, position=position)

    def _found(self, reader: Reader) -> tuple[int, Hold]:
        """Return the hold at the position, in force or not."""
        row = reader.sealed(self._hold) if self._hold >= 0 else None
        if row is None or row.kind != EventKind.TURN_LIFECYCLE:
            raise HoldMissing(at="hold")
        meta = self._space.ledger.open(row).meta
        header, _ = self._space.ledger.header(row)
        if header.reason != Custody.HOLD or not isinstance(meta, TurnLifecycle):
            raise HoldMissing(at="hold")
        turn = header.refs.get("turn")
        span = EVERYTHING if turn is None else TurnSpan(turn, turn)
        return row.stream, Hold(position=self._hold, span=span, subject=meta.request.subject)

    def _scope(self, reader: Reader, stream: int, hold: Hold) -> Scope:
        if hold.subject is not None:
            return Scope(subject=SubjectId(hold.subject))
        if stream == SPACE_STREAM:
            return Scope(whole_space=SpaceName(self._space.name))
        names = names_of(self._space, reader, stream)
        return Scope(conversation=names.conversation, channel=names.channel)

    def _append(self, writer: Writer, stream: int, hold: Hold) -> int | None:
        transcript = self._space.transcript
        if self._hold not in transcript.changes(writer.tx, transcript.head(writer.tx, stream)).holds:
            return None
        refs = {**span_refs(hold.span), "hold": self._hold}
        return _appended(self._space, writer, stream, Custody.RELEASE, self._request, refs)


def _appended(
    space: Space, writer: Writer, stream: int, what: Custody, request: LifecycleRequest, refs: dict[str, int]
) -> int:
    event = draft(
        space.sources.entropy,
        EventKind.TURN_LIFECYCLE,
        request.requested_ms,
        TurnLifecycle(request=request),
        reason=what,
    )
    target = refs.get("turn", WHOLE_CONVERSATION)
    return writer.append(event, stream=stream, target=target, refs=refs).position


def with_words(space: Space, reader: Reader, lot: Turns) -> Judgements:
    """Return a lot with those of its turns that have words."""
    phases = runs(lot.head.turns, space.transcript.changes(reader, lot.head).steps)
    there = [run for run in pieces(lot.spans, phases) if run.phase is not Phase.ERASED]
    unreadable = sum(phase_at(phases, turn) is not Phase.ERASED for turn in lot.unreadable)
    return Judgements(lot, tuple(TurnSpan(run.first, run.last) for run in there), unreadable=unreadable)


def names_of(space: Space, reader: Reader, stream: int) -> ConversationKey:
    """Return the names of the conversation that a stream is."""
    row = reader.sealed(stream)
    meta = None if row is None else space.ledger.open(row).meta
    if not isinstance(meta, ConversationOpened):
        raise Corrupt(at=f"stream {stream}", problem="rows_missing")
    return ConversationKey(conversation=ConversationId(meta.conversation), channel=Channel(meta.channel))
