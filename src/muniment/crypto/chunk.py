"""Attachments at rest: a file in chunks, each encrypted alone, and the token that stands for one until it is committed.

An attachment has a key of its own, drawn for it and used for nothing else; it is kept in the content of its turn and
is destroyed with that. A chunk is up to `CHUNK_BYTES` of the file:

`AES-256-GCM(key, nonce, chunk)`, nonce: the number of the chunk (12, big endian, from 0); associated data:
`"muniment/chunk"`.

So a chunk opens in its place alone. How many there are follows from the size of the file, which the turn commits to.

An upload is an attachment whose turn was not committed yet. Its token is sealed under the key of the space
(`crypto.segment`): an erasure replaces that key, and no token that somebody kept opens anything afterwards.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Meta, Struct

from muniment.crypto.secret import KEY_BYTES
from muniment.crypto.segment import NONCE_BYTES, SpaceKey, SpaceKeyring, open_sealed
from muniment.errors import Corrupt, KeyMissing
from muniment.kernel.digest import b64url, unb64url

CHUNK_BYTES = 256 * 1024
CHUNK_CONTEXT, UPLOAD_CONTEXT = b"muniment/chunk", b"muniment/upload"
TOKEN_CHARS_MAX = 1024

Secret32 = Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]


class ChunkCipher:
    """Encrypts and decrypts the chunks of one attachment."""

    def __init__(self, key: bytes) -> None:
        self._aead = AESGCM(key)

    def seal(self, number: int, chunk: bytes) -> bytes:
        """Return a chunk encrypted for its place; each place is sealed once."""
        assert len(chunk) <= CHUNK_BYTES
        return self._aead.encrypt(number.to_bytes(NONCE_BYTES), chunk, CHUNK_CONTEXT)

    def open(self, number: int, sealed: bytes) -> bytes:
        """Return a chunk, or raise `Corrupt` when it is not what was sealed for this place."""
        try:
            return self._aead.decrypt(number.to_bytes(NONCE_BYTES), sealed, CHUNK_CONTEXT)
        except (InvalidTag, ValueError):  # the latter for less than a tag
            raise Corrupt(at=f"chunk {number}", problem="not_authentic") from None


class Upload(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """An attachment without a turn: where its chunks are, its key, and what its turn will commit to.

    `salt` is that of its field, `digest` the keyed digest of its bytes: an attachment that is added again has another
    root, but the same digest.
    """

    part: Annotated[int, Meta(ge=0)]
    key: Secret32
    salt: Secret32
    size: Annotated[int, Meta(ge=0)]
    root: Secret32
    digest: Secret32


_encoder, _decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Upload)


def upload_token(space_key: SpaceKey, nonce: bytes, upload: Upload) -> str:
    """Return the token of an upload."""
    return b64url(space_key.seal(nonce, _encoder.encode(upload), UPLOAD_CONTEXT))


def upload_of(keyring: SpaceKeyring, token: str) -> Upload | None:
    """Return the upload that a token stands for; None for any other text, and after the key was replaced."""
    if len(token) > TOKEN_CHARS_MAX or not token.isascii():
        return None
    try:
        return _decoder.decode(open_sealed(keyring, unb64url(token), UPLOAD_CONTEXT, "upload"))
    except (Corrupt, KeyMissing, ValueError, msgspec.MsgspecError):
        return None
