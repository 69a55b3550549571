"""Asking a person before an operation hides or destroys content."""

from __future__ import annotations

import click
import msgspec
from msgspec import Struct

from muniment.declaration.operation import Operation
from muniment.declaration.surfaces import DESTROYS
from muniment.errors import NotConfirmed
from muniment.events.changes import Transition
from muniment.transports.cli.store_options import StoreOptions


def is_confirmed(operation: Operation) -> bool:
    """Tell whether a person confirms an operation."""
    return DESTROYS[operation.effect]


def question_of(operation: Operation, request: Struct) -> str:
    """Return the question that confirms an operation: what it does, and whether that can be undone."""
    transition = next((value for value in msgspec.structs.astuple(request) if isinstance(value, Transition)), None)
    if transition is None:
        return f"Run `{operation.group} {operation.name}`? (content that it removes cannot be recovered)"
    outcome = "cannot be undone" if transition is Transition.ERASE else "reversible"
    return f"{transition.capitalize()} the turns? ({outcome})"


def confirm(door: StoreOptions, operation: Operation, request: Struct) -> None:
    """Ask whether to run an operation; raises `request.not_confirmed`, also where there is nobody to ask."""
    if not door.may_ask():
        raise NotConfirmed(at=operation.path, problem="nobody_to_ask")
    if not click.confirm(question_of(operation, request), err=True):
        raise NotConfirmed(at=operation.path, problem="declined")
