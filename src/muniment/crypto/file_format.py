"""Parsing key files before they are authenticated: first the format version, then canonical JSON.

A file of a newer release is refused as `StoreNewer`, whatever else it contains. Any other file is `Corrupt` unless
encoding the parsed value again gives the same bytes.
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
    """Refuse a file of a newer release, before anything else in it is parsed."""
    try:
        version = _format.decode(contents).format
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Corrupt(at=at, problem="malformed") from None
    if version > newest:
        raise StoreNewer(at=at, limit=newest, found=version)


def parse_canonical(contents: bytes, decoder: msgspec.json.Decoder[File], at: str, end: bytes = b"") -> File:
    """Return the parsed file; raises `Corrupt` unless the contents are its canonical encoding plus `end`."""
    try:
        file = decoder.decode(contents)
    except (msgspec.DecodeError, UnicodeDecodeError, KeyInvalid):
        raise Corrupt(at=at, problem="malformed") from None
    if encode_plain(file) + end != contents:
        raise Corrupt(at=at, problem="not_canonical")
    return file


def unwrap_key(wrapped: str, root: RootKey, context: bytes, at: str) -> bytes:
    """Return a key that was wrapped for `context`; raises `KeyWrong` for another root key, or `Corrupt`."""
    try:
        raw = unb64url(wrapped)
    except ValueError:
        raise Corrupt(at=at, problem="not_base64url") from None
    key = root.unwrap(raw, context)
    if len(key) != KEY_BYTES:
        raise Corrupt(at=at, problem="length", limit=KEY_BYTES, found=len(key))
    return key
