"""Encodings by hand: msgpack, base64url, keyed digests, disclosures once more, for vectors of what lies at rest.

Nothing of muniment is imported, and no library that it is made of: what the product writes is compared with what the
specifications say (MessagePack, RFC 4648, RFC 2104, RFC 9901), not against itself.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import struct
from pathlib import Path
from typing import Any

Vector = dict[str, Any]

FORMAT = Path(__file__).parents[1] / "schemas" / "FORMAT.md"
DICTIONARY = base64.b64decode(FORMAT.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0])


def made(word: str, size: int) -> bytes:
    """Return bytes that a reader can make again: SHAKE-128 of a word."""
    return hashlib.shake_128(word.encode()).digest(size)


def b64(data: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def msgpack(value: object) -> bytes:
    """Return a value in the shortest MessagePack there is for it; members of maps stay in their order."""
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        raw = value.encode()
        return _sized(len(raw), (0xA0, 32), (0xD9, 0xDA, 0xDB)) + raw
    if isinstance(value, bytes):
        return _sized(len(value), (0, 0), (0xC4, 0xC5, 0xC6)) + value
    if isinstance(value, list):
        return _sized(len(value), (0x90, 16), (None, 0xDC, 0xDD)) + b"".join(map(msgpack, value))
    assert isinstance(value, dict), "JSON and bytes"
    members = b"".join(msgpack(key) + msgpack(member) for key, member in value.items())
    return _sized(len(value), (0x80, 16), (None, 0xDE, 0xDF)) + members


def _integer(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack("b", value) if value < 0 else bytes((value,))
    unsigned = [(0xCC, ">B", 2**8), (0xCD, ">H", 2**16), (0xCE, ">I", 2**32), (0xCF, ">Q", 2**64)]
    signed = [(0xD0, ">b", 2**7), (0xD1, ">h", 2**15), (0xD2, ">i", 2**31), (0xD3, ">q", 2**63)]
    for mark, layout, limit in unsigned if value >= 0 else signed:
        if -limit <= value < limit:
            return bytes((mark,)) + struct.pack(layout, value)
    raise AssertionError("64 bits")


def _sized(size: int, short: tuple[int, int], marks: tuple[int | None, int, int]) -> bytes:
    base, limit = short
    if size < limit:
        return bytes((base + size,))
    for mark, layout, beyond in zip(marks, (">B", ">H", ">I"), (2**8, 2**16, 2**32), strict=True):
        if mark is not None and size < beyond:
            return bytes((mark,)) + struct.pack(layout, size)
    raise AssertionError("4 GB")


def plain(value: object) -> Any:
    """Return a value as JSON has it: bytes as base64 with padding."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    return value


def keyed(key: bytes, *parts: str | bytes) -> bytes:
    """Return HMAC-SHA-256 over length-prefixed parts."""
    raw = [part.encode() if isinstance(part, str) else part for part in parts]
    return hmac.digest(key, b"".join(len(part).to_bytes(8, "big") + part for part in raw), "sha256")


def disclosed(seed: bytes, label: str, text: str) -> Vector:
    """Return salt, disclosure and commitment of a field whose value is this canonical text."""
    salt = b64(hmac.digest(seed, label.encode(), "sha256"))
    disclosure = b64(f'["{salt}","{label}",{text}]'.encode())
    commitment = b64(hashlib.sha256(disclosure.encode()).digest())
    return {"label": label, "value": text, "salt": salt, "disclosure": disclosure, "commitment": commitment}


def leaf_of(header: bytes) -> bytes:
    """Return the leaf of a header (RFC 6962, section 2.1)."""
    return hashlib.sha256(b"\x00" + header).digest()
