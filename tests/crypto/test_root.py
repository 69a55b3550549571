"""The root key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.crypto.root import LocalRoot
from muniment.errors import Corrupt, KeyInvalid, KeyWrong, MunimentError
from muniment.kernel.sources import SystemEntropy
from tests.crypto.worlds import flipped, neighbours, new_root

ROOT = new_root()


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_what_a_root_wraps_it_unwraps(secret: bytes, context: bytes) -> None:
    """unwrap(wrap(x, c), c) = x, and no two wrappings are the same."""
    wrapped = ROOT.wrap(secret, context)
    assert ROOT.unwrap(wrapped, context) == secret
    assert ROOT.wrap(secret, context) != wrapped


@given(st.binary(max_size=50), st.binary(min_size=1, max_size=20), st.data())
def test_no_bit_of_a_wrapped_secret_or_its_place_can_be_changed(secret: bytes, at: bytes, data: st.DataObject) -> None:
    """One bit changed, one byte less, one byte more: refused with one of our errors."""
    wrapped = ROOT.wrap(secret, at)
    bit = data.draw(st.integers(0, len(wrapped) * 8 - 1))
    for bad in (flipped(wrapped, bit), wrapped[: bit // 8], wrapped + b"\0"):
        with pytest.raises(MunimentError):
            ROOT.unwrap(bad, at)
    for other in (flipped(at, data.draw(st.integers(0, len(at) * 8 - 1))), at + b"\0", at[:-1]):
        with pytest.raises(Corrupt):
            ROOT.unwrap(wrapped, other)


def test_a_root_key_that_differs_in_one_bit_has_another_id() -> None:
    """Every neighbour of a root key has another id and is refused before anything is decrypted."""
    key = bytes(range(32))
    wrapped = LocalRoot(key, SystemEntropy()).wrap(b"secret", b"")
    others = [LocalRoot(other, SystemEntropy()) for other in neighbours(key)]
    assert len({other.key_id for other in others}) == 256
    for other in others:
        with pytest.raises(KeyWrong):
            other.unwrap(wrapped, b"")


@pytest.mark.parametrize("size", [0, 16, 31, 33])
def test_a_root_key_has_32_bytes(size: int) -> None:
    with pytest.raises(KeyInvalid) as caught:
        LocalRoot(bytes(size), SystemEntropy())
    assert (caught.value.limit, caught.value.found) == (32, size)
