"""Headers and commitments: one spelling, two readers that agree, and salts that nobody can guess."""

from __future__ import annotations

import hmac
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from muniment.errors import Corrupt, NotCanonical
from muniment.evidence import header, verifier
from muniment.evidence.header import Header
from muniment.evidence.verifier import Refused
from muniment.kernel.canonical import encode
from muniment.kernel.digest import b64url

DIGEST = b64url(bytes(32))
LOG = b64url(bytes(16))
digests = st.binary(min_size=32, max_size=32).map(b64url)
words = st.from_regex(verifier.WORD, fullmatch=True)
labels = st.from_regex(verifier.LABEL, fullmatch=True)
places = st.integers(0, verifier.TREE_SIZE_MAX)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


@st.composite
def headers(draw: st.DrawFn) -> Header:
    seq = draw(st.integers(1, 2**53 - 1))
    stream = draw(st.integers(0, 2**53 - 2))
    numbers = st.integers(1, 2**53 - 1)
    return Header(
        fields=draw(st.dictionaries(labels, digests, max_size=5)),
        kind=draw(st.from_regex(verifier.KIND, fullmatch=True)),
        log=draw(st.binary(min_size=16, max_size=16).map(b64url)),
        pos=stream if seq == 1 else draw(st.integers(stream + 1, 2**53 - 1)),
        prev=None if seq == 1 else draw(digests),
        reason=draw(st.none() | words),
        refs=draw(st.dictionaries(words, places, max_size=3)),
        seq=seq,
        stream=stream,
        t=draw(places),
        entry=draw(st.just(UNSET) | st.dictionaries(words, numbers, min_size=1, max_size=1)),
        opens=draw(words) if seq == 1 else UNSET,
        target=draw(st.just(UNSET) | places),
    )


def both_readers(data: bytes) -> tuple[bool, bool]:
    """Tell whether the store's reader and the verifier's reader take these bytes for a header."""
    try:
        header.parse(data)
    except Corrupt:
        ours = False
    else:
        ours = True
    try:
        verifier.parse_header(data)
    except Refused:
        theirs = False
    else:
        theirs = True
    return ours, theirs


def example(**changes: object) -> dict[str, object]:
    plain: dict[str, object] = {
        "fields": {"actor": DIGEST}, "kind": "turn.committed", "log": LOG, "pos": 5, "prev": DIGEST, "reason": None,
        "refs": {"hold": 1}, "entry": {"turn": 1}, "target": 0, "seq": 2, "stream": 1, "t": 0, "v": 1,
    }  # fmt: skip
    return {**plain, **changes}


@given(headers())
def test_a_header_survives_being_written_down(made: Header) -> None:
    """parse(encode(h)) == h, the bytes are canonical JSON, and the verifier reads the same."""
    exact = header.encode(made)
    assert header.parse(exact) == made
    assert verifier.parse_header(exact) == json.loads(exact) == msgspec.to_builtins(made)
    assert exact == encode(json.loads(exact))


@given(headers(), st.data())
def test_the_two_readers_of_headers_agree_on_any_single_change(made: Header, data: st.DataObject) -> None:
    """A byte changed, put in or taken out: both readers accept the result, or both refuse it."""
    exact = header.encode(made)
    at = data.draw(st.integers(0, len(exact) - 1))
    new = bytes([data.draw(st.integers(0, 255))])
    for changed in (exact[:at] + new + exact[at + 1 :], exact[:at] + new + exact[at:], exact[:at] + exact[at + 1 :]):
        ours, theirs = both_readers(changed)
        assert ours == theirs


