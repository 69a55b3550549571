"""What a client key opens: the rights of whoever shows it, as a value.

A key opens what its scope names and nothing else. It belongs to one space, so that the space follows from the key.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from muniment.errors import InvalidInput
from muniment.events.identity import Channel, SubjectId, check_name
from muniment.governance.access import Access, Effect
from muniment.governance.views import View

NAMES_MAX = 100
GATEWAY_OPERATIONS = (
    "conversations.activity",
    "memory.recall",
    "notebook.proposals",
    "transcripts.commit",
    "transcripts.search",
    "transcripts.timeline",
)  # what the memory gateway calls for a user
REQUESTS_PER_MINUTE_MAX = 1_000_000


class ClientScope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The scope of a client: without anything given, it may read as `host_ui` shows it."""

    effects: Annotated[list[Effect], Meta(description="What it may do: read, append, reveal, erase, admin.")] = field(
        default_factory=lambda: [Effect.READ]
    )
    views: Annotated[list[View], Meta(description="Views that it may use.")] = field(
        default_factory=lambda: [View.HOST_UI]
    )
    subject: Annotated[
        SubjectId | None, Meta(description="The only subject whose data it may read and write. Without it: all.")
    ] = None
    channels: Annotated[
        list[Channel] | None, Meta(description="The only channels that it may use. Without it: all.")
    ] = None
    operations: Annotated[
        list[str] | None,
        Meta(description="The only operations that it may call: `memory.recall`, `transcripts.*`. Without it: all."),
    ] = None
    requests_per_minute: Annotated[
        int | None, Meta(description="Requests a minute, with bursts of as many. Without it: no limit.")
    ] = None

    def access(self) -> Access:
        """Return the rights that a client of this scope has."""
        return Access(
            effects=frozenset(self.effects),
            views=frozenset(self.views),
            subject=self.subject,
            channels=None if self.channels is None else frozenset(self.channels),
            operations=None if self.operations is None else frozenset(self.operations),
        )


def gateway_scope(user: SubjectId) -> ClientScope:
    """Return the scope of a user of the memory gateway: to add and find what is about this subject, and no more."""
    return ClientScope(
        effects=[Effect.READ, Effect.APPEND],
        views=[View.MODEL_CONTEXT],
        subject=user,
        operations=list(GATEWAY_OPERATIONS),
    )


def check_scope(scope: ClientScope) -> None:
    """Refuse a scope that opens nothing, and one with a malformed name."""
    for at, names in (("effects", scope.effects), ("views", scope.views), ("channels", scope.channels)):
        if names is None:
            continue
        if not names:
            raise InvalidInput(at=f"scope.{at}", problem="empty")
        if len(names) > NAMES_MAX:
            raise InvalidInput(at=f"scope.{at}", problem="too_many", limit=NAMES_MAX, found=len(names))
    if scope.subject is not None:
        check_name(scope.subject, at="scope.subject")
    for channel in scope.channels or ():
        check_name(channel, at="scope.channels")
    rate = scope.requests_per_minute
    if rate is not None and not 1 <= rate <= REQUESTS_PER_MINUTE_MAX:
        raise InvalidInput(
            at="scope.requests_per_minute", problem="out_of_range", limit=REQUESTS_PER_MINUTE_MAX, found=rate
        )
