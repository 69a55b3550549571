"""Gathering what an archive is made of: one conversation or notebook after the other, into a sealed spool.

Each of them is one snapshot of the log, so that an erasure waits for no more than one.
"""

from __future__ import annotations

from itertools import chain

from muniment.crypto.stream import SALT_BYTES, SealedWriter
from muniment.declaration.session import Session
from muniment.events.archive import ArchiveScope, PrivateMaterial
from muniment.operations.archives.archive_lines import ConversationLines
from muniment.operations.archives.document import ArchiveRoot, ChunkLine, DocumentLine, EventLine, Tally, line_of
from muniment.operations.archives.notebook_lines import notebook_lines
from muniment.operations.archives.omissions import ArchiveOmissions, OmissionReason
from muniment.operations.archives.scopes import conversations, holds_memory, notebooks_of
from muniment.operations.outfile import OutFile, OutStream

SPOOL_CONTEXT = b"muniment/archive/spool"


class ScopePart:
    """The part of a space that an archive is made of: what is left out of it, and up to which position it reaches."""

    def __init__(self, scope: ArchiveScope, private: PrivateMaterial) -> None:
        self.scope = scope
        self.private = private
        self.left_out = ArchiveOmissions()
        self.through = 0


def gather(session: Session, part: ScopePart, spool: OutFile | OutStream, key: bytes) -> ArchiveRoot:
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
