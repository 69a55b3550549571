"""Restoring a backup: the whole log is replaced in one write transaction, or a space is made whole beside the others.

1. Both files are read to their end and checked by every rule; nothing is written before that.
2. What would be lost is found out: a space that is there, events after those of the backup, a pin that is ahead.
   Without `replace` nothing is changed then (`backup.restore_conflict`).
3. In one transaction: the erasures of the present log are remembered, the log is cleared and put back row by row (each
   envelope sealed under a fresh segment key), what was erased is erased again, and an event records it
   (`space.restored`). A fresh key signs from there on, under an origin of its own: it is another life of the log
   (`ledger.signing`). The log begins another epoch: cursors from before fail.
4. The new state is attested and pinned. The pin of a life that was replaced says that it has ended.

A crash leaves the old log or the new one; the same restore may be repeated after either.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace as changed

from muniment.crypto import escrow
from muniment.crypto.keyring import UnwrappedKeys
from muniment.declaration.operation import JudgedReport
from muniment.errors import Corrupt, KeyUnavailable, Kind, RestoreConflict
from muniment.events.records import BackupRestore, EventKind, RotationCause, SpaceRestored
from muniment.evidence.tree import frontier_at
from muniment.evidence.verifier import Checkpoint, parse_checkpoint, parse_note
from muniment.ledger.attest import Notary
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Writer
from muniment.ledger.receiving import (
    Discard,
    LogRestorer,
    ReceivedLog,
)
from muniment.operations.spaces.backup.fences import Fences
from muniment.operations.spaces.backup.take import KEYS_FILE, LOG_FILE, keys_copy, read_log
from muniment.space.healing import Healing
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.declaration.session import Session


class RestoreReport(JudgedReport, Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a restore did, or with `restored` false would do.

    `events` came from the backup, which is of the life `former` of the log; it goes on as the life `origin`.
    `lost_first` to `lost_last` are the positions that are known to have been taken and are not in it. `diverged`: what
    is here, or pinned, is not of the same history as the backup. `erased_again` turns of the backup had been erased
    since; `fences_unreadable` erasures could not be read from the damaged log.
    """

    space: str
    log: str
    restored: bool
    events: int
    turns: int
    cells_damaged: int
    replaced: bool = False
    diverged: bool = False
    lost_first: int | None = None
    lost_last: int | None = None
    erased_again: int = 0
    fences_unreadable: int = 0
    sound: bool | None = None
    origin: str | None = None
    former: str | None = None

    @property
    def verdict(self) -> Kind | None:
        """Return whether what was restored may be trusted."""
        return Kind.CORRUPT if self.sound is False else None


class OpenedBackup(NamedTuple):
    """A backup whose keys were opened: its log, and the keys of the space and of the log."""

    log: Path
    keys: tuple[UnwrappedKeys, bytes]

    @property
    def ring(self) -> UnwrappedKeys:
        """The keys of the space."""
        return self.keys[0]


def open_backup(session: Session, source: Path, keyring: Path | None, sealed_by: str | None) -> OpenedBackup:
    """Open the keys of a backup."""
    if session.store.keys is None:
        raise KeyUnavailable(problem="opened_without_key")
    copy = keys_copy((keyring or source) / KEYS_FILE)
    root, _ = session.store.seal(sealed_by, copy.descriptor)
    return OpenedBackup(source / LOG_FILE, escrow.open_keys(copy, root))


def restore_backup(session: Session, backup: OpenedBackup, *, replace: bool, dry_run: bool) -> RestoreReport:
    """Find out what would happen, let it happen if it was asked for, and report."""
    present, was_lost = _present(session, backup.ring)
    notary = Notary(backup.ring, session.store.pin) if present is None else present.notary
    note = notary.pinned_note()
    pinned = None if note is None else _claimed(note)
    head = None if present is None else _head(present)
    known = [checkpoint for checkpoint in (head, pinned) if checkpoint is not None]
    sizes = [checkpoint.size for checkpoint in known]
    received = read_log(backup.log, backup.keys, Discard(), session.progress, sizes)
    report = _foreseen(backup.ring, received, present, known)
    if was_lost:
        report = changed(report, replaced=True)
    if dry_run:
        return report
    if not replace and (report.replaced or report.diverged or report.lost_last is not None):
        raise RestoreConflict(
            at="space",
            problem="exists" if report.replaced else "behind_pin",
            limit=received.checkpoint.size,
            found=max(sizes, default=0),
        )
    former = None
    if pinned is not None and not _grows_from(received, pinned):
        former = note
    elif head is not None and not _grows_from(received, head):
        former = _last_note(present)
    refill = partial(_refill, session, backup, report, received, former)
    if present is None:
        restored = session.store.put_back(backup.ring, partial(_settled, refill))
        space = session.store.space(backup.ring.name, create=False)
    else:
        restored, space = refill(session.store.bare(present)), present
        space.recover()
    if space.fault is None:
        space.checkpoint()
    return changed(restored, sound=space.fault is None, origin=space.notary.origin)


