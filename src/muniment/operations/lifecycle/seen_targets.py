"""Targets of a caller that is kept to a subject, or to channels: nobody changes what they do not see (decision 0191).

| kept to | may name |
|---|---|
| a subject | a turn or a message, or the subject; never a whole conversation, which may have turns of others |
| channels | a conversation, a turn or a message in them; never a subject, whose turns may be elsewhere |

What is not seen is not found, as if it did not exist.
"""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.errors import AccessDenied
from muniment.events.identity import TurnId, named_message
from muniment.governance.access import Access
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.lifecycle.targets import SubjectTarget, Target, TurnsTarget


def check_bounds(access: Access, scope: Scope) -> None:
    """Refuse a scope that reaches beyond the bounds of an access."""
    access.require_subjects(scope.subject)
    names_turn = scope.turn is not None or scope.message is not None
    beyond_subject = access.subject is not None and not names_turn and scope.subject is None
    if beyond_subject or (access.channels is not None and scope.key is None):
        raise AccessDenied(at="scope")


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
