"""Binding: from a caller's input to a typed value, or to one error.

msgspec quotes the offending input in its messages. The binder keeps the path, if it consists of our own field names,
and a problem from the table below; it drops the rest. In a request the name of an unknown field ends the path when it
is a plain identifier, as a misspelt name of ours is; in a file from elsewhere it may be content. The names that were
probably meant come from the type, and so do the words that a choice accepts. A struct that a caller built in Python is
checked like any other input: it is encoded and decoded once, so the caller cannot change the result later.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from muniment.errors import InvalidInput, LimitExceeded
from muniment.kernel.locks import new_lock

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

_UNKNOWN = re.compile(r"Object contains unknown field `([a-z0-9_]{1,64})`")
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_PATH = re.compile(r"\$(?:\.\w+|\[\d+\])+")
_NAME = re.compile(r"\.(\w+)")
_STEP = re.compile(r"\.(\w+)|\[\d+\]")
CLOSE = 0.6  # how alike a name must be to be offered instead of another (`difflib`)

_encoder = msgspec.msgpack.Encoder(order="deterministic")

# msgspec analyses a type when its first decoder is made, and that is not thread-safe: two threads that analyse types
# which share a struct crash the process. So decoders are made one at a time, and kept.
_learning = new_lock()
_packed: dict[Any, msgspec.msgpack.Decoder[Any]] = {}
_json: dict[Any, msgspec.json.Decoder[Any]] = {}


def parse_json(
    data: bytes | str, into: type[Value], *, limit: int = REQUEST_BYTES_MAX, is_request: bool = False
) -> Value:
    """Return the value of JSON text, or raise `InvalidInput` / `LimitExceeded`.

    Only for a request, which its caller wrote, does the error name an unknown field.
    """
    if len(data) > limit:
        raise LimitExceeded(problem="request_too_large", limit=limit, found=len(data))
    try:
        parsed: Value = (_json.get(into) or _learned(_json, into, msgspec.json.Decoder)).decode(data)
    except msgspec.ValidationError as error:
        raise _refusal(error, into, is_request=is_request) from None
    except (msgspec.DecodeError, UnicodeError):
        raise InvalidInput(problem="not_json") from None
    except RecursionError:
        raise InvalidInput(problem="too_deep") from None
    return parsed


def bind(value: object, into: type[Value], *, is_request: bool = False) -> Value:
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
    if len(raw) > REQUEST_BYTES_MAX:
        raise LimitExceeded(problem="request_too_large", limit=REQUEST_BYTES_MAX, found=len(raw))
    try:
        bound: Value = (_packed.get(into) or _learned(_packed, into, msgspec.msgpack.Decoder)).decode(raw)
    except msgspec.ValidationError as error:
        raise _refusal(error, into, is_request=is_request) from None
    except (msgspec.DecodeError, UnicodeError):
        raise InvalidInput(problem="malformed") from None  # a value with pre-encoded bytes in it
    except RecursionError:
        raise InvalidInput(problem="too_deep") from None
    return bound


def learn(into: type[Any]) -> None:
    """Analyse a type before it is used: when memory runs out while msgspec does so, the process crashes."""
    _learned(_packed, into, msgspec.msgpack.Decoder)
    _learned(_json, into, msgspec.json.Decoder)


def _learned(known: dict[Any, Made], into: Any, make: Callable[[Any], Made]) -> Made:
    with _learning:
        return known.get(into) or known.setdefault(into, make(into))


def deterministic(value: object) -> bytes:
    """Return bytes that are equal for equal bound values: the input of the keyed digest of a turn."""
    try:
        return _encoder.encode(value)
    except RecursionError:
        raise InvalidInput(problem="too_deep") from None


def _refusal(error: msgspec.ValidationError, into: Any, *, is_request: bool) -> InvalidInput:
    text = str(error)
    problem = next((problem for beginning, problem in PROBLEMS.items() if text.startswith(beginning)), "malformed")
    # Input that is quoted before the path may look like a path, so only our own field names are accepted in one.
    _, separator, quoted = text.rpartition(" - at `")
    path = quoted.removesuffix("`") if separator else "$"
    known = path == "$" or (_PATH.fullmatch(path) and _field_names(into).issuperset(_NAME.findall(path)))
    if not known:
        return InvalidInput(problem=problem)
    choices: Sequence[str] = ()
    if (missing := _MISSING.match(text)) is not None:
        path = f"{path}.{missing[1]}"
    elif (unknown := _UNKNOWN.match(text)) is not None:
        choices = difflib.get_close_matches(unknown[1], sorted(_fields(into, path)), cutoff=CLOSE)
        path = f"{path}.{unknown[1]}" if is_request else path
    elif problem == "unknown_word":
        choices = [str(word) for place in _places(into, path) for word in place.get("enum", ())]
    return InvalidInput(at=path.removeprefix("$").removeprefix(".") or None, problem=problem, choices=choices)


# --- what a type accepts, from its JSON Schema ------------------------------------------------------------------------


def _fields(into: Any, path: str) -> set[str]:
    """Return the names of the fields at a path into a value of this type."""
    return {name for place in _places(into, path) for name in place.get("properties", ())}


def _places(into: Any, path: str) -> list[Any]:
    """Return the schemas that a value at a path may follow."""
    schema = _schema(into)
    places = list(_alternatives(schema, schema))
    for name in _STEP.findall(path):
        inner = [place.get("properties", {}).get(name) if name else place.get("items") for place in places]
        places = [each for found in inner if found for each in _alternatives(found, schema)]
    return places


def _alternatives(place: Any, schema: Any) -> Iterator[Any]:
    if "$ref" in place:
        place = schema["$defs"][place["$ref"].rpartition("/")[2]]
    if "anyOf" not in place:
        yield place
    for each in place.get("anyOf", ()):
        yield from _alternatives(each, schema)


@functools.cache
def _schema(into: Any) -> Any:
    return msgspec.json.schema(into)


@functools.cache
def _field_names(into: Any) -> frozenset[str]:
    """Return the field names that a path into a value of this type can contain."""
    return frozenset(_properties(_schema(into)))


def _properties(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for inner in schema.values():
            yield from _properties(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _properties(inner)
