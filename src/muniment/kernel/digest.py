"""Digests, each with a purpose.

There is no unsalted hash of content anywhere in a store. What must be found again (a conversation by its id, a turn by
its id) is found through a keyed digest: HMAC-SHA-256 under a key of the space, over the purpose and the parts. Purpose
and parts are length-prefixed, so that no two different requests ever share a digest.
"""

from __future__ import annotations

import base64
import hashlib
from binascii import b2a_base64
from collections.abc import Iterable, Mapping

DIGEST_BYTES = 32
BLOCK_BYTES = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_URL = bytes.maketrans(b"+/", b"-_")
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


# What the salts of the fields in a cell come from: one seed, or (where fields were erased) the salt of each label left.
Salts = bytes | Mapping[str, bytes]


def sha256(data: bytes) -> bytes:
    """Return the SHA-256 of data."""
    return hashlib.sha256(data).digest()


def keyed_digest(key: bytes, purpose: str, *parts: str | bytes) -> bytes:
    """Return HMAC-SHA-256 over a purpose and its parts, injective in both; 32 bytes."""
    return KeyedDigest(key).of(framed(purpose, *parts))


def hmac_of(key: bytes, message: bytes) -> bytes:
    """Return HMAC-SHA-256 of one message under a key of at most a block (RFC 2104), without the setup of `hmac`."""
    block = key.ljust(BLOCK_BYTES, b"\0")
    inner = hashlib.sha256(block.translate(_INNER) + message).digest()
    return hashlib.sha256(block.translate(_OUTER) + inner).digest()


def framed(purpose: str, *parts: str | bytes) -> bytes:
    """Return a purpose and its parts as one message, each with its length before it."""
    message = bytearray()
    for part in (purpose, *parts):
        raw = part.encode() if isinstance(part, str) else part
        message += len(raw).to_bytes(8)
        message += raw
    return bytes(message)


class KeyedDigest:
    """HMAC-SHA-256 of many messages under one key: the two padded key blocks (RFC 2104) are hashed once."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        block = (key if len(key) <= BLOCK_BYTES else sha256(key)).ljust(BLOCK_BYTES, b"\0")
        self._inner = hashlib.sha256(block.translate(_INNER))
        self._outer = hashlib.sha256(block.translate(_OUTER))

    def of(self, message: bytes) -> bytes:
        """Return the 32 bytes of HMAC-SHA-256 of a message."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()

    def of_each(self, messages: Iterable[bytes]) -> list[bytes]:
        """Return the 32 bytes of HMAC-SHA-256 of each message."""
        digests = []
        for message in messages:
            inner, outer = self._inner.copy(), self._outer.copy()
            inner.update(message)
            outer.update(inner.digest())
            digests.append(outer.digest())
        return digests


def b64url(data: bytes) -> str:
    """Return unpadded base64url, the spelling of digests in headers and receipts."""
    return b2a_base64(data, newline=False).translate(_URL, b"=").decode()


def unb64url(text: str) -> bytes:
    """Return the bytes of unpadded base64url; raises ValueError for any other spelling of them."""
    data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if b64url(data) != text:
        raise ValueError("not canonical base64url")
    return data
