"""Parsed items: the result of parsing an item of a foreign file, and the helpers that all formats share.

A parser returns a `ParsedItem`. Its `ParsingNotes` list what was not imported unchanged:

- A malformed message is refused with its index; the other messages of its conversation are kept.
- Content of an unknown type is kept as JSON. In a message of a user or tool it remains in its position. In a message of
  an assistant or of the host it could be an answer, a step or a thought, so it goes to a separate message of the import
  itself, which only the raw owner sees (`import_message`).
- Content that our vocabulary does not have (a signature, a citation) is omitted and counted by kind.

The names of kinds are ours, never from the file.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
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
IMPORT = "import"  # the speaker of messages of the import itself


def _null() -> msgspec.Raw:
    return msgspec.Raw(b"null")


ABSENT: msgspec.Raw = msgspec.field(default_factory=_null)  # the default of a member that may be absent


class ParsingNotes:
    """What was not imported unchanged: refused messages, content kept as JSON and omitted content, by kind."""

    def __init__(self) -> None:
        self.refused: list[MunimentError] = []
        self.kept_as_json: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()

    def read(self, at: str, parser: Callable[[bytes, ParsingNotes], list[Message]], raw: msgspec.Raw) -> list[Message]:
        """Return the messages of the element at this path of the item; a malformed one is noted as refused."""
        try:
            return parser(bytes(raw), self)
        except (InvalidInput, LimitExceeded) as error:
            at = at if error.at is None else f"{at}.{error.at}"
            self.refused.append(type(error)(at=at, problem=error.problem, limit=error.limit, found=error.found))
            return []


class NamedTurn(NamedTuple):
    """A turn that the file names: lines with the same name belong to one turn."""

    turn: str
    delivery: Delivery | None


class ParsedItem(NamedTuple):
    """The content of an item: messages of a conversation.

    `whole`: they are the conversation from its beginning, `title` what the file calls it. `branches` are conversations
    that branch off, and `origin` of a branch says where. `system` is the system text before the messages. `answers`:
    they answer the previous request.
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
    title: str | None = None


def title_of(value: Any) -> str | None:
    """Return the title that a file gives a conversation, on one line; None for what is no text."""
    return (" ".join(value.split()) or None) if isinstance(value, str) else None


class ConversationNames(Struct, frozen=True, kw_only=True):
    """The members that name the conversation of an item, in order of preference."""

    conversation_id: str | None = None
    thread_id: str | None = None
    session_id: str | None = None

    def conversation(self) -> str | None:
        """Return the name of the conversation."""
        return self.conversation_id or self.thread_id or self.session_id


# --- content of unknown types -----------------------------------------------------------------------------------------


class ParsedParts(NamedTuple):
    """The parts of a message, and content kept as JSON for a separate message (`beside`)."""

    parts: list[Part]
    beside: list[BlobPart]

    def extend(self, other: ParsedParts) -> None:
        """Append the parts and contents of another."""
        self.parts.extend(other.parts)
        self.beside.extend(other.beside)


def read_or_none(raw: bytes | msgspec.Raw, into: Any) -> Any:
    """Return the value as a type or union, or None when it is of another type; raises `InvalidInput` for no JSON."""
    try:
        return parse_json(bytes(raw), into)
    except InvalidInput as refusal:
        if refusal.problem in {"not_json", "too_deep"}:
            raise
        return None


def is_there(raw: msgspec.Raw) -> bool:
    """Return whether a member is not null."""
    return bytes(raw).strip() != b"null"


def kept_as_json(raw: bytes | msgspec.Raw, role: Role, notes: ParsingNotes, kind: str) -> ParsedParts:
    """Return content of an unknown type: `parts` or `text` of a user as text, everything else as JSON."""
    notes.kept_as_json[kind] += 1
    parse_json(bytes(raw), Any)  # the blob must be valid JSON
    if role is not Role.USER:
        blob = _json_blob(bytes(raw))
        return ParsedParts([blob], []) if role is Role.TOOL else ParsedParts([], [blob])
    members: dict[str, msgspec.Raw] | None = read_or_none(raw, dict[str, msgspec.Raw])
    if members is None:
        return ParsedParts([_json_blob(bytes(raw))], [])
    texts: list[str] = []
    for member, shape in (("parts", list[str]), ("text", str)):
        value = read_or_none(members[member], shape) if member in members and not texts else None
        if value:
            texts = [value] if isinstance(value, str) else value
            del members[member]
    return ParsedParts([*(TextPart(content=text) for text in texts), _json_blob(msgspec.json.encode(members))], [])


def _json_blob(data: bytes) -> BlobPart:
    return BlobPart(content=data, mime_type=JSON_TYPE)


def import_message(blobs: Iterable[BlobPart], observed_ms: int) -> list[Message]:
    """Return the message of the import with this content; no message without content."""
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


# --- values -----------------------------------------------------------------------------------------------------------


def parse_arguments(given: Any) -> Any:
    """Return the arguments of a call, parsed when they are canonical JSON in a text."""
    if not isinstance(given, str):
        return given
    try:
        value = msgspec.json.decode(given)
        scan(value)
    except (msgspec.DecodeError, RecursionError, UnicodeError, NotCanonical):
        return given
    return value


def uri_part(url: str, modality: str | None) -> Part:
    """Return the inline content of a `data:` URL, or the URL itself; nothing is ever fetched."""
    head, comma, body = url.partition(",")
    if not head.startswith("data:") or not comma or not head.endswith(";base64"):
        return UriPart(uri=url, modality=modality)
    mime = head.removeprefix("data:").removesuffix(";base64") or None
    return BlobPart(content=from_base64(body), mime_type=mime, modality=modality)


def from_base64(text: str) -> bytes:
    """Return the bytes of base64 text."""
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
    """Return UTC milliseconds of a time; 0 without one, and for an invalid one, which is omitted."""
    try:
        time_ms = milliseconds(given) if isinstance(given, str | int | float | None) else -1
    except InvalidInput:
        time_ms = -1
    if 0 <= time_ms <= OBSERVED_MS_MAX:
        return time_ms
    notes.left_out[TIME] += 1
    return 0


def with_times(started_ms: int, messages: list[Message]) -> list[Message]:
    """Return the messages; one without a time gets that of the previous one, or of the conversation."""
    timed: list[Message] = []
    for message in messages:
        started_ms = message.observed_ms or started_ms
        timed.append(message if message.observed_ms == started_ms else replace(message, observed_ms=started_ms))
    return timed
