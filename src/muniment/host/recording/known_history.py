"""Which messages of a request are new: hosts send the whole conversation again with every call.

A request that begins with the previous request and its answer adds the rest; that is the usual case. Any other request
(shortened, edited, of another process, after a restart) is compared with the messages of the conversation in the store.
Reasoning is not compared, because hosts leave it out, nor is a message of whose words any are hidden or erased: it
takes the place of the message of the same role, so that they do not come back because a host still has them.

Nothing here is stored: the digests are those of this process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import msgspec

from muniment.events.message import AttachmentPart, BlobPart, Message, Part, ReasoningPart, Role, is_blank

BLOB_BYTES_MAX = 2**18  # a larger one is stored as an attachment
DIGEST_BYTES = 16


class KnownMessage(NamedTuple):
    """A message to compare: its role and a digest of its parts, None where any of its words cannot be read any more."""

    role: Role
    digest: bytes | None


def known_message(role: Role, parts: Iterable[Part]) -> KnownMessage | None:
    """Return what is compared of a message; None for one that says nothing but reasoning."""
    compared = [_compared(part) for part in parts if not isinstance(part, ReasoningPart) and not is_blank(part)]
    if not compared:
        return None
    encoded = msgspec.json.encode(compared, order="deterministic")
    return KnownMessage(role, hashlib.blake2b(encoded, digest_size=DIGEST_BYTES).digest())


def new_messages(known: Sequence[KnownMessage], said: Sequence[Message], *, cut: bool = False) -> list[int]:
    """Return the places of the messages of a request that are not known, in their order.

    `cut` says that `known` lacks the beginning: then all that comes before the first known message is known too.
    """
    places = [
        (place, unit) for place, message in enumerate(said) if (unit := known_message(message.role, message.parts()))
    ]
    units = [unit for _, unit in places]
    start = _common(known, units)
    rest = SequenceMatcher(None, known[start:], units[start:], autojunk=False)
    system = _last_system(known)
    new: list[int] = []
    matched = start > 0
    for change, from_known, to_known, begin, end in rest.get_opcodes():
        if change == "equal":
            if cut and not matched:
                new.clear()
            matched = True
        elif change != "delete":
            unread = [unit.role for unit in known[start + from_known : start + to_known] if unit.digest is None]
            new += _without_unread(range(start + begin, start + end), units, unread)
    return [
        places[index][0]
        for index in new
        if units[index] not in system and KnownMessage(units[index].role, None) not in system
    ]


def continues(last: Sequence[KnownMessage], said: Sequence[Message]) -> int | None:
    """Return at which place a request goes on after everything in `last`; None when it does not begin with it."""
    found = 0
    for place, message in enumerate(said):
        if found == len(last):
            return place
        unit = known_message(message.role, message.parts())
        if unit is None:
            continue
        if unit != last[found]:
            return None
        found += 1
    return len(said) if found == len(last) else None


def _compared(part: Part) -> object:
    """Return what two parts have in common that are the same. Large files are compared by their size and type."""
    if isinstance(part, AttachmentPart):
        return [part.size, part.mime_type]
    if isinstance(part, BlobPart) and len(part.content) > BLOB_BYTES_MAX:
        return [len(part.content), part.mime_type]
    return part


def _common(known: Sequence[KnownMessage], units: Sequence[KnownMessage]) -> int:
    """Return how many messages both begin with."""
    count = 0
    for one, other in zip(known, units, strict=False):
        if one.role is not other.role or one.digest not in {None, other.digest}:
            break
        count += 1
    return count


def _last_system(known: Sequence[KnownMessage]) -> set[KnownMessage]:
    """Return the system text that was in force last."""
    found: set[KnownMessage] = set()
    for unit in reversed(known):
        if unit.role is Role.SYSTEM:
            found.add(unit)
        elif found:
            break
    return found


def _without_unread(places: range, units: Sequence[KnownMessage], unread: list[Role]) -> list[int]:
    """Return the places but those that messages without readable words take, from the last one back."""
    left: list[int] = []
    for place in reversed(places):
        if unread and unread[-1] is units[place].role:
            unread.pop()
        else:
            left.append(place)
    return left[::-1]
