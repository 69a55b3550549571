"""Reading what a small file says, before anything in it is authenticated: its format first, then canonical JSON.

A file that a newer release wrote is refused as newer whatever else it holds. Anything else is `Corrupt` unless encoding
it again gives the same bytes.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct

from muniment.crypto.root import RootKey
from muniment.crypto.secret import KEY_BYTES
from muniment.errors import Corrupt, KeyInvalid, StoreNewer
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import unb64url

File = TypeVar("File", bound=Struct)


class _Format(Struct, frozen=True, kw_only=True):
    format: int


_format = msgspec.json.Decoder(_Format)


def check_format(contents: bytes, at: str, newest: int) -> None:
    """Refuse a file that a newer release wrote before anything else in it is looked at."""
    try:
        written = _format.decode(contents).format
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Corrupt(at=at, problem="malformed") from None
    if written > newest:
        raise StoreNewer(at=at, limit=newest, found=written)


def parse_canonical(contents: bytes, decoder: msgspec.json.Decoder[File], at: str, end: bytes = b"") -> File:
    """Return what is written, when it is the canonical encoding of that and `end`."""
    try:
        file = decoder.decode(contents)
    except (msgspec.DecodeError, UnicodeDecodeError, KeyInvalid):
        raise Corrupt(at=at, problem="malformed") from None
    if encode_plain(file) + end != contents:
        raise Corrupt(at=at, problem="not_canonical")
    return file


def unwrap_key(wrapped: str, root: RootKey, context: bytes, at: str) -> bytes:
    """Return a key that a root wrapped for what `context` names; raises `KeyWrong` for another root, or `Corrupt`."""
    try:
        raw = unb64url(wrapped)
    except ValueError:
        raise Corrupt(at=at, problem="not_base64url") from None
    key = root.unwrap(raw, context)
    if len(key) != KEY_BYTES:
        raise Corrupt(at=at, problem="length", limit=KEY_BYTES, found=len(key))
    return key
