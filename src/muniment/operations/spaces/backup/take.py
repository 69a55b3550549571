"""Taking a backup: two sealed files, read back before they get their names.

1. the keys of the space are looked at;
2. the log is written to `log.sealed` under a fresh key (`ledger.transfer`), part by part, while others go on writing;
3. the keys are looked at again: when a rotation came in between, an erasure perhaps, the log is written anew;
4. the keys of the space and the fresh key are written to `keys.sealed`, under the root key of the store or another;
5. both files are read back from the disk and held to every rule that a restore holds them to.

Nothing readable leaves the store, headers, times and names included (decision 0090).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from msgspec import Struct

from muniment.crypto import escrow
from muniment.crypto.keyring import UnwrappedKeys
from muniment.crypto.root import RootKey
from muniment.crypto.root_sources import RootDescriptor
from muniment.crypto.secret import KEY_BYTES
from muniment.crypto.stream import SALT_BYTES, SealedReader, SealedWriter
from muniment.declaration.session import Session
from muniment.errors import StoreBusy
from muniment.evidence.notes import Signer, origin_of
from muniment.ledger.transfer import Discard, Frame, LogReceiver, ReceivedLog, Sink, frames, given
from muniment.operations.outfile import OutFile, outside, reading
from muniment.space.options import Progress

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


class BackingUp:
    """A space on its way into two files."""

    def __init__(self, session: Session, target: Path, keyring: Path | None, sealed_by: str | None) -> None:
        self._session = session
        self._space = session.space
        self._log = OutFile(target / LOG_FILE, "target")
        self._keys = OutFile((keyring or target) / KEYS_FILE, "target" if keyring is None else "keyring")
        self._sealed_by = sealed_by

    def run(self) -> Backup:
        """Write both files, read them back, give them their names, and report."""
        root, descriptor = self._session.store.seal(self._sealed_by)
        try:
            self._write(root, descriptor)
            log = self._log.beside
            keys = escrow.open_keys(keys_copy(self._keys.beside), root)
            taken = read_log(log, keys, Discard(), self._session.progress)
            with outside("target"):
                size = log.stat().st_size
            self._log.keep()
            self._keys.keep()
        finally:
            self._log.drop()
            self._keys.drop()
        return Backup(
            space=self._space.name,
            log=self._space.ledger.log,
            events=taken.checkpoint.size,
            turns=taken.turns,
            root=taken.checkpoint.root.hex(),
            log_file=str(self._log.path),
            keys_file=str(self._keys.path),
            bytes=size,
            cells_damaged=taken.cells_damaged,
        )

    def _write(self, root: RootKey, descriptor: RootDescriptor) -> None:
        entropy, keys = self._space.sources.entropy, self._space.keys
        for _ in range(ATTEMPTS_MAX):
            keys.refresh()
            ring, stream_key = keys.unwrapped, entropy.take(KEY_BYTES)
            with self._log.writing() as file:
                sealed = SealedWriter(file, stream_key, entropy.take(SALT_BYTES), CONTEXT)
                for frame in given(self._space.ledger, self._told):
                    sealed.write(frame)
                sealed.finish()
            keys.refresh()
            if keys.unwrapped.space.keys() == ring.space.keys():
                with self._keys.writing() as file:
                    file.write(escrow.sealed_keys(ring, stream_key, root, descriptor))
                return
        raise StoreBusy(at="keys", problem="rotated_meanwhile", limit=ATTEMPTS_MAX)

    def _told(self, done: int, total: int) -> None:
        self._session.progress("backup", done, total)


def read_log(
    path: Path, keys: tuple[UnwrappedKeys, bytes], sink: Sink, progress: Progress, marks: Collection[int] = ()
) -> ReceivedLog:
    """Hand a sealed log to a sink, held to every rule; return what it was, with its roots at some sizes."""
    ring, stream_key = keys
    with reading(path, "source") as file:
        total = os.fstat(file.fileno()).st_size
        stream = SealedReader(file, stream_key, CONTEXT)

        def told() -> Iterator[Frame]:
            for frame in frames(stream):
                progress("verify", file.tell(), total)
                yield frame

        return LogReceiver(ring, Signer(origin_of(ring.log_id), ring.signing_seed).key, marks).run(told(), sink)


def keys_copy(path: Path) -> escrow.KeysCopy:
    """Return the keys of a backup as they are stored."""
    with reading(path, "keyring") as file:
        return escrow.parse_keys(file.read(KEYS_BYTES_MAX))
