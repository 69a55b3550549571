"""Is this the log that was left here? The check at opening, and the checkpoints that make the next one cheap.

Opening a log believes nothing that it has not accounted for:

1. as many event rows as the tree has leaves, and as the stream heads (each with its MAC) have events: no row is
missing;
2. the last checkpoint in the store carries the signature of the log, and the tree still has its root at that size;
3. every event behind that checkpoint has a bundle that only a holder of the space key can have made, and the tree over
   these events is the head;
4. the head is a descendant of the checkpoint that is pinned outside the store.

Checkpoints are signed on demand, at closing, and whenever the log passes a multiple of `CHECKPOINT_EVENTS`, so that
step 3 never reads more than that many events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from muniment.errors import Corrupt
from muniment.evidence import pin as pins
from muniment.evidence.audit import Audit, AuditReport
from muniment.evidence.notes import Signer, origin_of
from muniment.evidence.pin import Pin
from muniment.evidence.tree import Frontier, Node, extend, frontier_at
from muniment.evidence.verifier import Checkpoint, Refused, VerifierKey, open_checkpoint
from muniment.log.ledger import Ledger, Writer
from muniment.log.port import Reader

AUDIT_PROGRESS_EVENTS = 1000


class Signed(NamedTuple):
    """A checkpoint with the note that carries it."""

    checkpoint: Checkpoint
    note: str


class Notary:
    """Signs the checkpoints of one log and keeps the last one in the store and at the pin."""

    def __init__(self, ledger: Ledger, pin: Pin | None) -> None:
        self._ledger = ledger
        self._pin = pin
        self._signer = Signer(origin_of(ledger.log), ledger.keys.signing_seed)

    @property
    def key(self) -> VerifierKey:
        """The public key of the log."""
        return self._signer.key

    @property
    def origin(self) -> str:
        """The origin of the log."""
        return self._signer.key.name

    def checkpoint(self) -> Signed:
        """Return a signed checkpoint of the head, kept in the store and pinned; made only if the head has none yet."""
        signed = self._ledger.transact(self._of_head)
        if self._pin is not None:
            self._pin.write(self.origin, signed.note)
        return signed

    def pinned(self) -> Checkpoint | None:
        """Return the checkpoint at the pin, proved to be of this log, or None."""
        note = self._pin.read(self.origin) if self._pin is not None else None
        return None if note is None else self._open(note, "pin")

    def attest(self, reader: Reader) -> Frontier:
        """Account for every row; return the head, or raise `Corrupt` or `RolledBack`."""
        head = reader.frontier()
        rows, headed = reader.count(), reader.stream_totals().events
        if not rows == headed == head.size:
            raise Corrupt(at="events", problem="rows_missing", limit=head.size, found=min(rows, headed))
        kept = reader.latest_checkpoint()
        base = Frontier()
        if kept is not None:
            checkpoint = self._open(kept.note, "checkpoint")
            if not checkpoint.size == kept.size <= head.size:
                raise Corrupt(at="checkpoint", problem="size", limit=head.size, found=kept.size)
            base = frontier_at(reader, checkpoint.size)
            if base.root() != checkpoint.root:
                raise Corrupt(at="checkpoint", problem="root", found=checkpoint.size)
        if self._replayed(reader, base, head) != head:
            raise Corrupt(at="frontier", problem="root", limit=head.size)
        pinned = self.pinned()
        if pinned is not None:
            pins.compare(pinned, reader, head)
        return head

    def _replayed(self, reader: Reader, base: Frontier, head: Frontier) -> Frontier:
        leaves = []
        for position, row in enumerate(reader.sealed_events(base.size, head.size - 1), start=base.size):
            if row.position != position:
                raise Corrupt(at=f"position {position}", problem="rows_missing")
            self._ledger.keys_of(row)
            leaves.append(row.leaf)
        return extend(base, leaves)[0]

    def _of_head(self, writer: Writer) -> Signed:
        head = writer.tx.frontier()
        kept = writer.tx.latest_checkpoint()
        if kept is not None and kept.size == head.size:
            return Signed(self._open(kept.note, "checkpoint"), kept.note)
        checkpoint = Checkpoint(origin=self.origin, size=head.size, root=head.root())
        note = self._signer.sign_note(checkpoint.text())
        writer.tx.put_checkpoint(head.size, note)
        return Signed(checkpoint, note)

    def _open(self, note: str, at: str) -> Checkpoint:
        try:
            return open_checkpoint(note, self.key)
        except Refused as refused:
            raise Corrupt(at=at, problem=refused.code) from None


def audit(
    reader: Reader, log: str, key: VerifierKey, progress: Callable[[int, int], None] | None = None
) -> AuditReport:
    """Audit a whole log by its headers alone; no secret key is needed.

    Reads every event once: headers canonical and equal to their columns, leaves, streams and chains, every stored
    node of the tree, every checkpoint with its signature, and the head. Raises `Corrupt` at the first thing that does
    not hold.
    """
    run = Audit(log)
    head = reader.frontier()
    checkpoints = {row.size: row.note for row in reader.checkpoints()}
    for row in reader.events(0, head.size - 1):
        header, nodes = run.take(row.header, row.leaf)
        columns = (row.position, row.stream, row.seq, row.kind, row.time)
        if columns != (header.pos, header.stream, header.seq, header.kind, header.t):
            raise Corrupt(at=f"position {row.position}", problem="columns")
        _check_nodes(reader, nodes)
        note = checkpoints.pop(run.frontier.size, None)
        if note is not None:
            run.checkpoint(_signed(note, key))
        if progress is not None and row.position % AUDIT_PROGRESS_EVENTS == 0:
            progress(row.position, head.size)
    if checkpoints:
        raise Corrupt(at="checkpoint", problem="size", limit=head.size, found=max(checkpoints))
    return run.finish(head)


def _signed(note: str, key: VerifierKey) -> Checkpoint:
    try:
        return open_checkpoint(note, key)
    except Refused as refused:
        raise Corrupt(at="checkpoint", problem=refused.code) from None


def _check_nodes(reader: Reader, nodes: list[Node]) -> None:
    for node in nodes:
        if reader.hashes(node.level, node.index, 1) != [node.hash]:
            raise Corrupt(at=f"node {node.level}/{node.index}", problem="hash")
