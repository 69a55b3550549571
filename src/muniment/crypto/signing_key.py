"""The key that signs the checkpoints of a log."""

from __future__ import annotations

from msgspec import Struct

from muniment.crypto.secret import KEY_BYTES
from muniment.kernel.sources import Entropy


class SigningKey(Struct, frozen=True, kw_only=True):
    """The seed of an Ed25519 key, and which life of the log it is for.

    Of a key that is kept `outside` the store it is the public key instead.
    """

    seed: bytes
    life: str = ""
    outside: bool = False

    @classmethod
    def fresh(cls, entropy: Entropy, life: str) -> SigningKey:
        """Draw the key of a life of the log."""
        return cls(seed=entropy.take(KEY_BYTES), life=life)

    def __repr__(self) -> str:
        return "<SigningKey>"
