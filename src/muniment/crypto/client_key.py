"""Client keys: the bearer tokens that open a served store.

    mun_<43 characters: 256 bits in base62><6 characters: CRC-32 of all before them, in base62>

The prefix and the checksum let a scanner of source code find a leaked key and know that it is one; letters and digits
alone, so that a double click selects it. The store keeps a keyed digest of a key (`crypto.record_cipher`), never the
key. A key is named by its fingerprint, which tells nothing of it.
"""

from __future__ import annotations

import zlib

from muniment.kernel.digest import sha256
from muniment.kernel.sources import Entropy

PREFIX = "mun_"
SECRET_BYTES, SECRET_CHARS, CHECK_CHARS = 32, 43, 6
KEY_CHARS = len(PREFIX) + SECRET_CHARS + CHECK_CHARS
FINGERPRINT_CHARS = 12
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def new_client_key(entropy: Entropy) -> str:
    """Return a new key."""
    body = PREFIX + _base62(int.from_bytes(entropy.take(SECRET_BYTES)), SECRET_CHARS)
    return body + _check(body)


def is_client_key(text: str) -> bool:
    """Tell whether a text has the form of a client key; whether it opens anything is another question."""
    body, check = text[:-CHECK_CHARS], text[-CHECK_CHARS:]
    return (
        len(text) == KEY_CHARS
        and text.isascii()
        and text.isprintable()
        and body.startswith(PREFIX)
        and check == _check(body)
    )


def fingerprint_of(key: str) -> str:
    """Return the fingerprint of a key: 12 hexadecimal digits of a digest of 256 bits that nobody can guess."""
    return sha256(key.encode()).hex()[:FINGERPRINT_CHARS]


def _check(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), CHECK_CHARS)


def _base62(number: int, chars: int) -> str:
    """Return a number in base62, padded with zeros."""
    text = ""
    while number:
        number, digit = divmod(number, len(DIGITS))
        text = DIGITS[digit] + text
    return text.rjust(chars, DIGITS[0])
