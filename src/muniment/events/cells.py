"""Plaintext cells: how the parts of an event are packed before encryption, and read again in every later release.

A packed cell is msgpack `[version, salts, body]`: the version of the body's shape, the salts of its fields, the body.
The salts are one seed of 32 bytes, from which each is derived. After part of the body was erased they are a map, 32
bytes for each remaining label, because the seed would also give the salts of the erased part.

The reader checks the version first. The current version is decoded directly into its struct. An older one is decoded as
plain data and lifted, version by version, by the functions in `UPCASTS`, each of which turns the data of version n into
that of n + 1. The stored cell is not rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from muniment.errors import Corrupt, StoreNewer
from muniment.events.records import CONTENT_BODIES, META_BODIES, ContentBody, EventKind, MetaBody
from muniment.kernel.digest import Salts

SEED_BYTES = 32

Upcast = Callable[[dict[str, Any]], dict[str, Any]]

# body type -> the version written today
VERSIONS: dict[type[Struct], int] = dict.fromkeys([*META_BODIES.values(), *CONTENT_BODIES.values()], 1)

# (body type, version) -> the function that lifts data of that version to the next
UPCASTS: dict[tuple[type[Struct], int], Upcast] = {}


Salt = Annotated[bytes, Meta(min_length=SEED_BYTES, max_length=SEED_BYTES)]


class _Packed(Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    version: Annotated[int, Meta(ge=1)]
    salts: Salt | dict[str, Salt]
    body: Raw


Body = TypeVar("Body", bound=Struct)

_KINDS: dict[str, EventKind] = {kind.value: kind for kind in EventKind}

_encoder = msgspec.msgpack.Encoder()
_envelope = msgspec.msgpack.Decoder(_Packed)
_bodies: dict[type[Struct], msgspec.msgpack.Decoder[Any]] = {
    body: msgspec.msgpack.Decoder(body) for body in [*META_BODIES.values(), *CONTENT_BODIES.values()]
}


def pack(salts: Salts, body: MetaBody | ContentBody) -> bytes:
    """Return the plaintext cell for a body and the salts of its fields."""
    return _encoder.encode((VERSIONS[type(body)], salts, body))


def unpack_meta(kind: str, cell: bytes) -> tuple[bytes, MetaBody]:
    """Return seed and meta body of a cell of an event of this kind; a meta body is never erased in part."""
    salts, body = _unpack(META_BODIES[known_kind(kind)], cell)
    if not isinstance(salts, bytes):
        raise Corrupt(problem="cell_malformed")
    return salts, body


def unpack_content(kind: str, cell: bytes) -> tuple[Salts, ContentBody]:
    """Return salts and content body of a cell of an event of this kind."""
    body = CONTENT_BODIES.get(known_kind(kind))
    if body is None:
        raise Corrupt(problem="cell_malformed")
    return _unpack(body, cell)


def known_kind(kind: str) -> EventKind:
    """Return the kind, or raise `StoreNewer` for one that this release does not know."""
    known = _KINDS.get(kind)
    if known is None:
        raise StoreNewer(problem="unknown_kind")
    return known


def _unpack(body_type: type[Body], cell: bytes) -> tuple[Salts, Body]:
    try:
        packed = _envelope.decode(cell)
        if packed.version == VERSIONS[body_type]:
            body: Body = _bodies[body_type].decode(packed.body)
            return packed.salts, body
        data = lifted(body_type, packed.version, msgspec.msgpack.decode(packed.body), UPCASTS, VERSIONS[body_type])
        return packed.salts, msgspec.convert(data, body_type)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise Corrupt(problem="cell_malformed") from None


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
