"""Cells and key bundles: how the content of an event is encrypted on disk.

An event has up to one cell per class. Each cell has a single-use key. The keys of an event are stored together in one
key bundle, sealed under the key of its segment (`crypto.segment`). Destroying its key erases a cell.

Cell: `0x01 ‖ codec (1: 0 raw, 1 zlib) ‖ key id (4) ‖ nonce (12) ‖ AES-256-GCM body`; associated data:
`"muniment/cell" ‖ the first 6 bytes of the cell ‖ leaf (32) ‖ class (1)`.

Bundle: `0x01 ‖ id of the segment key (4) ‖ nonce (12) ‖ AES-256-GCM body` over
`class (1) ‖ key id (4) ‖ key (32)` in ascending order of class; associated data:
`"muniment/bundle" ‖ the first 5 bytes of the bundle ‖ number of the segment (8) ‖ leaf ‖ place`. The place is the
event's row as packed by the log, so an edited column is detected.

These functions are the hot path: an append encrypts two cells and one bundle, a page of fifty turns decrypts up to a
hundred cells. The cipher of the segment key is cached, those of single-use keys are not.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from muniment.crypto.secret import KEY_BYTES, Secret
from muniment.crypto.segment import KEY_ID_BYTES, NONCE_BYTES, SEALED_VERSION, TAG_BYTES, SegmentKey
from muniment.errors import Corrupt, LimitExceeded

PLAINTEXT_BYTES_MAX = 64 * 1024 * 1024

# Which cells are compressed, and how. Measured on turns of the airline corpus in msgpack (one core of a server, 2026):
#   334 bytes become 263 in 7 µs, 703 become 422 in 8.5 µs, 4,042 become 1,423 in 19 µs; inflating takes 3 to 5 µs.
#   Levels 3 and 6 cost the same below 1 KB and save 2 %; above, they cost up to twice as much and save 8 %.
#   Below 512 bytes the saving (some 70 bytes) is not worth a third of the time that sealing a whole turn takes.
#   Small cells are written with the fixed Huffman code: on 3,000 stretches of real dialogue, 894 bytes become 578
#   instead of 501, and are inflated in 5.1 µs instead of 9.3, which is a fifth of what a page of turns costs.
#   The window of a small cell is small: zlib's defaults (window 15, memory 8) ask the allocator for 270 KB each time,
#   which may be given back and faulted in again, and then the same 703 bytes cost 36 µs.
DEFLATE_FROM_BYTES = 512
DEFLATE_LEVEL = 1
SMALL_BYTES_MAX, SMALL_WINDOW_BITS, SMALL_MEMORY = 8192, 13, 5
LARGE_WINDOW_BITS, LARGE_MEMORY = 15, 8

CELL_CONTEXT = b"muniment/cell"
RAW, ZLIB = b"\x01\x00", b"\x01\x01"
LEAF_BYTES = 32
CELL_NONCE_BYTES = NONCE_BYTES

_CELL = struct.Struct(f"2s{KEY_ID_BYTES}s{NONCE_BYTES}s")
_KEY_ENTROPY = struct.Struct(f"{KEY_ID_BYTES}s{KEY_BYTES}s")
_ENTRY = struct.Struct(f"B{KEY_ID_BYTES}s{KEY_BYTES}s")

CELL_BODY_AT = _CELL.size
BUNDLE_HEAD_BYTES = len(SEALED_VERSION) + KEY_ID_BYTES
BUNDLE_BODY_AT = BUNDLE_HEAD_BYTES + NONCE_BYTES
KEY_ENTROPY_BYTES = _KEY_ENTROPY.size

PlacedBundle = tuple[int, bytes, bytes]  # the position of its event, the bundle, leaf and place joined
Squeezed = tuple[bytes, bytes]  # the first two bytes of the cell, and its plaintext body

_unmade = object.__new__  # makes a key without the call of its constructor, which would double the time

_CLASS = tuple(bytes((cls,)) for cls in range(256))


class CellKey(Secret):
    """The key of one cell, used once."""

    __slots__ = ("key_id", "secret")

    def __init__(self, key_id: bytes, secret: bytes) -> None:
        self.key_id = key_id
        self.secret = secret

    def _label(self) -> str:
        return self.key_id.hex()


def keys_from(entropy: bytes, classes: Sequence[int]) -> dict[int, CellKey]:
    """Return a new key for each class, made of `KEY_ENTROPY_BYTES` of entropy each."""
    assert len(entropy) == KEY_ENTROPY_BYTES * len(classes)
    keys = {}
    for cls, (key_id, secret) in zip(classes, _KEY_ENTROPY.iter_unpack(entropy), strict=True):
        key = keys[cls] = _unmade(CellKey)
        key.key_id, key.secret = key_id, secret
    return keys


# --- cells ------------------------------------------------------------------------------------------------------------


def seal_cell(key: CellKey, nonce: bytes, plaintext: bytes, leaf: bytes, cls: int) -> bytes:
    """Return the plaintext as a cell of the event with this leaf; the key must not have sealed anything before."""
    return seal_squeezed(key, nonce, squeeze(plaintext), leaf, cls)


def squeeze(plaintext: bytes) -> Squeezed:
    """Return the plaintext in the codec that its cell will name; needs no key and no place, so it can be done early."""
    if len(plaintext) >= DEFLATE_FROM_BYTES:
        packed = _deflate(plaintext)
        if len(packed) < len(plaintext):
            return ZLIB, packed
    return RAW, plaintext


def seal_squeezed(key: CellKey, nonce: bytes, squeezed: Squeezed, leaf: bytes, cls: int) -> bytes:
    """Return what was squeezed as a cell; as `seal_cell`."""
    assert len(nonce) == NONCE_BYTES
    assert len(leaf) == LEAF_BYTES
    codec, body = squeezed
    head = codec + key.key_id
    return head + nonce + AESGCM(key.secret).encrypt(nonce, body, CELL_CONTEXT + head + leaf + _CLASS[cls])


def open_cell(key: CellKey, sealed: bytes, leaf: bytes, cls: int) -> bytes:
    """Return the plaintext of a cell, or raise `Corrupt` when it is not what was sealed for this event and class."""
    if len(sealed) < CELL_BODY_AT + TAG_BYTES:
        raise Corrupt(at="cell", problem="layout")
    codec, key_id, nonce = _CELL.unpack_from(sealed)
    if key_id != key.key_id:
        raise Corrupt(at="cell", problem="layout")
    context = CELL_CONTEXT + codec + key_id + leaf + _CLASS[cls]
    try:
        body = AESGCM(key.secret).decrypt(nonce, sealed[CELL_BODY_AT:], context)
        if codec == RAW:
            return body
        if codec != ZLIB:
            raise Corrupt(at="cell", problem="codec")
        inflater = zlib.decompressobj()
        plaintext = inflater.decompress(body, PLAINTEXT_BYTES_MAX + 1)
    except InvalidTag:
        raise Corrupt(at="cell", problem="not_authentic") from None
    except zlib.error:
        raise Corrupt(at="cell", problem="not_zlib") from None
    if len(plaintext) > PLAINTEXT_BYTES_MAX:
        raise Corrupt(at="cell", problem="too_long", limit=PLAINTEXT_BYTES_MAX)
    if not inflater.eof or inflater.unused_data:
        raise Corrupt(at="cell", problem="not_zlib")
    return plaintext


def _deflate(plaintext: bytes) -> bytes:
    size = len(plaintext)
    if size <= SMALL_BYTES_MAX:
        deflater = zlib.compressobj(DEFLATE_LEVEL, zlib.DEFLATED, SMALL_WINDOW_BITS, SMALL_MEMORY, zlib.Z_FIXED)
    elif size <= PLAINTEXT_BYTES_MAX:
        deflater = zlib.compressobj(DEFLATE_LEVEL, zlib.DEFLATED, LARGE_WINDOW_BITS, LARGE_MEMORY)
    else:
        raise LimitExceeded(at="cell", problem="too_long", limit=PLAINTEXT_BYTES_MAX, found=size)
    return deflater.compress(plaintext) + deflater.flush()


# --- bundles ----------------------------------------------------------------------------------------------------------


def seal_bundle(segment_key: SegmentKey, nonce: bytes, keys: Mapping[int, CellKey], leaf: bytes, place: bytes) -> bytes:
    """Return the keys of an event's cells, by class, sealed for the row of this event."""
    assert len(nonce) == NONCE_BYTES
    entries = b"".join([_CLASS[cls] + keys[cls].key_id + keys[cls].secret for cls in sorted(keys)])
    context = segment_key.context + leaf + place
    return segment_key.head + nonce + segment_key.aead.encrypt(nonce, entries, context)


