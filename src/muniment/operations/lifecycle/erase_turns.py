"""Requests to erase turns and messages: what would go, the approval of a second person, what is refused on record.

What goes is decided by the guard inside the transaction that destroys it (`erasure`), so that everything that was
committed in between is decided, too.
"""

from __future__ import annotations

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.events.changes import Action, LifecycleRequest
from muniment.events.records import RotationCause
from muniment.ledger.ledger import Writer
from muniment.operations.approvals.gate import GuardedAct, GuardedRequest
from muniment.operations.lifecycle.destroy import destroy_turns
from muniment.operations.lifecycle.going_along import Asking, going_along, names_of
from muniment.operations.lifecycle.guard import Judgements, judged_turns
from muniment.operations.lifecycle.refusals import append_refusals
from muniment.operations.lifecycle.report import LifecycleReport
from muniment.operations.lifecycle.reporting import Reporting
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.lifecycle.targets import Target, takes_memory
from muniment.space.rotation import nothing_else
from muniment.space.space import Space


def review_erasure(
    session: Session, scope: Scope, target: Target, request: LifecycleRequest | None = None
) -> LifecycleReport:
    """Return what would be erased and what would be kept now."""
    space, budget = session.space, session.budget()
    now_ms = space.sources.clock.now_ms() if request is None else request.requested_ms
    target.prepare()
    with space.ledger.reader() as reader:
        judged = judged_turns(space, reader, target.turns(reader), now_ms, requested=True)
        along = going_along(space, reader, target, Asking(now_ms, scope.subject), judged)
        of_items = judged_turns(space, reader, along.items, now_ms, requested=True)
        reporting = Reporting(space, reader, budget, session.access.open_views)
        report = reporting.report(Action.ERASE, scope, request, _apart(judged, of_items))
        names = names_of(space, reader, of_items, session.access.subject)
    limit, registries = space.limits.report_items_max, along.registries
    return replace(
        report,
        memory_items=names[:limit],
        registries=list(registries.going)[:limit],
        kept_registries=registries.kept[:limit],
        clipped=report.clipped or max(len(names), len(registries.going), len(registries.kept)) > limit,
    )


def _apart(judged: list[Judgements], of_items: list[Judgements]) -> list[Judgements]:
    """Return everything that was judged; of a notebook that is in question anyway only once."""
    known = {judgements.turns.head.stream for judgements in judged}
    return judged + [judgements for judgements in of_items if judgements.turns.head.stream not in known]


def erase_turns(session: Session, scope: Scope, target: Target, request: LifecycleRequest) -> LifecycleReport:
    """Destroy the content that nothing keeps, record what was kept, and report."""
    space, report = session.space, review_erasure(session, scope, target, request)
    if report.affected_turns or report.affected_items or report.registries:
        about = scope.about() | ({"with_memory": "yes"} if takes_memory(target) else {})
        guarded = GuardedRequest(session=session, act=GuardedAct.ERASE, about=about, request=request)
        guarded.ask()
        return complete_erasure(space, target, request, report, guarded)
    if report.kept_turns or report.kept_items:
        space.ledger.transact(lambda writer: _note_refused(space, writer, target, request))
    if space.is_rotation_due:
        space.rotate(RotationCause.ERASURE, nothing_else)  # an earlier erasure was kept from finishing
    return report


def _note_refused(space: Space, writer: Writer, target: Target, request: LifecycleRequest) -> None:
    turns, now_ms = target.turns(writer.tx), request.requested_ms
    append_refusals(space, writer, judged_turns(space, writer.tx, turns, now_ms, requested=True), request)


def complete_erasure(
    space: Space,
    target: Target,
    request: LifecycleRequest,
    report: LifecycleReport,
    guarded: GuardedRequest | None = None,
) -> LifecycleReport:
    """Destroy the content that is still to go, and complete the report of its review."""
    receipt = destroy_turns(space, target, request, guarded=guarded)
    return report if receipt is None else replace(report, changed=True, position=receipt.position, receipt=receipt)
