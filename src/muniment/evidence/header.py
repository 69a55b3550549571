"""Headers and commitments: what of an event goes into the tree.

A header is canonical JSON and holds nothing that a person wrote: opaque ids, order, time, kind, and one salted
commitment for each field of the event. The exact bytes are stored; their RFC 6962 leaf hash is the leaf of the tree.
Ciphertext is not in it, so that erasure, rotation and re-encryption leave the tree alone.

A commitment is the RFC 9901 digest of a disclosure, and a disclosure is unpadded base64url of `["salt","label",value]`.
The salt of a field is HMAC-SHA-256(seed, label); the seed is 32 random bytes inside the sealed cell and is destroyed
with it, after which nobody can try values against a commitment. Where a field was erased and others of its cell were
not, the salts of these are kept one by one instead of the seed.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from operator import itemgetter
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from muniment.errors import Corrupt, NotCanonical
from muniment.evidence import verifier
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import KeyedDigest, Salts, b64url

SEED_BYTES = 32
LABELS_CACHED_MAX = 4096
HEADER_VERSION = 1
_URL = bytes.maketrans(b"+/", b"-_")

LogId = Annotated[str, Meta(pattern=f"^(?:{verifier.LOG_ID})\\Z")]
Digest = Annotated[str, Meta(pattern=f"^(?:{verifier.DIGEST})\\Z")]
Label = Annotated[str, Meta(pattern=f"^(?:{verifier.LABEL})\\Z")]
EventKind = Annotated[str, Meta(pattern=f"^(?:{verifier.KIND})\\Z")]
Word = Annotated[str, Meta(pattern=f"^(?:{verifier.WORD})\\Z")]
Place = Annotated[int, Meta(ge=0, le=verifier.TREE_SIZE_MAX)]
Seq = Annotated[int, Meta(ge=1, le=verifier.TREE_SIZE_MAX)]
Field = tuple[str, bytes]  # label, canonical bytes of the value
Version = Annotated[int, Meta(ge=HEADER_VERSION, le=HEADER_VERSION)]


class Header(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The public side of one event. `prev` is the previous leaf of its stream; `reason` is a word, never free text.

    The first event of a stream says in `opens` what type of stream it is. A thing that later events may change is an
    *entry*: `entry` says its type and its number among the entries of the stream. What changes entries says in
    `target` which one; 0 stands for several, which `refs` names. So nobody needs to know a kind to tell what an event
    belongs to.
    """

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
    entry: dict[Word, Seq] | UnsetType = UNSET
    opens: Word | UnsetType = UNSET
    target: Place | UnsetType = UNSET

    @property
    def number(self) -> int | None:
        """The number of this entry among those of its stream; None for what is no entry."""
        return None if self.entry is UNSET else next(iter(self.entry.values()))

    @property
    def about(self) -> dict[str, int]:
        """What the event names: the turn that it changes, if it is one, and its references."""
        return {"turn": self.target, **self.refs} if self.target else self.refs


_decoder = msgspec.json.Decoder(Header)


def encode(header: Header) -> bytes:
    """Return the canonical bytes of a header, which are what is stored and hashed.

    A number that not every reader of JSON has exactly is refused (`NotCanonical`).
    """
    target = 0 if header.target is UNSET else header.target
    if max(header.t, header.pos, target, header.number or 0, *header.refs.values()) > verifier.TREE_SIZE_MAX:
        raise NotCanonical(at="header", problem="integer_too_large", limit=53)
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
    if first != (header.opens is not UNSET) or (header.entry is not UNSET and len(header.entry) != 1):
        raise Corrupt(at="header", problem="entry")
    if encode_plain(header) != data:
        raise Corrupt(at="header", problem="not_canonical")
    return header


# --- commitments ------------------------------------------------------------------------------------------------------


def salts_of(salts: Salts, labels: Iterable[str]) -> dict[str, bytes]:
    """Return the salts of some fields: HMAC-SHA-256(seed, label), or those that are kept."""
    wanted = list(labels)
    if isinstance(salts, bytes):
        assert len(salts) == SEED_BYTES, "a seed is drawn in one size"
        return dict(zip(wanted, KeyedDigest(salts).of_each(map(_label, wanted)), strict=True))
    if not salts.keys() >= set(wanted):
        raise Corrupt(at="salts", problem="salt_missing")
    return {label: salts[label] for label in wanted}


def salt(salts: Salts, label: str) -> str:
    """Return the salt of a field as disclosures have it: unpadded base64url."""
    return b64url(salts_of(salts, [label])[label])


def disclose(salts: Salts, label: str, value_json: bytes) -> str:
    """Return the disclosure of a field, given the canonical bytes of its value."""
    return _disclosed(salts, [(label, value_json)])[0][1].decode()


def commit(disclosure: str) -> str:
    """Return the commitment of a disclosure."""
    return verifier.commitment(disclosure)


def commit_fields(salts: Salts, fields: Iterable[Field]) -> dict[str, str]:
    """Return the commitments of all fields of an event."""
    return dict(map(itemgetter(0, 2), _disclosed(salts, fields)))


def disclosures(header: Header, parts: Iterable[tuple[Salts, Iterable[Field]]]) -> dict[str, str]:
    """Return the disclosures of fields by label, each checked against the commitment that the header made.

    Fields whose salts come from the same cell are one part.
    """
    disclosed: dict[str, str] = {}
    for salts, fields in parts:
        for label, disclosure, commitment in _disclosed(salts, fields):
            if header.fields.get(label) != commitment:
                raise Corrupt(at=f"position {header.pos}", problem="commitment")
            disclosed[label] = disclosure.decode()
    return disclosed


def _disclosed(salts: Salts, fields: Iterable[Field]) -> list[tuple[str, bytes, str]]:
    """Return label, disclosure and commitment of each field; one loop, because a commit and an export live in it."""
    listed = list(fields)
    salt_of = salts_of(salts, map(itemgetter(0), listed))
    disclosed = []
    for label, value_json in listed:
        salt64 = b2a_base64(salt_of[label], newline=False).translate(_URL).rstrip(b"=")
        text = b'["%b","%b",%b]' % (salt64, label.encode(), value_json)
        # Most texts have neither sign, and looking for one is a tenth of the work of translating every byte.
        disclosure = b2a_base64(text, newline=False).replace(b"+", b"-").replace(b"/", b"_").rstrip(b"=")
        digest = b2a_base64(sha256(disclosure).digest(), newline=False).translate(_URL).rstrip(b"=").decode()
        disclosed.append((label, disclosure, digest))
    return disclosed


@lru_cache(maxsize=LABELS_CACHED_MAX)
def _label(label: str) -> bytes:
    assert re.fullmatch(verifier.LABEL, label), "a label is plain words, written without escapes"
    return label.encode()
