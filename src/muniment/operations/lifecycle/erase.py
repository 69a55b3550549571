"""Erase what a scope names: the whole space, or turns of it."""

from __future__ import annotations

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.events.changes import LifecycleRequest
from muniment.operations.lifecycle.erase_space import erase_space
from muniment.operations.lifecycle.erase_turns import erase_turns
from muniment.operations.lifecycle.report import LifecycleReport
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.lifecycle.seen_targets import seen_target
from muniment.operations.lifecycle.targets import target_of


def erase(session: Session, scope: Scope, request: LifecycleRequest, *, with_memory: bool = False) -> LifecycleReport:
    """Erase the space or the turns that a scope names, perhaps with what rests on nothing else, and report."""
    if scope.whole_space is not None:
        return erase_space(session, request)
    target = seen_target(session, scope, target_of(session.space, scope, session.progress, with_memory=with_memory))
    return erase_turns(session, scope, target, replace(request, subject=scope.subject))
