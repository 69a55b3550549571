"""Holds and releases: content that nobody may erase (decision 0051)."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import Corrupt, HoldMissing, InvalidInput, UnknownConversation, UnknownPlace
from muniment.events.changes import Action, Custody, LifecycleRequest, TurnLifecycle, TurnSpan, span_refs
from muniment.events.identity import SpaceName, SubjectId
from muniment.events.records import ConversationOpened, EventKind
from muniment.governance.phases import Hold, Phase, runs
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import SPACE_STREAM, Writer
from muniment.log.port import Reader
from muniment.operations.lifecycle.guard import Judgements, phase_at, pieces
from muniment.operations.lifecycle.report import LifecycleReport
from muniment.operations.lifecycle.reporting import Reporting
from muniment.operations.lifecycle.scope import Scope, Turns
from muniment.operations.lifecycle.targets import Target, TurnsTarget, key_of, target_of
from muniment.space.space import Space

EVERYTHING = TurnSpan(1, None)


class HeldTurns(NamedTuple):
    """What a hold is about: the stream of its event, and the turns."""

    stream: int
    span: TurnSpan


# --- holding ----------------------------------------------------------------------------------------------------------


def make_hold(session: Session, scope: Scope, request: LifecycleRequest) -> LifecycleReport:
    """Append a hold unless the same one is in force, and report."""
    space, request = session.space, replace(request, subject=scope.subject)
    report = review_hold(session, scope, request)
    target = target_of(space, scope, session.progress)

    def plan(writer: Writer) -> tuple[int, bool]:
        held = _held_turns(space, writer.tx, scope, target)
        transcript, reporting = space.transcript, Reporting(space, writer.tx)
        for known in transcript.changes(writer.tx, transcript.head(writer.tx, held.stream)).holds.values():
            if known.span == held.span and replace(request, requested_ms=0) == replace(
                reporting.request_at(known.position), requested_ms=0
            ):
                return known.position, False
        return _append(writer, held.stream, Custody.HOLD, request, span_refs(held.span)), True

    position, is_new = space.ledger.transact(plan)
    return replace(report, changed=is_new, position=position)


def review_hold(session: Session, scope: Scope, request: LifecycleRequest | None = None) -> LifecycleReport:
    """Return which turns a hold would protect now."""
    if scope.message is not None:
        raise InvalidInput(at="scope.message", problem="not_taken")
    space, budget = session.space, session.budget()
    target = target_of(space, scope, session.progress)
    target.prepare()
    with space.ledger.reader() as reader:
        _held_turns(space, reader, scope, target)
        judged = [with_content(space, reader, turns) for turns in target.turns(reader)]
        return Reporting(space, reader, budget, session.access.open_views).report(Action.HOLD, scope, request, judged)


def _held_turns(space: Space, reader: Reader, scope: Scope, target: Target) -> HeldTurns:
    if scope.key is None:
        return HeldTurns(SPACE_STREAM, EVERYTHING)
    stream = space.transcript.stream_of(reader, scope.key)
    if stream is None:
        raise UnknownConversation(at="scope.conversation")
    if scope.turn is None:
        return HeldTurns(stream, EVERYTHING)
    turns = target.turns(reader)
    if not turns:
        raise UnknownPlace(at="scope.turn")
    return HeldTurns(stream, turns[0].spans[0])


# --- releasing --------------------------------------------------------------------------------------------------------


def release_hold(session: Session, position: int, request: LifecycleRequest) -> LifecycleReport:
    """End the hold at a position unless it has ended, and report what it protected."""
    space, budget = session.space, session.budget()
    with space.ledger.reader() as reader:
        stream, released = _hold_at(space, reader, position)
        scope = _scope_of(space, reader, stream, released)
    target = target_of(space, scope, session.progress)
    if scope.key is not None and released.span.last is not None:
        target = TurnsTarget(space, {scope.key: (stream, [released.span])})
    target.prepare()
    with space.ledger.reader() as reader:
        judged = [with_content(space, reader, turns) for turns in target.turns(reader)]
        report = Reporting(space, reader, budget, session.access.open_views).report(
            Action.RELEASE, scope, request, judged
        )

    def plan(writer: Writer) -> int | None:
        transcript = space.transcript
        if position not in transcript.changes(writer.tx, transcript.head(writer.tx, stream)).holds:
            return None
        refs = {**span_refs(released.span), "hold": position}
        return _append(writer, stream, Custody.RELEASE, request, refs)

    appended = space.ledger.transact(plan)
    return replace(report, changed=appended is not None, position=appended)


def _hold_at(space: Space, reader: Reader, position: int) -> tuple[int, Hold]:
    """Return the hold at a position, in force or not, and its stream."""
    row = reader.sealed(position) if position >= 0 else None
    if row is None or row.kind != EventKind.TURN_LIFECYCLE:
        raise HoldMissing(at="hold")
    meta = space.ledger.open(row).meta
    header, _ = space.ledger.header(row)
    if header.reason != Custody.HOLD or not isinstance(meta, TurnLifecycle):
        raise HoldMissing(at="hold")
    turn = header.about.get("turn")
    span = EVERYTHING if turn is None else TurnSpan(turn, turn)
    return row.stream, Hold(position=position, span=span, subject=meta.request.subject)


def _scope_of(space: Space, reader: Reader, stream: int, released: Hold) -> Scope:
    if released.subject is not None:
        return Scope(subject=SubjectId(released.subject))
    if stream == SPACE_STREAM:
        return Scope(whole_space=SpaceName(space.name))
    row = reader.sealed(stream)
    meta = None if row is None else space.ledger.open(row).meta
    if not isinstance(meta, ConversationOpened):
        raise Corrupt(at=f"stream {stream}", problem="rows_missing")
    key = key_of(meta)
    return Scope(conversation=key.conversation, channel=key.channel)


# --- shared -----------------------------------------------------------------------------------------------------------


def _append(writer: Writer, stream: int, reason: Custody, request: LifecycleRequest, refs: dict[str, int]) -> int:
    body = TurnLifecycle(request=request)
    change = Change(EventKind.TURN_LIFECYCLE, request.requested_ms, body, refs, reason)
    return writer.change(change, stream).position


def with_content(space: Space, reader: Reader, turns: Turns) -> Judgements:
    """Return those of the turns that have content."""
    phases = runs(turns.head.turns, space.transcript.changes(reader, turns.head).steps)
    kept = [run for run in pieces(turns.spans, phases) if run.phase is not Phase.ERASED]
    unreadable = sum(phase_at(phases, turn) is not Phase.ERASED for turn in turns.unreadable)
    return Judgements(turns, tuple(TurnSpan(run.first, run.last) for run in kept), unreadable=unreadable)
