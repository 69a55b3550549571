"""Taking a backup: two sealed files, read back before they get their names.

1. the log records the backup, so that the record is in it, too, and a restore loses nothing;
2. the keys of the space are read, and the log is written to `log.sealed` under a fresh key (`ledger.transfer`), part
   by part, while others go on writing;
3. the keys are read again: after a rotation in between (an erasure, perhaps) the log is written again;
4. the keys of the space and the fresh key are written to `keys.sealed`, under the root key of the store or another;
5. both files are read back from the disk and checked as a restore checks them.

Nothing readable leaves the store, headers, times and names included (decision 0090).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from muniment.crypto import escrow
from muniment.crypto.keyring import UnwrappedKeys
from muniment.crypto.root import RootKey
from muniment.crypto.root_sources import RootDescriptor
from muniment.crypto.secret import KEY_BYTES
from muniment.crypto.stream import SALT_BYTES, SealedReader, SealedWriter
from muniment.declaration.session import Session
from muniment.errors import StoreBusy
from muniment.ledger.frames import Frame, frames
from muniment.ledger.giving import given
from muniment.ledger.receiving import Discard, LogReceiver, ReceivedLog, Sink
from muniment.ledger.signing import LogSigners
from muniment.operations.outfile import OutFile, outside, reading
from muniment.space.options import Progress
from muniment.space.outgoing import ContentGrant, ExportWay, record_export

LOG_FILE, KEYS_FILE = "log.sealed", escrow.FILE
CONTEXT = b"muniment/backup"
ATTEMPTS_MAX = 5
KEYS_BYTES_MAX = 256 * 1024


class Backup(Struct, frozen=True, kw_only=True):
    """A backup that was written and read back: of the first `events` events of a log, whose root is `root`.

    `cells_damaged` counts what does not open in the store either; everything else of those events is in the backup.
    """

    space: str
    log: str
    events: int
    turns: int
    root: str
    log_file: str
    keys_file: str
    bytes: int
    cells_damaged: int


def take_backup(session: Session, target: Path, keyring: Path | None, sealed_by: str | None) -> Backup:
    """Write both files, read them back, give them their names, and report."""
    space = session.space
    log = OutFile(target / LOG_FILE, "target")
    keys = OutFile((keyring or target) / KEYS_FILE, "target" if keyring is None else "keyring")
    root, descriptor = session.store.seal(sealed_by)
    try:
        recorded = _record(session)
        _write(session, log, keys, root, descriptor)
        unwrapped = escrow.open_keys(keys_copy(keys.beside), root)
        received = read_log(log.beside, unwrapped, Discard(), session.progress)
        with outside("target"):
            size = log.beside.stat().st_size
        if received.checkpoint.size > recorded + 1:
            _record(session, received.checkpoint.size - 1)  # others appended, and that is in the backup, too
        log.keep()
        keys.keep()
    finally:
        log.drop()
        keys.drop()
    return Backup(
        space=space.name,
        log=space.ledger.log,
        events=received.checkpoint.size,
        turns=received.turns,
        root=received.checkpoint.root.hex(),
        log_file=str(log.path),
        keys_file=str(keys.path),
        bytes=size,
        cells_damaged=received.cells_damaged,
    )


def _record(session: Session, through: int | None = None) -> int:
    """Append `content.exported` for the log as it is; an attempt that fails later stays on record."""
    space = session.space
    if through is None:
        with space.ledger.reader() as reader:
            through = reader.frontier().size - 1
    return record_export(space, session.access, ContentGrant(way=ExportWay.BACKUP), {"through": through})


def _write(session: Session, log: OutFile, keys: OutFile, root: RootKey, descriptor: RootDescriptor) -> None:
    space_keys, entropy = session.space.keys, session.space.sources.entropy
    for _ in range(ATTEMPTS_MAX):
        space_keys.refresh()
        ring, stream_key = space_keys.unwrapped, entropy.take(KEY_BYTES)
        with log.writing() as file:
            sealed = SealedWriter(file, stream_key, entropy.take(SALT_BYTES), CONTEXT)
            for frame in given(session.space.ledger, partial(session.progress, "backup")):
                sealed.write(frame)
            sealed.finish()
        with session.space.ledger.reader() as reader:
            # an erasure is replacing keys, and a rotation will end it
            is_between = any(session.space.ledger.segments.owed.of(reader))
            is_between |= session.space.notary.signers.of(reader).key != LogSigners(ring).current.key
        session.space.notary.settle(session.space.ledger)
        space_keys.refresh()
        if not is_between and space_keys.unwrapped.space.keys() == ring.space.keys():
            with keys.writing() as file:
                file.write(escrow.sealed_keys(replace(ring, next_signing=None), stream_key, root, descriptor))
            return
    raise StoreBusy(at="keys", problem="rotated_meanwhile", limit=ATTEMPTS_MAX)


def read_log(
    path: Path, keys: tuple[UnwrappedKeys, bytes], sink: Sink, progress: Progress, marks: Collection[int] = ()
) -> ReceivedLog:
    """Hand a sealed log to a sink, checked by every rule; return what it was, with its roots at some sizes."""
    ring, stream_key = keys
    with reading(path, "source") as file:
        total = os.fstat(file.fileno()).st_size
        stream = SealedReader(file, stream_key, CONTEXT)

        def incoming() -> Iterator[Frame]:
            for frame in frames(stream):
                progress("verify", file.tell(), total)
                yield frame

        return LogReceiver(ring, LogSigners(ring).succession, marks).run(incoming(), sink)


def keys_copy(path: Path) -> escrow.KeysCopy:
    """Return the keys of a backup as they are stored."""
    with reading(path, "keyring") as file:
        return escrow.parse_keys(file.read(KEYS_BYTES_MAX))
