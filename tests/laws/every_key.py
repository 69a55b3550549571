"""Every key that a store still has, tried on every sealed value that it ever had.

Nothing but `derived_by` knows how values are laid out. A key is whatever the product decrypts with, and any 32 bytes of
what it decrypts; a sealed value is a column of any table; its nonce is any 12 bytes near its beginning, or zeros. What
a value is bound to is left out: without its tag, AES-GCM is AES in counter mode.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from muniment.crypto.cell import ContentKey, open_cell
from muniment.crypto.dictionary import DICTIONARY
from muniment.errors import Corrupt

KEY_BYTES, NONCE_BYTES, TAG_BYTES = 32, 12, 16
HEAD_BYTES_MAX = 32
KEYED_BYTES_MAX = 2048  # a plaintext that holds keys is short
FIRST_BLOCK = b"\0\0\0\2"  # of the counter, where the nonce has 12 bytes


def sealed_values(store: Path) -> dict[bytes, str]:
    """Return every value of bytes in every table of every log of a store, and where it is."""
    found: dict[bytes, str] = {}
    for log in store.rglob("log.db"):
        with closing(sqlite3.connect(log)) as raw:
            tables = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                for row in raw.execute(f"SELECT * FROM {table}"):  # noqa: S608 - a name of a table
                    found.update({value: table for value in row if isinstance(value, bytes)})
    return found


class Keys:
    """What was decrypted with, and what came of it."""

    def __init__(self) -> None:
        self._used: set[bytes] = set()
        self._plaintexts: set[bytes] = set()

    def used(self) -> set[bytes]:
        """Return every key that something was decrypted or encrypted with."""
        return set(self._used)

    def all(self) -> set[bytes]:
        """Return every key, and everything that may be one."""
        return self._used | self.secrets()

    def secrets(self, texts: Iterable[bytes] = ()) -> set[bytes]:
        """Return all stretches of what was decrypted, and of these texts, that are as long as a key."""
        return {
            text[start : start + KEY_BYTES]
            for text in {*self._plaintexts, *texts}
            if len(text) <= KEYED_BYTES_MAX
            for start in range(len(text) - KEY_BYTES + 1)
        }

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """Hear whatever the product encrypts or decrypts meanwhile."""
        keys = self

        class RecordingCipher:
            def __init__(self, key: bytes) -> None:
                keys._used.add(bytes(key))
                self._inner = AESGCM(key)

            def encrypt(self, nonce: bytes, data: bytes, context: bytes | None) -> bytes:
                return self._inner.encrypt(nonce, data, context)

            def decrypt(self, nonce: bytes, data: bytes, context: bytes | None) -> bytes:
                text = self._inner.decrypt(nonce, data, context)
                keys._plaintexts.add(text)
                return text

        with pytest.MonkeyPatch.context() as patch:
            for name, module in list(sys.modules.items()):
                if name.startswith("muniment.") and "AESGCM" in vars(module):
                    patch.setattr(module, "AESGCM", RecordingCipher)
            yield


def opened_by(values: dict[bytes, str], keys: set[bytes], words: bytes) -> list[str]:
    """Return where the sealed values are that any of the keys opens to these words."""
    return [where for value, where in values.items() if any(words in text for text in _texts(value, keys))]


def derived_by(values: dict[bytes, str], secrets: set[bytes], leaves: set[bytes], words: bytes) -> list[str]:
    """Return where the cells are that open to these words with a key that is derived from any of the secrets."""
    return [
        where
        for value, where in values.items()
        if where == "events" and any(words in text for text in _cells(value, secrets, leaves))
    ]


def _cells(value: bytes, secrets: set[bytes], leaves: set[bytes]) -> Iterator[bytes]:
    for secret, leaf in product(secrets, leaves):
        with contextlib.suppress(Corrupt):
            yield open_cell(ContentKey(secret), value, leaf)


def _texts(value: bytes, keys: set[bytes]) -> Iterator[bytes]:
    """Yield what comes of a value, for every key and every nonce that it may have."""
    for body in range(min(HEAD_BYTES_MAX, len(value) - TAG_BYTES)):
        for nonce in {bytes(NONCE_BYTES), value[max(body - NONCE_BYTES, 0) : body]}:
            if len(nonce) == NONCE_BYTES:
                for key in keys:
                    cipher = Cipher(AES(key), CTR(nonce + FIRST_BLOCK)).decryptor()
                    yield _unpacked(cipher.update(value[body:-TAG_BYTES]))


def _unpacked(text: bytes) -> bytes:
    """Return a text, with what it is when it is unpacked."""
    if text[0] & 0x0F == zlib.DEFLATED and int.from_bytes(text[:2]) % 31 == 0:  # RFC 1950, 2.2
        with contextlib.suppress(zlib.error):
            return text + zlib.decompressobj().decompress(text, 2**16)
    inflated = text
    for dictionary in (b"", DICTIONARY):
        with contextlib.suppress(zlib.error):
            inflated += zlib.decompressobj(-zlib.MAX_WBITS, dictionary).decompress(text, 2**16)
    return inflated
