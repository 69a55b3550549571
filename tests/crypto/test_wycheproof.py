"""Project Wycheproof, on the primitives as this package calls them.

AES-GCM: the group with 256-bit keys and 96-bit nonces; we never use other sizes. HKDF-SHA-256: all vectors; those
without salt also through `derive`, which takes none.
"""

from __future__ import annotations

import json
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from muniment.crypto.root import derive
from tests.shared import need_shared

FOLDER = "vectors/wycheproof/testvectors_v1"


def groups(name: str) -> list[dict[str, Any]]:
    text = need_shared(f"{FOLDER}/{name}").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)["testGroups"]
    return found


def opened(test: dict[str, Any]) -> bytes | None:
    key, nonce, associated, body, tag = (bytes.fromhex(test[part]) for part in ("key", "iv", "aad", "ct", "tag"))
    try:
        return AESGCM(key).decrypt(nonce, body + tag, associated)
    except InvalidTag:
        return None


def sealed(test: dict[str, Any]) -> str:
    key, nonce, associated, message = (bytes.fromhex(test[part]) for part in ("key", "iv", "aad", "msg"))
    return AESGCM(key).encrypt(nonce, message, associated).hex()


def expanded(test: dict[str, Any]) -> bytes | None:
    key, salt, info = (bytes.fromhex(test[part]) for part in ("ikm", "salt", "info"))
    try:
        okm = HKDF(algorithm=SHA256(), length=test["size"], salt=salt or None, info=info).derive(key)
    except ValueError:
        return None
    if not salt:
        assert derive(key, info, test["size"]) == okm
    return okm


def test_aes_gcm_opens_what_is_valid_and_nothing_else() -> None:
    """Valid vectors open and seal to the same bytes, invalid ones are refused."""
    sized = [group for group in groups("aes_gcm_test.json") if (group["keySize"], group["ivSize"]) == (256, 96)]
    tests = [test for group in sized for test in group["tests"]]
    assert len(tests) == 66
    for test in tests:
        valid = test["result"] == "valid"
        assert opened(test) == (bytes.fromhex(test["msg"]) if valid else None), test["tcId"]
        if valid:
            assert sealed(test) == test["ct"] + test["tag"], test["tcId"]


def test_hkdf_gives_what_is_valid_and_nothing_else() -> None:
    """Valid vectors expand to what they say, sizes beyond the limit are refused."""
    tests = [test for group in groups("hkdf_sha256_test.json") for test in group["tests"]]
    assert len(tests) == 86
    for test in tests:
        wanted = bytes.fromhex(test["okm"]) if test["result"] == "valid" else None
        assert expanded(test) == wanted, test["tcId"]
