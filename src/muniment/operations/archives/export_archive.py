"""Writing an archive: one conversation or notebook after the other into a sealed spool, then root and spool.

Each of them is one snapshot of the log, so that an erasure waits for no more than one. The document is read back
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
from muniment.ledger.drafts import Change
from muniment.operations.archives.archive_lines import ConversationLines
from muniment.operations.archives.archive_reader import Checking
from muniment.operations.archives.document import (
    CONTEXT,
    PIECE_BYTES,
    ArchiveRoot,
    ChunkLine,
    DocumentLine,
    EventLine,
    HashedFile,
    Tally,
    line_of,
    opened_document,
    padding,
)
from muniment.operations.archives.notebook_lines import notebook_lines
from muniment.operations.archives.omissions import ArchiveOmissions, LeftOutContent, OmissionReason
from muniment.operations.archives.scopes import checked, conversations, holds_memory, notebooks_of
from muniment.operations.outfile import OutFile, outside, reading

SPOOL_CONTEXT = b"muniment/archive/spool"


class ArchiveReport(Struct, frozen=True, kw_only=True):
    """An archive that was written and read back. `position` is that of the event that says so.

    `items` counts memory items. `left_out` counts turns whose content is not in it, messages of them and of others, and
    items without their words, by reason.
    """

    root: ArchiveRoot
    turns: int
    items: int
    left_out: list[LeftOutContent]
    file: str
    bytes: int
    position: int


def export_archive(
    session: Session, target: Path, scope: ArchiveScope, private: PrivateMaterial, sealed_by: str | None
) -> ArchiveReport:
    """Write the document, read it back, record it, give it its name, and report."""
    if private is PrivateMaterial.INCLUDE:
        session.access.require_view(View.RAW_OWNER)
    space, scope = session.space, checked(scope)
    file, spool = OutFile(target, "file"), OutFile(target.with_name(target.name + ".spool"), "file")
    root_key, descriptor = session.store.seal(sealed_by)
    entropy = space.sources.entropy
    spool_key, key = entropy.take(KEY_BYTES), entropy.take(KEY_BYTES)
    try:
        part = ScopePart(scope, private)
        root = _gather(session, part, spool, spool_key)
        with file.writing() as written, reading(spool.beside, "file") as spooled:
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
            reading(file.beside, "file") as written,
            opened_document(
                sealed_file := HashedFile(written), lambda envelope: envelope.open(root_key, CONTEXT)
            ) as lines,
        ):
            check = Checking(lines)
            for _ in check.events():
                pass
        with outside("file"):
            size = file.beside.stat().st_size
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
        left_out=part.left_out.counts(),
        file=str(file.path),
        bytes=size,
        position=position,
    )


class ScopePart:
    """The part of a space that an archive is made of: what is left out of it, and up to which position it reaches."""

    def __init__(self, scope: ArchiveScope, private: PrivateMaterial) -> None:
        self.scope = scope
        self.private = private
        self.left_out = ArchiveOmissions()
        self.through = 0


def _gather(session: Session, part: ScopePart, spool: OutFile, key: bytes) -> ArchiveRoot:
    """Write everything after the root into the spool; return the root."""
    space, tally = session.space, Tally()
    with space.ledger.reader() as reader:
        scoped = conversations(space, reader, part.scope)
        notebooks = notebooks_of(space, reader, part.scope)
        part.through = reader.frontier().size - 1
    with spool.writing() as file:
        sealed = SealedWriter(file, key, space.sources.entropy.take(SALT_BYTES), SPOOL_CONTEXT)
        count = len(scoped) + len(notebooks)
        for done, conversation in enumerate(scoped):
            session.progress("archive", done, count)
            names = conversation.key
            opening = DocumentLine(channel=names.channel, conversation=names.conversation, t=conversation.t)
            with space.ledger.reader() as reader:
                part.through = max(part.through, reader.frontier().size - 1)
                events = ConversationLines(space, reader, conversation.stream, part.private, part.left_out).lines()
                for line in chain[DocumentLine | EventLine | ChunkLine]([opening], events):
                    data = line_of(line)
                    tally.take(data)
                    sealed.write(data)
        has_memory = holds_memory(part.scope, part.private)
        for done, (notebook, _) in enumerate(notebooks, start=len(scoped)):
            session.progress("archive", done, count)
            with space.ledger.reader() as reader:
                part.through = max(part.through, reader.frontier().size - 1)
                head = space.notebooks.head(reader, notebook.subject, notebook.plane)
                if head is None:  # an archive took its place meanwhile
                    continue
                if not has_memory:
                    part.left_out.items(OmissionReason.PRIVATE, head.turns)
                    continue
                for told in notebook_lines(space, reader, head, part.left_out):
                    data = line_of(told)
                    tally.take(data)
                    sealed.write(data)
        sealed.finish()
    session.progress("archive", count, count)
    return tally.root(part.scope, part.private, has_memory=has_memory)
