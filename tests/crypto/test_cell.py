"""Cells and envelopes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.crypto import cell
from muniment.crypto.cell import (
    ContentKey,
    OpenEnvelope,
    envelope_key_id,
    open_cell,
    open_envelope,
    open_envelopes,
    reseal_envelopes,
    seal_cell,
    seal_envelope,
    squeeze,
)
from muniment.crypto.segment import SEGMENT_BITS, SegmentKey
from muniment.errors import Corrupt, LimitExceeded
from muniment.kernel.sources import SystemEntropy
from tests.crypto.worlds import flipped, neighbours

NONCE, LEAF, PLACE = bytes(12), bytes(range(32)), b"a row"
KEY = ContentKey(bytes(range(32)))
long_words = st.integers(256, 20_000).map(lambda size: (b"again and again " * 1250)[:size])
words = st.one_of(st.binary(max_size=300), long_words)
leaves = st.binary(min_size=32, max_size=32)


def sealed_words(plaintext: bytes, leaf: bytes = LEAF) -> bytes:
    return seal_cell(KEY, squeeze(plaintext), leaf)


def refuses_cell(sealed: bytes, key: ContentKey = KEY, leaf: bytes = LEAF) -> None:
    with pytest.raises(Corrupt):
        open_cell(key, sealed, leaf)


@given(words, leaves)
def test_what_is_sealed_can_be_opened(plaintext: bytes, leaf: bytes) -> None:
    """open(seal(x)) = x for the same key and leaf."""
    assert open_cell(KEY, sealed_words(plaintext, leaf), leaf) == plaintext


@given(words, st.data())
def test_no_bit_of_a_cell_can_be_changed(plaintext: bytes, data: st.DataObject) -> None:
    """Any cell with one bit changed, cut short or made longer is refused."""
    sealed = sealed_words(plaintext)
    refuses_cell(flipped(sealed, data.draw(st.integers(0, len(sealed) * 8 - 1))))
    refuses_cell(sealed[: data.draw(st.integers(0, len(sealed) - 1))])
    refuses_cell(sealed + data.draw(st.binary(min_size=1, max_size=40)))


@given(st.integers(0, 255))
def test_a_cell_belongs_to_one_event(bit: int) -> None:
    """A cell is refused under a leaf that differs in one bit."""
    refuses_cell(sealed_words(b"words"), leaf=flipped(LEAF, bit))


@given(st.integers(0, 255))
def test_the_same_key_never_seals_two_events_alike(bit: int) -> None:
    """Each leaf has a key of its own, so that a plan that runs again at another place gives nothing away."""
    assert sealed_words(b"words")[1:6] != sealed_words(b"words", flipped(LEAF, bit))[1:6]


def test_a_key_that_differs_in_one_bit_opens_nothing() -> None:
    """All 256 neighbours of the key are refused, and give other salts."""
    sealed = sealed_words(b"words")
    for secret in neighbours(KEY.secret):
        refuses_cell(sealed, ContentKey(secret))
        assert ContentKey(secret).salts() != KEY.salts()


@given(st.binary(max_size=200))
def test_foreign_bytes_are_no_cell(noise: bytes) -> None:
    """Whatever is not a cell is refused with the same error."""
    refuses_cell(noise)


def test_a_cell_is_compressed_when_that_makes_it_smaller() -> None:
    short, long, noise = b"a" * 63, b"a" * 64, SystemEntropy().take(600)
    assert [sealed_words(plaintext)[0] for plaintext in (short, long, noise)] == [0, 1, 0]


def test_a_cell_has_17_bytes_more_than_its_body() -> None:
    assert len(sealed_words(b"")) == 17


def test_a_cell_is_not_inflated_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a cell inflates to is allowed up to the limit and refused above it."""
    sealed = sealed_words(bytes(100_000))
    monkeypatch.setattr(cell, "PLAINTEXT_BYTES_MAX", 100_000)
    assert open_cell(KEY, sealed, LEAF) == bytes(100_000)
    monkeypatch.setattr(cell, "PLAINTEXT_BYTES_MAX", 99_999)
    with pytest.raises(Corrupt, match="too long"):
        open_cell(KEY, sealed, LEAF)


def test_a_plaintext_above_the_limit_is_not_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell, "PLAINTEXT_BYTES_MAX", 10_000)
    with pytest.raises(LimitExceeded):
        squeeze(bytes(10_001))


# --- envelopes --------------------------------------------------------------------------------------------------------

SEGMENT = SegmentKey(3, b"kkkk" + bytes(range(32, 64)))
FRESH = SegmentKey(3, b"nnnn" + bytes(32))
envelopes = st.builds(OpenEnvelope, st.binary(max_size=300), st.none() | leaves.map(ContentKey))


def shown(opened: OpenEnvelope) -> tuple[bytes, bytes | None]:
    return opened.meta, None if opened.key is None else opened.key.secret


@given(envelopes, leaves, st.binary(max_size=60))
def test_a_sealed_envelope_can_be_opened(held: OpenEnvelope, leaf: bytes, place: bytes) -> None:
    """open(seal(x)) = x for the same segment key, leaf and place."""
    sealed = seal_envelope(SEGMENT, NONCE, held, leaf, place)
    assert shown(open_envelope(SEGMENT, sealed, leaf, place)) == shown(held)
    assert envelope_key_id(sealed) == b"kkkk"


