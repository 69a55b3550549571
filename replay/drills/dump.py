"""Everything of a closed store that opens with the keys that there are: cells, and what indexes know at rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from muniment.crypto.cell import open_cell
from muniment.errors import KeyMissing
from muniment.events.cells import has_own_salts, unpack_content
from muniment.governance.views import View
from muniment.kernel.sources import system_sources
from muniment.ledger.attached_files import attachments_of, chunks_of
from muniment.ledger.snapshots import Snapshots
from muniment.log.port import Reader, SealedRow
from replay.stores import inside, space_below


def cells_of(directory: Path) -> Iterator[bytes]:
    """Yield what every envelope says, and the plaintext of every cell whose key there is."""
    space = inside(directory)
    with space.ledger.reader() as reader:
        for row in reader.sealed_events(0, reader.frontier().size - 1):
            try:
                opened = space.ledger.unsealed(row)
            except KeyMissing:
                continue
            yield opened.meta
            if row.content is not None and opened.key is not None:
                plaintext = open_cell(opened.key, row.content, row.leaf)
                yield plaintext
                yield from _files(reader, row, plaintext)
    space.store.close()


def _files(reader: Reader, row: SealedRow, plaintext: bytes) -> Iterator[bytes]:
    """Yield the attachments of an event."""
    if has_own_salts(plaintext):
        salts, content = unpack_content(row.kind, plaintext)
        assert salts is not None, "it has its own"
        for label, part in attachments_of(content):
            yield b"".join(chunks_of(lambda: nullcontext(reader), row.position, salts, label, part))


def indexes_of(directory: Path) -> Iterator[bytes]:
    """Yield what each index at rest knows, as far as its key is there."""
    space = inside(directory)
    snapshots = Snapshots(space_below(directory), space.ledger.keys, system_sources().entropy)
    for view in filter(snapshots.has, View):
        lock = snapshots.unlock(view)
        sections = snapshots.read(view, lock) if lock is not None else None
        if sections is not None:
            yield b"\n".join(sections.values())
    space.store.close()
