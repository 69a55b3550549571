"""A disk that is really small: a file system in memory of a few mebibytes, mounted for one command and its children.

It takes a namespace of its own (`unshare`), so it needs no rights; where the system does not allow that there is none.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PAGE_BYTES = 4096
MOUNTED = 'mount -t tmpfs -o "size=$1" tmpfs "$2" && shift 2 && exec "$@"'


@functools.cache
def has_small_disks() -> bool:
    """Tell whether such a disk can be mounted here."""
    if shutil.which("unshare") is None:
        return False
    with tempfile.TemporaryDirectory() as place:
        return on_small_disk(Path(place), 1 << 20, ["true"]).returncode == 0


def on_small_disk(place: Path, size_bytes: int, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command that finds a new disk of a size at a place; the disk goes with it."""
    apart = ["unshare", "--user", "--map-root-user", "--mount", "--", "/bin/sh", "-c", MOUNTED, "sh"]
    words = [*apart, str(size_bytes), str(place), *command]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def fill(place: Path) -> None:
    """Fill the disk at a place to its last byte."""
    with (place / "filling").open("ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(PAGE_BYTES))
        except OSError:
            return


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Take away, for a while, the right to write to the disk at a place."""
    _remount(place, "ro")
    try:
        yield
    finally:
        _remount(place, "rw")


def _remount(place: Path, how: str) -> None:
    mount = shutil.which("mount")
    assert mount is not None, "it has mounted the disk"
    subprocess.run([mount, "-o", f"remount,{how}", str(place)], check=True)
