"""Writing an archive: conversation by conversation into a sealed spool, then root and spool into the document.

Each conversation is one snapshot of the log, so that an erasure waits for no more than one. The document is read back
and checked like any that comes in before it gets its name; before that, an event says that it was written.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from msgspec import Struct

from muniment.crypto.envelope import Envelope
from muniment.crypto.secret import KEY_BYTES
from muniment.crypto.stream import SALT_BYTES, SealedReader, SealedWriter
from muniment.declaration.session import Session
from muniment.events.archive import ArchiveExport, ArchiveExported, ArchiveScope, PrivateMaterial
from muniment.events.records import EventKind
from muniment.governance.views import View
from muniment.ledger.ledger import SPACE_STREAM, draft
from muniment.operations.archives.archive_lines import Telling
from muniment.operations.archives.archive_reader import CONTEXT, Checking, opened_document
from muniment.operations.archives.document import PIECE_BYTES, ArchiveRoot, DocumentLine, EventLine, Tally, line_of
from muniment.operations.archives.scopes import ScopedConversation, checked, conversations
from muniment.operations.outfile import OutFile, outside, reading

SPOOL_CONTEXT = b"muniment/archive/spool"


class ArchiveReport(Struct, frozen=True, kw_only=True):
    """An archive that was written and read back. `position` is that of the event that says so."""

    root: ArchiveRoot
    turns: int
    file: str
    bytes: int
    position: int


class Archiving:
    """A scope of a space on its way into a document."""

    def __init__(
        self, session: Session, target: Path, scope: ArchiveScope, private: PrivateMaterial, sealed_by: str | None
    ) -> None:
        if private is PrivateMaterial.INCLUDE:
            session.access.require_view(View.RAW_OWNER)
        self._session = session
        self._space = session.space
        self._scope = checked(scope, session.access)
        self._private = private
        self._sealed_by = sealed_by
        self._file = OutFile(target, "file")
        self._spool = OutFile(target.with_name(target.name + ".spool"), "file")

    def run(self) -> ArchiveReport:
        """Write the document, read it back, record it, give it its name, and report."""
        root_key, descriptor = self._session.store.seal(self._sealed_by)
        entropy = self._space.sources.entropy
        spool_key, key = entropy.take(KEY_BYTES), entropy.take(KEY_BYTES)
        try:
            root = self._gather(spool_key)
            with self._file.writing() as file, reading(self._spool.beside, "file") as spooled:
                file.write(Envelope.around(key, root_key, descriptor, CONTEXT).line())
                sealed = SealedWriter(file, key, entropy.take(SALT_BYTES), CONTEXT)
                sealed.write(line_of(root))
                spool = SealedReader(spooled, spool_key, SPOOL_CONTEXT)
                while piece := spool.read(PIECE_BYTES):
                    sealed.write(piece)
                sealed.finish()
            with opened_document(self._file.beside, lambda envelope: envelope.open(root_key, CONTEXT)) as lines:
                check = Checking(lines)
                for _ in check.events():
                    pass
            with outside("file"):
                size = self._file.beside.stat().st_size
            position = self._record(root)
            self._file.keep()
        finally:
            self._spool.drop()
            self._file.drop()
        return ArchiveReport(root=root, turns=check.turns, file=str(self._file.path), bytes=size, position=position)

    def _gather(self, key: bytes) -> ArchiveRoot:
        """Write everything behind the root into the spool; return the root."""
        space, tally = self._space, Tally()
        with space.ledger.reader() as reader:
            found = conversations(space, reader, self._scope)
        with self._spool.writing() as file:
            sealed = SealedWriter(file, key, space.sources.entropy.take(SALT_BYTES), SPOOL_CONTEXT)
            for done, one in enumerate(found):
                self._session.progress("archive", done, len(found))
                self._tell(one, sealed, tally)
            sealed.finish()
        self._session.progress("archive", len(found), len(found))
        return tally.root(self._scope, self._private)

    def _tell(self, one: ScopedConversation, sealed: SealedWriter, tally: Tally) -> None:
        opening = DocumentLine(channel=one.key.channel, conversation=one.key.conversation, t=one.t)
        with self._space.ledger.reader() as reader:
            telling = Telling(self._space, reader, one.stream, self._private)
            for line in chain[DocumentLine | EventLine]([opening], telling.lines()):
                data = line_of(line)
                tally.take(data)
                sealed.write(data)

    def _record(self, root: ArchiveRoot) -> int:
        body = ArchiveExported(archive=ArchiveExport(scope=root.scope, private=root.private, digest=root.digest))
        sources = self._space.sources
        event = draft(sources.entropy, EventKind.ARCHIVE_EXPORTED, sources.clock.now_ms(), body)
        return self._space.ledger.transact(lambda writer: writer.append(event, stream=SPACE_STREAM)).position
