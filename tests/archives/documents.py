"""Archives to test with: written, taken apart, and sealed again with something else in them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from muniment.crypto.envelope import Envelope, parse_envelope
from muniment.crypto.store import HOST
from muniment.crypto.stream import SealedReader, SealedWriter
from muniment.declaration.session import Session
from muniment.errors import UnknownConversation
from muniment.events.archive import ArchiveScope, ImportMode, PrivateMaterial, ScopeKind
from muniment.events.changes import LifecycleRequest, RedactionTarget, TurnLifecycle, TurnRedacted
from muniment.events.identity import SubjectId
from muniment.events.records import EventKind
from muniment.events.turn import Turn
from muniment.governance.access import Access
from muniment.governance.views import View
from muniment.ledger.drafts import draft
from muniment.operations.archives.archive_appender import ArchiveImportReport
from muniment.operations.archives.document import CONTEXT, Tally, line_of, lines, padding, parse_root
from muniment.operations.archives.export_archive import ArchiveReport
from muniment.runtime.runtime import Runtime
from tests.turns import SUBJECT, TALK, plain_turn, rich_turn
from tests.worlds import World, key_of, root_key

ADA = ArchiveScope(kind=ScopeKind.SUBJECT, subject=SUBJECT)
SHARED = ArchiveScope(kind=ScopeKind.SHARED)
TALKING = ArchiveScope(kind=ScopeKind.CONVERSATION, channel="default", conversation=TALK)
KEY, SALT = b"k" * 32, b"s" * 32


def exported(
    runtime: Runtime, file: Path, scope: ArchiveScope = ADA, private: PrivateMaterial = PrivateMaterial.INCLUDE
) -> ArchiveReport:
    """Write an archive."""
    return runtime.archives.export(str(file), scope, private)


def imported(
    runtime: Runtime, file: Path, scope: ArchiveScope = ADA, mode: ImportMode = ImportMode.BOOTSTRAP
) -> ArchiveImportReport:
    """Import an archive with private material."""
    return runtime.archives.import_(str(file), scope, PrivateMaterial.INCLUDE, mode)


def lines_of(file: Path) -> list[bytes]:
    """Return the lines of an archive that the root key of the tests has sealed."""
    with file.open("rb") as stored:
        envelope = parse_envelope(stored.readline())
        key, context = envelope.open(root_key(), CONTEXT), envelope.stream_context(CONTEXT)
        return list(lines(SealedReader(io.BytesIO(stored.read()), key, context)))


def seal(file: Path, told: list[bytes]) -> Path:
    """Write lines as an archive that the root key of the tests has sealed."""
    with file.open("wb") as stored:
        envelope, document = Envelope.around(KEY, root_key(), HOST, CONTEXT), b"".join(told)
        stored.write(envelope.line())
        writer = SealedWriter(stored, KEY, SALT, envelope.stream_context(CONTEXT))
        writer.write(document + padding(len(document)))
        writer.finish()
    return file


def rooted(told: list[bytes]) -> list[bytes]:
    """Return lines with a root that is right about what is behind it."""
    root, tally = parse_root(told[0]), Tally()
    for line in told[1:]:
        tally.take(line)
    says = {"has_memory": root.notebooks is not None, "has_registries": root.registries is not None}
    return [line_of(tally.root(root.scope, root.private, **says)), *told[1:]]


def changed(line: bytes, **change: object) -> bytes:
    """Return a line with members of it replaced, or taken away (None), in its one spelling."""
    members = msgspec.json.decode(line)
    for name, value in change.items():
        if value is None:
            members.pop(name, None)
        else:
            members[name] = value
    return msgspec.json.encode(members) + b"\n"


def at(place: int, **change: object) -> Callable[[list[bytes]], list[bytes]]:
    """Return an edit of one line, under a root that is right about it."""
    return lambda told: rooted([*told[:place], changed(told[place], **change), *told[place + 1 :]])


def shown(runtime: Runtime, conversation: str = TALK, channel: str = "default") -> list[object]:
    """Return what every view shows of a conversation, wherever it stands in its log; nothing where it is not there."""
    try:
        pages = [runtime.transcripts.replay(key_of(conversation, channel), view, 500) for view in View]
    except UnknownConversation:
        return []
    return [([replace(turn, position=0) for turn in page.turns], page.items) for page in pages]


def of_subject(name: str, number: int, conversation: str) -> Turn:
    """Return a plain turn whose subject is somebody."""
    return replace(plain_turn(number, conversation), subject=SubjectId(name))


def without_soul() -> Turn:
    """Return the rich turn without its message of soul governance."""
    turn = rich_turn()
    return replace(turn, messages=[one for one in turn.messages if one.authority != "soul_governance"])


def redacted(world: World, number: int) -> World:
    """Redact the first message of a plain turn."""
    space = world.runtime._session.space
    body = TurnRedacted(
        target=RedactionTarget(message=0),
        views=["host_ui"],
        request=LifecycleRequest(reason="why", requester="who", requested_ms=5),
    )
    event = draft(space.sources.entropy, EventKind.TURN_REDACTED, 77, body, reason="personal_data")
    with space.ledger.reader() as reader:
        stream = space.transcript.stream_of(reader, key_of())
    space.ledger.transact(lambda writer: writer.append(event, stream=stream, target=number, refs={"turn": number}))
    return world


def held(world: World, number: int) -> int:
    """Put a plain turn under a hold; return the position."""
    space = world.runtime._session.space
    body = TurnLifecycle(request=LifecycleRequest(reason="why", requester="who", requested_ms=5))
    event = draft(space.sources.entropy, EventKind.TURN_LIFECYCLE, 77, body, reason="hold")
    with space.ledger.reader() as reader:
        stream = space.transcript.stream_of(reader, key_of())
    placed = space.ledger.transact(
        lambda writer: writer.append(event, stream=stream, target=number, refs={"turn": number})
    )
    return placed.position


def loud(runtime: Runtime, tell: Callable[[str, int, int], None]) -> Runtime:
    """Return a runtime on the same store that tells how far it is."""
    session = runtime._session
    return Runtime(Session(store=session.store, opened=session.opened, access=Access(), progress=tell))


def line_where(told: list[bytes], word: bytes) -> int:
    """Return the place of the first line with a word in it."""
    return next(place for place, line in enumerate(told) if word in line)
