"""Timestamps: what an RFC 3161 authority is asked, what it answers, and where the token is kept.

The authority is sent the SHA-256 of the text of a checkpoint and a nonce, and nothing else. Its token becomes one more
signature line of the note, so that it is wherever the checkpoint is: in the log, at the pin, in receipts and exports.
Those who do not know such lines ignore them, as the C2SP format of notes says. Checking a token is the verifier's work.
"""

from __future__ import annotations

import base64
from hashlib import sha256

from muniment.evidence.verifier import (
    TIMESTAMP_KEY_ID,
    TIMESTAMP_NAME,
    Refused,
    parse_der,
    parse_note,
    parse_token,
    timestamps_of,
    tokens_of,
)

NONCE_BYTES = 8
_SHA256 = bytes.fromhex("300d06096086480165030402010500")  # AlgorithmIdentifier of SHA-256
_GRANTED = (b"\x02\x01\x00", b"\x02\x01\x01")  # granted, granted with modifications


def request(note: str, nonce: bytes) -> bytes:
    """Return the TimeStampReq for the checkpoint of a note: version 1, its digest, a nonce, certificates wanted."""
    digest = sha256(parse_note(note).text.encode()).digest()
    imprint = _der(0x30, _SHA256 + _der(0x04, digest))
    number = int.from_bytes(nonce)
    wanted = _der(0x02, number.to_bytes(number.bit_length() // 8 + 1))  # as short as a positive number can be
    return _der(0x30, b"\x02\x01\x01" + imprint + wanted + b"\x01\x01\xff")


def stamped(note: str, response: bytes, nonce: bytes) -> str:
    """Return the note with the token of a TimeStampResp, or raise `Refused`.

    The token must be about this checkpoint and have the nonce. Whose it is shows when it is checked with a certificate.
    """
    try:
        status, *answered = parse_der(response).expect(0x30).items()
        granted = status.expect(0x30).items()[0].whole in _GRANTED
    except (ValueError, IndexError):
        raise Refused("timestamp_malformed") from None
    if not granted or len(answered) != 1:
        raise Refused("timestamp_refused")
    token = answered[0].whole
    if parse_token(token).nonce != int.from_bytes(nonce):
        raise Refused("timestamp_nonce")
    line = base64.b64encode(TIMESTAMP_KEY_ID + token).decode()
    with_token = f"{note}\N{EM DASH} {TIMESTAMP_NAME} {line}\n"
    timestamps_of([with_token], None)  # that it is about this checkpoint
    return with_token


def is_stamped(note: str) -> bool:
    """Tell whether a note has a timestamp."""
    return TIMESTAMP_NAME in note and bool(tokens_of(parse_note(note)))  # few notes of a log are stamped


def _der(tag: int, content: bytes) -> bytes:
    assert len(content) < 0x80, "everything here is short"
    return bytes([tag, len(content)]) + content
