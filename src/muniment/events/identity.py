"""Names given by hosts: spaces, channels, conversations, chats, turns, subjects.

A name is canonical text: not empty, no blanks at its ends, no control characters, at most 512 bytes. Anything else is
refused, never trimmed. A name becomes a storage key only through a keyed digest of its length-prefixed parts
(`kernel.digest`), so `a__b / c` and `a / b__c` remain different keys.

The id of a message is made of the names of its conversation and turn and of its place. It is never drawn and needs no
key, so that a repeat, an export and an import give the same one.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from functools import lru_cache
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from muniment.errors import InvalidInput
from muniment.events.name_types import (
    DEFAULT_CHANNEL,
    DEFAULT_SPACE,
    Channel,
    ChatId,
    ConversationId,
    Count,
    Sequence,
    SpaceName,
    SubjectId,
    TurnId,
)

__all__ = [
    "DEFAULT_CHANNEL",
    "DEFAULT_SPACE",
    "Channel",
    "ChatId",
    "ConversationId",
    "Count",
    "Sequence",
    "SpaceName",
    "SubjectId",
    "TurnId",
]  # with what this module defines, all about names

NAME_BYTES_MAX = 512
MARK_BYTES = 15  # 24 characters of base32
MARKS_CACHED_MAX = 4096
_MESSAGE = re.compile(r"(?P<turn>.*)#(?P<place>0|[1-9][0-9]{0,8})(?:@(?P<mark>[a-z2-7]{24}))?", re.DOTALL)


class ConversationKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The name of a conversation: space, channel and conversation id.

    Without `space`, the open space is meant; naming another one is refused.
    """

    conversation: Annotated[ConversationId, Meta(description="Id of the conversation.")]
    channel: Annotated[Channel, Meta(description="Channel of the conversation.")] = DEFAULT_CHANNEL
    space: Annotated[SpaceName | None, Meta(description="Name of the open space; may be left out.")] = None


def given_key(conversation: ConversationId | None, channel: Channel | None) -> ConversationKey | None:
    """Return the key of a conversation that a request may name; without a channel it is in the default one."""
    return (
        None if conversation is None else ConversationKey(conversation=conversation, channel=channel or DEFAULT_CHANNEL)
    )


def check_given(*names: tuple[str, str | None]) -> None:
    """Refuse what is given and is no canonical name; each with its path in the request before it."""
    for at, name in names:
        if name is not None:
            check_name(name, at=at)


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


def spelled(channel: str, conversation: str) -> str:
    """Return a conversation as lists print it: `channel/conversation`; a slash in the channel is escaped."""
    return f"{channel.replace('%', '%25').replace('/', '%2F')}/{conversation}"


def parse_spelled(text: str) -> tuple[Channel, ConversationId] | None:
    """Return the channel and the conversation that `spelled` gave, or None for text without a slash."""
    channel, slash, conversation = text.partition("/")
    if not slash:
        return None
    return Channel(channel.replace("%2F", "/").replace("%25", "%")), ConversationId(conversation)


# --- messages ---------------------------------------------------------------------------------------------------------


class MessageName(NamedTuple):
    """What the id of a message says: the turn, and the place of the message in it, counted from 0."""

    turn: TurnId
    place: int


@lru_cache(maxsize=MARKS_CACHED_MAX)
def conversation_mark(channel: str, conversation: str) -> str:
    """Return what message ids have of their conversation: a digest of its names, the same in every space and export."""
    message = bytearray(b"muniment message id")
    for name in (channel, conversation):
        raw = name.encode()
        message += len(raw).to_bytes(8) + raw
    return base64.b32encode(hashlib.sha256(message).digest()[:MARK_BYTES]).decode().lower()


def message_id(mark: str, turn: str, place: int) -> str:
    """Return the id of a message, unique in its space: `<turn>#<place>@<mark of the conversation>` (decision 0132)."""
    return f"{turn}#{place}@{mark}"


def short_message_id(text: str) -> str:
    """Return the id of a message without its mark, for a page that names the conversation."""
    named = named_message(text)
    return text if named is None else f"{named.turn}#{named.place}"


def named_message(text: str, mark: str | None = None) -> MessageName | None:
    """Return what the id of a message says, or None for text that is no such id.

    Where the conversation is known by its mark, `<turn>#<place>` is the same as the whole id, and an id with the mark
    of another conversation is None.
    """
    found = _MESSAGE.fullmatch(text)
    if found is None or not found["turn"] or (None not in (mark, found["mark"]) and found["mark"] != mark):
        return None
    return MessageName(TurnId(found["turn"]), int(found["place"]))
