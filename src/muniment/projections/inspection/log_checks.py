"""The log as a whole: the tree over its events, the checkpoints on the way, the pin, and what belongs to nothing."""

from __future__ import annotations

from collections.abc import Callable

from muniment.errors import Corrupt, KeyMissing, RolledBack, StoreNewer
from muniment.evidence import pin as pins
from muniment.evidence.tree import Frontier, extend, frontier_at
from muniment.evidence.verifier import Checkpoint, Refused
from muniment.ledger.attest import Notary
from muniment.ledger.ledger import Ledger
from muniment.log.port import Reader, SealedRow
from muniment.projections.inspection.findings import Finding, FindingKind, Findings


class LogChecks:
    """Looks at the log as a whole while its events go by."""

    def __init__(self, ledger: Ledger, notary: Notary, findings: Findings) -> None:
        self._ledger = ledger
        self._notary = notary
        self._findings = findings
        self._frontier: Frontier | None = Frontier()  # None once an event was missing

    def take(self, reader: Reader, rows: list[SealedRow | None]) -> None:
        """Look at the next events; None stands for one that is not there."""
        if self._frontier is None or None in rows:
            self._frontier = None
            return
        self._frontier, nodes = extend(self._frontier, [row.leaf for row in rows if row is not None])
        for node in nodes:
            if reader.hashes(node.level, node.index, 1) != [node.hash]:
                self._add(FindingKind.TREE_MISMATCH, "node")

    def pinned(self) -> Checkpoint | None:
        """Return the checkpoint at the pin; read before the snapshot that is compared with it (`ledger.attest`)."""
        try:
            return self._notary.pinned()
        except Corrupt as corrupt:
            self._add(FindingKind.CHECKPOINT_MISMATCH, corrupt.problem)
            return None

    def finish(self, reader: Reader, pinned: Checkpoint | None, streams: int) -> None:
        """Look at what is there once, in the snapshot in which the last event was read."""
        looks: list[Callable[[], None]] = [
            lambda: self._head(reader),
            lambda: self._counts(reader, streams),
            lambda: self._checkpoints(reader),
            lambda: self._attested(reader, pinned),
        ]
        for look in looks:
            try:
                look()
            except Corrupt as corrupt:  # a table that cannot be read
                self._add(FindingKind.EVENT_UNREADABLE, corrupt.problem)

    def _head(self, reader: Reader) -> None:
        try:
            head = reader.frontier()
        except Corrupt as corrupt:
            self._frontier = None
            self._add(FindingKind.TREE_MISMATCH, corrupt.problem)
            return
        if self._frontier is not None and head != self._frontier:
            self._add(FindingKind.TREE_MISMATCH, "frontier", found=self._frontier.size)
        rows = reader.count()
        if rows > head.size:
            self._add(FindingKind.EVENT_UNCOUNTED, found=rows - head.size)

    def _counts(self, reader: Reader, streams: int) -> None:
        orphans = reader.orphans()
        if orphans:
            self._add(FindingKind.ORPHAN_CELLS, found=orphans)
        dangling = self._names(reader) - self._findings.lookups - self._findings.unread
        if dangling > 0:
            self._add(FindingKind.LOOKUP_DANGLING, found=dangling)
        heads = sum(1 for _ in reader.stream_heads())
        if heads > streams:
            self._add(FindingKind.HEAD_MISMATCH, "no_events", found=heads - streams)

    def _names(self, reader: Reader) -> int:
        """Return how many names the buckets hold; what is in them only counts when all are proved."""
        try:
            return self._ledger.names.attest(reader).names
        except Corrupt as corrupt:
            kind = FindingKind.LOOKUP_MISMATCH if corrupt.at == "names" else FindingKind.TREE_MISMATCH
            if kind not in self._findings.counts:
                self._add(kind, corrupt.problem)
            return 0

    def _checkpoints(self, reader: Reader) -> None:
        for row in reader.checkpoints():
            self._findings.checkpoints += 1
            try:
                checkpoint = self._notary.signers.open(row.note)
            except Refused as refused:
                self._add(FindingKind.CHECKPOINT_MISMATCH, refused.code, found=row.size)
                continue
            if checkpoint.size != row.size:
                self._add(FindingKind.CHECKPOINT_MISMATCH, "size", found=row.size)
            elif self._frontier is not None and not self._had(reader, checkpoint):
                self._add(FindingKind.CHECKPOINT_MISMATCH, "root", found=row.size)

    def _had(self, reader: Reader, checkpoint: Checkpoint) -> bool:
        """Tell whether the tree was once what a checkpoint says."""
        try:
            return frontier_at(reader, checkpoint.size).root() == checkpoint.root
        except Corrupt:  # a checkpoint of more than there is
            return False

    def _attested(self, reader: Reader, pinned: Checkpoint | None) -> None:
        """Hold the log to its pin, and look at it as an opening does: what nothing above has told is told here."""
        try:
            if pinned is not None and self._frontier is not None:
                pins.compare(pinned, reader, self._frontier)
        except RolledBack as behind:
            self._add(FindingKind.ROLLED_BACK, found=behind.found)
        except Corrupt as corrupt:
            if FindingKind.TREE_MISMATCH not in self._findings.counts:  # which explains it
                self._add(FindingKind.ROLLED_BACK, corrupt.problem)
        if self._findings.total:
            return
        try:
            self._notary.attest(self._ledger, reader, pinned)
        except (Corrupt, KeyMissing, StoreNewer) as fault:
            self._add(FindingKind.UNATTESTED, fault.problem)

    def _add(self, kind: FindingKind, problem: str | None = None, *, found: int | None = None) -> None:
        self._findings.add(Finding(kind=kind, problem=problem, found=found))
