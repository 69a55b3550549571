"""Client keys: 256 bits that a scanner finds; and records, which open in their own place alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.crypto.client_key import KEY_CHARS, fingerprint_of, is_client_key, new_client_key
from muniment.crypto.record_cipher import RecordCipher
from muniment.errors import Corrupt
from muniment.kernel.sources import SeededEntropy, SystemEntropy

# 2**256 - 1 in base 62 and the checksum of 43 zeros behind the prefix, by `bc` and by the CRC-32 of another library
ALL_ONES = "yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1"
NOTHING = "mun_" + "0" * 43 + "3RwaA8"
CIPHER = RecordCipher(bytes(32))


class Same:
    """Entropy of one byte, over and over."""

    def __init__(self, byte: int) -> None:
        self._byte = byte

    def take(self, size: int) -> bytes:
        """Return the byte so many times."""
        return bytes([self._byte]) * size


def test_a_key_is_its_prefix_its_secret_in_base62_and_a_checksum() -> None:
    assert new_client_key(Same(0)) == NOTHING
    assert new_client_key(Same(255))[:-6] == f"mun_{ALL_ONES}"


def test_a_scanner_finds_a_key_in_a_text() -> None:
    """One pattern finds all keys, and the checksum tells them from what only looks like one."""
    key = new_client_key(SystemEntropy())
    (found,) = re.findall(r"\bmun_[0-9A-Za-z]{49}\b", f"token = '{key}'")
    assert found == key
    assert is_client_key(found)


@given(st.integers(0, KEY_CHARS - 1), st.sampled_from("0aZ_é \n"))
def test_a_key_with_another_character_is_none(at: int, other: str) -> None:
    """A typo is told from a key without asking a store."""
    changed = NOTHING[:at] + other + NOTHING[at + 1 :]
    assert is_client_key(changed) == (changed == NOTHING)
    assert not is_client_key(NOTHING[:-1])
    assert not is_client_key(NOTHING + "0")


def test_the_fingerprint_names_a_key_and_shows_nothing_of_it() -> None:
    assert fingerprint_of(NOTHING) == "45d435f949e8"
    assert fingerprint_of(NOTHING) not in NOTHING


def test_a_record_opens_under_its_own_kind_and_name_alone() -> None:
    name, other = CIPHER.name("client", "desk"), CIPHER.name("client", "till")
    sealed = CIPHER.seal("client", name, b"value", SeededEntropy(b"x"))
    assert CIPHER.open("client", name, sealed) == b"value"
    for kind, place, found in [
        ("answer", name, sealed),
        ("client", other, sealed),
        ("client", name, sealed[:-1] + bytes([sealed[-1] ^ 1])),
        ("client", name, sealed[:8]),
        ("client", name, b""),
    ]:
        with pytest.raises(Corrupt):
            CIPHER.open(kind, place, found)


def test_names_of_records_are_injective_in_their_parts() -> None:
    assert CIPHER.name("answer", "a", "bc") != CIPHER.name("answer", "ab", "c")
    assert CIPHER.name("answer", "a") != CIPHER.name("client", "a")
    assert RecordCipher(b"1" * 32).name("client", "desk") != CIPHER.name("client", "desk")
