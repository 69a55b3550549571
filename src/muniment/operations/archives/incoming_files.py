"""Attachments of an archive on their way into the log: chunk by chunk, before the turn that they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.events.records import ContentBody, TurnContent
from muniment.ledger.attached_files import (
    BEFORE_ALL_MS,
    NO_ROOT,
    IncomingFile,
    attach,
    attachments_of,
    own_salts_of,
    with_roots,
)

if TYPE_CHECKING:
    from muniment.crypto.chunk import Upload
    from muniment.ledger.ledger import Writer
    from muniment.operations.archives.document import ChunkLine


class IncomingFiles:
    """The attachments of the next turn, as far as they were read."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._files: dict[str, IncomingFile] = {}
        self._uploads: dict[str, Upload] = {}

    def take(self, line: ChunkLine) -> None:
        """Store the next chunk."""
        tx = self._writer.tx
        file = self._files.get(line.attachment)
        if file is None:
            file = self._files[line.attachment] = IncomingFile(self._writer.entropy)
            tx.begin_part(file.part, BEFORE_ALL_MS)
        number, sealed = file.sealed(line.chunk)
        tx.put_chunks(file.part, number, [sealed], BEFORE_ALL_MS)

    def of(self, body: ContentBody | None) -> ContentBody | None:
        """Return content with its attachments as they are here; those that do not come in are let go of."""
        files, self._files = self._files, {}
        if not isinstance(body, TurnContent):
            self._writer.tx.let_go([file.part for file in files.values()])
            self._uploads = {}
            return body
        named = dict(attachments_of(body))
        self._writer.tx.let_go([file.part for label, file in files.items() if label not in named])
        for label in named.keys() - files.keys():  # empty ones
            file = files[label] = IncomingFile(self._writer.entropy)
            self._writer.tx.begin_part(file.part, BEFORE_ALL_MS)
        self._uploads = {label: files[label].upload(NO_ROOT) for label in named}
        return with_roots(body, {label: upload.root for label, upload in self._uploads.items()})

    def own_salts(self) -> dict[str, bytes] | None:
        """Return the salts and keys that the attachments of the turn bring along, if it has any."""
        return own_salts_of(self._uploads) if self._uploads else None

    def attach(self, position: int) -> None:
        """Let the attachments belong to the turn at a position."""
        attach(self._writer.tx, position, self._uploads)
        self._uploads = {}
