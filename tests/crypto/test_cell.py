"""Cells and bundles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.crypto import cell
from muniment.crypto.cell import (
    CellKey,
    bundle_key_id,
    open_bundle,
    open_cell,
    reseal_bundles,
    seal_bundle,
    seal_cell,
)
from muniment.crypto.segment import SegmentKey
from muniment.errors import Corrupt, LimitExceeded
from muniment.kernel.sources import SeededEntropy, SystemEntropy
from tests.crypto.worlds import draw_keys, flipped, neighbours

NONCE, LEAF, PLACE = bytes(12), bytes(range(32)), b"a row"
KEY = CellKey(b"kkkk", bytes(range(32)))
long_words = st.integers(512, 20_000).map(lambda size: (b"again and again " * 1250)[:size])
words = st.one_of(st.binary(max_size=300), long_words)
leaves = st.binary(min_size=32, max_size=32)


def refuses_cell(sealed: bytes, key: CellKey = KEY, leaf: bytes = LEAF, cls: int = 1) -> None:
    with pytest.raises(Corrupt):
        open_cell(key, sealed, leaf, cls)


@given(words, leaves, st.integers(0, 255))
def test_what_is_sealed_can_be_opened(plaintext: bytes, leaf: bytes, cls: int) -> None:
    """open(seal(x)) = x for the same key, leaf and class."""
    assert open_cell(KEY, seal_cell(KEY, NONCE, plaintext, leaf, cls), leaf, cls) == plaintext


@given(words, st.data())
def test_no_bit_of_a_cell_can_be_changed(plaintext: bytes, data: st.DataObject) -> None:
    """Any cell with one bit changed, cut short or made longer is refused."""
    sealed = seal_cell(KEY, NONCE, plaintext, LEAF, 1)
    refuses_cell(flipped(sealed, data.draw(st.integers(0, len(sealed) * 8 - 1))))
    refuses_cell(sealed[: data.draw(st.integers(0, len(sealed) - 1))])
    refuses_cell(sealed + data.draw(st.binary(min_size=1, max_size=40)))


@given(st.integers(0, 255), st.integers(0, 255))
def test_a_cell_belongs_to_one_event_and_one_class(bit: int, cls: int) -> None:
    """A cell is refused under a leaf that differs in one bit, and under any other class."""
    sealed = seal_cell(KEY, NONCE, b"words", LEAF, 1)
    refuses_cell(sealed, leaf=flipped(LEAF, bit))
    if cls != 1:
        refuses_cell(sealed, cls=cls)


def test_a_key_that_differs_in_one_bit_opens_nothing() -> None:
    """All 256 neighbours of the key are refused."""
    sealed = seal_cell(KEY, NONCE, b"words", LEAF, 1)
    for secret in neighbours(KEY.secret):
        refuses_cell(sealed, CellKey(KEY.key_id, secret))


@given(st.binary(max_size=200))
def test_foreign_bytes_are_no_cell(noise: bytes) -> None:
    """Whatever is not a cell is refused with the same error."""
    refuses_cell(noise)


def test_a_cell_is_compressed_when_that_makes_it_smaller() -> None:
    short, long, noise = b"a" * 511, b"a" * 512, SystemEntropy().take(600)
    assert seal_cell(KEY, NONCE, short, LEAF, 1)[1] == 0
    assert seal_cell(KEY, NONCE, long, LEAF, 1)[1] == 1
    assert seal_cell(KEY, NONCE, noise, LEAF, 1)[1] == 0


def test_a_cell_has_34_bytes_more_than_its_body() -> None:
    assert len(seal_cell(KEY, NONCE, b"", LEAF, 0)) == 34


def test_a_cell_is_not_inflated_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a cell inflates to is allowed up to the limit and refused above it."""
    sealed = seal_cell(KEY, NONCE, bytes(100_000), LEAF, 1)
    monkeypatch.setattr(cell, "PLAINTEXT_BYTES_MAX", 100_000)
    assert open_cell(KEY, sealed, LEAF, 1) == bytes(100_000)
    monkeypatch.setattr(cell, "PLAINTEXT_BYTES_MAX", 99_999)
    with pytest.raises(Corrupt, match="too long"):
        open_cell(KEY, sealed, LEAF, 1)


def test_a_plaintext_above_the_limit_is_not_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell, "PLAINTEXT_BYTES_MAX", 10_000)
    with pytest.raises(LimitExceeded):
        seal_cell(KEY, NONCE, bytes(10_001), LEAF, 1)


# --- bundles ----------------------------------------------------------------------------------------------------------

SEGMENT = SegmentKey(3, b"kkkk" + bytes(range(32, 64)))
bundles = st.sets(st.integers(0, 255), max_size=5).map(lambda classes: draw_keys(SystemEntropy(), tuple(classes)))


def shown(keys: dict[int, CellKey]) -> dict[int, tuple[bytes, bytes]]:
    return {cls: (key.key_id, key.secret) for cls, key in keys.items()}


