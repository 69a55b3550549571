"""Binding: from a caller's input to a typed value, or to one error.

msgspec quotes the offending input in its messages. The binder keeps the path, if it consists of our own field names,
and a problem from the table below; it drops the rest. A struct that a caller built in Python is checked like any other
input: it is encoded and decoded once, so the caller cannot change the result later.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from muniment.errors import InvalidInput, LimitExceeded

REQUEST_BYTES_MAX = 16 * 2**20
UPLOAD_BYTES_MAX = 2**30  # of a request that contains a document

Value = TypeVar("Value")
Made = TypeVar("Made")

# how a message of msgspec begins -> our name of the problem
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

_MISSING = re.compile(r"Object missing required field `(\w+)`")
_PATH = re.compile(r"\$(?:\.\w+|\[\d+\])+")

_encoder = msgspec.msgpack.Encoder(order="deterministic")

# msgspec analyses a type when its first decoder is made, and that is not thread-safe: two threads that analyse types
# which share a struct crash the process. So decoders are made one at a time, and kept.
_learning = threading.Lock()
_packed: dict[Any, msgspec.msgpack.Decoder[Any]] = {}
_json: dict[Any, msgspec.json.Decoder[Any]] = {}


def parse_json(data: bytes | str, into: type[Value], *, limit: int = REQUEST_BYTES_MAX) -> Value:
    """Return the value of JSON text, or raise `InvalidInput` / `LimitExceeded`."""
    if len(data) > limit:
        raise LimitExceeded(problem="request_too_large", limit=limit, found=len(data))
    try:
        parsed: Value = (_json.get(into) or _learned(_json, into, msgspec.json.Decoder)).decode(data)
    except msgspec.ValidationError as error:
        raise _refusal(error, into) from None
    except (msgspec.DecodeError, UnicodeError):
        raise InvalidInput(problem="not_json") from None
    except RecursionError:
        raise InvalidInput(problem="too_deep") from None
    return parsed


def bind(value: object, into: type[Value], bytes_max: int = REQUEST_BYTES_MAX) -> Value:
    """Return the value as a checked instance of the type, from a struct of that type or from plain data."""
    try:
        raw = _encoder.encode(value)
    except TypeError:
        raise InvalidInput(problem="wrong_type") from None
    except OverflowError:
        raise InvalidInput(problem="integer_too_large") from None
    except UnicodeError:
        raise InvalidInput(problem="lone_surrogate") from None
    except RecursionError:
        raise InvalidInput(problem="too_deep") from None
    if len(raw) > bytes_max:
        raise LimitExceeded(problem="request_too_large", limit=bytes_max, found=len(raw))
    try:
        bound: Value = (_packed.get(into) or _learned(_packed, into, msgspec.msgpack.Decoder)).decode(raw)
    except msgspec.ValidationError as error:
        raise _refusal(error, into) from None
    except (msgspec.DecodeError, UnicodeError):
        raise InvalidInput(problem="malformed") from None  # a value with pre-encoded bytes in it
    except RecursionError:
        raise InvalidInput(problem="too_deep") from None
    return bound


def _learned(known: dict[Any, Made], into: Any, make: Callable[[Any], Made]) -> Made:
    with _learning:
        return known.get(into) or known.setdefault(into, make(into))


def deterministic(value: object) -> bytes:
    """Return bytes that are equal for equal bound values: the input of the keyed digest of a turn."""
    try:
        return _encoder.encode(value)
    except RecursionError:
        raise InvalidInput(problem="too_deep") from None


def _refusal(error: msgspec.ValidationError, into: Any) -> InvalidInput:
    text = str(error)
    problem = next((problem for beginning, problem in PROBLEMS.items() if text.startswith(beginning)), "malformed")
    # Input that is quoted before the path may look like a path, so only our own field names are accepted in one.
    _, separator, quoted = text.rpartition(" - at `")
    path = quoted.removesuffix("`") if separator else "$"
    missing = _MISSING.match(text)
    if missing is not None:
        path = f"{path}.{missing[1]}"
    known = _PATH.fullmatch(path) and _field_names(into).issuperset(re.findall(r"\.(\w+)", path))
    return InvalidInput(at=path.removeprefix("$").removeprefix(".") if known else None, problem=problem)


@functools.cache
def _field_names(into: Any) -> frozenset[str]:
    """Return the field names that a path into a value of this type can contain."""
    return frozenset(_properties(msgspec.json.schema(into)))


def _properties(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for inner in schema.values():
            yield from _properties(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _properties(inner)
