"""How many requests a client may send: a bucket of tokens for each, in memory, or in a file that processes share."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

from muniment.errors import RateExceeded
from muniment.log.operational_file import OperationalFile

KIND = "bucket"
BUCKET = struct.Struct(">dq")  # tokens, and as of when
MINUTE_MS = 60_000


class Rates:
    """The buckets of all clients. A bucket holds a minute's requests and fills evenly. Thread-safe.

    Whoever has the same file and key has the same buckets. A bucket that is full again is forgotten, and a file that is
    lost is as if all were full, so nothing is flushed.
    """

    def __init__(self, path: Path | None = None, key: bytes = b"") -> None:
        self._is_shared = path is not None
        self._file = OperationalFile(path, is_flushed=False)
        self._key = key

    @property
    def is_shared(self) -> bool:
        """Whether the buckets are in a file, so that taking a token may wait."""
        return self._is_shared

    def take(self, client: str, per_minute: int, now_ms: int) -> None:
        """Take a token of a client, or raise `request.rate_exceeded`."""
        taken: list[bool] = []

        def take_one(kept: bytes | None) -> bytes:
            tokens, since_ms = (float(per_minute), now_ms) if kept is None else BUCKET.unpack(kept)
            tokens = min(per_minute, tokens + max(0, now_ms - since_ms) * per_minute / MINUTE_MS)
            taken.append(tokens >= 1)
            return BUCKET.pack(tokens - 1 if taken[-1] else tokens, now_ms)

        name = hashlib.blake2b(client.encode(), key=self._key).digest()
        self._file.change(KIND, name, now_ms, take_one, now_ms + MINUTE_MS)
        if not taken[-1]:
            raise RateExceeded(limit=per_minute)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