@given(bundles, leaves, st.binary(max_size=60))
def test_a_sealed_bundle_can_be_opened(keys: dict[int, CellKey], leaf: bytes, place: bytes) -> None:
    """open(seal(keys)) = keys for the same segment key, leaf and place."""
    sealed = seal_bundle(SEGMENT, NONCE, keys, leaf, place)
    assert shown(open_bundle(SEGMENT, sealed, leaf, place)) == shown(keys)
    assert bundle_key_id(sealed) == b"kkkk"


@given(bundles, st.data())
def test_no_bit_of_a_bundle_can_be_changed(keys: dict[int, CellKey], data: st.DataObject) -> None:
    """Any bundle with one bit changed, cut short or made longer is refused; so are another leaf and another place."""
    sealed = seal_bundle(SEGMENT, NONCE, keys, LEAF, PLACE)
    changed = flipped(sealed, data.draw(st.integers(0, len(sealed) * 8 - 1)))
    for bad in (changed, sealed[: data.draw(st.integers(0, len(sealed) - 1))], sealed + b"\0"):
        with pytest.raises(Corrupt):
            open_bundle(SEGMENT, bad, LEAF, PLACE)
    other_leaf = flipped(LEAF, data.draw(st.integers(0, 255)))
    other_place = flipped(PLACE, data.draw(st.integers(0, len(PLACE) * 8 - 1)))
    for leaf, place in ((other_leaf, PLACE), (LEAF, other_place), (LEAF, PLACE + b"\0"), (LEAF, b"")):
        with pytest.raises(Corrupt):
            open_bundle(SEGMENT, sealed, leaf, place)


def test_a_segment_key_that_differs_in_one_bit_opens_nothing() -> None:
    """All 256 neighbours of the key are refused, and so is the same key as that of another segment."""
    sealed = seal_bundle(SEGMENT, NONCE, {0: KEY}, LEAF, PLACE)
    for secret in neighbours(SEGMENT.secret):
        with pytest.raises(Corrupt):
            open_bundle(SegmentKey(3, SEGMENT.key_id + secret), sealed, LEAF, PLACE)
    with pytest.raises(Corrupt):
        open_bundle(SegmentKey(4, SEGMENT.entry), sealed, LEAF, PLACE)


def test_a_bundle_under_another_key_of_its_segment_gives_the_same_keys() -> None:
    """Sealing it again changes the key and nothing that the bundle says; the former key then opens it no more."""
    fresh = SegmentKey(3, b"nnnn" + bytes(32))
    keys = draw_keys(SystemEntropy(), (0, 1))
    sealed = seal_bundle(SEGMENT, NONCE, keys, LEAF, PLACE)
    [(position, again)] = reseal_bundles(SEGMENT, fresh, [(NONCE, (3, sealed, LEAF + PLACE))])
    assert (position, bundle_key_id(again)) == (3, b"nnnn")
    assert shown(open_bundle(fresh, again, LEAF, PLACE)) == shown(keys)
    with pytest.raises(Corrupt):
        open_bundle(SEGMENT, again, LEAF, PLACE)


@pytest.mark.parametrize("damage", [b"", bytes(60), SEGMENT.head, SEGMENT.head + bytes(60)])
def test_bundles_are_sealed_again_until_one_is_damaged(damage: bytes) -> None:
    """A bundle that does not open, or that has not the layout of one, is named by the position of its event."""
    fresh = SegmentKey(3, b"nnnn" + bytes(32))
    sealed = seal_bundle(SEGMENT, NONCE, draw_keys(SystemEntropy(), (0, 1)), LEAF, PLACE)
    bundles = [(NONCE, (3, sealed, LEAF + PLACE)), (NONCE, (5, damage, LEAF + PLACE))]
    with pytest.raises(Corrupt) as refused:
        reseal_bundles(SEGMENT, fresh, bundles)
    assert refused.value.at == "position 5"


def test_a_bundle_whose_entries_are_no_whole_keys_is_not_sealed_again() -> None:
    """Only a holder of the segment key can make one; it is named as damage all the same."""
    torn = SEGMENT.head + NONCE + SEGMENT.aead.encrypt(NONCE, b"half a key", SEGMENT.context + LEAF + PLACE)
    with pytest.raises(Corrupt) as refused:
        reseal_bundles(SEGMENT, SegmentKey(3, bytes(36)), [(NONCE, (5, torn, LEAF + PLACE))])
    assert (refused.value.at, refused.value.problem) == ("position 5", "layout")


@pytest.mark.parametrize("noise", [b"", b"\x01", bytes(60), b"\x02" + bytes(60)])
def test_foreign_bytes_name_no_segment_key(noise: bytes) -> None:
    """Whatever has not the layout of a bundle is refused before a key is looked for."""
    with pytest.raises(Corrupt):
        bundle_key_id(noise)


@given(st.lists(st.integers(0, 255), unique=True, max_size=4))
def test_keys_are_drawn_at_once_and_differ(classes: list[int]) -> None:
    """One draw of entropy gives each class an id and a key of its own."""
    keys = draw_keys(SeededEntropy(b"seed"), classes)
    assert list(keys) == classes
    assert {len(key.key_id) for key in keys.values()} <= {4}
    assert len({key.secret for key in keys.values() if len(key.secret) == 32}) == len(classes)
