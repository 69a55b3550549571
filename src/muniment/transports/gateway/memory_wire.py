"""The memory gateway on the wire: what it is asked, and what it answers. Names and rules are those of its clients.

The credentials are taken out of a body before it becomes one of these, so that no value holds a key.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from muniment.errors import InvalidInput
from muniment.events.identity import DEFAULT_CHANNEL, Channel, ConversationId, ConversationKey, check_name
from muniment.events.message import Role
from muniment.operations.transcripts.hits import SemanticCoverage

DEFAULT = "default"
SESSION = "chat:"
ROLES = [Role.USER, Role.ASSISTANT]  # of the messages of an exchange, in this order


class MemoryScope(StrEnum):
    """Where a search looks: in the conversation that goes on, among resources, in all that is known of the user."""

    CURRENT_CHAT = "current_chat"
    RESOURCES = "resources"
    ALL_USER_MEMORY = "all_user_memory"


class ProjectRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every request has beside the credentials: the application and the project that the user works in."""

    app_id: str = DEFAULT
    project_id: str = DEFAULT

    @property
    def channel(self) -> Channel:
        """The channel of the project: the default one for the default project, else one of its own."""
        check_name(self.app_id, at="app_id")
        check_name(self.project_id, at="project_id")
        if (self.app_id, self.project_id) == (DEFAULT, DEFAULT):
            return DEFAULT_CHANNEL
        app = self.app_id.replace("%", "%25").replace("/", "%2F")
        return Channel(f"{app}/{self.project_id}")

    def conversation(self, session: str, at: str) -> ConversationKey:
        """Return the conversation of a session, whose id may come with its prefix or without."""
        check_name(session, at=at)
        name = session if session.startswith(SESSION) else SESSION + session
        if name == SESSION:
            raise InvalidInput(at=at, problem="empty")
        return ConversationKey(conversation=ConversationId(name), channel=self.channel)


class SearchMemories(ProjectRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """POST /memories/search."""

    conversation_id: str
    query: str
    scope: list[MemoryScope]
    top_k: Annotated[int, Meta(ge=1, le=100)] = 8


class WireMessage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody said: `timestamp` in UTC milliseconds."""

    sender_id: str
    role: str
    timestamp: int
    content: str


class AddExchange(ProjectRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """POST /memories/add."""

    session_id: str
    messages: list[WireMessage]

    def check(self) -> None:
        """Refuse what is no exchange: a user and then an assistant, with words, at times that do not go backwards."""
        if len(self.messages) != len(ROLES):
            raise InvalidInput(at="messages", problem="count", limit=len(ROLES), found=len(self.messages))
        since_ms = 1
        for place, (message, role) in enumerate(zip(self.messages, ROLES, strict=True)):
            at = f"messages[{place}]"
            if message.role != role:
                raise InvalidInput(at=f"{at}.role", problem="unknown_word", choices=[role])
            if message.timestamp < 1:
                raise InvalidInput(at=f"{at}.timestamp", problem="not_positive")
            if message.timestamp < since_ms:
                raise InvalidInput(at=f"{at}.timestamp", problem="not_sorted")
            if not message.content.strip():
                raise InvalidInput(at=f"{at}.content", problem="empty")
            check_name(message.sender_id, at=f"{at}.sender_id")
            since_ms = message.timestamp


class FlushSession(ProjectRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """POST /memories/flush."""

    session_id: str


class FoundMemory(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A result of a search. `text` was said by others: it is reference data."""

    id: str
    text: str
    score: float
    source_scope: MemoryScope
    session_id: str | None = None
    resource_uri: str | None = None


class MemoryResults(Struct, frozen=True, kw_only=True):
    """What was found, the best first; nothing is an answer."""

    results: list[FoundMemory]


class AddStatus(StrEnum):
    """What became of an exchange: it was stored, or was stored before."""

    ACCEPTED = "accepted"
    DUPLICATED = "duplicated"


class AddAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An exchange that is durable. `reason` says more of one that was stored before, as that it was erased since."""

    status: AddStatus
    session_id: str
    turn: str
    sequence: int | None
    messages: int
    reason: str | None = None


class DueWork(StrEnum):
    """What is still to be done: vectors, so that turns are found by meaning; decisions about proposals."""

    MEANING = "meaning"
    DECISION = "decision"


class Due(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Work that is due, and of how many turns (at most) or proposals. `reason` says why it was not done yet."""

    work: DueWork
    turns: int = 0
    proposals: int = 0
    reason: str | None = None


class FlushAnswer(Struct, frozen=True, kw_only=True):
    """What is there of a session: turns that are durable, turns that a search finds by their words, and what is due.

    `meaning` tells whether messages are found by meaning, too.
    """

    session_id: str
    durable: int
    indexed: int
    meaning: SemanticCoverage
    due: list[Due]
