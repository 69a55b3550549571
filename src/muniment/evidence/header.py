"""Headers and commitments: what of an event goes into the tree.

A header is canonical JSON and holds nothing that a person wrote: opaque ids, order, time, kind, and one salted
commitment for each field of the event. The exact bytes are stored; their RFC 6962 leaf hash is the leaf of the tree.
Ciphertext is not in it, so that erasure, rotation and re-encryption leave the tree alone.

A commitment is the RFC 9901 digest of a disclosure, and a disclosure is unpadded base64url of
`["salt","label",value]`. The salt of a field is HMAC-SHA-256(seed, label); the seed is 32 random bytes that lie inside
the sealed cell and die with it, after which nobody can try values against a commitment. Where a field was erased and
others of its cell were not, the salts of these are kept one by one instead of the seed.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from muniment.errors import Corrupt
from muniment.evidence import verifier
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import KeyedDigest, Salts

SEED_BYTES = 32
LABELS_CACHED_MAX = 4096
HEADER_VERSION = 1

LogId = Annotated[str, Meta(pattern=f"^(?:{verifier.LOG_ID})\\Z")]
Digest = Annotated[str, Meta(pattern=f"^(?:{verifier.DIGEST})\\Z")]
Label = Annotated[str, Meta(pattern=f"^(?:{verifier.LABEL})\\Z")]
EventKind = Annotated[str, Meta(pattern=f"^(?:{verifier.KIND})\\Z")]
Word = Annotated[str, Meta(pattern=f"^(?:{verifier.WORD})\\Z")]
Place = Annotated[int, Meta(ge=0, le=verifier.TREE_SIZE_MAX)]
Seq = Annotated[int, Meta(ge=1, le=verifier.TREE_SIZE_MAX)]
Version = Annotated[int, Meta(ge=HEADER_VERSION, le=HEADER_VERSION)]


class Header(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The public side of one event. `prev` is the previous leaf of its stream; `reason` is a word, never free text."""

    fields: dict[Label, Digest]
    kind: EventKind
    log: LogId
    pos: Place
    prev: Digest | None
    reason: Word | None
    refs: dict[Word, Place]
    seq: Seq
    stream: Place
    t: Place
    v: Version = HEADER_VERSION


_decoder = msgspec.json.Decoder(Header)


def encode(header: Header) -> bytes:
    """Return the canonical bytes of a header, which are what is stored and hashed."""
    return encode_plain(header)


def parse(data: bytes) -> Header:
    """Return the header that `data` is the canonical encoding of, or raise `Corrupt`."""
    try:
        header = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise Corrupt(at="header", problem="malformed") from None
    first = header.seq == 1
    if first != (header.prev is None) or first != (header.pos == header.stream) or header.pos < header.stream:
        raise Corrupt(at="header", problem="order")
    if encode_plain(header) != data:
        raise Corrupt(at="header", problem="not_canonical")
    return header


# --- commitments ------------------------------------------------------------------------------------------------------


def salt(salts: Salts, label: str) -> str:
    """Return the salt of a field as disclosures have it: unpadded base64url."""
    return _url64(_source(salts).of(label.encode())).decode()


def salts_of(salts: Salts, labels: Iterable[str]) -> dict[str, bytes]:
    """Return the salts of some fields: HMAC-SHA-256(seed, label), or those that are kept."""
    source = _source(salts)
    return {label: source.of(label.encode()) for label in labels}


def disclose(salts: Salts, label: str, value_json: bytes) -> str:
    """Return the disclosure of a field, given the canonical bytes of its value."""
    return _disclosure(_source(salts), label, value_json).decode()


def commit(disclosure: str) -> str:
    """Return the commitment of a disclosure."""
    return verifier.commitment(disclosure)


def commit_fields(seed: bytes, fields: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """Return the commitments of all fields of an event, given (label, canonical bytes of the value)."""
    salts = _source(seed)
    return {
        label: _url64(hashlib.sha256(_disclosure(salts, label, value_json)).digest()).decode()
        for label, value_json in fields
    }


class _Kept(NamedTuple):
    salts: Mapping[str, bytes]

    def of(self, label: bytes) -> bytes:
        kept = self.salts.get(label.decode())
        if kept is None:
            raise Corrupt(at="salts", problem="salt_missing")
        return kept


def _source(salts: Salts) -> KeyedDigest | _Kept:
    if not isinstance(salts, bytes):
        return _Kept(salts)
    assert len(salts) == SEED_BYTES, "a seed is drawn in one size"
    return KeyedDigest(salts)


def _disclosure(salts: KeyedDigest | _Kept, label: str, value_json: bytes) -> bytes:
    raw = _label(label)
    return _url64(b'["' + _url64(salts.of(raw)) + b'","' + raw + b'",' + value_json + b"]")


@lru_cache(maxsize=LABELS_CACHED_MAX)
def _label(label: str) -> bytes:
    assert re.fullmatch(verifier.LABEL, label), "a label is plain words, written without escapes"
    return label.encode()


def _url64(data: bytes) -> bytes:
    # Most texts have neither sign, and looking for one is a tenth of the work of translating every byte.
    return binascii.b2a_base64(data, newline=False).replace(b"+", b"-").replace(b"/", b"_").rstrip(b"=")
