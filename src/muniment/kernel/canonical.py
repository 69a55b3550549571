"""Canonical JSON: one value, one sequence of bytes.

Two profiles, both byte-equal to RFC 8785 (JCS) where they apply:

- `encode_plain`: what we build ourselves (headers, checkpoints' companions, export lines). ASCII keys, no floats;
  inside that profile msgspec's sorted encoder *is* RFC 8785. Structs may be passed as they are.
- `encode`: any JSON value a host may hand us (tool arguments and results). Floats are written as ECMAScript writes
  them, keys are sorted by UTF-16 code units. One extension: integers keep all their digits (up to 64 bits), where RFC
  8785 would round them to a double; a ticket number must not change because it is long.

`scan` walks a foreign value once: it refuses what has no canonical form (NaN, infinity, lone surrogates, other types,
too deep, too many nodes, integers beyond 64 bits) and returns whether the plain encoder may be used.

`decode_plain` is the reverse for the plain profile: it decodes, encodes again and compares, so that nothing but the
canonical bytes is ever accepted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from muniment.errors import NotCanonical

BLANKS = b" \t\r\n"  # around a JSON value (RFC 8259, 2)
DEPTH_MAX = 64
NODES_MAX = 200_000
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**64 - 1
EXACT_FLOAT_DIGITS = 21  # ECMAScript writes numbers below 1e21 without an exponent

_plain = msgspec.json.Encoder(order="sorted")


def encode_plain(value: object) -> bytes:
    """Return the canonical bytes of a value in the plain profile; the caller makes sure that it is in it."""
    return encode_each((value,))[0]


def encode_each(values: Iterable[object]) -> list[bytes]:
    """Return the canonical bytes of each value in the plain profile, as `encode_plain` does for one."""
    try:
        return list(map(_plain.encode, values))
    except UnicodeEncodeError:
        raise NotCanonical(problem="lone_surrogate") from None
    except RecursionError:
        raise NotCanonical(problem="too_deep", limit=DEPTH_MAX) from None


def decode_plain(data: bytes) -> Any:
    """Return the value of canonical bytes; anything that would encode differently is refused."""
    try:
        value = msgspec.json.decode(data)
        again = _plain.encode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise NotCanonical(problem="not_json") from None
    if again != data or not scan(value):  # a float such as 1.0 would survive the comparison
        raise NotCanonical(problem="not_canonical")
    return value


def scan(value: object) -> bool:
    """Walk a foreign JSON value; return whether it is in the plain profile, or raise `NotCanonical`."""
    plain = True
    nodes = 0
    stack: list[tuple[object, int]] = [(value, 0)]
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if nodes > NODES_MAX:
            raise NotCanonical(problem="too_many_nodes", limit=NODES_MAX)
        if depth > DEPTH_MAX:
            raise NotCanonical(problem="too_deep", limit=DEPTH_MAX)
        if isinstance(node, str):
            _scan_text(node)
        elif isinstance(node, dict):
            for key, child in node.items():
                if not isinstance(key, str):
                    raise NotCanonical(problem="key_not_text")
                _scan_text(key)
                plain = plain and key.isascii()
                stack.append((child, depth + 1))
        elif isinstance(node, list):
            stack.extend((child, depth + 1) for child in node)
        else:
            plain = _scan_scalar(node) and plain
    return plain


def _scan_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NotCanonical(problem="lone_surrogate") from None


def _scan_scalar(node: object) -> bool:
    if node is None or isinstance(node, bool):
        return True
    if isinstance(node, int):
        if not INTEGER_MIN <= node <= INTEGER_MAX:
            raise NotCanonical(problem="integer_too_large", limit=64)
        return True
    if isinstance(node, float):
        if not math.isfinite(node):
            raise NotCanonical(problem="not_finite")
        return False
    raise NotCanonical(problem="not_json")


def encode(value: object) -> bytes:
    """Return the canonical bytes of any JSON value (RFC 8785, integers exact), or raise `NotCanonical`."""
    if scan(value):
        return encode_plain(value)
    return _wide(value).encode()


def _wide(value: object) -> str:
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return "{" + ",".join(f"{_wide(key)}:{_wide(child)}" for key, child in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_wide, value)) + "]"
    if isinstance(value, float):
        return ecmascript_number(value)
    return _plain.encode(value).decode()


def ecmascript_number(value: float) -> str:
    """Write a finite double as ECMAScript's Number::toString does (RFC 8785, section 3.2.2.3)."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    # repr gives the shortest digits that round-trip, which is what ECMAScript asks for; only the layout differs.
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if len(digits) <= point <= EXACT_FLOAT_DIGITS:
        return sign + digits.ljust(point, "0")
    if 0 < point <= EXACT_FLOAT_DIGITS:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{point - 1:+d}"
