"""What a request is about: a message, a turn, a conversation, what is of a subject, or the whole space."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from muniment.errors import AccessDenied, ForeignSpace, InvalidInput
from muniment.events.changes import TurnSpan
from muniment.events.identity import (
    Channel,
    ConversationId,
    ConversationKey,
    SpaceName,
    SubjectId,
    TurnId,
    check_name,
    given_key,
    named_message,
)
from muniment.events.memory_items import MemoryPlane
from muniment.governance.access import Access
from muniment.log.port import StreamHead
from muniment.operations.examples import SCOPE


class Scope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a request is about: exactly one of `conversation`, `subject` and `whole_space`.

    Of a conversation (`channel`: the default one) all turns, one `turn`, or one `message` by its id. `subject`: every
    turn whose subject, acting subject or mounted subject it is, and every memory item about it. `whole_space` is the
    name of the open space, repeated.
    """

    conversation: Annotated[ConversationId | None, Meta(description="Id of the conversation.")] = None
    channel: Annotated[
        Channel | None, Meta(description="Channel of the conversation. Without it: the default channel.")
    ] = None
    turn: Annotated[
        TurnId | None, Meta(description="Id of the turn. Without it: all turns that the conversation has now.")
    ] = None
    message: Annotated[
        str | None, Meta(description="Id of a message, or <turn>#<number> for short, counted from 0.")
    ] = None
    subject: Annotated[
        SubjectId | None,
        Meta(description="All turns with this subject, acting subject or mounted subject, and its memory items."),
    ] = None
    whole_space: Annotated[
        SpaceName | None, Meta(description="Everything in the open space; repeat the name of the space here.")
    ] = None

    @property
    def key(self) -> ConversationKey | None:
        """The conversation, if it is about one."""
        return given_key(self.conversation, self.channel)

    def check(self, space: str) -> None:
        """Refuse a scope that says too little or too much, and another space than the one that is open."""
        names = ("conversation", "subject", "whole_space")
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidInput(at="scope", problem="not_one_of_these" if given else "missing_field")
        for name in ("channel", "turn", "message"):
            if getattr(self, name) is not None and self.conversation is None:
                raise InvalidInput(at=f"scope.{name}", problem="not_taken")
        for name in ("conversation", "channel", "turn", "subject"):
            if getattr(self, name) is not None:
                check_name(getattr(self, name), at=f"scope.{name}")
        named = None if self.message is None else named_message(self.message)
        if None not in (self.message, self.turn) and (named is None or named.turn != self.turn):
            raise InvalidInput(at="scope.message", problem="differs")
        if self.whole_space is not None and self.whole_space != space:
            raise ForeignSpace(at="scope.whole_space")

    def check_within(self, access: Access) -> None:
        """Refuse what may reach beyond the bounds of an access.

        | kept to | may name |
        |---|---|
        | a subject | a turn, a message, or the subject; no whole conversation, which may have turns of others |
        | channels | a conversation, a turn or a message; no subject, whose turns may be elsewhere |
        """
        access.require_subjects(self.subject)
        names_own = (self.turn, self.message, self.subject) != (None, None, None)
        if (access.subject is not None and not names_own) or (access.channels is not None and self.key is None):
            raise AccessDenied(at="scope")

    def about(self) -> dict[str, str]:
        """Return what it is about by the names of its fields, for an approval."""
        given = {"channel": self.channel, "conversation": self.conversation, "turn": self.turn, "message": self.message}
        given |= {"subject": self.subject, "whole_space": self.whole_space}
        if self.key is not None:
            given["channel"] = self.key.channel
        return {name: str(value) for name, value in given.items() if value is not None}

    def within_a_conversation(self) -> ConversationKey:
        """Return the conversation, or refuse what is about no conversation, or about one message."""
        if self.key is None or self.message is not None:
            raise InvalidInput(at="scope" if self.key is None else "scope.message", problem="not_taken")
        return self.key


OneScope = Annotated[Scope, Meta(examples=[SCOPE])]


class NotebookKey(Struct, frozen=True, kw_only=True):
    """The name of a notebook: whose memory items it has, and of which plane."""

    subject: SubjectId
    plane: MemoryPlane


StreamKey = ConversationKey | NotebookKey


class Turns(NamedTuple):
    """Turns of a conversation that are in question, or one message of one turn, counted from 0; or memory items.

    `unreadable` are turns that do not open any more, so that nobody can tell whether they belong here.
    """

    key: StreamKey
    head: StreamHead
    spans: tuple[TurnSpan, ...]
    message: int | None = None
    unreadable: tuple[int, ...] = ()

    @property
    def conversation(self) -> ConversationKey | None:
        """The conversation, if these are turns of one."""
        return self.key if isinstance(self.key, ConversationKey) else None
