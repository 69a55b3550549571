"""Everything that is derived from the log of a space to be read: transcript, catalogue, search indexes, tables.

All of it can be derived again. `release` forgets what is in memory, `save` keeps at rest what is worth it, and
`destroy` removes it everywhere: the keys of the space are gone.

Search indexes are made when somebody first needs them, so that numpy is imported by who searches.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from muniment.errors import ModelInvalid, ModelUnavailable, MunimentError
from muniment.governance.detection.detection import Detection
from muniment.kernel.locks import new_lock
from muniment.ledger.ledger import Ledger
from muniment.ledger.snapshots import Snapshots
from muniment.projections.conversation_catalogue import Catalogue
from muniment.projections.kept_catalogue import PREFIX
from muniment.projections.notebooks import Notebooks
from muniment.projections.transcript import Transcript
from muniment.search.index_memory import IndexMemory
from muniment.search.index_status import IndexStatus
from muniment.space.embedders import Embedders
from muniment.tables.view_tables import SpaceTables

if TYPE_CHECKING:
    from muniment.embedding.guarded import GuardedEmbedder
    from muniment.search.indexes import Indexes


class IndexSetup(NamedTuple):
    """What the indexes of a space share with other spaces, and where their snapshots are kept (None: nowhere)."""

    memory: IndexMemory
    directory: Path | None = None
    embedders: Embedders | None = None

    def of_catalogue(self, ledger: Ledger) -> Snapshots | None:
        """Return where the catalogue of the same space is kept."""
        return None if self.directory is None else Snapshots(self.directory, ledger.keys, ledger.entropy, PREFIX)


class LazyIndexes:
    """The indexes of one space, and why it has no embedder although one is wanted (`embedder_fault`). Thread-safe."""

    def __init__(self, ledger: Ledger, notebooks: Notebooks, detection: Detection, setup: IndexSetup) -> None:
        self._ledger = ledger
        self._notebooks = notebooks
        self._detection = detection
        self._setup = setup
        directory = setup.directory
        self._snapshots = None if directory is None else Snapshots(directory, ledger.keys, ledger.entropy)
        self._made: Indexes | None = None
        self._lock = new_lock()
        self.embedder_fault: MunimentError | None = None

    @property
    def opened(self) -> Indexes:
        """The indexes, made now if nobody needed them before."""
        with self._lock:
            if self._made is None:
                from muniment.search.indexes import Indexes  # noqa: PLC0415  # numpy is imported by who searches

                self._made = Indexes(
                    self._ledger, self._notebooks, self._detection, self._setup.memory, self._snapshots
                )
                self._made.embed_with(self._embedder)
            return self._made

    @property
    def in_memory(self) -> Indexes | None:
        """The indexes, if anybody has needed them."""
        return self._made

    def existing(self) -> Indexes | None:
        """Return the indexes, if there are any, in memory or at rest."""
        is_kept = self._snapshots is not None and bool(self._snapshots.names())
        return self.opened if self._made is not None or is_kept else None

    def statuses(self) -> list[IndexStatus]:
        """Return the indexes that are in memory."""
        return [] if self._made is None else self._made.statuses()

    def embed_again(self) -> None:
        """Use the embedder that the store has now; vectors of another one are dropped."""
        with self._lock:
            if self._made is not None:
                self._made.embed_with(self._embedder)

    def _embedder(self) -> GuardedEmbedder | None:
        self.embedder_fault = None
        embedders = self._setup.embedders
        try:
            return None if embedders is None else embedders.of(self._ledger.keys.name)
        except (ModelInvalid, ModelUnavailable) as fault:
            self.embedder_fault = fault
            return None


class ReadModels:
    """The read models of one space."""

    def __init__(self, ledger: Ledger, detection: Detection, setup: IndexSetup) -> None:
        self.transcript = Transcript(ledger)
        self.notebooks = Notebooks(ledger, self.transcript)
        self.catalogue = Catalogue(ledger, self.transcript, setup.of_catalogue(ledger))
        self.lazy_indexes = LazyIndexes(ledger, self.notebooks, detection, setup)
        self.tables = SpaceTables(ledger, self.transcript, detection)

    def release(self) -> None:
        """Forget what is in memory; what is read next comes from the log, or from a snapshot that is as new."""
        self.catalogue.release()
        if (indexes := self.lazy_indexes.in_memory) is not None:
            indexes.release()
        self.tables.release()
        self.transcript.drop()

    def save(self) -> None:
        """Keep at rest what is worth it."""
        if (indexes := self.lazy_indexes.in_memory) is not None:
            indexes.save()
        self.catalogue.save()

    def destroy(self) -> None:
        """Remove everything, in memory and at rest."""
        self.tables.release()
        self.catalogue.drop()
        if (indexes := self.lazy_indexes.existing()) is not None:
            indexes.drop()
