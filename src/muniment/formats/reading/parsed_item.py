"""What an item of a foreign file says, and what every format needs to say it.

`ParsedItem` is the answer of a parser; `ParsingNotes` beside it tell what the parser could not take as it stood:

- a message that is malformed is refused by its place, and the others of its conversation are kept;
- content of a type that is not known is kept whole, as JSON. In the words of a user, or in what a tool returned, it
  stands in its place. In what an assistant or the host wrote nobody can say whether it is an answer, a step or a
  thought, so it stands beside, in a message of the import itself that only the raw owner sees (`aside`);
- what has no place in our vocabulary (a signature, a citation) is left out and counted by its kind.

Kinds are words of ours, never of the file.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from muniment.errors import InvalidInput, LimitExceeded, MunimentError, NotCanonical
from muniment.events.binding import parse_json
from muniment.events.message import Authority, BlobPart, Message, Part, Role, TextPart, UriPart
from muniment.events.references import HostReference
from muniment.events.turn import Delivery
from muniment.governance.admission import OBSERVED_MS_MAX
from muniment.kernel.canonical import scan

SECONDS_BEFORE = 10**11  # a smaller time is in seconds, a larger one in milliseconds
JSON_TYPE = "application/json"
TIME = "time"
IMPORT = "import"  # who speaks in an aside


def _null() -> msgspec.Raw:
    return msgspec.Raw(b"null")


ABSENT: msgspec.Raw = msgspec.field(default_factory=_null)  # the default of a member that may be absent


class ParsingNotes:
    """What could not be taken as it stood: messages refused, content kept as JSON, and what was left out, by kind."""

    def __init__(self) -> None:
        self.refused: list[MunimentError] = []
        self.kept_as_json: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()

    def refuse(self, error: InvalidInput | LimitExceeded, place: str) -> None:
        """Note that a message was refused."""
        at = place if error.at is None else f"{place}.{error.at}"
        self.refused.append(type(error)(at=at, problem=error.problem, limit=error.limit, found=error.found))


class NamedTurn(NamedTuple):
    """A turn that the file names: lines of one name are one turn."""

    turn: str
    delivery: Delivery | None


class ParsedItem(NamedTuple):
    """What an item says: messages of a conversation.

    `whole`: they are the conversation from its beginning. `branches` are conversations that depart from it, and
    `origin` says of a branch where from. `system` was told a model before the messages. `answers`: what was said to the
    request before it.
    """

    conversation: str | None
    messages: list[Message]
    whole: bool = False
    named: NamedTurn | None = None
    origin: tuple[HostReference, ...] = ()
    branches: tuple[ParsedItem, ...] = ()
    system: tuple[Message, ...] = ()
    notes: ParsingNotes | None = None
    answers: bool = False


# --- content of unknown types -----------------------------------------------------------------------------------------


class ParsedParts(NamedTuple):
    """Parts that stand in their place, and content kept as JSON that stands beside."""

    parts: list[Part]
    beside: list[BlobPart]

    def extend(self, other: ParsedParts) -> None:
        """Take what was found further on."""
        self.parts.extend(other.parts)
        self.beside.extend(other.beside)


def read_or_none(raw: bytes | msgspec.Raw, into: Any) -> Any:
    """Return the value as a type or union of types says, or None for another value; what is no JSON is refused."""
    try:
        return parse_json(bytes(raw), into)
    except InvalidInput as refusal:
        if refusal.problem in {"not_json", "too_deep"}:
            raise
        return None


def is_there(raw: msgspec.Raw) -> bool:
    """Tell whether a member holds anything."""
    return bytes(raw).strip() != b"null"


def kept_as_json(raw: bytes | msgspec.Raw, role: Role, notes: ParsingNotes, kind: str) -> ParsedParts:
    """Keep content of an unknown type: the user's words (`parts` or `text`) as words, all else as JSON."""
    notes.kept_as_json[kind] += 1
    parse_json(bytes(raw), Any)  # a blob that claims to be JSON is JSON
    if role is not Role.USER:
        blob = _json_blob(bytes(raw))
        return ParsedParts([blob], []) if role is Role.TOOL else ParsedParts([], [blob])
    members: dict[str, msgspec.Raw] | None = read_or_none(raw, dict[str, msgspec.Raw])
    if members is None:
        return ParsedParts([_json_blob(bytes(raw))], [])
    words: list[str] = []
    for member, shape in (("parts", list[str]), ("text", str)):
        found = read_or_none(members[member], shape) if member in members and not words else None
        if found:
            words = [found] if isinstance(found, str) else found
            del members[member]
    return ParsedParts([*(TextPart(content=one) for one in words), _json_blob(msgspec.json.encode(members))], [])


def _json_blob(data: bytes) -> BlobPart:
    return BlobPart(content=data, mime_type=JSON_TYPE)


def import_message(blobs: Iterable[BlobPart], observed_ms: int) -> list[Message]:
    """Return the message of the import that holds what stands beside; none when there is nothing."""
    content: list[Part] = list(blobs)
    if not content:
        return []
    return [
        Message(
            role=Role.SYSTEM,
            content=content,
            authority=Authority.OPERATOR_DIAGNOSTIC,
            speaker_id=IMPORT,
            speaker_kind=IMPORT,
            observed_ms=observed_ms,
        )
    ]


# --- values in use everywhere -----------------------------------------------------------------------------------------


def parse_arguments(given: Any) -> Any:
    """Return the value that arguments stand for; text that is no canonical JSON stays the text that it is."""
    if not isinstance(given, str):
        return given
    try:
        value = msgspec.json.decode(given)
        scan(value)
    except (msgspec.DecodeError, RecursionError, UnicodeError, NotCanonical):
        return given
    return value


def uri_part(url: str, modality: str | None) -> Part:
    """Return what stands inline in a `data:` address, or the address; nothing is ever fetched."""
    head, comma, body = url.partition(",")
    if not head.startswith("data:") or not comma or not head.endswith(";base64"):
        return UriPart(uri=url, modality=modality)
    mime = head.removeprefix("data:").removesuffix(";base64") or None
    return BlobPart(content=from_base64(body), mime_type=mime, modality=modality)


def from_base64(text: str) -> bytes:
    """Return the bytes that base64 stands for."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(at="content", problem="not_base64") from None


def milliseconds(given: float | str | None) -> int:
    """Return UTC milliseconds of a time in seconds, in milliseconds or in ISO 8601; 0 when none is given."""
    if given is None:
        return 0
    if isinstance(given, str):
        try:
            moment = datetime.fromisoformat(given)
        except ValueError:
            raise InvalidInput(at="created_at", problem="malformed") from None
        return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)
    return int(given * 1000 if abs(given) < SECONDS_BEFORE else given)


def time_of(given: Any, notes: ParsingNotes) -> int:
    """Return UTC milliseconds of a time; 0 for none, and for one that cannot be read or kept, which is left out."""
    try:
        found = milliseconds(given) if isinstance(given, str | int | float | None) else -1
    except InvalidInput:
        found = -1
    if 0 <= found <= OBSERVED_MS_MAX:
        return found
    notes.left_out[TIME] += 1
    return 0


def with_times(started_ms: int, messages: list[Message]) -> list[Message]:
    """Give each message without a time that of the one before it, and the first that of its conversation."""
    told: list[Message] = []
    for message in messages:
        started_ms = message.observed_ms or started_ms
        told.append(message if message.observed_ms == started_ms else replace(message, observed_ms=started_ms))
    return told
