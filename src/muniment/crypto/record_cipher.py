"""Operational records: what a store keeps beside its logs, sealed under a key of the store.

The name of a record is a keyed digest, so a file of records tells neither who has a key nor what was asked. Its value
is

`nonce (12) || AES-256-GCM(key, nonce, value)`, associated data: `"muniment/record"`, then kind and name, each with its
length before it.

So a record opens under its own kind and name alone: it cannot be passed off as another one.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from muniment.crypto.root import derive
from muniment.crypto.secret import KEY_BYTES, Secret
from muniment.errors import Corrupt
from muniment.kernel.digest import KeyedDigest, framed
from muniment.kernel.sources import Entropy

NONCE_BYTES = 12
CONTEXT = "muniment/record"


class RecordCipher(Secret):
    """Seals and opens operational records, and names them."""

    __slots__ = ("_aead", "_names")

    def __init__(self, key: bytes) -> None:
        self._aead = AESGCM(derive(key, b"seal", KEY_BYTES))
        self._names = KeyedDigest(derive(key, b"name", KEY_BYTES))

    def name(self, kind: str, *parts: str) -> bytes:
        """Return the name of a record: a keyed digest of what it is about; 32 bytes."""
        return self._names.of(framed(kind, *parts))

    def seal(self, kind: str, name: bytes, value: bytes, entropy: Entropy) -> bytes:
        """Return a value sealed for its kind and name."""
        nonce = entropy.take(NONCE_BYTES)
        return nonce + self._aead.encrypt(nonce, value, framed(CONTEXT, kind, name))

    def open(self, kind: str, name: bytes, sealed: bytes) -> bytes:
        """Return what was sealed, or raise `Corrupt` when it was sealed for another place or changed since."""
        try:
            return self._aead.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], framed(CONTEXT, kind, name))
        except (InvalidTag, ValueError):  # the latter for less than a nonce or a tag
            raise Corrupt(at=kind, problem="not_authentic") from None
