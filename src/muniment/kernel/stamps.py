"""Stamps: when something in a log was written. How often the log was restored, then its size; later ones are larger."""

from __future__ import annotations

STAMP_BYTES = 8
SIZE_BITS = 48
SIZE_MASK = (1 << SIZE_BITS) - 1


def stamp_in(seal: bytes) -> int:
    """Return the stamp that the seal of a log begins with; 0 for a log that has none yet."""
    return int.from_bytes(seal[:STAMP_BYTES])
