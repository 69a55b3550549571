"""Transitions that destroy nothing: archive, restore, mask, unmask."""

from __future__ import annotations

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.events.changes import Action, LifecycleRequest, Transition, TurnLifecycle, TurnSpan
from muniment.events.records import EventKind
from muniment.governance.phases import after, runs
from muniment.ledger.ledger import Writer, draft
from muniment.log.port import WHOLE_CONVERSATION, Reader
from muniment.operations.lifecycle.guard import Judgements, pieces
from muniment.operations.lifecycle.reporting import LifecycleReport, Reporting
from muniment.operations.lifecycle.scope import ConversationTarget, Scope, Turns
from muniment.space.space import Space


class Asking:
    """One request for a transition on its way."""

    def __init__(
        self, session: Session, scope: Scope, transition: Transition, request: LifecycleRequest | None
    ) -> None:
        self._space: Space = session.space
        self._budget = session.budget()
        self._scope = scope
        self._transition = transition
        self._request = request
        self._aim = ConversationTarget(session.space, scope.within_a_conversation(), scope.turn)

    def review(self) -> LifecycleReport:
        """Return what would be affected now."""
        with self._space.ledger.reader() as reader:
            judged = [self._affected(reader, lot) for lot in self._aim.lots(reader)]
            action = Action(self._transition)
            return Reporting(self._space, reader, self._budget).report(action, self._scope, self._request, judged)

    def run(self) -> LifecycleReport:
        """Decide, change what is to change, and report."""
        report = self.review()
        return self.carry_out(report) if report.affected_turns else report

    def carry_out(self, report: LifecycleReport) -> LifecycleReport:
        """Append the event if it still changes anything, and complete the report."""
        position = self._space.ledger.transact(self._append)
        return replace(report, changed=position is not None, position=position)

    def _affected(self, reader: Reader, lot: Turns) -> Judgements:
        phases = runs(lot.head.turns, self._space.transcript.changes(reader, lot.head).steps)
        changed = [run for run in pieces(lot.spans, phases) if after(run.phase, self._transition) is not run.phase]
        return Judgements(lot, tuple(TurnSpan(run.first, run.last) for run in changed))

    def _append(self, writer: Writer) -> int | None:
        """Append the event if it still changes anything; return its position."""
        lots = self._aim.lots(writer.tx)
        if not lots or not self._affected(writer.tx, lots[0]).spans:
            return None
        assert self._request is not None, "a review appends nothing"
        head, (span,) = lots[0].head, lots[0].spans
        event = draft(
            self._space.sources.entropy,
            EventKind.TURN_LIFECYCLE,
            self._request.requested_ms,
            TurnLifecycle(request=self._request),
            reason=self._transition,
        )
        whole = self._scope.turn is None
        placed = writer.append(
            event,
            stream=head.stream,
            target=WHOLE_CONVERSATION if whole else span.first,
            refs={"through": head.turns} if whole else {"turn": span.first},
        )
        return placed.position
