"""Reviews: what a request would do, reported by the same code that would do it, without a transaction."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.changes import Action, Transition
from muniment.ledger.ledger import SPACE_STREAM
from muniment.log.port import Reader
from muniment.operations.lifecycle.erase_space import review_space_erasure
from muniment.operations.lifecycle.erase_turns import review_erasure
from muniment.operations.lifecycle.guard import Guard
from muniment.operations.lifecycle.holds import review_hold
from muniment.operations.lifecycle.refusals import concerns, noted_refusals, refused
from muniment.operations.lifecycle.report import HoldInForce, LifecycleReport, RefusedErasure
from muniment.operations.lifecycle.reporting import Reporting
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.lifecycle.targets import SpaceTarget, conversations, target_of
from muniment.operations.lifecycle.transition import review_transition


def review_request(session: Session, action: Action, scope: Scope, *, with_memory: bool = False) -> LifecycleReport:
    """Return the report of the request, with the holds and policies in force that concern its scope."""
    if action is Action.RELEASE:
        raise InvalidInput(at="action", problem="not_reviewed")
    space = session.space
    report = _reviewed(session, action, scope, with_memory=with_memory)
    limit, key = space.limits.report_items_max, scope.key
    with space.ledger.reader() as reader:
        guard = Guard(space, reader, space.sources.clock.now_ms())
        reporting = Reporting(space, reader)
        holds = _holds(session, reader, guard, reporting, scope)
        policies = [
            policy
            for policy in reporting.policies(guard.policies)
            if key is None
            or (policy.channel in (None, key.channel) and policy.conversation in (None, key.conversation))
        ]
        asked_before = list(islice(_refused(session, reader, scope), limit + 1))
    return replace(
        report,
        holds=holds[:limit],
        policies=policies[:limit],
        refused=asked_before[:limit],
        clipped=report.clipped or max(len(holds), len(policies), len(asked_before)) > limit,
    )


def _refused(session: Session, reader: Reader, scope: Scope) -> Iterator[RefusedErasure]:
    """Yield the refused erasures that concern the scope, the newest first."""
    space = session.space
    if scope.key is not None:
        turns = target_of(space, scope, session.progress).turns(reader)
        for noted in noted_refusals(space, reader):
            if any(concerns(noted, each.head.stream, each.spans) for each in turns):
                yield refused(noted, scope.key if "stream" in noted.refs else None)
        return
    keys = {head.stream: key for key, head in conversations(space, reader)}
    for noted in noted_refusals(space, reader):
        if scope.subject is None or noted.body.request.subject == scope.subject:
            yield refused(noted, keys.get(noted.refs.get("stream", SPACE_STREAM)))


def _reviewed(session: Session, action: Action, scope: Scope, *, with_memory: bool) -> LifecycleReport:
    if action is Action.HOLD:
        return review_hold(session, scope)
    if action is not Action.ERASE:
        return review_transition(session, scope, Transition(action))
    if scope.whole_space is not None:
        return review_space_erasure(session)
    target = target_of(session.space, scope, session.progress, with_memory=with_memory)
    return review_erasure(session, scope, target)


def _holds(session: Session, reader: Reader, guard: Guard, reporting: Reporting, scope: Scope) -> list[HoldInForce]:
    """Return the holds that concern the scope: those of the space, and those of the conversations in it."""
    space = session.space
    of_space = [hold for hold in guard.holds if scope.subject is None or hold.subject in (None, scope.subject)]
    holds = list(reporting.holds(of_space))
    target = SpaceTarget(space) if scope.key is None else target_of(space, scope, session.progress)
    for turns in target.turns(reader):
        own = space.transcript.changes(reader, turns.head).holds.values()
        concerned = (hold for hold in own if any(hold.span.overlaps(span) for span in turns.spans))
        holds += reporting.holds(concerned, turns.conversation)
    return holds
