"""What a noun group has its operations pass: a gate before a store that is open here, or the way to one elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from msgspec import Struct

from muniment.errors import AccessDenied, CapabilityHidden, UnknownConversation
from muniment.space.options import OperationObserver

if TYPE_CHECKING:
    from muniment.declaration.operation import Request, Terms


class Gate(Protocol):
    """What a noun group depends on: lets an operation pass, or raises."""

    @property
    def observer(self) -> OperationObserver | None:
        """Who is told of every operation, if anybody is."""
        ...

    def pass_through(self, operation: str, terms: Terms) -> None:
        """Raise when the access in force or the state of the store forbids an operation (`group.verb`)."""
        ...

    def refused(self, operation: str, denied: AccessDenied | CapabilityHidden) -> None:
        """Record that the access in force refused an operation, or something in its request."""
        ...

    def suggest(self, unknown: UnknownConversation, request: Struct) -> None:
        """Add conversations that a request may have meant, of those that the access in force may list."""
        ...

    def finished(self, operation: str, terms: Terms, request: Request, report: object) -> None:
        """Record what an operation is about to return, where a policy asks for it; raise when that is impossible."""
        ...


class Elsewhere:
    """The base of what a noun group has in place of a gate when its operations run in another process."""

    def call(self, operation: str, request: Request, upload: object, download: BinaryIO | None) -> Any:
        """Have an operation (`group.verb`) run with a request that was bound, its upload and its download.

        Returns its report. A download that is no stream is the path that the request names.
        """
        raise NotImplementedError

    def close(self) -> Any:
        """Leave the other process alone."""
        raise NotImplementedError
