"""Pins: the last checkpoint, kept outside the store.

A log can prove that it grew from a known checkpoint. It cannot prove that it was not rolled back to an earlier one,
unless the later checkpoint is kept elsewhere. A pin keeps it. Without a pin, a store that was replaced by an older copy
of itself looks valid.

The file pin has one file for each log, in a directory of the user. A new file is written, synced and renamed. The pin
refuses to go backwards: a smaller tree, or another root for the same size, never replaces the pinned checkpoint.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from muniment.errors import Corrupt, RolledBack, StoreFault, StoreFull, StoreReadOnly
from muniment.evidence.tree import Frontier, Hashes, consistency_proof
from muniment.evidence.verifier import (
    NOTE_BYTES_MAX,
    Checkpoint,
    Refused,
    parse_checkpoint,
    parse_note,
    verify_consistency,
)
from muniment.kernel.digest import sha256

NAME_CHARS = 32
NOT_READ, NOT_PINNED = "not_accessible", "not_pinned"
_REFUSALS = {
    errno.ENOSPC: StoreFull,
    errno.EDQUOT: StoreFull,
    errno.EROFS: StoreReadOnly,
}


class Pin(Protocol):
    """Keeps the last checkpoint of each log in a location that is independent of the store."""

    def read(self, origin: str) -> str | None:
        """Return the last signed note of this origin, or None."""
        ...

    def write(self, origin: str, note: str) -> None:
        """Pin this signed note; raises `RolledBack` or `Corrupt` when it does not extend the pinned one."""
        ...

    def replace(self, origin: str, former: str, note: str) -> None:
        """Pin this signed note instead of `former`, which a restore has abandoned; a copy of `former` is kept.

        Raises `Corrupt` when `former` is not the pinned note. A repeat changes nothing.
        """
        ...


class FilePin:
    """A pin in a directory: one file for each origin, readable only by its owner."""

    def __init__(self, directory: Path | str) -> None:
        self._directory = Path(directory)

    def read(self, origin: str) -> str | None:
        """Return the last signed note of this origin, or None."""
        with _disk(NOT_READ):
            try:
                with self._path(origin).open("rb") as file:
                    data = file.read(NOTE_BYTES_MAX + 1)
            except FileNotFoundError:
                return None
        try:
            note = data.decode()
            pinned = parse_checkpoint(parse_note(note).text)
        except (UnicodeDecodeError, Refused):
            raise Corrupt(at="pin", problem="malformed") from None
        if pinned.origin != origin:
            raise Corrupt(at="pin", problem="foreign_origin")
        return note

    def write(self, origin: str, note: str) -> None:
        """Pin this signed note; raises `RolledBack` or `Corrupt` when it does not extend the pinned one."""
        new = parse_checkpoint(parse_note(note).text)
        assert new.origin == origin, "a checkpoint is pinned under its own origin"
        with _disk(NOT_PINNED), self._locked() as directory:
            pinned = self.read(origin)
            if pinned is not None:
                _check_forward(parse_checkpoint(parse_note(pinned).text), new)
            if pinned != note:
                self._replace(self._path(origin), note.encode(), directory)

    def replace(self, origin: str, former: str, note: str) -> None:
        """Pin this signed note instead of `former`, which a restore has abandoned; a copy of `former` is kept."""
        assert parse_checkpoint(parse_note(note).text).origin == origin, "a checkpoint is pinned under its own origin"
        with _disk(NOT_PINNED), self._locked() as directory:
            pinned = self.read(origin)
            if pinned == note:
                return
            if pinned != former:
                raise Corrupt(at="pin", problem="not_the_former")
            size = parse_checkpoint(parse_note(former).text).size
            self._replace(self._path(origin).with_suffix(f".{size}.abandoned"), former.encode(), directory)
            self._replace(self._path(origin), note.encode(), directory)

    def file_of(self, origin: str) -> Path:
        """Return the file that keeps the checkpoint of this origin."""
        return self._path(origin)

    def _path(self, origin: str) -> Path:
        return self._directory / f"{sha256(origin.encode()).hex()[:NAME_CHARS]}.checkpoint"

    @contextmanager
    def _locked(self) -> Iterator[int]:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
            yield directory
        finally:
            os.close(directory)

    @staticmethod
    def _replace(path: Path, data: bytes, directory: int) -> None:
        temporary = path.with_suffix(".new")
        temporary.unlink(missing_ok=True)  # the directory is locked: such a file was left by a crash
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        temporary.replace(path)
        os.fsync(directory)


def compare(pinned: Checkpoint, hashes: Hashes, head: Frontier) -> None:
    """Prove that the log grew from the pinned checkpoint to its head.

    Raises `RolledBack` when the log is shorter than the pinned one, `Corrupt` when it is another log or was rewritten.
    """
    _check_size(pinned.size, head.size)
    if pinned.size == 0:
        return
    proof = consistency_proof(hashes, pinned.size, head.size)
    try:
        verify_consistency(pinned.size, head.size, proof, pinned.root, head.root())
    except Refused:
        raise Corrupt(at="checkpoint", problem="inconsistent", limit=pinned.size, found=head.size) from None


def _check_forward(pinned: Checkpoint, new: Checkpoint) -> None:
    _check_size(pinned.size, new.size)
    if pinned.size == new.size and pinned.root != new.root:
        raise Corrupt(at="pin", problem="inconsistent", limit=pinned.size, found=new.size)


def _check_size(pinned: int, size: int) -> None:
    if size < pinned:
        raise RolledBack(at="checkpoint", limit=pinned, found=size)


@contextmanager
def _disk(problem: str) -> Iterator[None]:
    try:
        yield
    except OSError as refusal:
        raise _REFUSALS.get(refusal.errno or 0, StoreFault)(at="pin", problem=problem) from None
