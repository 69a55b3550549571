"""The attachments of an archive: the chunks before a turn are those of the attachments that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.crypto.chunk import CHUNK_BYTES
from muniment.errors import ArchiveRefused
from muniment.ledger.attached_files import NO_ROOT, attachments_of

if TYPE_CHECKING:
    from muniment.events.records import ContentBody
    from muniment.operations.archives.document import ChunkLine


class ArchivedFiles:
    """How much was read of each attachment of the next turn."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}

    def take(self, line: ChunkLine, at: str) -> None:
        """Take a chunk; only the last one of an attachment may be short."""
        size = self._sizes.get(line.attachment, 0)
        if size % CHUNK_BYTES or (size and next(reversed(self._sizes)) != line.attachment):
            raise ArchiveRefused(at=at, problem="attachment")
        self._sizes[line.attachment] = size + len(line.chunk)

    def require(self, content: ContentBody | None, at: str) -> None:
        """Refuse an event whose attachments are not those that were read, or that tells their roots."""
        named = {} if content is None else dict(attachments_of(content))
        sizes, self._sizes = self._sizes, {}
        fits = sizes == {label: part.size for label, part in named.items() if part.size}
        if not fits or any((part.root, part.upload) != (NO_ROOT, None) for part in named.values()):
            raise ArchiveRefused(at=at, problem="attachment")
