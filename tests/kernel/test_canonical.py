"""Canonical JSON: one value, one sequence of bytes."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import NotCanonical
from muniment.kernel import canonical
from muniment.kernel.canonical import (
    DEPTH_MAX,
    INTEGER_MAX,
    INTEGER_MIN,
    NODES_MAX,
    decode_plain,
    ecmascript_number,
    encode,
    encode_plain,
    scan,
)
from tests.shared import need_shared

finite = st.floats(allow_nan=False, allow_infinity=False)
integers = st.integers(INTEGER_MIN, INTEGER_MAX)
scalars = st.none() | st.booleans() | integers | st.text()
ascii_keys = st.text(st.characters(max_codepoint=127))
plain_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ascii_keys, inner, max_size=4), max_leaves=20
)
json_values = st.recursive(
    scalars | finite,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)

# The hard cases of RFC 8785, appendix B: bits of the double, text.
HARD_NUMBERS = {
    0x0000000000000000: "0",
    0x8000000000000000: "0",
    0x0000000000000001: "5e-324",
    0x8000000000000001: "-5e-324",
    0x7FEFFFFFFFFFFFFF: "1.7976931348623157e+308",
    0xFFEFFFFFFFFFFFFF: "-1.7976931348623157e+308",
    0x4340000000000000: "9007199254740992",
    0xC340000000000000: "-9007199254740992",
    0x4430000000000000: "295147905179352830000",
    0x44B52D02C7E14AF5: "9.999999999999997e+22",
    0x44B52D02C7E14AF6: "1e+23",
    0x44B52D02C7E14AF7: "1.0000000000000001e+23",
    0x444B1AE4D6E2EF4E: "999999999999999700000",
    0x444B1AE4D6E2EF4F: "999999999999999900000",
    0x444B1AE4D6E2EF50: "1e+21",
    0x3EB0C6F7A0B5ED8C: "9.999999999999997e-7",
    0x3EB0C6F7A0B5ED8D: "0.000001",
    0x41B3DE4355555553: "333333333.3333332",
    0x41B3DE4355555554: "333333333.33333325",
    0x41B3DE4355555555: "333333333.3333333",
    0x41B3DE4355555556: "333333333.3333334",
    0x41B3DE4355555557: "333333333.33333343",
    0xBECBF647612F3696: "-0.0000033333333333333333",
    0x43143FF3C1CB0959: "1424953923781206.2",
}


def deep(levels: int) -> Any:
    value: Any = None
    for _ in range(levels):
        value = [value]
    return value


@given(plain_values)
def test_a_plain_value_survives_being_written_down(value: Any) -> None:
    """decode_plain(encode_plain(v)) == v, and the general encoder writes the same bytes."""
    assert scan(value) is True
    assert decode_plain(encode_plain(value)) == value
    assert encode(value) == encode_plain(value)


@given(json_values)
def test_every_json_value_has_one_spelling(value: Any) -> None:
    """Reading the canonical bytes and writing them again gives the same bytes; as doubles, the numbers are the same."""
    exact = encode(value)
    assert encode(json.loads(exact, parse_int=number)) == exact
    assert json.loads(exact, parse_int=float) == json.loads(json.dumps(value), parse_int=float)


def number(text: str) -> int | float:
    """Read digits as an integer if it has at most 64 bits: a double below 1e21 is written without an exponent."""
    return int(text) if INTEGER_MIN <= int(text) <= INTEGER_MAX else float(text)


@given(json_values)
def test_the_wide_encoder_and_the_plain_one_agree_where_both_apply(value: Any) -> None:
    """Inside the plain profile the fast encoder is the general one."""
    if scan(value):
        assert canonical._wide(value).encode() == encode_plain(value)


@given(st.dictionaries(st.text(), st.none(), min_size=2))
def test_keys_are_in_the_order_of_their_utf_16_code_units(value: dict[str, None]) -> None:
    """RFC 8785, section 3.2.3."""
    written = list(json.loads(encode(value)))
    assert written == sorted(value, key=lambda key: key.encode("utf-16-be"))


@pytest.mark.parametrize("name", ["arrays", "french", "structures", "unicode", "values", "weird"])
def test_the_files_of_rfc_8785_come_out_byte_for_byte(name: str) -> None:
    folder = need_shared("vectors/rfc8785-jcs/testdata")
    value = json.loads((folder / "input" / f"{name}.json").read_text())
    expected = bytes.fromhex((folder / "outhex" / f"{name}.txt").read_text())
    assert encode(value) == expected
    assert (folder / "output" / f"{name}.json").read_bytes() == expected


@pytest.mark.parametrize(("bits", "text"), HARD_NUMBERS.items(), ids=HARD_NUMBERS.values())
def test_the_hard_numbers_are_written_as_ecmascript_writes_them(bits: int, text: str) -> None:
    (value,) = struct.unpack(">d", bits.to_bytes(8))
    assert ecmascript_number(value) == text


@given(finite)
def test_a_number_is_read_back_to_the_same_bits(value: float) -> None:
    """Shortest digits that round-trip; the sign of zero alone is given up."""
    text = ecmascript_number(value)
    assert struct.pack(">d", float(text)) == struct.pack(">d", value + 0.0 if value else 0.0)
    assert ("e" in text) == (value != 0 and not 1e-6 <= abs(value) < 1e21)


def test_an_integer_keeps_all_its_digits() -> None:
    assert (
        encode([2**53 + 1, INTEGER_MAX, INTEGER_MIN, 0.5]) == f"[{2**53 + 1},{INTEGER_MAX},{INTEGER_MIN},0.5]".encode()
    )


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (math.nan, "not_finite"), ([math.inf], "not_finite"), ({"a": -math.inf}, "not_finite"),
        ("\ud800", "lone_surrogate"), ({"\udfff": 1}, "lone_surrogate"), (2**64, "integer_too_large"),
        (-(2**63) - 1, "integer_too_large"), ({1: 1}, "key_not_text"), (b"bytes", "not_json"), ((1,), "not_json"),
        ({1, 2}, "not_json"), (object(), "not_json"), (deep(DEPTH_MAX + 1), "too_deep"),
        ([0] * NODES_MAX, "too_many_nodes"),
    ],
    ids=lambda argument: argument if isinstance(argument, str) and argument.isascii() else "value",
)  # fmt: skip
def test_a_value_without_canonical_form_is_refused(value: Any, problem: str) -> None:
    with pytest.raises(NotCanonical) as refused:
        encode(value)
    assert refused.value.problem == problem
    assert "ud800" not in str(refused.value)


def test_the_limits_of_depth_and_size_are_inclusive() -> None:
    assert scan(deep(DEPTH_MAX))
    assert scan([0] * (NODES_MAX - 1))


def test_the_plain_encoder_refuses_what_it_cannot_write() -> None:
    with pytest.raises(NotCanonical, match=r"invalid Unicode \(lone surrogate\)"):
        encode_plain({"a": "\udc00"})
    with pytest.raises(NotCanonical, match="nested too deeply"):
        encode_plain(deep(100_000))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"nul", b'"\\ud800"', b"\xff", b"NaN", b"[1,]", b'{"a":1}x', b"[" * 100_000,
        b'{"b":1,"a":2}', b'{"a":1,"a":1}', b"[1, 2]", b"1.0", b"-0", b"1e2", b'"\\u0041"', b'"\\/"', b"[1]\n",
    ],
    ids=lambda data: repr(data[:16]),
)  # fmt: skip
def test_bytes_that_are_not_canonical_are_refused(data: bytes) -> None:
    with pytest.raises(NotCanonical):
        decode_plain(data)


@given(plain_values, st.data())
def test_no_two_spellings_of_a_value_are_read(value: Any, data: st.DataObject) -> None:
    """Bytes with one byte changed are refused, or they are the canonical bytes of another value."""
    exact = encode_plain(value)
    at = data.draw(st.integers(0, len(exact) - 1))
    changed = exact[:at] + bytes([data.draw(st.integers(0, 255))]) + exact[at + 1 :]
    try:
        read = decode_plain(changed)
    except NotCanonical:
        return
    assert encode_plain(read) == changed
