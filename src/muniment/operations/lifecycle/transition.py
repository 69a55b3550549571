"""Transitions that destroy nothing: archive, restore, mask, unmask."""

from __future__ import annotations

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.events.changes import Action, LifecycleRequest, Transition, TurnLifecycle, TurnSpan
from muniment.events.records import EventKind
from muniment.governance.phases import after, runs
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.operations.lifecycle.guard import Judgements, pieces
from muniment.operations.lifecycle.report import LifecycleReport
from muniment.operations.lifecycle.reporting import Reporting
from muniment.operations.lifecycle.retold import retire_retold
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.lifecycle.seen_targets import seen_target
from muniment.operations.lifecycle.targets import ConversationTarget, Target
from muniment.space.space import Space


def request_transition(
    session: Session, scope: Scope, transition: Transition, request: LifecycleRequest
) -> LifecycleReport:
    """Change the phase of turns that it changes, and report."""
    report = review_transition(session, scope, transition, request)
    return change_phases(session.space, scope, request, report) if report.affected_turns else report


def review_transition(
    session: Session, scope: Scope, transition: Transition, request: LifecycleRequest | None = None
) -> LifecycleReport:
    """Return what a transition would affect now."""
    space, budget = session.space, session.budget()
    target = seen_target(session, scope, _target_of(space, scope))
    with space.ledger.reader() as reader:
        judged = _affected(space, reader, target, transition)
        return Reporting(space, reader, budget, session.access.open_views).report(
            Action(transition), scope, request, judged
        )


def change_phases(space: Space, scope: Scope, request: LifecycleRequest, report: LifecycleReport) -> LifecycleReport:
    """Append the event of a reviewed transition if it still changes anything, and complete the report."""
    transition, target = Transition(report.transition), _target_of(space, scope)

    def plan(writer: Writer) -> int | None:
        affected = _affected(space, writer.tx, target, transition)
        if not affected or not affected[0].spans:
            return None
        head, (span,), whole = affected[0].turns.head, affected[0].turns.spans, scope.turn is None
        change = Change(
            EventKind.TURN_LIFECYCLE,
            request.requested_ms,
            TurnLifecycle(request=request),
            refs={"through": head.turns} if whole else {"turn": span.first},
            reason=transition,
        )
        if transition is Transition.MASK:
            retire_retold(space, writer, affected[0].turns, request)
        return writer.change(change, head.stream).position

    position = space.ledger.transact(plan)
    return replace(report, changed=position is not None, position=position)


def _target_of(space: Space, scope: Scope) -> ConversationTarget:
    return ConversationTarget(space, scope.within_a_conversation(), scope.turn)


def _affected(space: Space, reader: Reader, target: Target, transition: Transition) -> list[Judgements]:
    affected = []
    for turns in target.turns(reader):
        phases = runs(turns.head.turns, space.transcript.changes(reader, turns.head).steps)
        changed = [run for run in pieces(turns.spans, phases) if after(run.phase, transition) is not run.phase]
        affected.append(Judgements(turns, tuple(TurnSpan(run.first, run.last) for run in changed)))
    return affected
