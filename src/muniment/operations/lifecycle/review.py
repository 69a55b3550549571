"""Reviews: what a request would do, told by the same code that would do it, without a transaction."""

from __future__ import annotations

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.changes import Action, Transition, TurnSpan
from muniment.governance.phases import Hold
from muniment.log.port import Reader
from muniment.operations.lifecycle.erase_space import ErasingSpace
from muniment.operations.lifecycle.erase_turns import Erasing
from muniment.operations.lifecycle.guard import Guard
from muniment.operations.lifecycle.holds import Holding
from muniment.operations.lifecycle.reporting import HoldInForce, LifecycleReport, Reporting
from muniment.operations.lifecycle.scope import Scope, SpaceTarget, aim_of
from muniment.operations.lifecycle.transition import Asking
from muniment.space.space import Space


class Reviewing:
    """One review on its way."""

    def __init__(self, session: Session, action: Action, scope: Scope) -> None:
        if action is Action.RELEASE:
            raise InvalidInput(at="action", problem="not_reviewed")
        self._session = session
        self._space: Space = session.space
        self._action = action
        self._scope = scope

    def run(self) -> LifecycleReport:
        """Return the report of the request, with what is in force."""
        report = self._asked()
        most = self._space.limits.report_items_max
        with self._space.ledger.reader() as reader:
            guard = Guard(self._space, reader, self._space.sources.clock.now_ms())
            reporting = Reporting(self._space, reader)
            holds = self._holds(reader, guard, reporting)
            key = self._scope.key
            policies = [
                each
                for each in reporting.policies(guard.policies)
                if key is None
                or (each.channel in (None, key.channel) and each.conversation in (None, key.conversation))
            ]
        return replace(
            report,
            holds=holds[:most],
            policies=policies[:most],
            clipped=report.clipped or max(len(holds), len(policies)) > most,
        )

    def _asked(self) -> LifecycleReport:
        if self._action is Action.HOLD:
            return Holding(self._session, self._scope, None).review()
        if self._action is not Action.ERASE:
            return Asking(self._session, self._scope, Transition(self._action), None).review()
        if self._scope.whole_space is not None:
            return ErasingSpace(self._session, None).review()
        aim = aim_of(self._space, self._scope, self._session.progress)
        return Erasing(self._session, self._scope, aim, None).review()

    def _holds(self, reader: Reader, guard: Guard, reporting: Reporting) -> list[HoldInForce]:
        """Return the holds that bear on the scope: those of the space, and those of the conversations it reaches."""
        subject = self._scope.subject
        of_space = [hold for hold in guard.holds if subject is None or hold.subject in (None, subject)]
        found = list(reporting.holds(of_space))
        aim = (
            SpaceTarget(self._space)
            if self._scope.key is None
            else aim_of(self._space, self._scope, self._session.progress)
        )
        for lot in aim.lots(reader):
            own = self._space.transcript.changes(reader, lot.head).holds.values()
            found += reporting.holds((hold for hold in own if _meet(hold, lot.spans)), lot.key)
        return found


def _meet(hold: Hold, spans: tuple[TurnSpan, ...]) -> bool:
    """Tell whether a hold is about any of these turns."""
    last = hold.span.last
    return any(
        hold.span.first <= (span.last or hold.span.first) and (last is None or span.first <= last) for span in spans
    )
