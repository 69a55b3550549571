"""Directories and files opened one beneath the other, so that no link is followed out of the first one.

A link that is put there meanwhile is not followed either. Nothing is changed, not even the time of the last access
where the system lets a reader leave it.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muniment.errors import FileUnavailable

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe that is there instead of a file does not block
_BENEATH = _READ | os.O_NOFOLLOW
_NO_ACCESS_TIME = getattr(os, "O_NOATIME", 0)  # only Linux has it


@contextmanager
def directory_beneath(path: Path | str, beneath: int | None = None) -> Iterator[int]:
    """Open a directory, beneath another one or from where we are; a link only where nothing is above."""
    opened = _opened(path, (_READ if beneath is None else _BENEATH) | os.O_DIRECTORY, beneath)
    try:
        yield opened
    finally:
        os.close(opened)


def file_beneath(name: str, beneath: int) -> io.BufferedReader:
    """Open a file of a directory that was opened, for reading; never a link."""
    return open(_opened(name, _BENEATH, beneath), "rb")


def _opened(path: Path | str, flags: int, beneath: int | None) -> int:
    """Open a path and leave its time of access, where that is allowed: it is for owners alone."""
    try:
        return os.open(path, flags | _NO_ACCESS_TIME, dir_fd=beneath)
    except PermissionError:
        return os.open(path, flags, dir_fd=beneath)


def problem_of(fault: OSError | ValueError) -> str:
    """Return the word for a fault of the operating system."""
    return FileUnavailable.because(fault, at="directory").problem or FileUnavailable.code