# --- what is here -----------------------------------------------------------------------------------------------------


def _present(session: Session, ring: UnwrappedKeys) -> tuple[Space | None, bool]:
    """Return the space that is here under the name of the backed up one, and whether its log was lost."""
    if not session.store.holds(ring.name):
        return None, False
    try:
        space = session.store.space(ring.name, create=False)
    except Corrupt as fault:
        if fault.problem != "log_lost":
            raise
        return None, True
    if space.ledger.log != ring.log_id:
        raise RestoreConflict(at="space", problem="another_log")
    return space, False


def _foreseen(
    ring: UnwrappedKeys, received: ReceivedLog, present: Space | None, known: list[Checkpoint]
) -> RestoreReport:
    size = received.checkpoint.size
    last = max((checkpoint.size for checkpoint in known), default=0) - 1
    diverged = any(checkpoint.size <= size and not _grows_from(received, checkpoint) for checkpoint in known)
    then = None if present is None else _head(present, size)
    if then is not None and then.root != received.checkpoint.root:
        diverged = True
    return RestoreReport(
        space=ring.name,
        log=ring.log_id,
        restored=False,
        events=size,
        turns=received.turns,
        cells_damaged=received.cells_damaged,
        former=received.checkpoint.origin,
        replaced=present is not None,
        diverged=diverged,
        lost_first=size if last >= size else None,
        lost_last=last if last >= size else None,
    )


def _claimed(note: str) -> Checkpoint:
    """Return the checkpoint at a pin; who could put another one there could as well remove it."""
    return parse_checkpoint(parse_note(note).text)


def _last_note(present: Space | None) -> str | None:
    assert present is not None, "its head was read"
    with present.ledger.store.reader() as reader:
        kept = reader.latest_checkpoint()
    return None if kept is None else kept.note


# --- putting back -----------------------------------------------------------------------------------------------------


def _refill(
    session: Session,
    backup: OpenedBackup,
    report: RestoreReport,
    received: ReceivedLog,
    former: str | None,
    space: Space,
) -> RestoreReport:
    """Replace the log of a space in one transaction, under a new version of its key."""

    def plan(writer: Writer) -> RestoreReport:
        fences = Fences(space)
        fences.collect(writer.tx)
        writer.clear()
        sink = LogRestorer(writer, backup.ring)
        again = read_log(backup.log, backup.keys, sink, session.progress)
        if again.checkpoint != received.checkpoint:
            raise Corrupt(at="backup", problem="changed_meanwhile")
        now_ms = space.sources.clock.now_ms()
        space.notary.signers.begin_life(writer, space.sources, backup.ring, now_ms)
        healing = Healing(space.ledger, space.transcript)
        healing.destroy(writer, healing.returned(writer.tx))
        erased = fences.apply(writer)
        writer.flush()
        healing.destroy(writer, healing.returned(writer.tx))  # what was recorded beside turns that went just now
        body = SpaceRestored(restore=BackupRestore(events=report.events, erased_again=erased, former=former))
        lost = {} if report.lost_last is None else {"first": report.lost_first or 0, "last": report.lost_last}
        writer.change(Change(EventKind.SPACE_RESTORED, now_ms, body, lost))
        writer.flush()
        space.begin_epoch(writer)
        return changed(report, restored=True, erased_again=erased, fences_unreadable=fences.unreadable)

    return space.rotate(RotationCause.RESTORE, plan).outcome


def _settled(refill: Callable[[Space], RestoreReport], space: Space) -> RestoreReport:
    """Put a log into a new space, and its signing key in force: no pin of another life of it is concerned."""
    report = refill(space)
    space.notary.settle(space.ledger)
    return report


def _head(space: Space, size: int | None = None) -> Checkpoint | None:
    """Return the head of a space, or what it was at a size; None when it was never that large or cannot be read."""
    with space.ledger.store.reader() as reader:
        try:
            head = reader.frontier()
            if size is not None and size > head.size:
                return None
            then = head if size is None else frontier_at(reader, size)
        except Corrupt:
            return None
    return Checkpoint(origin=space.notary.origin, size=then.size, root=then.root())


def _grows_from(received: ReceivedLog, known: Checkpoint) -> bool:
    """Tell whether a log that came in has what is known in its past."""
    return known.size <= received.checkpoint.size and received.roots.get(known.size) == known.root