def open_bundle(segment_key: SegmentKey, sealed: bytes, leaf: bytes, place: bytes) -> dict[int, CellKey]:
    """Return the keys of an event's cells by class.

    Raises `Corrupt` when the bundle, the leaf or the place differs from what was sealed.
    """
    if sealed[:BUNDLE_HEAD_BYTES] != segment_key.head or len(sealed) < BUNDLE_BODY_AT + TAG_BYTES:
        raise Corrupt(at="bundle", problem="layout")
    context = segment_key.context + leaf + place
    try:
        entries = segment_key.aead.decrypt(sealed[BUNDLE_HEAD_BYTES:BUNDLE_BODY_AT], sealed[BUNDLE_BODY_AT:], context)
    except InvalidTag:
        raise Corrupt(at="bundle", problem="not_authentic") from None
    if len(entries) % _ENTRY.size:
        raise Corrupt(at="bundle", problem="layout")
    keys = {}
    previous = -1
    for cls, key_id, secret in _ENTRY.iter_unpack(entries):
        if cls <= previous:
            raise Corrupt(at="bundle", problem="layout")
        key = keys[cls] = _unmade(CellKey)
        key.key_id, key.secret = key_id, secret
        previous = cls
    return keys


def reseal_bundles(
    former: SegmentKey, new: SegmentKey, bundles: Iterable[tuple[bytes, PlacedBundle]]
) -> list[tuple[int, bytes]]:
    """Return bundles, each with a nonce, under another key of their segment, by the position of their event.

    Raises as `open_bundle` and names the position. One loop without a call of ours: an erasure does this for every
    event of a segment.
    """
    resealed: list[tuple[int, bytes]] = []
    head, seal, context = new.head, new.aead.encrypt, new.context
    former_head, unseal, former_context = former.head, former.aead.decrypt, former.context
    for nonce, (position, sealed, where) in bundles:
        if sealed[:BUNDLE_HEAD_BYTES] != former_head or len(sealed) < BUNDLE_BODY_AT + TAG_BYTES:
            raise Corrupt(at=f"position {position}", problem="layout")
        former_nonce, body = sealed[BUNDLE_HEAD_BYTES:BUNDLE_BODY_AT], sealed[BUNDLE_BODY_AT:]
        try:
            entries = unseal(former_nonce, body, former_context + where)
        except InvalidTag:
            raise Corrupt(at=f"position {position}", problem="not_authentic") from None
        if len(entries) % _ENTRY.size:
            raise Corrupt(at=f"position {position}", problem="layout")
        resealed.append((position, head + nonce + seal(nonce, entries, context + where)))
    return resealed


def bundle_key_id(sealed: bytes) -> bytes:
    """Return the id of the segment key that a bundle names; only opening the bundle authenticates it."""
    if len(sealed) < BUNDLE_BODY_AT + TAG_BYTES or sealed[:1] != SEALED_VERSION:
        raise Corrupt(at="bundle", problem="layout")
    return sealed[1:BUNDLE_HEAD_BYTES]
