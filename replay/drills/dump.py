"""Everything of a closed store that opens with the keys that there are: cells, and what indexes know at rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from muniment.crypto.cell import open_cell
from muniment.errors import KeyMissing
from muniment.governance.views import View
from muniment.kernel.sources import system_sources
from muniment.ledger.snapshots import Snapshots
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
                yield open_cell(opened.key, row.content, row.leaf)
    space.store.close()


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
