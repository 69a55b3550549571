"""From what a caller hands over to a typed value, or one refusal.

msgspec quotes the offending input in its messages; the binder keeps the path (made of our own field names) and a word
from the table below, and drops the rest. A struct that a caller built in Python is checked like any other input: it
is encoded and decoded once, which also means that nobody can change it afterwards.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from muniment.errors import InvalidInput, LimitExceeded

REQUEST_BYTES_MAX = 16 * 2**20

Value = TypeVar("Value")

# how a message of msgspec begins -> our word for it
PROBLEMS: dict[str, str] = {
    "Expected": "wrong_type",
    "Object contains unknown field": "unknown_field",
    "Object missing required field": "missing_field",
    "Invalid enum value": "unknown_word",
    "Invalid value": "unknown_word",
    "Invalid base64": "not_base64",
    "JSON is malformed": "not_json",
    "Input data was truncated": "not_json",
    "Integer value out of range": "integer_too_large",
}

_encoder = msgspec.msgpack.Encoder(order="deterministic")
_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


def parse_json(data: bytes | str, into: type[Value]) -> Value:
    """Return the value that JSON text stands for, or raise `InvalidInput` / `LimitExceeded`."""
    if len(data) > REQUEST_BYTES_MAX:
        raise LimitExceeded(problem="request_too_large", limit=REQUEST_BYTES_MAX, found=len(data))
    try:
        return msgspec.json.decode(data, type=into)
    except msgspec.ValidationError as error:
        raise _refusal(error) from None
    except (msgspec.DecodeError, UnicodeError):
        raise InvalidInput(problem="not_json") from None
    except RecursionError:
        raise InvalidInput(problem="too_deep") from None


def bind(value: object, into: type[Value]) -> Value:
    """Return the value as the type says it must be: from a struct of that type or from plain data."""
    try:
        raw = _encoder.encode(value)
    except (TypeError, OverflowError):
        raise InvalidInput(problem="wrong_type") from None
    except UnicodeError:
        raise InvalidInput(problem="lone_surrogate") from None
    except RecursionError:
        raise InvalidInput(problem="too_deep") from None
    if len(raw) > REQUEST_BYTES_MAX:
        raise LimitExceeded(problem="request_too_large", limit=REQUEST_BYTES_MAX, found=len(raw))
    decoder = _decoders.get(into)
    if decoder is None:
        decoder = _decoders[into] = msgspec.msgpack.Decoder(into)
    try:
        bound: Value = decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise _refusal(error) from None
    except RecursionError:
        raise InvalidInput(problem="too_deep") from None
    return bound


def deterministic(value: object) -> bytes:
    """Return bytes that are equal for equal bound values; the input of the keyed digest of a turn."""
    return _encoder.encode(value)


def _refusal(error: msgspec.ValidationError) -> InvalidInput:
    said, _, path = str(error).partition(" - at `")
    problem = next((word for begin, word in PROBLEMS.items() if said.startswith(begin)), "malformed")
    return InvalidInput(at=path.rstrip("`").removeprefix("$").removeprefix(".") or None, problem=problem)
