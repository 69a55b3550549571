"""Importing an archive: it is read to its end and checked, then appended in one write transaction.

1. The document is read and checked by every rule (`archive_reader`), and against the scope and policy of the request;
   nothing is written before that.
2. In one transaction: what is here of the scope is a conflict (`bootstrap`) or replaced (`restore`); the document is
   read again, to the same root, and every event is appended with its own time, under fresh salts and keys. Turns that
   were erased here come without their words. An event names the archive and the positions that came from it.

Either all of it is there or nothing. Conversations and notebooks of other scopes are not touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from muniment.crypto.envelope import Envelope
from muniment.declaration.session import Session
from muniment.errors import ArchiveRefused
from muniment.events.archive import ArchiveScope, ImportMode, PrivateMaterial
from muniment.events.identity import ConversationId
from muniment.events.records import (
    RotationCause,
)
from muniment.operations.archives.archive_appender import ArchiveAppender, ArchiveImportReport
from muniment.operations.archives.archive_reader import Checking, check_root
from muniment.operations.archives.document import (
    CONTEXT,
    ArchiveRoot,
    HashedFile,
    opened_document,
)
from muniment.operations.archives.import_conflicts import ImportConflicts
from muniment.operations.archives.scopes import checked

if TYPE_CHECKING:
    from muniment.ledger.ledger import Writer


class ArchiveFile:
    """An archive to be read, several times; what opens it is asked for once."""

    def __init__(self, session: Session, file: BinaryIO, sealed_by: str | None) -> None:
        if sealed_by is not None:
            session.require_owner("sealed_by")
        self._session = session
        self._file = file
        self._start = self._file.tell()
        self._sealed_by = sealed_by
        self._key: bytes | None = None
        self._hashed: HashedFile | None = None

    @property
    def digest(self) -> str:
        """Return the digest of the sealed file, which was read to its end."""
        assert self._hashed is not None, "it was read"
        return self._hashed.digest

    @contextmanager
    def checking(self) -> Iterator[Checking]:
        """Read the document from its beginning."""
        self._file.seek(self._start)
        self._hashed = HashedFile(self._file)
        with opened_document(self._hashed, self._open) as lines:
            yield Checking(lines)

    def _open(self, envelope: Envelope) -> bytes:
        if self._key is None:
            root, _ = self._session.store.seal(self._sealed_by, envelope.descriptor)
            self._key = envelope.open(root, CONTEXT)
        return self._key


def inspect_archive(archive: ArchiveFile) -> tuple[ArchiveRoot, int]:
    """Check an archive; return its root and how many turns it holds."""
    with archive.checking() as check:
        for _ in check.events():
            pass
    return check.root, check.turns


def import_archive(
    session: Session,
    archive: ArchiveFile,
    scope: ArchiveScope,
    private: PrivateMaterial,
    mode: ImportMode,
    into: ConversationId | None,
) -> ArchiveImportReport:
    """Check an archive, append it, and report."""
    space, scope = session.space, checked(scope)
    conflicts = ImportConflicts(space, mode, into)
    with archive.checking() as check:
        check_root(check.root, scope, private)
        root = check.root
        for done, line in enumerate(check.events(), start=1):
            conflicts.take(line)
            session.progress("check", done, root.events)
    conflicts.check(root)

    def plan(writer: Writer) -> ArchiveImportReport:
        with archive.checking() as again:
            if again.root != root:
                raise ArchiveRefused(at="line 1", problem="changed_meanwhile")
            return ArchiveAppender(session, writer, again, mode, into).run(lambda: archive.digest)

    if mode is ImportMode.RESTORE:
        return space.rotate(RotationCause.ERASURE, plan).outcome  # what is replaced is erased
    return space.ledger.transact(plan)
