"""Pins: the last checkpoint, kept outside the store.

A log can prove that it grew from a checkpoint somebody remembers; it cannot prove that it was not rolled back to one
that everybody forgot. A pin remembers. Without one, a store that was replaced by an older copy of itself looks sound.

The file pin is one file for each log in a directory of the user's, written beside, synced and renamed. It refuses to go
backwards by itself: a smaller tree, or another root for the same size, is never written over what it holds.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from muniment.errors import Corrupt, RolledBack, StoreFault
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


class Pin(Protocol):
    """Remembers the last checkpoint of each log, somewhere that does not share the fate of the store."""

    def read(self, origin: str) -> str | None:
        """Return the signed note that was written last for this origin, or None."""
        ...

    def write(self, origin: str, note: str) -> None:
        """Remember this signed note; raises `RolledBack` or `Corrupt` when it does not go forward."""
        ...

    def replace(self, origin: str, former: str, note: str) -> None:
        """Remember this signed note in place of `former`, which a restore has abandoned; `former` is kept aside.

        Raises `Corrupt` when it is not `former` that is remembered. A repeat changes nothing.
        """
        ...


class FilePin:
    """A pin in a directory: one file for each origin, readable by its owner alone."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, origin: str) -> str | None:
        """Return the signed note that was written last for this origin, or None."""
        with _disk():
            try:
                with self._path(origin).open("rb") as file:
                    data = file.read(NOTE_BYTES_MAX + 1)
            except FileNotFoundError:
                return None
        try:
            note = data.decode()
            held = parse_checkpoint(parse_note(note).text)
        except (UnicodeDecodeError, Refused):
            raise Corrupt(at="pin", problem="malformed") from None
        if held.origin != origin:
            raise Corrupt(at="pin", problem="foreign_origin")
        return note

    def write(self, origin: str, note: str) -> None:
        """Remember this signed note; raises `RolledBack` or `Corrupt` when it does not go forward."""
        new = parse_checkpoint(parse_note(note).text)
        assert new.origin == origin, "a checkpoint is pinned under its own origin"
        with _disk(), self._locked() as directory:
            held = self.read(origin)
            if held is not None:
                _forward(parse_checkpoint(parse_note(held).text), new)
            if held != note:
                self._replace(self._path(origin), note.encode(), directory)

    def replace(self, origin: str, former: str, note: str) -> None:
        """Remember this signed note in place of `former`, which a restore has abandoned; `former` is kept aside."""
        assert parse_checkpoint(parse_note(note).text).origin == origin, "a checkpoint is pinned under its own origin"
        with _disk(), self._locked() as directory:
            held = self.read(origin)
            if held == note:
                return
            if held != former:
                raise Corrupt(at="pin", problem="not_the_former")
            size = parse_checkpoint(parse_note(former).text).size
            self._replace(self._path(origin).with_suffix(f".{size}.abandoned"), former.encode(), directory)
            self._replace(self._path(origin), note.encode(), directory)

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
        beside = path.with_suffix(".new")
        beside.unlink(missing_ok=True)  # the directory is locked: what lies here was left by a crash
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        beside.replace(path)
        os.fsync(directory)


def compare(pinned: Checkpoint, hashes: Hashes, head: Frontier) -> None:
    """Prove that the log grew from the pinned checkpoint to its head.

    Raises `RolledBack` when the log is shorter than the pin says, `Corrupt` when it is another log or another past.
    """
    _backwards(pinned.size, head.size)
    if pinned.size == 0:
        return
    proof = consistency_proof(hashes, pinned.size, head.size)
    try:
        verify_consistency(pinned.size, head.size, proof, pinned.root, head.root())
    except Refused:
        raise Corrupt(at="checkpoint", problem="inconsistent", limit=pinned.size, found=head.size) from None


def _forward(held: Checkpoint, new: Checkpoint) -> None:
    _backwards(held.size, new.size)
    if held.size == new.size and held.root != new.root:
        raise Corrupt(at="pin", problem="inconsistent", limit=held.size, found=new.size)


def _backwards(pinned: int, found: int) -> None:
    if found < pinned:
        raise RolledBack(at="checkpoint", limit=pinned, found=found)


@contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except OSError:
        raise StoreFault(at="pin", problem="not_accessible") from None
