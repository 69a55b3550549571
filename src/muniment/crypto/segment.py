"""The two levels of keys above an envelope: the key of a space, and the keys of its segments.

A segment is `SEGMENT_EVENTS` positions of the log. Its key seals the envelopes of its events (`crypto.cell`). The
keys of `SEGMENTS_IN_ROW` segments are stored together in one row, sealed under the key of the space:

`0x01 ‖ version of the space key (4, big endian) ‖ nonce (12) ‖ AES-256-GCM body` over
`key id (4) ‖ key (32)` of each segment, in order, from the first segment of the row; associated data:
`"muniment/segments" ‖ number of the row (8) ‖ the first 5 bytes`.

So the key of a space is replaced by sealing one row for every 65,536 events again. What was sealed under the former key
of a segment opens for nobody once no row holds that key under a space key that exists.

Whatever else is destroyed with the space key, such as the key of a snapshot, is sealed the same way, under a context
of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from muniment.crypto.secret import KEY_BYTES, Secret
from muniment.errors import Corrupt

SEGMENT_BITS = 10
SEGMENT_EVENTS = 1 << SEGMENT_BITS
SEGMENTS_IN_ROW = 64

SEALED_VERSION = b"\x01"
KEY_ID_BYTES = 4
NONCE_BYTES = 12
TAG_BYTES = 16
SEGMENTS_CONTEXT = b"muniment/segments"
ENVELOPE_CONTEXT = b"muniment/envelope"

_HEAD = struct.Struct(f">cI{NONCE_BYTES}s")
_ENTRY = struct.Struct(f"{KEY_ID_BYTES}s{KEY_BYTES}s")
SEGMENT_ENTROPY_BYTES = _ENTRY.size


class SpaceKey(Secret):
    """One version of the key of a space, with its cipher."""

    __slots__ = ("aead", "head", "secret", "version")

    def __init__(self, version: int, secret: bytes) -> None:
        self.version = version
        self.secret = secret
        self.head = SEALED_VERSION + version.to_bytes(4)
        self.aead = AESGCM(secret)

    def _label(self) -> str:
        return f"version {self.version}"

    def seal(self, nonce: bytes, plaintext: bytes, context: bytes) -> bytes:
        """Return something sealed under this version."""
        assert len(nonce) == NONCE_BYTES
        return self.head + nonce + self.aead.encrypt(nonce, plaintext, context + self.head)


class SpaceKeyring(Protocol):
    """Returns the key of a space by its version."""

    def by_version(self, version: int) -> SpaceKey:
        """Return that version, or raise `KeyMissing`."""
        ...


class SegmentKey(Secret):
    """The key of one segment, with its cipher. `context` is what all envelopes under it are bound to."""

    __slots__ = ("aead", "context", "head", "key_id", "number", "secret")

    key_id: bytes
    secret: bytes

    def __init__(self, number: int, entry: bytes) -> None:
        self.number = number
        self.key_id, self.secret = _ENTRY.unpack(entry)
        self.head = SEALED_VERSION + self.key_id
        self.context = ENVELOPE_CONTEXT + self.head + number.to_bytes(8)
        self.aead = AESGCM(self.secret)

    def _label(self) -> str:
        return f"{self.number} {self.key_id.hex()}"

    @property
    def entry(self) -> bytes:
        """The key as it is stored in its row."""
        return self.key_id + self.secret


def open_sealed(keyring: SpaceKeyring, sealed: bytes, context: bytes, at: str) -> bytes:
    """Return what was sealed under a space key.

    Raises `Corrupt` when it or its context differs from what was sealed, and `KeyMissing` when its key was destroyed.
    """
    version = sealing_version(sealed, at)
    key = keyring.by_version(version)
    try:
        return key.aead.decrypt(sealed[len(key.head) : _HEAD.size], sealed[_HEAD.size :], context + key.head)
    except InvalidTag:
        raise Corrupt(at=at, problem="not_authentic") from None


def sealing_version(sealed: bytes, at: str) -> int:
    """Return the version of the space key that something names; only opening it authenticates that."""
    if len(sealed) < _HEAD.size + TAG_BYTES:
        raise Corrupt(at=at, problem="layout")
    mark, version, _ = _HEAD.unpack_from(sealed)
    if mark != SEALED_VERSION:
        raise Corrupt(at=at, problem="layout")
    return int(version)


def seal_segments(space_key: SpaceKey, nonce: bytes, row: int, keys: Sequence[SegmentKey]) -> bytes:
    """Return the keys of the segments of a row, from its first segment on, sealed."""
    assert [key.number for key in keys] == list(range(row * SEGMENTS_IN_ROW, row * SEGMENTS_IN_ROW + len(keys)))
    return space_key.seal(nonce, b"".join([key.entry for key in keys]), _row_context(row))


def open_segments(keyring: SpaceKeyring, row: int, sealed: bytes) -> list[SegmentKey]:
    """Return the keys of the segments of a row; raises `Corrupt` or `KeyMissing`."""
    at = f"segments {row}"
    entries = open_sealed(keyring, sealed, _row_context(row), at)
    if len(entries) % _ENTRY.size or not 0 < len(entries) <= SEGMENTS_IN_ROW * _ENTRY.size:
        raise Corrupt(at=at, problem="layout")
    first = row * SEGMENTS_IN_ROW
    starts = range(0, len(entries), _ENTRY.size)
    return [SegmentKey(number, entries[start : start + _ENTRY.size]) for number, start in enumerate(starts, first)]


def _row_context(row: int) -> bytes:
    return SEGMENTS_CONTEXT + row.to_bytes(8)
