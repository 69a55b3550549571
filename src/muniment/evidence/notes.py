"""Signing: checkpoints as C2SP signed notes.

The signer of a log carries the log's origin as its name, so that the name in a signature line, the first line of a
checkpoint and the public key (`vkey`) that third parties get all say the same. Reading notes is the verifier's
work.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import NoReturn, Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from muniment.evidence.tree import Frontier, Hashes
from muniment.evidence.verifier import ORIGIN_PREFIX, Checkpoint, VerifierKey

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


def origin_of(log: str, life: str = "") -> str:
    """Return the origin of a life of a log: the first line of its checkpoints and the name of its signer."""
    return ORIGIN_PREFIX + log + (f"/{life}" if life else "")


class NamedValues(Protocol):
    """A state of a log, as far as its named values go."""

    def meta(self, name: str) -> bytes | None:
        """Return a named value of the log."""


class TreeState(Hashes, Protocol):
    """One consistent state of the tree of a log."""

    def frontier(self) -> Frontier:
        """Return the head."""


TakeState = Callable[[], AbstractContextManager[TreeState]]


class CheckpointSigner(Protocol):
    """Signs the head of a log now and then, and remembers what it signed outside the store."""

    def sign(self, values: NamedValues, frontier: Frontier) -> str:
        """Return a checkpoint of a head, signed by the key that the log names in this state."""

    def is_due(self, kinds: Collection[str], now_ms: int) -> bool:
        """Tell whether the head is signed after events of these kinds, at this time."""

    def remember(self, note: str, states: TakeState) -> None:
        """Keep a checkpoint that has become durable, of a log that grew from what is kept."""


class NoteSigner(Protocol):
    """An Ed25519 key whose secret is elsewhere."""

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes."""

    def sign(self, note: bytes) -> bytes:
        """Return the signature over the text of a note, 64 bytes."""


class Signer:
    """The signing key of a log. Its secret shows nowhere and is not pickled."""

    __slots__ = ("_public", "_sign")

    def __init__(self, name: str, secret: bytes | NoteSigner) -> None:
        """Sign by a name, with a seed, or with what has the secret elsewhere."""
        if isinstance(secret, bytes):
            private = Ed25519PrivateKey.from_private_bytes(secret)
            self._sign: Callable[[bytes], bytes] = private.sign
            self._public = VerifierKey.of(name, private.public_key().public_bytes_raw())
        else:
            self._sign = secret.sign
            self._public = VerifierKey.of(name, secret.public)

    def __repr__(self) -> str:
        return f"Signer({self._public.key_id.hex()})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a signer is not pickled")

    @property
    def key(self) -> VerifierKey:
        """The public key."""
        return self._public

    @property
    def vkey(self) -> str:
        """The public key as text: `name+hash+base64`."""
        return str(self._public)

    def sign_note(self, text: str) -> str:
        """Return the text as a signed note; it ends with a newline and holds no control characters."""
        assert text.endswith("\n"), "a note ends with a newline"
        assert CONTROL.search(text) is None, "a note holds no control characters"
        signature = self._public.key_id + self._sign(text.encode())
        return f"{text}\n\N{EM DASH} {self._public.name} {base64.b64encode(signature).decode()}\n"

    def sign_checkpoint(self, origin: str, size: int, root: bytes, extensions: Sequence[str] = ()) -> str:
        """Return a signed checkpoint."""
        checkpoint = Checkpoint(origin=origin, size=size, root=root, extensions=tuple(extensions))
        return self.sign_note(checkpoint.text())