@pytest.mark.parametrize(
    "changes",
    [
        {"v": 2}, {"v": True}, {"pos": -1}, {"pos": 2**53}, {"pos": 1}, {"pos": 0}, {"seq": 0},
        {"seq": 1}, {"seq": 1, "prev": None}, {"prev": None}, {"prev": "B" * 43}, {"log": "A" * 21 + "B"},
        {"log": ""}, {"kind": "turn"}, {"kind": "Turn.committed"}, {"kind": "a.b\n"}, {"reason": "two words"},
        {"reason": ""}, {"fields": []}, {"fields": {"a b": DIGEST}}, {"fields": {"actor": "x"}}, {"refs": None},
        {"fields": {"actor": None}}, {"refs": {"turn": -1}}, {"refs": {"turn": "1"}}, {"refs": {"Turn": 1}},
        {"opens": "conversation"}, {"opens": None}, {"entry": {}}, {"entry": {"turn": 0}}, {"entry": None},
        {"entry": {"item": 1, "turn": 1}}, {"entry": {"Turn": 1}}, {"target": -1}, {"target": None}, {"target": "1"},
        {"t": None}, {"t": 0.5}, {"extra": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_header_with_a_bad_member_is_refused_by_both_readers(changes: dict[str, object]) -> None:
    assert both_readers(encode(example())) == (True, True)
    assert both_readers(encode(example(**changes))) == (False, False)


def test_a_number_that_not_every_reader_has_exactly_is_never_written() -> None:
    """JSON readers in other languages hold 53 bits: what both readers refuse, the log does not write."""
    sound = header.parse(encode(example()))
    large: list[dict[str, object]] = [{name: 2**53} for name in ("t", "pos", "target")]
    large += [{"refs": {"hold": 2**53}}, {"entry": {"turn": 2**53}}]
    for changes in large:
        with pytest.raises(NotCanonical, match="integer"):
            header.encode(msgspec.structs.replace(sound, **changes))
        assert both_readers(encode(example(**changes))) == (False, False)


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b"null", b"{", b"\xff", b'{"a":"\\ud800"}', b"[" * 10_000 + b"]" * 10_000],
    ids=lambda data: repr(data[:12]),
)
def test_what_is_no_header_at_all_is_refused_by_both_readers(data: bytes) -> None:
    assert both_readers(data) == (False, False)


def test_a_header_that_is_not_canonical_is_refused_by_both_readers() -> None:
    exact = encode(example())
    for changed in (exact + b"\n", exact.replace(b":", b": ", 1), exact.replace(b'"v":1', b'"v":1,"v":1')):
        assert both_readers(changed) == (False, False)


@given(st.binary(min_size=32, max_size=32), labels)
def test_a_salt_is_the_hmac_of_seed_and_label(seed: bytes, label: str) -> None:
    """It is base64url(HMAC-SHA-256(seed, label)), as the standard library computes it."""
    assert header.salt(seed, label) == b64url(hmac.digest(seed, label.encode(), "sha256"))


@given(st.binary(min_size=32, max_size=32), st.dictionaries(labels, json_values, max_size=4))
def test_every_committed_field_opens_with_its_disclosure(seed: bytes, values: dict[str, object]) -> None:
    """commit_fields agrees with disclose and commit, and the verifier gives back label and value."""
    fields = [(label, encode(value)) for label, value in values.items()]
    committed = header.commit_fields(seed, fields)
    for label, exact in fields:
        disclosure = header.disclose(seed, label, exact)
        assert header.commit(disclosure) == committed[label]
        opened = verifier.open_disclosure(disclosure, committed)
        assert opened == (label, json.loads(exact))


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32), json_values)
def test_the_same_value_under_another_seed_or_label_has_another_commitment(
    seed: bytes, other: bytes, value: object
) -> None:
    """Nobody can compare the values of two fields by their commitments."""
    exact = encode(value)
    made = {header.commit_fields(one, [("a", exact)])["a"] for one in (seed, other)}
    assert len(made) == len({seed, other})
    assert header.commit_fields(seed, [("b", exact)])["b"] not in made


def test_a_field_is_disclosed_only_as_the_header_committed_to_it() -> None:
    """Another value, another seed and an unknown label are refused: no proof shows what was not committed."""
    seed, fields = bytes(32), [("role", encode("user"))]
    made = Header(
        fields=header.commit_fields(seed, fields), kind="turn.committed", log=LOG, pos=4, prev=None, reason=None,
        refs={}, seq=1, stream=4, t=0,
    )  # fmt: skip
    assert header.disclosures(made, [(seed, fields)]).keys() == {"role"}
    for salts, altered in [
        (seed, [("role", encode("assistant"))]),
        (bytes(31) + b"x", fields),
        (seed, [("speaker", encode("user"))]),
    ]:
        with pytest.raises(Corrupt) as refused:
            header.disclosures(made, [(salts, altered)])
        assert (refused.value.at, refused.value.problem) == ("position 4", "commitment")


def test_a_label_that_needs_escapes_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        header.disclose(bytes(32), 'a"b', b"1")


@pytest.mark.parametrize(
    "disclosure",
    ["", "====", "e30", "W10", "\u2603", "W10=", "+A==", b64url(b'["x","a",1]'), b64url(f'["{DIGEST}",1,1]'.encode())],
)
def test_what_is_no_disclosure_is_refused(disclosure: str) -> None:
    with pytest.raises(Refused, match=r"disclosure|not_json"):
        verifier.open_disclosure(disclosure, {})


def test_a_disclosure_in_the_other_alphabet_of_base64_is_refused() -> None:
    """Its text is what is committed to, so a log could commit to it; but there is one spelling."""
    url = header.disclose(bytes(32), "actor", '"\u00ff\u00ff>>??"'.encode())
    other = url.replace("-", "+").replace("_", "/")
    assert other != url
    with pytest.raises(Refused, match="disclosure"):
        verifier.open_disclosure(other, {"actor": header.commit(other)})


def test_a_disclosure_without_a_commitment_is_refused() -> None:
    disclosure = header.disclose(bytes(32), "actor", b"1")
    for fields in ({}, {"actor": DIGEST}, {"source": header.commit(disclosure)}):
        with pytest.raises(Refused, match="commitment"):
            verifier.open_disclosure(disclosure, fields)
