"""Cursors: opaque page marks that only their issuer can write, or read.

Layout: `mc1.` and the unpadded base64url of what the cipher makes of the mark: canonical JSON, filled up with zeros
to a multiple of 32, so that its length shows little. The cipher authenticates as well as it hides, and it works
under a key of the space. What a page depends on (conversation, view, access, limit) is the binding: it is not in the
cursor, the caller brings it again, and a cursor that was made for anything else does not open. Nothing of a cursor is
parsed before it has opened.

The cipher is handed over by the layer that owns ciphers.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct

from muniment.errors import CursorInvalid
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import b64url, framed, unb64url

PREFIX = "mc1."
CURSOR_CHARS_MAX = 4096
FILL_BYTES = 32

Mark = TypeVar("Mark", bound=Struct)


class Cipher(Protocol):
    """Seals short texts, each in a context, the same text always to the same bytes."""

    def seal(self, plaintext: bytes, context: bytes) -> bytes:
        """Return the plaintext, hidden and bound to its context."""
        ...

    def open(self, sealed: bytes, context: bytes) -> bytes | None:
        """Return the plaintext, or None for what was not sealed by this cipher in this context."""
        ...


class Cursors:
    """The cursors of one space."""

    def __init__(self, cipher: Cipher) -> None:
        self._cipher = cipher

    def issue(self, purpose: str, binding: tuple[str, ...], mark: Struct) -> str:
        """Return a cursor that carries a mark, bound to purpose and binding."""
        body = encode_plain(mark)
        body += bytes(-len(body) % FILL_BYTES)
        cursor = PREFIX + b64url(self._cipher.seal(body, _context(purpose, binding)))
        assert len(cursor) <= CURSOR_CHARS_MAX, "marks are small"
        return cursor

    def accept(self, purpose: str, binding: tuple[str, ...], cursor: str, mark: type[Mark]) -> Mark:
        """Return the mark of a cursor that was issued for exactly this, or raise `CursorInvalid`."""
        if len(cursor) > CURSOR_CHARS_MAX or not cursor.isascii() or not cursor.startswith(PREFIX):
            raise CursorInvalid
        try:
            body = self._cipher.open(unb64url(cursor.removeprefix(PREFIX)), _context(purpose, binding))
        except ValueError:
            raise CursorInvalid from None
        if body is None:
            raise CursorInvalid
        try:
            return msgspec.json.decode(body.rstrip(b"\0"), type=mark)
        except msgspec.DecodeError:
            raise CursorInvalid from None  # of another release


def _context(purpose: str, binding: tuple[str, ...]) -> bytes:
    return framed("cursor", purpose, *binding)
