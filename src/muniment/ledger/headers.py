"""How a header lies at rest: without what the row says already, and without base64.

The leaf of an event is the hash of its exact header, and the exact header is canonical JSON, so it need not be stored
letter by letter: it is stored in parts and written out again when somebody asks for it, and the leaf tells whether it
is the same to the last byte (decision 0009). Position, stream, seq, kind, time and the number of
an entry, or of the one that is changed, come from the columns of the row, the log id from the log; the rest is msgpack
`[labels, digests, prev, reason, refs, type]`:

- `labels`: the number of a usual set of labels in `LABEL_SETS`, or the labels joined by blanks;
- `digests`: the commitments in the order of their labels, 32 bytes each;
- `prev`: the previous leaf of the stream, 32 bytes, or nil;
- `type`: of an entry its type, of the first event of a stream the type of that, else nil.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from itertools import product
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct

from muniment.errors import Corrupt, NotCanonical
from muniment.evidence.header import Header, encode
from muniment.evidence.tree import inclusion_proof
from muniment.evidence.verifier import Refused, leaf_hash, verify_inclusion
from muniment.kernel.digest import DIGEST_BYTES, b64url
from muniment.log.port import EventRow, Reader

USUAL_MESSAGES_MAX = 16


def _usual(messages: int, *, source: bool) -> str:
    labels = ["actor", "delivery", *(["source"] if source else [])]
    for place in range(messages):
        labels += [f"message/{place}", f"message/{place}/content/0"]
    return " ".join(sorted(labels))


# Numbers of this table are at rest: it only ever grows at its end.
LABEL_SETS: tuple[str, ...] = tuple(
    _usual(messages, source=source) for source, messages in product((False, True), range(1, USUAL_MESSAGES_MAX + 1))
)
_NUMBERS: dict[str, int] = {labels: number for number, labels in enumerate(LABEL_SETS)}
_SPLIT: list[list[str]] = [labels.split(" ") for labels in LABEL_SETS]
_STANDARD, _URL = bytes.maketrans(b"-_", b"+/"), bytes.maketrans(b"+/", b"-_")


class _Rest(Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    labels: Annotated[int, Meta(ge=0)] | str
    digests: bytes
    prev: bytes | None
    reason: str | None
    refs: dict[str, int]
    type: str | None


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Rest)


def pack(header: Header) -> bytes:
    """Return what is stored of a header beside the columns of its row."""
    ordered = sorted(header.fields)
    joined = " ".join(ordered)
    return _encoder.encode(
        _Rest(
            labels=_NUMBERS.get(joined, joined),
            digests=b"".join(
                [a2b_base64(header.fields[label].encode().translate(_STANDARD) + b"=") for label in ordered]
            ),
            prev=None if header.prev is None else _raw(header.prev),
            reason=header.reason,
            refs=header.refs,
            type=next(iter(header.entry)) if header.entry else header.opens or None,
        )
    )


def unpack(row: EventRow, log: str) -> tuple[Header, bytes]:
    """Return the header of a row and its exact bytes; raises `Corrupt` when they are not what the leaf was made of."""
    try:
        header = _restored(row, _decoder.decode(row.header), log)
        exact = encode(header)
    except (msgspec.MsgspecError, NotCanonical, ValueError, IndexError):
        raise Corrupt(at=f"position {row.position}", problem="header") from None
    if leaf_hash(exact) != row.leaf:
        raise Corrupt(at=f"position {row.position}", problem="header")
    return header, exact


def row_of(header: Header) -> EventRow:
    """Return the row of an event with this header."""
    return EventRow(
        position=header.pos,
        stream=header.stream,
        seq=header.seq,
        kind=header.kind,
        turn_seq=header.number,
        target_seq=None if header.target is UNSET else header.target,
        time=header.t,
        leaf=leaf_hash(encode(header)),
        header=pack(header),
    )


def prove_row(reader: Reader, row: EventRow, log: str) -> Header:
    """Prove that a row is in the tree at its position, and return its header, or raise `Corrupt`."""
    header, _ = unpack(row, log)
    head = reader.frontier()
    proof = inclusion_proof(reader, row.position, head.size)
    try:
        verify_inclusion(row.position, head.size, row.leaf, proof, head.root())
    except Refused:
        raise Corrupt(at=f"position {row.position}", problem="leaf") from None
    return header


def _restored(row: EventRow, rest: _Rest, log: str) -> Header:
    labels = _SPLIT[rest.labels] if isinstance(rest.labels, int) else _split(rest.labels)
    digests = [
        b2a_base64(rest.digests[at : at + DIGEST_BYTES], newline=False).translate(_URL).rstrip(b"=").decode()
        for at in range(0, len(rest.digests), DIGEST_BYTES)
    ]
    return Header(
        fields=dict(zip(labels, digests, strict=True)),
        kind=row.kind,
        log=log,
        pos=row.position,
        prev=None if rest.prev is None else b64url(rest.prev),
        reason=rest.reason,
        refs=rest.refs,
        seq=row.seq,
        stream=row.stream,
        t=row.time,
        entry=UNSET if row.turn_seq is None else {rest.type or "": row.turn_seq},
        opens=UNSET if rest.prev is not None else rest.type or "",
        target=UNSET if row.target_seq is None else row.target_seq,
    )


def _split(joined: str) -> list[str]:
    return joined.split(" ") if joined else []


def _raw(digest: str) -> bytes:
    return a2b_base64(digest.encode().translate(_STANDARD) + b"=")
