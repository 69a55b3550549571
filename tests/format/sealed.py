"""A reader of backups and archives, written from `schemas/FORMAT.md` alone: it imports nothing of muniment."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tests.format.reader import Root, need, unpack

CHUNK = 65_536 + 16


def stream(data: bytes, key: bytes, context: bytes) -> bytes:
    """Return what a sealed stream holds."""
    file = io.BytesIO(data)
    need(file.read(16) == b"muniment-sealed\x01", "sealed stream")
    aead = AESGCM(HKDF(SHA256(), 32, None, b"muniment/v1/stream" + file.read(32) + context).derive(key))
    chunks = list(iter(lambda: file.read(CHUNK), b""))
    last = len(chunks) - 1
    nonces = (number.to_bytes(11, "big") + bytes([number == last]) for number in range(len(chunks)))
    return b"".join(aead.decrypt(nonce, chunk, None) for nonce, chunk in zip(nonces, chunks, strict=True))


def backup(directory: Path, root: Root) -> Iterator[list[Any]]:
    """Yield the frames of a backup."""
    keys = json.loads((directory / "keys.sealed").read_bytes())
    key = root.unwrap(keys["key"], f"{keys['ring']['log']}/backup/0")
    file = io.BytesIO(stream((directory / "log.sealed").read_bytes(), key, b"muniment/backup"))
    while length := file.read(4):
        yield unpack(file.read(int.from_bytes(length, "big")))


def archive(file: Path, root: Root) -> list[dict[str, Any]]:
    """Return the lines of an archive."""
    first, _, rest = file.read_bytes().partition(b"\n")
    key = root.unwrap(json.loads(first)["key"], "muniment/archive")
    context = b"muniment/archive\x00" + hashlib.sha256(first + b"\n").digest()
    text = stream(rest, key, context).rstrip(b"\0")
    head, *lines = [json.loads(line) for line in text.splitlines()]
    need(hashlib.sha256(text.partition(b"\n")[2]).hexdigest() == head["digest"], "digest")
    return [head, *lines]
