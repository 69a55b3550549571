"""Is this the log that was left here? The check at opening, and the checkpoints that make the next one cheap.

Opening a log believes nothing that it has not accounted for:

1. as many event rows as the tree has leaves, and as the stream heads (each with its MAC) have events: no row is
missing; the seal of the log vouches for its frontier and, with every bucket read, for all names, and there are as many
as the heads say that their streams have claimed: nothing is there and cannot be found;
2. the last checkpoint in the store carries the signature of the log, and the tree still has its root at that size;
3. every event behind that checkpoint has an envelope that only a holder of the space key can have made, and the tree
   over these events is the head;
4. the head is a descendant of the checkpoint that is pinned outside the store.

Checkpoints are signed on demand, at closing, after the events and times of `ledger.pin_times`, and whenever the log
passes a multiple of `CHECKPOINT_EVENTS`, so that step 3 never reads more than that many events.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from muniment.crypto.keyring import SpaceKeys, UnwrappedKeys
from muniment.errors import Corrupt, FormerLife, RolledBack, StoreNewer, StoreReadOnly
from muniment.events.records import EventKind
from muniment.evidence import pin as pins
from muniment.evidence.audit import Audit, AuditReport
from muniment.evidence.bundle import AnnouncedSigner
from muniment.evidence.notes import NamedValues, NoteSigner, TakeState, TreeState
from muniment.evidence.pin import Pin
from muniment.evidence.pins import Pins
from muniment.evidence.tree import Frontier, Node, extend, frontier_at
from muniment.evidence.verifier import (
    Checkpoint,
    Refused,
    Succession,
    VerifierKey,
    parse_checkpoint,
    parse_note,
    statement_line,
)
from muniment.ledger.headers import unpack
from muniment.ledger.ledger import Ledger, Writer
from muniment.ledger.pin_times import PIN_INTERVAL_S, PinTimes
from muniment.ledger.signing import LogSigners, announced_signers
from muniment.log.port import CheckpointRow, Reader

AUDIT_PROGRESS_EVENTS = 1000
ENDED = "ended"  # the extension line of the pin of a life that has ended: what the origin of the next one is

_log = logging.getLogger("muniment")


class SignedCheckpoint(NamedTuple):
    """A checkpoint with the note that carries it."""

    checkpoint: Checkpoint
    note: str


class Notary:
    """Signs the checkpoints of one log and keeps the last one at the pin."""

    def __init__(
        self,
        keys: SpaceKeys | UnwrappedKeys,
        pin: Pin | None,
        outside: NoteSigner | None = None,
        pin_interval_s: int = PIN_INTERVAL_S,
    ) -> None:
        self._pins = Pins.of(pin)
        self.unpinned = 0  # places that knew nothing of the log when it was attested
        self._times = PinTimes(pin_interval_s)
        self.signers = LogSigners(keys, outside)

    @property
    def key(self) -> VerifierKey:
        """The public key of the log: the one in force."""
        return self.signers.current.key

    @property
    def origin(self) -> str:
        """The origin of the log, in its present life."""
        return self.key.name

    def sign(self, values: NamedValues, frontier: Frontier) -> str:
        """Return a checkpoint of a head, signed by the key that the log names in this state."""
        signer = self.signers.of(values)
        return signer.sign_checkpoint(signer.key.name, frontier.size, frontier.root())

    def is_due(self, kinds: Collection[str], now_ms: int) -> bool:
        """Tell whether the head is signed after events of these kinds, at this time, because there is a pin."""
        return self._pins is not None and self._times.is_due(kinds, now_ms)

    def remember(self, note: str, states: TakeState) -> None:
        """Pin a checkpoint that is durable in the store; one that an even newer one has overtaken needs no pin.

        Raises `RolledBack` or `Corrupt` when the log, as it is now, did not grow from what is pinned already.
        """
        if self._pins is None:
            return
        origin = parse_checkpoint(parse_note(note).text).origin
        self._prove_growth(origin, states)
        try:
            self._pins.write(origin, note)
        except RolledBack:  # another process has pinned more in between
            self._prove_growth(origin, states)

    def _prove_growth(self, origin: str, states: TakeState) -> None:
        places = self.places(origin)
        with states() as state:
            for pinned in places:
                _compare(pinned, state, state.frontier())

    def checkpoint(self, ledger: Ledger) -> SignedCheckpoint:
        """Return a signed checkpoint of the head, kept in the store and pinned; made only if the head has none yet."""
        try:
            signed = ledger.transact(self._of_head)
        except (StoreReadOnly, StoreNewer):  # what is signed already needs nothing to be written
            with ledger.reader() as reader:
                kept, size = reader.latest_checkpoint(), reader.frontier().size
            if kept is None or kept.size != size:
                raise
            signed = self._kept(kept)
        self.remember(signed.note, ledger.store.reader)
        return signed

    def keep_stamped(self, ledger: Ledger, note: str) -> None:
        """Keep a checkpoint with its timestamp in the store, in place of the same one without, and pin it."""
        size = self.open(note, "checkpoint").size
        ledger.transact(lambda writer: writer.tx.put_checkpoint(size, note))
        self.remember(note, ledger.store.reader)

    def sign_erasure(self, values: NamedValues, size: int, root: bytes, statement: Mapping[str, object]) -> str:
        """Return a checkpoint of an erasure certificate: over a root, and over the digest of what it states."""
        signer = self.signers.of(values)
        return signer.sign_checkpoint(signer.key.name, size, root, [statement_line(statement)])

    def announced(self, ledger: Ledger, reader: Reader, size: int) -> list[AnnouncedSigner]:
        """Return the announcements up to a size of the log, for evidence under its checkpoint of that size."""
        return announced_signers(ledger, reader, size)

    def settle(self, ledger: Ledger) -> None:
        """Complete the replacement of the signing key that the log has announced, if there is one.

        Where another life of the log began in its place, the pin of the former life says so from now on.
        """
        if not self.signers.is_due:
            return
        former = self.signers.current
        note, last = self.pinned_note(), self.pinned()
        if self.signers.settle(ledger) and self.origin != former.key.name and self._pins is not None and note and last:
            ended = former.sign_checkpoint(former.key.name, last.size, last.root, [f"{ENDED} {self.origin}"])
            self._pins.replace(former.key.name, note, ended)

    def pinned(self) -> Checkpoint | None:
        """Return the checkpoint at the pin, proved to be of this log, or None; of several places the farthest."""
        note = self.pinned_note()
        return None if note is None else self.open(note, "pin")

    def places(self, origin: str) -> list[Checkpoint | None]:
        """Return the checkpoint at each place for pins, as `pinned`; read before the snapshot to compare."""
        notes = [] if self._pins is None else self._pins.notes(origin)
        return [None if note is None else self.open(note, "pin") for note in notes]

    def pinned_note(self) -> str | None:
        """Return the note at the pin, unverified, or None."""
        return self._pins.read(self.origin) if self._pins is not None else None

    def attest_again(self, ledger: Ledger) -> None:
        """Attest the log against its pins, any of which may say that this life of the log has ended."""
        places, pinned = self.places(self.origin), self.pinned()
        with ledger.store.reader() as reader:
            head = self.attest(ledger, reader, pinned)
            for other in places:
                if other != pinned:
                    _compare(other, reader, head)
            kept = reader.latest_checkpoint()
        is_new = (
            kept is None or kept.size <= self.signers.since + 1
        )  # signed when its life began, and pinned from then on
        self.unpinned = 0 if is_new else places.count(None)
        if self.unpinned:
            _log.warning("nothing is pinned at %d of %d places: deleted, or new", self.unpinned, len(places))

    def has_ended(self, ledger: Ledger) -> bool:
        """Return whether the log says that the whole space was erased; its final checkpoint is pinned then."""
        with ledger.store.reader() as reader:
            last = next(reader.of_kind(EventKind.SPACE_ERASED), None)
            kept = reader.latest_checkpoint()
            is_ended = ledger.vocabulary.of(reader).has_ended
        if last is not None and last.envelope is not None:
            ledger.unsealed(last)  # only a holder of the keys can have written it
            assert kept is not None, "it was signed with the event"
            self.remember(kept.note, ledger.store.reader)
            return True
        if last is not None or is_ended:
            raise Corrupt(at="log", problem="ended")
        return False

    def attest(self, ledger: Ledger, reader: Reader, pinned: Checkpoint | None) -> Frontier:
        """Account for every row; return the head, or raise `Corrupt` or `RolledBack`.

        `pinned` was read before the reader's snapshot was taken: another process may append and pin at any time.
        """
        head = reader.frontier()
        rows, events, claimed = reader.count(), 0, 0
        for stream in ledger.heads.attest(reader):
            events += stream.seq
            claimed += stream.names
        if not rows == events == head.size:
            raise Corrupt(at="events", problem="rows_missing", limit=head.size, found=min(rows, events))
        names = ledger.names.attest(reader).names
        if names != claimed:
            raise Corrupt(at="names", problem="names_missing", limit=claimed, found=names)
        kept = reader.latest_checkpoint()
        base = Frontier()
        if kept is not None:
            checkpoint = self._kept(kept).checkpoint
            if checkpoint.size > head.size:
                raise Corrupt(at="checkpoint", problem="size", limit=head.size, found=kept.size)
            base = frontier_at(reader, checkpoint.size)
            if base.root() != checkpoint.root:
                raise Corrupt(at="checkpoint", problem="root", found=checkpoint.size)
        if _replayed(ledger, reader, base, head) != head:
            raise Corrupt(at="frontier", problem="root", limit=head.size)
        _compare(pinned, reader, head)
        return head

    def _of_head(self, writer: Writer) -> SignedCheckpoint:
        head = writer.tx.frontier()
        kept = writer.tx.latest_checkpoint()
        if kept is not None and kept.size == head.size:
            return self._kept(kept)
        note = self.sign(writer.tx, head)
        writer.tx.put_checkpoint(head.size, note)
        return SignedCheckpoint(parse_checkpoint(parse_note(note).text), note)

    def _kept(self, row: CheckpointRow) -> SignedCheckpoint:
        checkpoint = self.open(row.note, "checkpoint")
        if checkpoint.size != row.size:
            raise Corrupt(at="checkpoint", problem="size", limit=checkpoint.size, found=row.size)
        return SignedCheckpoint(checkpoint, row.note)

    def open(self, note: str, at: str) -> Checkpoint:
        """Return the checkpoint of a note that a key of this log signed, or raise `Corrupt`."""
        try:
            return self.signers.open(note)
        except Refused as refused:
            raise Corrupt(at=at, problem=refused.code) from None


def _compare(pinned: Checkpoint | None, state: TreeState, head: Frontier) -> None:
    """Compare a log with what one place for pins knows of it, if anything."""
    if pinned is None:
        return
    if any(line.startswith(ENDED) for line in pinned.extensions):
        raise FormerLife(at="pin", limit=pinned.size, found=head.size)
    pins.compare(pinned, state, head)


def _replayed(ledger: Ledger, reader: Reader, base: Frontier, head: Frontier) -> Frontier:
    leaves = []
    for position, row in enumerate(reader.sealed_events(base.size, head.size - 1), start=base.size):
        if row.position != position:
            raise Corrupt(at=f"position {position}", problem="rows_missing")
        ledger.unsealed(row)
        ledger.header(row)
        leaves.append(row.leaf)
    return extend(base, leaves)[0]


def audit(
    reader: Reader, log: str, keys: Succession, progress: Callable[[int, int], None] | None = None
) -> AuditReport:
    """Audit a whole log by its headers alone; no secret key is needed.

    Reads every event once: headers canonical and equal to their columns, leaves, streams and chains, every stored
    node of the tree, every checkpoint with its signature, and the head. There are as many rows as the tree has leaves,
    so that none is stored twice. Raises `Corrupt` at the first thing that does not hold.
    """
    run = Audit(log)
    head = reader.frontier()
    if (rows := reader.count()) != head.size:
        problem = "rows_missing" if rows < head.size else "rows_in_excess"
        raise Corrupt(at="events", problem=problem, limit=head.size, found=rows)
    checkpoints = {row.size: row.note for row in reader.checkpoints()}
    handed_over = {told.checkpoint.size: told.checkpoint.root for told in keys.announced}
    for row in reader.events(0, head.size - 1):
        _, exact = unpack(row, log)
        _check_nodes(reader, run.take(exact, row.leaf))
        note = checkpoints.pop(run.frontier.size, None)
        if note is not None:
            run.checkpoint(_signed(note, keys, run.frontier.size))
        root = handed_over.pop(run.frontier.size, None)
        if root is not None and root != run.frontier.root():
            raise Corrupt(at="signer", problem="root", limit=run.frontier.size)
        if progress is not None and row.position % AUDIT_PROGRESS_EVENTS == 0:
            progress(row.position, head.size)
    if checkpoints:
        raise Corrupt(at="checkpoint", problem="size", limit=head.size, found=max(checkpoints))
    if handed_over:
        raise Corrupt(at="signer", problem="size", limit=head.size, found=max(handed_over))
    return run.finish(head)


def _signed(note: str, keys: Succession, size: int) -> Checkpoint:
    try:
        checkpoint = keys.open(note)
    except Refused as refused:
        raise Corrupt(at="checkpoint", problem=refused.code) from None
    if checkpoint.size != size:
        raise Corrupt(at="checkpoint", problem="size", limit=size, found=checkpoint.size)
    return checkpoint


def _check_nodes(reader: Reader, nodes: list[Node]) -> None:
    for node in nodes:
        if reader.hashes(node.level, node.index, 1) != [node.hash]:
            raise Corrupt(at=f"node {node.level}/{node.index}", problem="hash")
