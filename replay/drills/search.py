"""Looking for many short strings in many bytes at once: in files, logs, and files that have no name any more.

A text is looked for in UTF-8 and in UTF-16 of both byte orders, by its first and by its last bytes, so that one that
was cut at the edge of a page is found as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")
WINDOW = 8  # bytes that are compared in one step
NEEDLE_BYTES = 12  # bytes that must agree before it is called found
DESCRIPTORS = Path("/proc/self/fd")
DELETED = " (deleted)"


def spelled(texts: Iterable[str]) -> list[bytes]:
    """Return the beginning and the end of each text in every encoding that is looked for."""
    found = []
    for text in texts:
        for encoding in ENCODINGS:
            whole = text.encode(encoding)
            found += [whole[:NEEDLE_BYTES], whole[-NEEDLE_BYTES:]]
    return found


class Needles:
    """What is looked for."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        self._needles = {needle[:NEEDLE_BYTES] for needle in needles}
        assert all(len(needle) == NEEDLE_BYTES for needle in self._needles), "a shorter needle is found by chance"
        windows = b"".join(needle[:WINDOW] for needle in self._needles)
        self._windows = np.unique(np.frombuffer(windows, dtype="<u8"))

    def found(self, hay: bytes) -> int:
        """Return at how many places a needle is."""
        hits = 0
        for shift in range(min(WINDOW, max(0, len(hay) - WINDOW + 1))):
            column = np.frombuffer(hay, dtype="<u8", offset=shift, count=(len(hay) - shift) // WINDOW)
            places = np.minimum(np.searchsorted(self._windows, column), len(self._windows) - 1)
            for place in np.flatnonzero(self._windows[places] == column) if len(self._windows) else ():
                start = int(place) * WINDOW + shift
                hits += hay[start : start + NEEDLE_BYTES] in self._needles
        return hits


def files_below(directory: Path) -> Iterator[bytes]:
    """Yield what is in each file below a directory."""
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            yield path.read_bytes()


def nameless_files() -> Iterator[bytes]:
    """Yield what is in each file that this process holds open though it has no name any more."""
    if not DESCRIPTORS.exists():
        return
    for descriptor in sorted(DESCRIPTORS.iterdir()):
        try:
            target = str(descriptor.readlink())
        except FileNotFoundError:
            continue  # the descriptor of this very listing
        if target.startswith("/") and target.endswith(DELETED) and descriptor.is_file():
            yield descriptor.read_bytes()
