"""Digests: keyed, with a purpose, and injective in their parts."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.kernel.digest import DIGEST_BYTES, b64url, hmac_of, keyed_digest, sha256, unb64url

KEY = bytes(range(32))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
requests = st.tuples(texts, st.lists(texts, max_size=3))


def test_the_keyed_digest_is_the_pinned_one() -> None:
    """HMAC-SHA-256 over each part after its length in eight bytes."""
    message = b"\0\0\0\0\0\0\0\4turn\0\0\0\0\0\0\0\3a-1\0\0\0\0\0\0\0\2\xff\x00"
    assert keyed_digest(KEY, "turn", "a-1", b"\xff\x00") == hmac.new(KEY, message, hashlib.sha256).digest()


@given(requests, requests)
def test_different_requests_have_different_digests(one: tuple[str, list[str]], other: tuple[str, list[str]]) -> None:
    """Equal digests, equal purpose and parts, however the text is cut."""
    same = keyed_digest(KEY, one[0], *one[1]) == keyed_digest(KEY, other[0], *other[1])
    assert same == (one == other)


@given(texts, st.lists(texts, max_size=3), st.data())
def test_moving_a_cut_makes_another_digest(purpose: str, parts: list[str], data: st.DataObject) -> None:
    """The same characters, divided elsewhere, are another request."""
    whole = purpose + "".join(parts)
    at = data.draw(st.integers(0, len(whole)))
    moved = (whole[:at], whole[at:])
    if (purpose, *parts) != moved:
        assert keyed_digest(KEY, purpose, *parts) != keyed_digest(KEY, *moved)


@given(requests)
def test_another_key_gives_another_digest(request_: tuple[str, list[str]]) -> None:
    """Nobody without the key of the space can look anything up."""
    assert keyed_digest(KEY, request_[0], *request_[1]) != keyed_digest(bytes(32), request_[0], *request_[1])
    assert len(keyed_digest(KEY, request_[0], *request_[1])) == DIGEST_BYTES


def test_sha256_gives_the_published_digest() -> None:
    assert sha256(b"abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@given(st.binary())
def test_base64url_is_read_back(data: bytes) -> None:
    """unb64url(b64url(d)) == d, and no padding is written."""
    assert unb64url(b64url(data)) == data
    assert "=" not in b64url(data)


@pytest.mark.parametrize("text", ["A", "AB", "AA=", "AA==", "+A", "/w", "A A", "AA\n", "AAB", "\u2603"])
def test_every_other_spelling_of_bytes_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the contract names no more than that)
        unb64url(text)


@given(st.binary(max_size=64), st.binary(max_size=200))
def test_hmac_of_is_hmac(key: bytes, message: bytes) -> None:
    """The short way gives what the standard library gives, for every key up to a block."""
    assert hmac_of(key, message) == hmac.digest(key, message, "sha256")
