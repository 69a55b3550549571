"""The keys of a backup open under the root that sealed them, and under no other."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from muniment.crypto.escrow import FILE, KeysCopy, open_keys, parse_keys, sealed_keys
from muniment.crypto.keyring import UnwrappedKeys
from muniment.crypto.root import LocalRoot
from muniment.crypto.root_sources import RootDescriptor
from muniment.crypto.segment import SpaceKey
from muniment.errors import Corrupt, KeyWrong, StoreNewer
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import b64url
from muniment.kernel.sources import SystemEntropy

ROOT = LocalRoot(b"r" * 32, SystemEntropy())
KEY = b"k" * 32
RING = UnwrappedKeys(
    log_id="AAAAAAAAAAAAAAAAAAAAAA",
    name="default",
    signing_seed=b"s" * 32,
    index_key=b"i" * 32,
    space={3: SpaceKey(3, b"3" * 32), 4: SpaceKey(4, b"4" * 32)},
)
DESCRIPTOR = RootDescriptor(scheme="file")


def sealed(key: bytes = KEY) -> bytes:
    return sealed_keys(RING, key, ROOT, DESCRIPTOR)


def edited(**change: object) -> bytes:
    """Return the file with members of it replaced, written canonically."""
    return encode_plain(replace(parse_keys(sealed()), **change))


def test_the_keys_come_back_as_they_were() -> None:
    copy = parse_keys(sealed())
    keys, key = open_keys(copy, ROOT)
    assert (copy.descriptor, key) == (DESCRIPTOR, KEY)
    assert (keys.log_id, keys.name, keys.signing_seed, keys.index_key) == (
        RING.log_id,
        RING.name,
        RING.signing_seed,
        RING.index_key,
    )
    assert {version: one.secret for version, one in keys.space.items()} == {3: b"3" * 32, 4: b"4" * 32}


def test_no_key_is_in_clear() -> None:
    stored = sealed()
    for secret in (KEY, b"s" * 32, b"i" * 32, b"3" * 32, b"4" * 32, b"default"):
        assert secret not in stored
        assert b64url(secret).encode() not in stored


def test_another_root_opens_nothing() -> None:
    with pytest.raises(KeyWrong):
        open_keys(parse_keys(sealed()), LocalRoot(b"x" * 32, SystemEntropy()))


FAULTS = {
    "no JSON": b"{",
    "not canonical": sealed() + b"\n",
    "an unknown member": msgspec.json.encode({**msgspec.json.decode(sealed()), "more": 1}),
    "not base64url": edited(key="!"),
    "a key of another length": sealed(b"short"),
    "a key of another place": edited(key=b64url(ROOT.wrap(KEY, b"elsewhere"))),
    "keys of another log": edited(keys=replace(parse_keys(sealed()).keys, log="B" * 22)),
    "no key derivation that is sane": sealed().replace(
        b'"descriptor":{"scheme":"file"}',
        b'"descriptor":{"argon2":{"iterations":0,"lanes":1,"memory_kib":8192,"salt":"AAAAAAAAAAAAAAAAAAAAAA"},'
        b'"scheme":"passphrase"}',
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_with_a_fault_is_refused(fault: str) -> None:
    with pytest.raises(Corrupt):
        open_keys(parse_keys(FAULTS[fault]), ROOT)


def test_a_file_of_a_newer_release_is_refused_as_that() -> None:
    with pytest.raises(StoreNewer) as refused:
        parse_keys(edited(format=2))
    assert refused.value.at == FILE
    assert isinstance(parse_keys(sealed()), KeysCopy)
