"""Snapshots: what is derived from a log at rest, sealed. Named files in the directory of the space.

Layout: a line of canonical JSON (`SnapshotLabel`), then a sealed stream (`crypto.stream`) under a key of its own, fresh
for each file. The line holds that key, sealed under the version of the space key that was in force (`crypto.segment`)
in the context `PURPOSE ‖ binding`. The binding is the line without the key, and also the context of the stream. So a
snapshot opens for nothing but what it is bound to, and for nobody once the space key was rotated (decision 0104).

A snapshot is never needed. One that does not open, does not match or is cut off is removed, and what it held is made
from the log. So no method here raises for the contents of a file, or for a write that the disk refuses.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec import Struct, convert
from msgspec.json import Decoder
from msgspec.structs import asdict

from muniment.crypto import files
from muniment.crypto.file_format import check_format, parse_canonical
from muniment.crypto.secret import KEY_BYTES
from muniment.crypto.segment import NONCE_BYTES, SpaceKey, SpaceKeyring, open_sealed
from muniment.crypto.stream import SALT_BYTES, SealedReader, SealedWriter
from muniment.errors import Corrupt, MunimentError
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import b64url, unb64url
from muniment.kernel.sources import Entropy

FORMAT = 4
PREFIX, SUFFIX, WAITING = "index-", ".sealed", ".new"  # the prefix is that of search indexes
LINE_BYTES_MAX = 4096
PURPOSE = b"muniment/index"
LENGTH_BYTES = 4


class SnapshotRefusal(StrEnum):
    """Why a snapshot was not used: it is damaged, its key is retired, or it is of something else."""

    DAMAGED = "damaged"
    KEY_RETIRED = "key_retired"
    OTHER = "other"


class SnapshotBinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a snapshot is of: the first `size` events of an epoch of a log, with that root, in a projection.

    `name` is that of the projection: of an index, the view. `life` is the epoch, `release` that of the code that made
    it, `detection` a keyed digest of what is detected (empty where nothing is).
    """

    format: int = FORMAT
    log: str
    life: str
    name: str
    size: int
    root: str
    release: str
    detection: str = ""


class SnapshotLabel(SnapshotBinding, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line of a snapshot."""

    key: str

    @property
    def binding(self) -> SnapshotBinding:
        """The line without its key."""
        return convert(self, SnapshotBinding, from_attributes=True)


class SnapshotKey(NamedTuple):
    """The key of a snapshot, with its label as it was read."""

    label: SnapshotLabel
    key: bytes


_label = Decoder(SnapshotLabel)
_table = Decoder(list[tuple[str, int]])


class Snapshots:
    """The snapshots of one space."""

    def __init__(self, directory: Path, keyring: SpaceKeyring, entropy: Entropy, prefix: str = PREFIX) -> None:
        self._prefix = prefix
        self._directory = directory
        self._keyring = keyring
        self._entropy = entropy

    def has(self, name: str) -> bool:
        """Return whether there is a snapshot of this name."""
        return self._path(name).exists()

    def names(self) -> set[str]:
        """Return the names of the snapshots that there are."""
        begin, end = len(self._prefix), -len(SUFFIX)
        return {path.name[begin:end] for path in self._paths(SUFFIX)}

    def unlock(self, name: str) -> SnapshotKey | None:
        """Return the key of a snapshot while the space key is in force; None when nothing opens it any more."""
        try:
            with files.faults(SUFFIX), self._path(name).open("rb") as file:
                return self._unlocked(file)
        except MunimentError:
            return None

    def read(self, name: str, key: SnapshotKey) -> dict[str, bytes] | None:
        """Return the sections of a snapshot, or None when it is another one than that of the key, or is damaged."""
        try:
            with files.faults(SUFFIX), self._path(name).open("rb") as file:
                if _line(file) != encode_plain(key.label):
                    return None
                return _sections(SealedReader(file, key.key, encode_plain(key.label.binding)))
        except MunimentError:
            return None

    def write(self, binding: SnapshotBinding, space_key: SpaceKey, sections: Iterable[tuple[str, bytes]]) -> bool:
        """Replace a snapshot; return whether the disk took it."""
        chance = self._entropy.take(KEY_BYTES + NONCE_BYTES + SALT_BYTES)
        key, nonce = chance[:KEY_BYTES], chance[KEY_BYTES : KEY_BYTES + NONCE_BYTES]
        sealed_key = space_key.seal(nonce, key, PURPOSE + encode_plain(binding))
        waiting = self._directory / f"{self._prefix}{binding.name}.{self._entropy.take(4).hex()}{WAITING}"
        try:
            with files.faults(SUFFIX), _private(waiting) as file:
                file.write(encode_plain(SnapshotLabel(**asdict(binding), key=b64url(sealed_key))) + b"\n")
                writer = SealedWriter(file, key, chance[-SALT_BYTES:], encode_plain(binding))
                pieces = list(sections)
                table = encode_plain([(name, len(data)) for name, data in pieces])
                writer.write(len(table).to_bytes(LENGTH_BYTES) + table)
                for _, data in pieces:
                    writer.write(data)
                writer.finish()
                file.flush()
                os.fsync(file.fileno())
            with files.faults(SUFFIX):
                waiting.replace(self._path(binding.name))
                files.sync_directory(self._directory)
        except MunimentError:
            _unlink(waiting)
            return False
        return True

    def remove(self, name: str) -> None:
        """Remove a snapshot."""
        _unlink(self._path(name))

    def clear(self) -> None:
        """Remove all snapshots, unfinished ones too."""
        for path in self._paths(SUFFIX, WAITING):
            _unlink(path)

    def tidy(self) -> None:
        """Remove what interrupted writers left."""
        for path in self._paths(WAITING):
            _unlink(path)

    def _paths(self, *suffixes: str) -> list[Path]:
        """Return the files with one of these endings; none where there is no directory, or it cannot be read."""
        try:
            names = os.listdir(self._directory)  # noqa: PTH208 - no interrupt leaves it open, as it would `Path.glob`
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return []
        return [self._directory / name for name in names if name.startswith(self._prefix) and name.endswith(suffixes)]

    def _unlocked(self, file: BinaryIO) -> SnapshotKey:
        line = _line(file)
        check_format(line, SUFFIX, FORMAT)
        label = parse_canonical(line, _label, SUFFIX)
        try:
            sealed_key = unb64url(label.key)
        except ValueError:
            raise Corrupt(at=SUFFIX, problem="malformed") from None
        key = open_sealed(self._keyring, sealed_key, PURPOSE + encode_plain(label.binding), SUFFIX)
        return SnapshotKey(label, key)

    def _path(self, name: str) -> Path:
        return self._directory / f"{self._prefix}{name}{SUFFIX}"


def _line(file: BinaryIO) -> bytes:
    line = file.readline(LINE_BYTES_MAX)
    if not line.endswith(b"\n"):
        raise Corrupt(at=SUFFIX, problem="malformed")
    return line[:-1]


def _sections(reader: SealedReader) -> dict[str, bytes]:
    table = _table.decode(reader.read(int.from_bytes(reader.read(LENGTH_BYTES))))
    sections = {name: reader.read(size) for name, size in table}
    reader.read(1)  # the end, or it was cut off
    return sections


def _private(path: Path) -> BinaryIO:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, files.FILE_MODE)
    return os.fdopen(descriptor, "wb")


def _unlink(path: Path) -> None:
    """Remove a file, as far as that is allowed."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
