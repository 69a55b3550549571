"""Writing an archive: the lines of a part of a space into a sealed spool, then root and spool.

The document is read back and checked like any that comes in before it gets its name or leaves through a stream; before
that, an event says that it was written.
"""

from __future__ import annotations

from muniment.crypto.envelope import Envelope
from muniment.crypto.secret import KEY_BYTES
from muniment.crypto.stream import SALT_BYTES, SealedReader, SealedWriter
from muniment.declaration.download import Download, DownloadReport, WrittenFile
from muniment.declaration.session import Session
from muniment.events.archive import ArchiveExport, ArchiveExported, ArchiveScope, PrivateMaterial
from muniment.events.records import EventKind
from muniment.governance.views import View
from muniment.ledger.drafts import Change
from muniment.operations.archives.archive_reader import Checking
from muniment.operations.archives.document import (
    CONTEXT,
    PIECE_BYTES,
    ArchiveRoot,
    HashedFile,
    Tally,
    line_of,
    opened_document,
    padding,
)
from muniment.operations.archives.omissions import LeftOutContent
from muniment.operations.archives.scope_part import ScopePart
from muniment.operations.archives.scopes import checked
from muniment.operations.outfile import OutFile, OutStream, outgoing

SPOOL_CONTEXT = b"muniment/archive/spool"


class ArchiveReport(DownloadReport, frozen=True, kw_only=True, omit_defaults=True):
    """An archive that was written and read back. `position` is that of the event that says so.

    `file` is its path, where it has one. `items` counts memory items, `registries` tool registries. `left_out` counts
    turns whose content is not in it, messages of them and of others, items without their words, and registries, by
    reason.
    """

    root: ArchiveRoot
    turns: int
    items: int
    registries: int
    left_out: list[LeftOutContent]
    bytes: int
    position: int

    @property
    def written(self) -> WrittenFile:
        """Return a name for the archive."""
        return WrittenFile(name=f"{self.root.scope.kind}.archive")


def export_archive(
    session: Session, target: Download, scope: ArchiveScope, private: PrivateMaterial, sealed_by: str | None
) -> ArchiveReport:
    """Write the document, read it back, record it, give it its name or send it, and report."""
    if private is PrivateMaterial.INCLUDE:
        session.access.require_view(View.RAW_OWNER)
    space, scope = session.space, checked(scope)
    root_key, descriptor = session.store.seal(sealed_by)
    entropy = space.sources.entropy
    spool_key, key = entropy.take(KEY_BYTES), entropy.take(KEY_BYTES)
    file = outgoing(target, "file")
    spool = file.spool()
    try:
        part = ScopePart(session, scope, private)
        root = _gather(session, part, spool, spool_key)
        with file.writing() as written, spool.reading() as spooled:
            envelope, first = Envelope.around(key, root_key, descriptor, CONTEXT), line_of(root)
            written.write(envelope.line())
            sealed = SealedWriter(written, key, entropy.take(SALT_BYTES), envelope.stream_context(CONTEXT))
            sealed.write(first)
            rest = SealedReader(spooled, spool_key, SPOOL_CONTEXT)
            while piece := rest.read(PIECE_BYTES):
                sealed.write(piece)
            sealed.write(padding(len(first) + root.bytes))
            sealed.finish()
        with (
            file.reading() as written,
            opened_document(
                sealed_file := HashedFile(written), lambda envelope: envelope.open(root_key, CONTEXT)
            ) as lines,
        ):
            check = Checking(lines)
            for _ in check.events():
                pass
        size = file.size
        sent = ArchiveExport(scope=root.scope, private=root.private, digest=sealed_file.digest)
        change = Change(
            EventKind.ARCHIVE_EXPORTED,
            space.sources.clock.now_ms(),
            ArchiveExported(archive=sent),
            {"through": part.through},
        )
        position = space.ledger.transact(lambda writer: writer.change(change)).position
        file.keep()
    finally:
        spool.drop()
        file.drop()
    return ArchiveReport(
        root=root,
        turns=check.turns,
        items=len(check.items),
        registries=check.registries,
        left_out=part.left_out.counts(),
        file=file.name,
        bytes=size,
        position=position,
    )


def _gather(session: Session, part: ScopePart, spool: OutFile | OutStream, key: bytes) -> ArchiveRoot:
    """Write everything after the root into the spool; return the root."""
    tally = Tally()
    with spool.writing() as file:
        sealed = SealedWriter(file, key, session.space.sources.entropy.take(SALT_BYTES), SPOOL_CONTEXT)
        for line in part.lines():
            data = line_of(line)
            tally.take(data)
            sealed.write(data)
        sealed.finish()
    return part.root(tally)
