"""Archives to test with: written, taken apart, and sealed again with something else in them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import msgspec

from muniment.crypto.envelope import Envelope, parse_envelope
from muniment.crypto.stream import SealedReader, SealedWriter
from muniment.events.archives import ArchiveScope, ImportMode, Private, ScopeKind
from muniment.runtime.archive.admitting import Admitted
from muniment.runtime.archive.document import Tally, line_of, lines, parse_root
from muniment.runtime.archive.reading import CONTEXT
from muniment.runtime.archive.writing import Archived
from muniment.runtime.runtime import Runtime
from tests.turns import SUBJECT, TALK
from tests.worlds import root_key

ADA = ArchiveScope(kind=ScopeKind.SUBJECT, subject=SUBJECT)
SHARED = ArchiveScope(kind=ScopeKind.SHARED)
TALKING = ArchiveScope(kind=ScopeKind.CONVERSATION, channel="default", conversation=TALK)
KEY, SALT = b"k" * 32, b"s" * 32


def exported(runtime: Runtime, file: Path, scope: ArchiveScope = ADA, private: Private = Private.INCLUDE) -> Archived:
    """Write an archive."""
    return runtime.archives.export(str(file), scope, private)


def imported(
    runtime: Runtime, file: Path, scope: ArchiveScope = ADA, mode: ImportMode = ImportMode.BOOTSTRAP
) -> Admitted:
    """Import an archive with private material."""
    return runtime.archives.import_(str(file), scope, Private.INCLUDE, mode)


def lines_of(file: Path) -> list[bytes]:
    """Return the lines of an archive that the root key of the tests has sealed."""
    with file.open("rb") as stored:
        key = parse_envelope(stored.readline()).open(root_key(), CONTEXT)
        return list(lines(SealedReader(io.BytesIO(stored.read()), key, CONTEXT)))


def seal(file: Path, told: list[bytes]) -> Path:
    """Write lines as an archive that the root key of the tests has sealed."""
    from muniment.crypto.store import HOST

    with file.open("wb") as stored:
        stored.write(Envelope.around(KEY, root_key(), HOST, CONTEXT).line())
        writer = SealedWriter(stored, KEY, SALT, CONTEXT)
        writer.write(b"".join(told))
        writer.finish()
    return file


def rooted(told: list[bytes]) -> list[bytes]:
    """Return lines with a root that is right about what is behind it."""
    root, tally = parse_root(told[0]), Tally()
    for line in told[1:]:
        tally.take(line)
    return [line_of(tally.root(root.scope, root.private)), *told[1:]]


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
