"""Signers outside the store: so that the secret of a signing key is not where the root key is.

A host passes an object with a public key and `sign`. For a command line there is `command:PROGRAM ARGUMENTS`. The
program is run without a shell, with one word behind its arguments:

- `public` prints the public key: 32 bytes of Ed25519 in base64, one line;
- `sign` reads the text of a note from its standard input and prints the signature: 64 bytes in base64, one line.

Every signature is verified before it is used.
"""

from __future__ import annotations

import base64
import shlex
import subprocess

from muniment.errors import SignerUnavailable, SignerWrong
from muniment.evidence.notes import NoteSigner
from muniment.evidence.verifier import Refused, VerifierKey

SCHEME = "command:"
SIGN_TIMEOUT_S = 10.0
PUBLIC_BYTES, SIGNATURE_BYTES = 32, 64


class CommandSigner:
    """A program that signs."""

    def __init__(self, command: list[str], timeout_s: float = SIGN_TIMEOUT_S) -> None:
        self._command = command
        self._timeout_s = timeout_s

    @property
    def public(self) -> bytes:
        """The public key, as the program prints it."""
        return self._run("public", b"", PUBLIC_BYTES)

    def sign(self, note: bytes) -> bytes:
        """Return the signature that the program prints."""
        return self._run("sign", note, SIGNATURE_BYTES)

    def _run(self, word: str, data: bytes, size: int) -> bytes:
        try:
            ended = subprocess.run(
                [*self._command, word], input=data, capture_output=True, timeout=self._timeout_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise SignerUnavailable(at="signer", problem="timed_out") from None
        except (OSError, ValueError):
            raise SignerUnavailable(at="signer", problem="cannot_be_run") from None
        if ended.returncode != 0:
            raise SignerUnavailable(at="signer", problem="failed", found=ended.returncode)
        try:
            answer = base64.b64decode(ended.stdout.strip(), validate=True)
        except ValueError:
            answer = b""
        if len(answer) != size:
            raise SignerUnavailable(at="signer", problem="not_base64", limit=size, found=len(answer))
        return answer


def open_signer(uri: str) -> NoteSigner:
    """Return the signer that a URI names; nothing is run yet. Raises `SignerUnavailable` for what names none."""
    try:
        command = shlex.split(uri.removeprefix(SCHEME))
    except ValueError:
        command = []
    if not uri.startswith(SCHEME) or not command:
        raise SignerUnavailable(at="signer", problem="no_such_scheme")
    return CommandSigner(command)


class CheckedSigner:
    """What signs for a public key outside the store, whose signatures are verified before they are used."""

    def __init__(self, key: VerifierKey, outside: NoteSigner | None) -> None:
        self._key = key
        self._outside = outside

    @property
    def public(self) -> bytes:
        """The public key that the log names."""
        return self._key.public

    def sign(self, note: bytes) -> bytes:
        """Return the signature; raises `SignerUnavailable`, or `SignerWrong` for one that is not of this key."""
        if self._outside is None:
            raise SignerUnavailable(at="signer", problem="not_named")
        signature = self._outside.sign(note)
        try:
            self._key.verify(note, signature)
        except Refused:
            raise SignerWrong(at="signer") from None
        return signature
