"""What happened to a conversation since a state of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from muniment.events.identity import ConversationKey


class ChangeSince(StrEnum):
    """What happened to a conversation since a state of it."""

    NONE = "none"
    APPENDED = "appended"
    OTHER = "other"
    MISSING = "missing"


class ConversationChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What happened to a conversation, and its state now.

    `digest` is that of a `transcripts.timeline` in this state. Both are absent where the conversation has to be read
    each time, and where there is none.
    """

    conversation: ConversationKey
    change: Annotated[
        ChangeSince,
        Meta(
            description="none: every view shows what it showed. appended: turns came, those before are as they were. "
            "other: anything else, or no state was given. missing: there is no such conversation."
        ),
    ]
    state: str | None = None
    digest: str | None = None
