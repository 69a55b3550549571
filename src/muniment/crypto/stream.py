"""Encrypted streams: a document of any length under one key, written and read in constant memory.

Layout: `"muniment-sealed" ‖ 0x01 ‖ salt (32) ‖ chunks`. The chunk key is derived from the caller's key by
HKDF-SHA-256 with the info `"muniment/v1/stream" ‖ salt ‖ context`, so two streams under one key have different chunk
keys. A chunk is AES-256-GCM over up to 64 KiB; its nonce is the number of the chunk (11, big endian) and a byte that is
1 for the last chunk and 0 for all others (STREAM, Hoang et al. 2015). There is always a last chunk, which may be empty.
So changed, missing, moved, truncated and added chunks are detected.

Everything that a reader returns is authentic, but only the end shows that the document is complete: a caller must read
to the end before it acts on a document.
"""

from __future__ import annotations

from typing import BinaryIO, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from muniment.crypto.root import derive
from muniment.crypto.secret import KEY_BYTES
from muniment.errors import Corrupt

MAGIC = b"muniment-sealed\x01"
SALT_BYTES = 32
CHUNK_BYTES = 64 * 1024
TAG_BYTES = 16
SEALED_BYTES = CHUNK_BYTES + TAG_BYTES
COUNTER_BYTES = 11
INFO = b"muniment/v1/stream"


class SealedWriter:
    """Encrypts into a file; `finish` writes the last chunk and leaves the file open."""

    def __init__(self, file: BinaryIO, key: bytes, salt: bytes, context: bytes) -> None:
        assert len(salt) == SALT_BYTES
        self._file = file
        self._aead = AESGCM(derive(key, INFO + salt + context, KEY_BYTES))
        self._buffer = bytearray()
        self._number = 0
        file.write(MAGIC + salt)

    def write(self, data: bytes) -> None:
        """Encrypt more data."""
        self._buffer += data
        while len(self._buffer) > CHUNK_BYTES:  # a full buffer may be the last chunk
            self._seal(bytes(self._buffer[:CHUNK_BYTES]), last=False)
            del self._buffer[:CHUNK_BYTES]

    def finish(self) -> None:
        """Encrypt the rest as the last chunk."""
        self._seal(bytes(self._buffer), last=True)
        self._buffer.clear()

    def _seal(self, chunk: bytes, *, last: bool) -> None:
        self._file.write(self._aead.encrypt(_nonce(self._number, last=last), chunk, None))
        self._number += 1


class Readable(Protocol):
    """What is read from its beginning to its end."""

    def read(self, size: int, /) -> bytes:
        """Return the next `size` bytes; fewer only at the end."""
        ...


class SealedReader:
    """Decrypts a stream; raises `Corrupt` for a changed or truncated stream, or another key."""

    def __init__(self, file: Readable, key: bytes, context: bytes) -> None:
        self._file = file
        head = file.read(len(MAGIC) + SALT_BYTES)
        if len(head) < len(MAGIC) + SALT_BYTES or not head.startswith(MAGIC):
            raise Corrupt(at="sealed stream", problem="layout")
        self._aead = AESGCM(derive(key, INFO + head[len(MAGIC) :] + context, KEY_BYTES))
        self._ahead = file.read(SEALED_BYTES)
        self._buffer = b""
        self._at = 0
        self._number = 0
        self._ended = False

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes; fewer only at the end of the stream."""
        pieces, remaining = [], size
        while remaining:
            if self._at == len(self._buffer) and not self._next():
                break
            piece = self._buffer[self._at : self._at + remaining]
            pieces.append(piece)
            self._at += len(piece)
            remaining -= len(piece)
        return b"".join(pieces)

    def _next(self) -> bool:
        """Decrypt the next chunk; return whether there was one."""
        if self._ended:
            return False
        sealed, self._ahead = self._ahead, self._file.read(SEALED_BYTES)
        self._ended = not self._ahead
        try:
            self._buffer = self._aead.decrypt(_nonce(self._number, last=self._ended), sealed, None)
        except (InvalidTag, ValueError):  # ValueError for less than a tag
            raise Corrupt(at="sealed stream", problem="not_authentic", found=self._number) from None
        self._at = 0
        self._number += 1
        return bool(self._buffer)


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(COUNTER_BYTES) + bytes((last,))
