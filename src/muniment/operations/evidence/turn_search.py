"""Finding the one turn that is meant: by its id, by the id of a message, or by its position in the log.

Only what the caller sees is looked at, so a turn of somebody else is neither found nor in the way of another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from muniment.errors import InvalidInput, UnknownConversation, UnknownPlace
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId, check_name
from muniment.log.port import Reader, SealedRow
from muniment.projections.conversation import Conversation
from muniment.space.seen_part import SeenPart
from muniment.space.space import Space


class FoundTurn(NamedTuple):
    """A turn: its conversation and its event."""

    conversation: Conversation
    row: SealedRow

    @property
    def sequence(self) -> int:
        """The sequence of the turn."""
        assert self.row.turn_seq is not None, "a turn has a place among the turns"
        return self.row.turn_seq


class TurnNames(NamedTuple):
    """What was typed for a turn, and what narrows down where it is."""

    text: str
    conversation: ConversationId | None
    channel: Channel | None

    def check(self) -> None:
        """Refuse what is no name."""
        check_name(self.text, at="turn")
        for at in ("conversation", "channel"):
            if (given := getattr(self, at)) is not None:
                check_name(given, at=at)

    def admits(self, key: ConversationKey) -> bool:
        """Tell whether a conversation may be the one that is meant."""
        return self.conversation in {None, key.conversation} and self.channel in {None, key.channel}


def find_turn(seen: SeenPart, reader: Reader, named: TurnNames) -> FoundTurn:
    """Return the turn that is meant; tries the id of a turn, then that of a message, then a position."""
    candidates = list(_conversations(seen, reader, named))
    if not candidates and named.conversation is not None:
        raise UnknownConversation(at="conversation")
    turn, _, number = named.text.rpartition("#")
    for text, message in ((named.text, None), (turn, number)):
        found = [one for each in candidates if (one := _turn(each, text, message)) is not None]
        if len(found) > 1:
            keys = [each.conversation.key for each in found]
            is_of_channels = len({key.conversation for key in keys}) == 1
            problem = "add_channel" if is_of_channels else "add_conversation"
            raise InvalidInput(at="turn", problem=problem, found=len(found))
        if found:
            return found[0]
    return _at_position(seen, reader, named)


def _conversations(seen: SeenPart, reader: Reader, named: TurnNames) -> Iterator[Conversation]:
    """Yield the conversations that may be meant, those that can be found by name."""
    space = seen.space
    for row in space.transcript.conversations(reader):
        key = _key_of(space, row)
        if named.admits(key) and space.transcript.is_current(reader, row):
            found = seen.find(reader, key)
            if found is not None:
                yield found


def _turn(conversation: Conversation, text: str, message: str | None) -> FoundTurn | None:
    """Return the turn of this id, if the conversation has it, and with it the message of this number."""
    opened = conversation.turn(TurnId(text)) if text else None
    if opened is None:
        return None
    found = FoundTurn(conversation, opened.row)
    if message is None:
        return found
    count = len(conversation.at(found.sequence).record.meta.messages)
    return found if message.isascii() and message.isdecimal() and int(message) < count else None


def _at_position(seen: SeenPart, reader: Reader, named: TurnNames) -> FoundTurn:
    space = seen.space
    is_number = named.text.isascii() and named.text.isdecimal() and len(named.text) <= POSITION_DIGITS_MAX
    row = reader.sealed(int(named.text)) if is_number else None
    if row is None or row.turn_seq is None:
        raise UnknownPlace(at="turn")
    opening = reader.sealed(row.stream)
    if opening is None or not named.admits(key := _key_of(space, opening)):
        raise UnknownPlace(at="turn")
    conversation = Conversation(space.transcript, reader, key, row.stream)
    if seen.access.bounds:
        shown = seen.find(reader, key)
        if shown is None or shown.stream != row.stream or row.turn_seq not in shown.sequences:
            raise UnknownPlace(at="turn")
        conversation = shown
    space.ledger.open(row)  # proves that it is this turn
    return FoundTurn(conversation, row)


POSITION_DIGITS_MAX = 15


def _key_of(space: Space, row: SealedRow) -> ConversationKey:
    names = space.transcript.names(row)
    return ConversationKey(conversation=ConversationId(names.conversation), channel=Channel(names.channel))
