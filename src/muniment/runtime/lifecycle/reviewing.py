"""Reviews: what a request would do, told by the same code that would do it, without a transaction (BEHAVIOUR LC-02)."""

from __future__ import annotations

from msgspec.structs import replace

from muniment.errors import InvalidInput
from muniment.events.changes import Action, Span, Transition
from muniment.governance.lifecycle import Hold
from muniment.log.port import Reader
from muniment.runtime.desk import Desk
from muniment.runtime.lifecycle.asking import Asking
from muniment.runtime.lifecycle.custody import Holding
from muniment.runtime.lifecycle.ending import Ending
from muniment.runtime.lifecycle.erasing import Erasing
from muniment.runtime.lifecycle.guard import Guard
from muniment.runtime.lifecycle.reporting import HoldInForce, LifecycleReport, Reporting
from muniment.runtime.lifecycle.scope import OfSpace, Scope, aim_of
from muniment.runtime.space import Space


class Reviewing:
    """One review on its way."""

    def __init__(self, desk: Desk, action: Action, scope: Scope) -> None:
        if action is Action.RELEASE:
            raise InvalidInput(at="action", problem="not_reviewed")
        self._desk = desk
        self._space: Space = desk.space
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
            return Holding(self._desk, self._scope, None).review()
        if self._action is not Action.DELETE_RAW:
            return Asking(self._desk, self._scope, Transition(self._action), None).review()
        if self._scope.whole_space is not None:
            return Ending(self._desk, None).review()
        aim = aim_of(self._space, self._scope, self._desk.progress)
        return Erasing(self._desk, self._scope, aim, None).review()

    def _holds(self, reader: Reader, guard: Guard, reporting: Reporting) -> list[HoldInForce]:
        """Return the holds that bear on the scope: those of the space, and those of the conversations it reaches."""
        subject = self._scope.subject
        of_space = [hold for hold in guard.holds if subject is None or hold.subject in (None, subject)]
        found = list(reporting.holds(of_space))
        aim = OfSpace(self._space) if self._scope.key is None else aim_of(self._space, self._scope, self._desk.progress)
        for lot in aim.lots(reader):
            own = self._space.transcript.changes(reader, lot.head).holds.values()
            found += reporting.holds((hold for hold in own if _meet(hold, lot.spans)), lot.key)
        return found


def _meet(hold: Hold, spans: tuple[Span, ...]) -> bool:
    """Tell whether a hold is about any of these turns."""
    last = hold.span.last
    return any(
        hold.span.first <= (span.last or hold.span.first) and (last is None or span.first <= last) for span in spans
    )
