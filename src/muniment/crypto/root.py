"""The root key: the one secret that the host keeps.

A root key wraps the keys of stores and spaces; it never encrypts content. A key management service implements
`RootKey`. `LocalRoot` implements it with 32 bytes from a file, an environment variable, a keystore or a passphrase
(`muniment.crypto.root_sources`).

Layout of what `LocalRoot` wraps: `0x01 ‖ key id (8) ‖ nonce (12) ‖ AES-256-GCM body`. Associated data:
`"muniment/root" ‖ 0x01 ‖ key id ‖ context`, where the context names the purpose of the secret. Wrap key and key id are
derived from the root key by HKDF-SHA-256, each with its own info, so the root key itself encrypts nothing.
"""

from __future__ import annotations

from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from muniment.crypto.secret import KEY_BYTES, Secret
from muniment.errors import Corrupt, KeyInvalid, KeyWrong
from muniment.kernel.sources import Entropy

VERSION = b"\x01"
KEY_ID_BYTES = 8
NONCE_BYTES = 12
TAG_BYTES = 16
NONCE_AT = 1 + KEY_ID_BYTES
BODY_AT = NONCE_AT + NONCE_BYTES
CONTEXT = b"muniment/root"


class RootKey(Protocol):
    """Wraps and unwraps the secrets of a store, with a local key or in a key management service."""

    @property
    def key_id(self) -> str:
        """Return the public name of this key; two keys never share one."""
        ...

    def wrap(self, secret: bytes, context: bytes) -> bytes:
        """Return the secret, encrypted and bound to its context."""
        ...

    def unwrap(self, wrapped: bytes, context: bytes) -> bytes:
        """Return the secret.

        Raises `KeyWrong` when another key wrapped it, `Corrupt` when it or the context was changed, and
        `KeyUnavailable` when the service that holds the key does not answer.
        """
        ...


class LocalRoot(Secret):
    """A root key whose 32 bytes are in the memory of this process."""

    __slots__ = ("_aead", "_entropy", "_id")

    def __init__(self, key: bytes, entropy: Entropy) -> None:
        if len(key) != KEY_BYTES:
            raise KeyInvalid(at="keys", problem="length", limit=KEY_BYTES, found=len(key))
        self._id = derive(key, b"muniment/v1/root/id", KEY_ID_BYTES)
        self._aead = AESGCM(derive(key, b"muniment/v1/root/wrap", KEY_BYTES))
        self._entropy = entropy

    def _label(self) -> str:
        return self.key_id

    @property
    def key_id(self) -> str:
        """Return the derived id of the key, 16 hexadecimal digits."""
        return self._id.hex()

    def wrap(self, secret: bytes, context: bytes) -> bytes:
        """Return the secret, encrypted and bound to its context."""
        head = VERSION + self._id
        nonce = self._entropy.take(NONCE_BYTES)
        return head + nonce + self._aead.encrypt(nonce, secret, CONTEXT + head + context)

    def unwrap(self, wrapped: bytes, context: bytes) -> bytes:
        """Return the secret; raises `KeyWrong` when another key wrapped it, `Corrupt` when it was changed."""
        if len(wrapped) < BODY_AT + TAG_BYTES or wrapped[:1] != VERSION:
            raise Corrupt(at="wrapped key", problem="layout")
        if wrapped[1:NONCE_AT] != self._id:
            raise KeyWrong(at="wrapped key")
        try:
            return self._aead.decrypt(
                wrapped[NONCE_AT:BODY_AT], wrapped[BODY_AT:], CONTEXT + wrapped[:NONCE_AT] + context
            )
        except InvalidTag:
            raise Corrupt(at="wrapped key", problem="not_authentic") from None


def derive(key: bytes, info: bytes, size: int) -> bytes:
    """Return `size` bytes of HKDF-SHA-256 (RFC 5869) without salt: the input is a uniform key already."""
    return HKDF(algorithm=SHA256(), length=size, salt=None, info=info).derive(key)
