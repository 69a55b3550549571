"""Plaintext cells: how the parts of an event are packed before encryption, and read again in every later release.

A packed body is msgpack `[version, salts, body]`: the version of the body's shape, the salts of its fields, the body.
The salts of a meta body are one seed of 32 bytes, from which each is derived. Those of content are nil: they are
derived from its key. After part of the content was erased they are a map, 32 bytes for each remaining label, because
what they were derived from would also give the salts of the erased part. So they are for a turn with attachments, whose
salts were drawn before: there the map also has the keys of their chunks (`ledger.attached_files`).

The reader checks the version first. The current version is decoded directly into its struct. An older one is decoded as
plain data and lifted, version by version, by the functions in `UPCASTS`, each of which turns the data of version n into
that of n + 1. The stored cell is not rewritten. A header commits to the fields as the stored version spelt them, so
proofs never use lifted data: `FIELDS` keeps the field function of every older version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Raw, Struct

from muniment.errors import Corrupt, StoreNewer
from muniment.events.records import CONTENT_BODIES, META_BODIES, VERSIONS, ContentBody, MetaBody
from muniment.kernel.digest import Salts

SEED_BYTES = 32
_NIL = b"\xc0"  # of msgpack

Upcast = Callable[[dict[str, Any]], dict[str, Any]]

# (body type, version) -> how data of that version becomes data of the next
UPCASTS: dict[tuple[type[Struct], int], Upcast] = {}

# (body type, version) -> label and canonical JSON of every field that data of that version has
FIELDS: dict[tuple[type[Struct], int], Callable[[dict[str, Any]], list[tuple[str, bytes]]]] = {}


Salt = Annotated[bytes, Meta(min_length=SEED_BYTES, max_length=SEED_BYTES)]


class _Packed(Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    version: Annotated[int, Meta(ge=1)]
    salts: dict[str, Salt] | None
    body: Raw


class _PackedMeta(Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    version: Annotated[int, Meta(ge=1)]
    salts: Salt  # nothing of a meta body is ever erased alone
    body: Raw


class _Shape(NamedTuple):
    body: type[Struct]
    envelope: msgspec.msgpack.Decoder[Any]
    decoder: msgspec.msgpack.Decoder[Any]


_encoder = msgspec.msgpack.Encoder()
_sealed_whole = msgspec.msgpack.Decoder(_PackedMeta)
_sealed_in_part = msgspec.msgpack.Decoder(_Packed)
_METAS = {kind.value: _Shape(body, _sealed_whole, msgspec.msgpack.Decoder(body)) for kind, body in META_BODIES.items()}
_CONTENTS = {
    kind.value: _Shape(body, _sealed_in_part, msgspec.msgpack.Decoder(body)) for kind, body in CONTENT_BODIES.items()
}


def pack(salts: Salts | None, body: MetaBody | ContentBody) -> bytes:
    """Return the plaintext for a body and the salts of its fields (None: they are derived from the content key)."""
    return _encoder.encode((VERSIONS[type(body)], salts, body))


def _unpack(shapes: Mapping[str, _Shape], kind: str, cell: bytes) -> tuple[Any, Any]:
    shape = shapes.get(kind)
    if shape is None:
        if kind in _METAS:
            raise Corrupt(problem="cell_malformed")
        raise StoreNewer(problem="unknown_kind")
    body, present = shape.body, VERSIONS[shape.body]
    try:
        packed = shape.envelope.decode(cell)
        if packed.version == present:
            return packed.salts, shape.decoder.decode(packed.body)
        data = lifted(body, packed.version, msgspec.msgpack.decode(packed.body), UPCASTS, present)
        return packed.salts, msgspec.convert(data, body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise Corrupt(problem="cell_malformed") from None


# (kind, cell) -> salts and body. Partial functions, because each is called for every turn of a page.
unpack_meta: Callable[[str, bytes], tuple[bytes, MetaBody]] = partial(_unpack, _METAS)
unpack_content: Callable[[str, bytes], tuple[Salts | None, ContentBody]] = partial(_unpack, _CONTENTS)


def has_own_salts(content: bytes) -> bool:
    """Tell whether a packed content body has salts beside it: part of it was erased, or it has attachments."""
    return content[2:3] != _NIL


def former_fields(body_type: type[Struct], cell: bytes) -> list[tuple[str, bytes]] | None:
    """Return the fields of a cell that an older version of its body was stored in; None for the present version."""
    version, _, data = msgspec.msgpack.decode(cell)
    return None if version == VERSIONS[body_type] else FIELDS[body_type, version](data)


def lifted(
    body_type: type[Struct],
    version: int,
    data: dict[str, Any],
    upcasts: Mapping[tuple[type[Struct], int], Upcast],
    present: int,
) -> dict[str, Any]:
    """Lift data of an older version to the current one."""
    if version > present:
        raise StoreNewer(problem="unknown_version", found=version, limit=present)
    for step in range(version, present):
        data = upcasts[body_type, step](data)
    return data
