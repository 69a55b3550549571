"""Stores of keys in one line, and a disk that stops working at a chosen moment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from muniment.crypto.keyring import SpaceKeys
from muniment.crypto.root import LocalRoot
from muniment.crypto.root_sources import RootDescriptor
from muniment.crypto.segment import SpaceKey
from muniment.crypto.store import StoreKeys
from muniment.errors import KeyMissing
from muniment.kernel.sources import SystemEntropy, system_sources

FROM_FILE = RootDescriptor(scheme="file")


def new_root(name: str = "root") -> LocalRoot:
    """Return the root key that has this name; the same name gives the same key."""
    return LocalRoot(name.encode().ljust(32, b"."), SystemEntropy())


def new_space(directory: Path, root: LocalRoot | None = None) -> SpaceKeys:
    """Make the keys of a space."""
    return SpaceKeys.create(directory, "a space", root or new_root(), system_sources())


def opened_space(directory: Path, root: LocalRoot | None = None) -> SpaceKeys:
    """Load the keys of a space as another process would."""
    return SpaceKeys(directory, root or new_root(), SystemEntropy())


def new_store(directory: Path, root: LocalRoot | None = None) -> StoreKeys:
    """Make the keys of a store."""
    return StoreKeys.create(directory, root or new_root(), FROM_FILE, system_sources())


class OneEntropy:
    """Gives the bytes that it was made with."""

    def __init__(self, chance: bytes) -> None:
        self._chance = chance

    def take(self, size: int) -> bytes:
        """Return them."""
        assert size == len(self._chance)
        return self._chance


class Versions:
    """A keyring in a dictionary."""

    def __init__(self, *keys: SpaceKey) -> None:
        self._by = {key.version: key for key in keys}

    def by_version(self, version: int) -> SpaceKey:
        """Return that version."""
        if version not in self._by:
            raise KeyMissing(found=version)
        return self._by[version]


def flipped(data: bytes, bit: int) -> bytes:
    """Return data with one bit changed."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def neighbours(key: bytes) -> list[bytes]:
    """Return every key that differs in one bit."""
    return [flipped(key, bit) for bit in range(len(key) * 8)]


def everything_under(directory: Path) -> bytes:
    """Return the contents of every file below a directory."""
    return b"\n".join(path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file())


class Crash(BaseException):
    """The machine stopped. Nothing catches it, as nothing catches a power cut."""


class Disk:
    """Counts what is asked of the disk and stops before the chosen call; a write that is stopped is half done."""

    CALLS = ("fsync", "link", "rename", "unlink", "mkdir", "write")

    def __init__(self) -> None:
        self.calls = 0
        self.stop_at: int | None = None
        self.refusal: BaseException = Crash()

    def wrap(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the call with this disk in between."""

        def counted(*args: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls == self.stop_at:
                if name == "write" and isinstance(self.refusal, Crash):
                    call(args[0], args[1][: len(args[1]) // 2])
                raise self.refusal
            # A sync takes time and shows nothing here: nothing is taken from the machine's memory.
            return None if name == "fsync" else call(*args, **named)

        return counted

    @contextmanager
    def stopping_at(self, call: int | None, refusal: BaseException | None = None) -> Iterator[None]:
        """Stop before this call, counted from 1 from now on."""
        self.calls, self.stop_at, self.refusal = 0, call, refusal or Crash()
        try:
            yield
        finally:
            self.stop_at = None

    @classmethod
    @contextmanager
    def watched(cls) -> Iterator[Disk]:
        """Stand between the process and its disk."""
        disk = cls()
        with pytest.MonkeyPatch.context() as patch:
            for name in cls.CALLS:
                patch.setattr(os, name, disk.wrap(name, getattr(os, name)))
            yield disk
