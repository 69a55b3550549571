"""Everything about one subject, as it is written for the subject: the input of the pages for people and programs."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from muniment.events.identity import ConversationKey
from muniment.governance.slices import RedactionItem, SliceTurn
from muniment.governance.views import Reason, View


class SubjectTurn(Struct, frozen=True, kw_only=True):
    """A turn as the view shows it, how the subject is in it, and what is withheld of it, with reasons."""

    roles: list[str]
    turn: SliceTurn
    withheld: list[RedactionItem]


class TurnFact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was done to turns of the subject later, by their sequences; `reason` where the view shows origins."""

    position: int
    kind: str
    what: str
    at_ms: int
    turns: list[int]
    requester: str | None = None
    reason: str | None = None


class TurnsReceived(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who received turns of the subject, under which views, and which turns, by their sequences."""

    position: int
    kind: str
    at_ms: int
    views: list[str]
    turns: list[int]
    recipient: str | None = None
    purpose: str | None = None
    requester: str | None = None


class SubjectConversation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The turns of one conversation that the subject is in, what was done to them, and who received them."""

    conversation: ConversationKey
    turns: list[SubjectTurn]
    title: str | None = None
    chats: list[str] = []
    changes: list[TurnFact] = []
    received: list[TurnsReceived] = []


class SubjectItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A memory item about the subject and what happened to it, as `memory.show` tells both."""

    item: dict[str, Any]
    revisions: list[dict[str, Any]] = []


class WithheldItems(Struct, frozen=True, kw_only=True):
    """How many memory items about the subject the view does not show, and why."""

    reason: Reason
    items: int


class SubjectDocument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything about a subject, as a view shows it. `recorded` has the positions that put this export on record."""

    subject: str
    space: str
    view: View
    exported_ms: int
    conversations: list[SubjectConversation]
    memory: list[SubjectItem] = []
    memory_withheld: list[WithheldItems] = []
    recipient: str | None = None
    purpose: str | None = None
    recorded: list[int] = []
