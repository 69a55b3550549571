"""Targets of a caller that is kept to a subject, or to channels: nobody changes what they do not see (decision 0191).

`Scope.check_within` says what they may name. What is not seen is not found, as if it did not exist.
"""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.events.identity import TurnId, named_message
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.lifecycle.targets import SubjectTarget, Target, TurnsTarget


def seen_target(session: Session, scope: Scope, target: Target) -> Target:
    """Return a target, or one without any turns where the caller sees nothing of what it names."""
    seen, access = session.seen, session.access
    if not access.bounds:
        return target
    if scope.subject is not None:
        return SubjectTarget(session.space, scope.subject, session.progress, own=True)
    key = scope.key
    assert key is not None, "bounds allow nothing else"
    named = None if scope.message is None else named_message(scope.message)
    turn = scope.turn if named is None else named.turn
    with session.space.ledger.reader() as reader:
        conversation = seen.find(reader, key)
        is_seen = conversation is not None and (turn is None or conversation.turn(TurnId(turn)) is not None)
    return target if is_seen else TurnsTarget(session.space, {})
