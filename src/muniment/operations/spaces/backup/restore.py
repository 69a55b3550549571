"""Restoring a backup: the whole log is replaced in one write transaction, or a space is made whole beside the others.

1. Both files are read to their end and held to every rule; nothing is written before that.
2. What would be lost is found out: a space that is there, events behind those of the backup, a pin that is ahead.
   Unless `replace` says that this is meant, nothing is changed (`backup.restore_conflict`).
3. In one transaction: the erasures of the present log are remembered, the log is cleared and put back row by row (each
   bundle wrapped under a new version of the space key), what was erased is erased again, and an event says what was
   done (`space.restored`). The log begins another life: cursors from before fail.
4. The new state is attested, and pinned in place of the checkpoint that it does not grow from (decision 0091).

A crash leaves the old log or the new one; the same restore may be repeated after either.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace as changed

from muniment.crypto import escrow
from muniment.crypto.keyring import UnwrappedKeys
from muniment.declaration.session import Session
from muniment.errors import Corrupt, KeyUnavailable, RestoreConflict
from muniment.events.records import BackupRestore, EventKind, RotationCause, SpaceRestored
from muniment.evidence.tree import frontier_at
from muniment.evidence.verifier import Checkpoint
from muniment.ledger.attest import Notary
from muniment.ledger.ledger import VKEY, Change, Writer
from muniment.ledger.transfer import (
    Discard,
    LogRestorer,
    ReceivedLog,
)
from muniment.operations.spaces.backup.fences import Fences
from muniment.operations.spaces.backup.take import KEYS_FILE, LOG_FILE, keys_copy, read_log
from muniment.space.healing import Healing
from muniment.space.space import Space


class RestoreReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a restore did, or with `restored` false would do.

    `events` came from the backup. `lost_first` to `lost_last` are the positions that are known to have been taken and
    are not in it. `diverged`: what is here, or pinned, is not of the same history as the backup. `erased_again` turns
    of the backup had been erased since; `fences_unreadable` erasures could not be read from the damaged log.
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


class Restoring:
    """A backup on its way into a store."""

    def __init__(self, session: Session, source: Path, keyring: Path | None, sealed_by: str | None) -> None:
        if session.store.keys is None:
            raise KeyUnavailable(problem="opened_without_key")
        self._session = session
        self._home = session.store
        self._log = source / LOG_FILE
        copy = keys_copy((keyring or source) / KEYS_FILE)
        root, _ = session.store.seal(sealed_by, copy.descriptor)
        self._keys = escrow.open_keys(copy, root)
        self._former: str | None = None

    @property
    def _ring(self) -> UnwrappedKeys:
        return self._keys[0]

    def run(self, *, replace: bool, dry_run: bool) -> RestoreReport:
        """Find out what would happen, let it happen if it was asked for, and report."""
        present = self._present()
        notary = Notary(self._ring, self._home.pin)
        pinned, note = notary.pinned(), notary.pinned_note()
        marks = [pinned.size] if pinned is not None else []
        here = None if present is None else _head(present)
        if here is not None:
            marks.append(here.size)
        taken = read_log(self._log, self._keys, Discard(), self._session.progress, marks)
        report = self._foreseen(taken, present, [one for one in (here, pinned) if one is not None])
        if pinned is not None and not _grows_from(taken, pinned):
            self._former = note
        elif here is not None and not _grows_from(taken, here):
            self._former = self._last_note(present)
        if dry_run:
            return report
        if not replace and (present is not None or report.diverged or report.lost_last is not None):
            raise RestoreConflict(
                at="space",
                problem="exists" if present is not None else "behind_pin",
                limit=taken.checkpoint.size,
                found=max([one.size for one in (here, pinned) if one is not None], default=0),
            )
        return self._replace(report, present, taken)

    # --- what is here -------------------------------------------------------------------------------------------------

    def _present(self) -> Space | None:
        """Return the space that is here under the name of the backed up one."""
        ring = self._ring
        if not self._home.holds(ring.name):
            return None
        space = self._home.space(ring.name, create=False)
        if space.ledger.log != ring.log_id:
            raise RestoreConflict(at="space", problem="another_log")
        return space

    def _foreseen(self, taken: ReceivedLog, present: Space | None, known: list[Checkpoint]) -> RestoreReport:
        size = taken.checkpoint.size
        last = max([one.size for one in known], default=0) - 1
        diverged = any(one.size <= size and not _grows_from(taken, one) for one in known)
        if present is not None and _head(present, size) not in {None, taken.checkpoint}:
            diverged = True
        return RestoreReport(
            space=self._ring.name,
            log=self._ring.log_id,
            restored=False,
            events=size,
            turns=taken.turns,
            cells_damaged=taken.cells_damaged,
            replaced=present is not None,
            diverged=diverged,
            lost_first=size if last >= size else None,
            lost_last=last if last >= size else None,
        )

    @staticmethod
    def _last_note(present: Space | None) -> str | None:
        assert present is not None, "its head was looked at"
        with present.ledger.reader() as reader:
            kept = reader.latest_checkpoint()
        return None if kept is None else kept.note

    # --- putting back -------------------------------------------------------------------------------------------------

    def _replace(self, report: RestoreReport, present: Space | None, taken: ReceivedLog) -> RestoreReport:
        if present is None:
            done = self._home.put_back(self._ring, lambda space: self._fill(space, report, taken))
            space = self._home.space(self._ring.name, create=False)
        else:
            done, space = self._fill(self._home.bare(present), report, taken), present
            space.recover()
        if space.fault is None:
            space.checkpoint()
        return changed(done, sound=space.fault is None)

    def _fill(self, space: Space, report: RestoreReport, taken: ReceivedLog) -> RestoreReport:
        """Replace the log of a space in one transaction, under a new version of its key."""

        def plan(writer: Writer) -> RestoreReport:
            fences = Fences(space)
            fences.collect(writer.tx)
            writer.clear()
            sink = LogRestorer(writer, self._ring, space.sources.entropy)
            again = read_log(self._log, self._keys, sink, self._session.progress)
            if again.checkpoint != taken.checkpoint:
                raise Corrupt(at="backup", problem="changed_meanwhile")
            healing = Healing(space.ledger, space.transcript)
            healing.destroy(writer, healing.returned(writer.tx))
            erased = fences.apply(writer)
            writer.flush()
            healing.destroy(writer, healing.returned(writer.tx))  # what was recorded beside turns that went just now
            self._say(writer, space, report, erased)
            writer.tx.put_meta(VKEY, str(space.notary.key).encode())
            space.begin_epoch(writer)
            return changed(report, restored=True, erased_again=erased, fences_unreadable=fences.unreadable)

        return space.rotate(RotationCause.RESTORE, plan).outcome

    def _say(self, writer: Writer, space: Space, report: RestoreReport, erased: int) -> None:
        body = SpaceRestored(restore=BackupRestore(events=report.events, erased_again=erased, former=self._former))
        lost = {} if report.lost_last is None else {"first": report.lost_first or 0, "last": report.lost_last}
        writer.change(Change(EventKind.SPACE_RESTORED, space.sources.clock.now_ms(), body, lost))
        writer.flush()


def _head(space: Space, size: int | None = None) -> Checkpoint | None:
    """Return the head of a space, or what it was at a size; None when it was never that large or cannot be read."""
    with space.ledger.reader() as reader:
        try:
            head = reader.frontier()
            if size is not None and size > head.size:
                return None
            then = head if size is None else frontier_at(reader, size)
        except Corrupt:
            return None
    return Checkpoint(origin=space.notary.origin, size=then.size, root=then.root())


def _grows_from(taken: ReceivedLog, known: Checkpoint) -> bool:
    """Tell whether a log that came in has what is known in its past."""
    return known.size <= taken.checkpoint.size and taken.roots.get(known.size) == known.root
