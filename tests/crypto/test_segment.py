"""Segment keys, and whatever else is sealed under the key of a space."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.crypto.segment import (
    SEGMENT_ENTROPY_BYTES,
    SEGMENTS_IN_ROW,
    SegmentKey,
    SpaceKey,
    open_sealed,
    open_segments,
    seal_segments,
)
from muniment.errors import Corrupt, KeyMissing
from muniment.kernel.sources import SystemEntropy
from tests.crypto.worlds import Versions, flipped, neighbours

NONCE = bytes(12)
SPACE = SpaceKey(7, bytes(range(32)))
rows = st.integers(0, 2**40)
counts = st.integers(1, SEGMENTS_IN_ROW)


def drawn(row: int, count: int) -> list[SegmentKey]:
    numbers = range(row * SEGMENTS_IN_ROW, row * SEGMENTS_IN_ROW + count)
    return [SegmentKey(number, SystemEntropy().take(SEGMENT_ENTROPY_BYTES)) for number in numbers]


def shown(keys: list[SegmentKey]) -> list[tuple[int, bytes, bytes]]:
    return [(key.number, key.entry, key.context) for key in keys]


@given(rows, counts)
def test_a_sealed_row_can_be_opened(row: int, count: int) -> None:
    """open(seal(keys)) = keys for the same space key and row."""
    keys = drawn(row, count)
    assert shown(open_segments(Versions(SPACE), row, seal_segments(SPACE, NONCE, row, keys))) == shown(keys)


@given(counts, st.data())
def test_no_bit_of_a_row_can_be_changed(count: int, data: st.DataObject) -> None:
    """Any row with one bit changed, cut short or made longer is refused; so is a row in the place of another."""
    sealed = seal_segments(SPACE, NONCE, 2, drawn(2, count))
    changed = flipped(sealed, data.draw(st.integers(0, len(sealed) * 8 - 1)))
    for bad in (changed, sealed[: data.draw(st.integers(0, len(sealed) - 1))], sealed + b"\0"):
        with pytest.raises((Corrupt, KeyMissing)):
            open_segments(Versions(SPACE), 2, bad)
    with pytest.raises(Corrupt):
        open_segments(Versions(SPACE), 1, sealed)


def test_a_space_key_that_differs_in_one_bit_opens_nothing() -> None:
    """All 256 neighbours of the key are refused, and a version that was destroyed is missing."""
    sealed = seal_segments(SPACE, NONCE, 0, drawn(0, 2))
    for secret in neighbours(SPACE.secret):
        with pytest.raises(Corrupt):
            open_segments(Versions(SpaceKey(7, secret)), 0, sealed)
    with pytest.raises(KeyMissing):
        open_segments(Versions(SpaceKey(8, SPACE.secret)), 0, sealed)


@pytest.mark.parametrize("entries", [b"", bytes(35), bytes(36 * (SEGMENTS_IN_ROW + 1))])
def test_a_row_holds_whole_keys(entries: bytes) -> None:
    """Only a holder of the space key can make another one; it is named as damage all the same."""
    sealed = SPACE.seal(NONCE, entries, b"muniment/segments" + bytes(8))
    with pytest.raises(Corrupt):
        open_segments(Versions(SPACE), 0, sealed)


@given(st.binary(max_size=200), st.binary(max_size=40), st.binary(max_size=40))
def test_what_is_sealed_opens_in_its_context_alone(plaintext: bytes, context: bytes, other: bytes) -> None:
    """open(seal(x)) = x in the same context, and nothing in any other."""
    sealed = SPACE.seal(NONCE, plaintext, context)
    assert open_sealed(Versions(SPACE), sealed, context, "here") == plaintext
    if other != context:
        with pytest.raises(Corrupt):
            open_sealed(Versions(SPACE), sealed, other, "here")
