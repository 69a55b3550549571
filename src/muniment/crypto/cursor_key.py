"""The cipher of cursors: AES-256-SIV (RFC 5297) under a key that is derived from the index key of the space.

A host receives a cursor and sends it back. SIV needs no nonce: reading a page twice gives the same cursor, and reading
takes nothing from the entropy that later writes take from (decision 0020). Without the key, two cursors can only be
compared for equality.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from muniment.crypto.root import derive
from muniment.crypto.secret import Secret
from muniment.kernel.cursor import Cursors

SIV_KEY_BYTES = 64
PURPOSE = b"muniment/v1/cursor"


class CursorKey(Secret):
    """Encrypts cursors, and decrypts the ones that it encrypted."""

    __slots__ = ("_aead",)

    def __init__(self, index_key: bytes) -> None:
        self._aead = AESSIV(derive(index_key, PURPOSE, SIV_KEY_BYTES))

    def _label(self) -> str:
        return "of a space"

    def seal(self, plaintext: bytes, context: bytes) -> bytes:
        """Return the plaintext, encrypted and bound to its context; both must not be empty."""
        return self._aead.encrypt(plaintext, [context])

    def open(self, sealed: bytes, context: bytes) -> bytes | None:
        """Return the plaintext, or None when this key did not encrypt it in this context."""
        try:
            return self._aead.decrypt(sealed, [context])
        except InvalidTag:
            return None


def cursors_of(index_key: bytes) -> Cursors:
    """Return the cursors of the space that has this index key."""
    return Cursors(CursorKey(index_key))
