"""Envelopes and cells: how an event and its content are encrypted on disk.

Every event has one envelope, sealed under the key of its segment (`crypto.segment`): what the event says, and the
single-use key of its content. An event has at most one content cell. Destroying its key erases a cell.

Envelope: `0x01 ‖ id of the segment key (4) ‖ nonce (12) ‖ AES-256-GCM body` over
`0x00 ‖ meta`, or with content `0x01 ‖ content key (32) ‖ meta`; associated data:
`"muniment/envelope" ‖ the first 5 bytes ‖ number of the segment (8) ‖ leaf ‖ place`. The place is the event's row as
packed by the log, so an edited column is detected.

Cell: `codec (1: 0 raw, 1 deflate) ‖ AES-256-GCM body` under HMAC-SHA-256(content key, `"muniment/cell" ‖ leaf`), with a
nonce of zeros; associated data: `"muniment/cell" ‖ codec ‖ leaf`. So no two cells share a key, whatever is tried again,
and there is nothing to store beside the body. The salts of the content come from the same content key, which is
HMAC-SHA-256(content key, `"muniment/salts"`). What is deflated is written against `crypto.dictionary`.

These functions are the hot path: an append encrypts one cell and one envelope, a page of fifty turns decrypts up to
fifty of each. The cipher of the segment key is cached, those of single-use keys are not.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from muniment.crypto.dictionary import DICTIONARY
from muniment.crypto.secret import KEY_BYTES, Secret
from muniment.crypto.segment import KEY_ID_BYTES, NONCE_BYTES, SEALED_VERSION, SEGMENT_BITS, TAG_BYTES, SegmentKey
from muniment.errors import Corrupt, LimitExceeded
from muniment.kernel.digest import hmac_of

PLAINTEXT_BYTES_MAX = 64 * 1024 * 1024

# Which cells are compressed, and how. Measured on turns of public dialogues in msgpack (one core of a server, 2026),
# where every cell is written against `crypto.dictionary`:
#   176 bytes become 101 in 9 µs, 332 become 175 in 13 µs, 898 become 519 in 22 µs, 2,014 become 848 in 30 µs; inflating
#   takes 1 to 7 µs. Without the dictionary these are 156, 246, 625 and 974 bytes in the same time.
#   Levels 3 and 6 cost the same below 1 KB and save 2 %; above, they cost up to twice as much and save 8 %.
#   Small cells are written with the fixed Huffman code: on 3,000 stretches of real dialogue, cells got 15 % larger than
#   with codes of their own, and are inflated in 5.1 µs instead of 9.3, which is a fifth of what a page of turns costs.
#   The window of a small cell is small: zlib's defaults (window 15, memory 8) ask the allocator for 270 KB each time,
#   which may be given back and faulted in again, and then the same 703 bytes cost 36 µs.
#   The stream has no header and no checksum of its own: the tag of the cell is one.
DEFLATE_FROM_BYTES = 64
DEFLATE_LEVEL = 1
SMALL_BYTES_MAX, SMALL_WINDOW_BITS, SMALL_MEMORY = 8192, 13, 5
LARGE_WINDOW_BITS, LARGE_MEMORY = 15, 8

CELL_CONTEXT, SALTS_PURPOSE = b"muniment/cell", b"muniment/salts"
RAW, DEFLATED = b"\x00", b"\x01"
BARE, KEYED = b"\x00", b"\x01"
ONCE = bytes(NONCE_BYTES)  # the nonce of a key that seals one cell
LEAF_BYTES = 32
CONTENT_KEY_BYTES = KEY_BYTES

ENVELOPE_HEAD_BYTES = len(SEALED_VERSION) + KEY_ID_BYTES
ENVELOPE_BODY_AT = ENVELOPE_HEAD_BYTES + NONCE_BYTES
META_AT = len(KEYED) + KEY_BYTES

PlacedEnvelope = tuple[int, bytes, bytes]  # the position of its event, the envelope, leaf and place joined
_unmade = object.__new__  # makes a key without the call of its constructor: a page does this for each turn

Squeezed = tuple[bytes, bytes]  # the codec of a cell, and its plaintext body


class ContentKey(Secret):
    """The key of the content of one event, used once."""

    __slots__ = ("secret",)

    def __init__(self, secret: bytes) -> None:
        self.secret = secret

    def _label(self) -> str:
        return "used once"

    def salts(self) -> bytes:
        """Return the seed of the salts of the content."""
        return hmac_of(self.secret, SALTS_PURPOSE)


class OpenEnvelope(NamedTuple):
    """What an envelope holds: the packed meta body, and the key of the content while there is any."""

    meta: bytes
    key: ContentKey | None


# --- cells ------------------------------------------------------------------------------------------------------------


def seal_cell(key: ContentKey, squeezed: Squeezed, leaf: bytes) -> bytes:
    """Return content as the cell of the event with this leaf; the key must not have sealed anything before."""
    assert len(leaf) == LEAF_BYTES
    codec, body = squeezed
    cipher = AESGCM(hmac_of(key.secret, CELL_CONTEXT + leaf))
    return codec + cipher.encrypt(ONCE, body, CELL_CONTEXT + codec + leaf)


def squeeze(plaintext: bytes) -> Squeezed:
    """Return the plaintext in the codec that its cell will name; needs no key and no place, so it can be done early."""
    if len(plaintext) >= DEFLATE_FROM_BYTES:
        packed = _deflate(plaintext)
        if len(packed) < len(plaintext):
            return DEFLATED, packed
    return RAW, plaintext


def open_cell(key: ContentKey, sealed: bytes, leaf: bytes) -> bytes:
    """Return the plaintext of a cell, or raise `Corrupt` when it is not what was sealed for this event."""
    codec = sealed[:1]
    if len(sealed) < len(codec) + TAG_BYTES:
        raise Corrupt(at="cell", problem="layout")
    try:
        cipher = AESGCM(hmac_of(key.secret, CELL_CONTEXT + leaf))
        body = cipher.decrypt(ONCE, sealed[1:], CELL_CONTEXT + codec + leaf)
        if codec == RAW:
            return body
        if codec != DEFLATED:
            raise Corrupt(at="cell", problem="codec")
        inflater = zlib.decompressobj(-LARGE_WINDOW_BITS, DICTIONARY)
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
        deflater = zlib.compressobj(
            DEFLATE_LEVEL, zlib.DEFLATED, -SMALL_WINDOW_BITS, SMALL_MEMORY, zlib.Z_FIXED, DICTIONARY
        )
    elif size <= PLAINTEXT_BYTES_MAX:
        deflater = zlib.compressobj(DEFLATE_LEVEL, zlib.DEFLATED, -LARGE_WINDOW_BITS, LARGE_MEMORY, zdict=DICTIONARY)
    else:
        raise LimitExceeded(at="cell", problem="too_long", limit=PLAINTEXT_BYTES_MAX, found=size)
    return deflater.compress(plaintext) + deflater.flush()


# --- envelopes --------------------------------------------------------------------------------------------------------


def seal_envelope(segment_key: SegmentKey, nonce: bytes, opened: OpenEnvelope, leaf: bytes, place: bytes) -> bytes:
    """Return what an envelope holds, sealed for the row of its event."""
    assert len(nonce) == NONCE_BYTES
    body = BARE + opened.meta if opened.key is None else KEYED + opened.key.secret + opened.meta
    return segment_key.head + nonce + segment_key.aead.encrypt(nonce, body, segment_key.context + leaf + place)


def open_envelope(segment_key: SegmentKey, sealed: bytes, leaf: bytes, place: bytes) -> OpenEnvelope:
    """Return what an envelope holds; raises `Corrupt` when it, the leaf or the place differs from what was sealed."""
    if sealed[:ENVELOPE_HEAD_BYTES] != segment_key.head or len(sealed) < ENVELOPE_BODY_AT + TAG_BYTES:
        raise Corrupt(at="envelope", problem="layout")
    nonce, context = sealed[ENVELOPE_HEAD_BYTES:ENVELOPE_BODY_AT], segment_key.context + leaf + place
    try:
        body = segment_key.aead.decrypt(nonce, sealed[ENVELOPE_BODY_AT:], context)
    except InvalidTag:
        raise Corrupt(at="envelope", problem="not_authentic") from None
    if body[:1] == KEYED and len(body) >= META_AT:
        key = _unmade(ContentKey)
        key.secret = body[1:META_AT]
        return OpenEnvelope(body[META_AT:], key)
    if body[:1] == BARE:
        return OpenEnvelope(body[1:], None)
    raise Corrupt(at="envelope", problem="layout")


def open_envelopes(keys: Mapping[int, SegmentKey], envelopes: Iterable[PlacedEnvelope]) -> list[OpenEnvelope]:
    """Return what envelopes hold; raises `Corrupt` unless all of them open under the keys of their segments.

    As `open_envelope`, but one loop without a call of ours: a page does this for every turn.
    """
    opened: list[OpenEnvelope] = []
    make = tuple.__new__
    for position, sealed, where in envelopes:
        segment_key = keys.get(position >> SEGMENT_BITS)
        if segment_key is None or sealed[:ENVELOPE_HEAD_BYTES] != segment_key.head:
            raise Corrupt(at="envelope", problem="layout")
        nonce = sealed[ENVELOPE_HEAD_BYTES:ENVELOPE_BODY_AT]
        try:
            body = segment_key.aead.decrypt(nonce, sealed[ENVELOPE_BODY_AT:], segment_key.context + where)
        except (InvalidTag, ValueError):  # the latter for a nonce that is cut short
            raise Corrupt(at="envelope", problem="not_authentic") from None
        if body[:1] == KEYED and len(body) >= META_AT:
            key = _unmade(ContentKey)
            key.secret = body[1:META_AT]
            opened.append(make(OpenEnvelope, (body[META_AT:], key)))
        elif body[:1] == BARE:
            opened.append(make(OpenEnvelope, (body[1:], None)))
        else:
            raise Corrupt(at="envelope", problem="layout")
    return opened


def reseal_envelopes(
    former: SegmentKey, new: SegmentKey, envelopes: Iterable[tuple[bytes, PlacedEnvelope]]
) -> list[tuple[int, bytes]]:
    """Return envelopes, each with a nonce, under another key of their segment, by the position of their event.

    Raises as `open_envelope` and names the position. One loop without a call of ours: an erasure does this for every
    event of a segment.
    """
    resealed: list[tuple[int, bytes]] = []
    head, seal, context = new.head, new.aead.encrypt, new.context
    former_head, unseal, former_context = former.head, former.aead.decrypt, former.context
    for nonce, (position, sealed, where) in envelopes:
        if sealed[:ENVELOPE_HEAD_BYTES] != former_head or len(sealed) < ENVELOPE_BODY_AT + TAG_BYTES:
            raise Corrupt(at=f"position {position}", problem="layout")
        former_nonce, body = sealed[ENVELOPE_HEAD_BYTES:ENVELOPE_BODY_AT], sealed[ENVELOPE_BODY_AT:]
        try:
            held = unseal(former_nonce, body, former_context + where)
        except InvalidTag:
            raise Corrupt(at=f"position {position}", problem="not_authentic") from None
        resealed.append((position, head + nonce + seal(nonce, held, context + where)))
    return resealed


def envelope_key_id(sealed: bytes) -> bytes:
    """Return the id of the segment key that an envelope names; only opening the envelope authenticates it."""
    if len(sealed) < ENVELOPE_BODY_AT + TAG_BYTES or sealed[:1] != SEALED_VERSION:
        raise Corrupt(at="envelope", problem="layout")
    return sealed[1:ENVELOPE_HEAD_BYTES]
