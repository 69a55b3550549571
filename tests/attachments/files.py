"""Files to attach, and turns that have them."""

from __future__ import annotations

from pathlib import Path

from muniment.crypto.chunk import CHUNK_BYTES
from muniment.events.identity import TurnId
from muniment.events.message import AttachmentPart, Message, Part, Role, TextPart
from muniment.events.turn import Turn
from muniment.governance.views import View
from muniment.operations.attachments import AttachmentPlace
from muniment.runtime.runtime import Runtime
from tests.turns import SUBJECT, TALK, answered
from tests.worlds import key_of

SIZES = (0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 7)


def bytes_of(size: int, seed: int = 1) -> bytes:
    """Return bytes of which no chunk equals another."""
    return b"".join((seed * 2**32 + number).to_bytes(8) for number in range(-(-size // 8)))[:size]


def added(runtime: Runtime, data: bytes, name: str = "a.png") -> AttachmentPart:
    """Add a file and return the part for a turn."""
    return runtime.attachments.add(data, mime_type="image/png", name=name).part


def turn_with(*files: AttachmentPart, number: int = 1, conversation: str = TALK) -> Turn:
    """Return a turn whose first message has the first file behind a text, and whose others have one each."""
    first: list[Part] = [TextPart(content="look"), *files[:1]]
    alone: list[list[Part]] = [[file] for file in files[1:]]
    messages = [*(Message(role=Role.USER, content=parts) for parts in [first, *alone]), answered("I see")]
    turn, talk = TurnId(f"turn-{number}"), key_of(conversation).conversation
    return Turn(turn=turn, subject=SUBJECT, conversation=talk, messages=messages)


def attached(runtime: Runtime, *datas: bytes, number: int = 1, conversation: str = TALK) -> Turn:
    """Commit a turn with files and return it."""
    turn = turn_with(*(added(runtime, data) for data in datas), number=number, conversation=conversation)
    assert runtime.transcripts.commit(turn).committed
    return turn


def saved(
    runtime: Runtime, directory: Path, number: int = 1, message: int = 0, part: int = 1, conversation: str = TALK
) -> bytes:
    """Return the bytes of an attachment, as a file has them."""
    target = directory / "saved"
    target.unlink(missing_ok=True)
    place = AttachmentPlace(turn=TurnId(f"turn-{number}"), message=message, part=part)
    report = runtime.attachments.save(key_of(conversation), place, str(target), View.RAW_OWNER)
    assert report.withheld is None
    return target.read_bytes()
