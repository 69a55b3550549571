"""Names given by hosts: spaces, channels, conversations, chats, turns, subjects.

A name is canonical text: not empty, no blanks at its ends, no control characters, at most 512 bytes. Anything else is
refused, never trimmed. A name becomes a storage key only through a keyed digest of its length-prefixed parts
(`kernel.digest`), so `a__b / c` and `a / b__c` remain different keys.
"""

from __future__ import annotations

import unicodedata
from typing import Annotated, NewType

from msgspec import Meta, Struct

from muniment.errors import InvalidInput

NAME_BYTES_MAX = 512

SpaceName = NewType("SpaceName", str)
Channel = NewType("Channel", str)
ConversationId = NewType("ConversationId", str)
ChatId = NewType("ChatId", str)
TurnId = NewType("TurnId", str)
SubjectId = NewType("SubjectId", str)

Sequence = Annotated[int, Meta(ge=1, le=2**53 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]

DEFAULT_SPACE = SpaceName("default")
DEFAULT_CHANNEL = Channel("default")


class ConversationKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The name of a conversation: space, channel and conversation id.

    Without `space`, the open space is meant; naming another one is refused.
    """

    conversation: Annotated[ConversationId, Meta(description="Id of the conversation.")]
    channel: Annotated[Channel, Meta(description="Channel of the conversation.")] = DEFAULT_CHANNEL
    space: Annotated[SpaceName | None, Meta(description="Name of the open space; may be left out.")] = None


def check_name(text: str, *, at: str) -> None:
    """Refuse text that is no canonical name; `at` is its path in the request."""
    if not text:
        raise InvalidInput(at=at, problem="empty")
    # isprintable is the fast gate: what it passes can hold no control character; what it stops may still be a blank.
    if not text.isprintable() and any(unicodedata.category(char) in {"Cc", "Cs"} for char in text):
        raise InvalidInput(at=at, problem="control_character")
    if text[0].isspace() or text[-1].isspace():
        raise InvalidInput(at=at, problem="blank_at_end")
    size = len(text) if text.isascii() else len(text.encode())
    if size > NAME_BYTES_MAX:
        raise InvalidInput(at=at, problem="too_long", limit=NAME_BYTES_MAX, found=size)


def check_key(key: ConversationKey) -> None:
    """Refuse a conversation key with a part that is no canonical name."""
    check_name(key.conversation, at="conversation")
    check_name(key.channel, at="channel")
    if key.space is not None:
        check_name(key.space, at="space")


def message_id(turn: TurnId, index: int) -> str:
    """Return the id of a message: its turn's id and its index, the same on every repeat."""
    return f"{turn}#{index}"