@given(envelopes, st.data())
def test_no_bit_of_an_envelope_can_be_changed(held: OpenEnvelope, data: st.DataObject) -> None:
    """Any envelope with one bit changed, cut short or made longer is refused; so are another leaf and another place."""
    sealed = seal_envelope(SEGMENT, NONCE, held, LEAF, PLACE)
    changed = flipped(sealed, data.draw(st.integers(0, len(sealed) * 8 - 1)))
    for bad in (changed, sealed[: data.draw(st.integers(0, len(sealed) - 1))], sealed + b"\0"):
        with pytest.raises(Corrupt):
            open_envelope(SEGMENT, bad, LEAF, PLACE)
    other_leaf = flipped(LEAF, data.draw(st.integers(0, 255)))
    other_place = flipped(PLACE, data.draw(st.integers(0, len(PLACE) * 8 - 1)))
    for leaf, place in ((other_leaf, PLACE), (LEAF, other_place), (LEAF, PLACE + b"\0"), (LEAF, b"")):
        with pytest.raises(Corrupt):
            open_envelope(SEGMENT, sealed, leaf, place)


def test_a_segment_key_that_differs_in_one_bit_opens_nothing() -> None:
    """All 256 neighbours of the key are refused, and so is the same key as that of another segment."""
    sealed = seal_envelope(SEGMENT, NONCE, OpenEnvelope(b"meta", KEY), LEAF, PLACE)
    for secret in neighbours(SEGMENT.secret):
        with pytest.raises(Corrupt):
            open_envelope(SegmentKey(3, SEGMENT.key_id + secret), sealed, LEAF, PLACE)
    with pytest.raises(Corrupt):
        open_envelope(SegmentKey(4, SEGMENT.entry), sealed, LEAF, PLACE)


@given(st.lists(envelopes, max_size=4), st.data())
def test_many_envelopes_open_together_or_not_at_all(held: list[OpenEnvelope], data: st.DataObject) -> None:
    """What one envelope after the other holds; none where one does not open, or where a key is missing."""
    first, keys = SEGMENT.number << SEGMENT_BITS, {SEGMENT.number: SEGMENT}
    sealed = [seal_envelope(SEGMENT, NONCE, each, LEAF, PLACE) for each in held]
    placed = [(first + at, envelope, LEAF + PLACE) for at, envelope in enumerate(sealed)]
    assert list(map(shown, open_envelopes(keys, placed))) == list(map(shown, held))
    if not held:
        return
    at = data.draw(st.integers(0, len(held) - 1))
    bad = flipped(sealed[at], data.draw(st.integers(0, len(sealed[at]) * 8 - 1)))
    cut = sealed[at][: data.draw(st.integers(0, len(sealed[at]) - 1))]
    torn = SEGMENT.head + NONCE + SEGMENT.aead.encrypt(NONCE, b"\x02meta", SEGMENT.context + LEAF + PLACE)
    damaged = [[*placed[:at], (first + at, one, LEAF + PLACE), *placed[at + 1 :]] for one in (bad, cut, torn)]
    for refused in (*damaged, [*placed, (first << 1, sealed[at], LEAF + PLACE)]):
        with pytest.raises(Corrupt):
            open_envelopes(keys, refused)
    with pytest.raises(Corrupt):
        open_envelopes({SEGMENT.number: FRESH}, placed)


@given(envelopes)
def test_an_envelope_under_another_key_of_its_segment_says_the_same(held: OpenEnvelope) -> None:
    """Sealing it again changes the key and nothing that it holds; the former key then opens it no more."""
    sealed = seal_envelope(SEGMENT, NONCE, held, LEAF, PLACE)
    [(position, again)] = reseal_envelopes(SEGMENT, FRESH, [(NONCE, (3, sealed, LEAF + PLACE))])
    assert (position, envelope_key_id(again)) == (3, b"nnnn")
    assert shown(open_envelope(FRESH, again, LEAF, PLACE)) == shown(held)
    with pytest.raises(Corrupt):
        open_envelope(SEGMENT, again, LEAF, PLACE)


@pytest.mark.parametrize("damage", [b"", bytes(60), SEGMENT.head, SEGMENT.head + bytes(60)])
def test_envelopes_are_sealed_again_until_one_is_damaged(damage: bytes) -> None:
    """An envelope that does not open, or that has not the layout of one, is named by the position of its event."""
    sealed = seal_envelope(SEGMENT, NONCE, OpenEnvelope(b"meta", KEY), LEAF, PLACE)
    with pytest.raises(Corrupt) as refused:
        reseal_envelopes(SEGMENT, FRESH, [(NONCE, (3, sealed, LEAF + PLACE)), (NONCE, (5, damage, LEAF + PLACE))])
    assert refused.value.at == "position 5"


@pytest.mark.parametrize("held", [b"", b"\x02meta", b"\x01" + bytes(31)])
def test_an_envelope_holds_a_whole_key_or_none(held: bytes) -> None:
    """Only a holder of the segment key can make another one; it is damage all the same."""
    torn = SEGMENT.head + NONCE + SEGMENT.aead.encrypt(NONCE, held, SEGMENT.context + LEAF + PLACE)
    with pytest.raises(Corrupt) as refused:
        open_envelope(SEGMENT, torn, LEAF, PLACE)
    assert refused.value.problem == "layout"


@pytest.mark.parametrize("noise", [b"", b"\x01", bytes(60), b"\x02" + bytes(60)])
def test_foreign_bytes_name_no_segment_key(noise: bytes) -> None:
    """Whatever has not the layout of an envelope is refused before a key is looked for."""
    with pytest.raises(Corrupt):
        envelope_key_id(noise)
