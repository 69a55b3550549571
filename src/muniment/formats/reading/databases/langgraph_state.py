"""Values as the serializer of LangGraph wrote them (`JsonPlusSerializer`), as plain data.

Nothing that a value names is imported, looked up or called: an object is what it was made of, and names of modules and
classes are text.

| written as | is read as |
|---|---|
| `msgpack` | MessagePack; objects are extensions (`OBJECTS`), read only where somebody asks for them |
| `json` (before) | JSON; objects are dictionaries with `lc` |
| `null` | None |
| a pickle, encrypted, anything else | refused |
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec.msgpack import Ext

from muniment.errors import InvalidInput
from muniment.formats.reading.langchain import role_of
from muniment.kernel.digest import sha256

MSGPACK, JSON, NULL, PICKLE = "msgpack", "json", "null", "pickle"
ENCRYPTED = "+"  # between the name of a type and that of a cipher
OBJECTS = frozenset(range(6))  # of extensions: module, class, and what the object was made of, in this order
MADE_OF = 2  # where that is
ARRAY, SNAPSHOT = 6, 7  # an array of numbers, a whole value of a channel that else keeps differences
NAMED, PYDANTIC_1, PYDANTIC_2 = 2, 4, 5  # objects that are made of named values
REPLACING = "value"  # the one that has the new value of a channel
DEPTH_MAX = 64
# of a message: what says which one it is, and what of it is read
TOLD_APART = ("id", "type", "content", "tool_calls", "tool_call_id")
MEMBERS = (
    "type", "content", "name", "role", "tool_calls", "invalid_tool_calls", "additional_kwargs", "tool_call_id",
    "status", "artifact",
)  # fmt: skip


def decoded(kind: Any, data: Any) -> Any:
    """Return a value by the name of its type and its bytes; objects in it stay extensions. Raises `InvalidInput`."""
    if kind == NULL:
        return None
    if kind not in {MSGPACK, JSON}:
        known = isinstance(kind, str)
        is_encrypted = known and ENCRYPTED in kind
        raise InvalidInput(problem="encrypted" if is_encrypted else PICKLE if kind == PICKLE else "unknown_type")
    if isinstance(data, str):
        data = data.encode(errors="surrogatepass")
    if not isinstance(data, bytes):
        raise InvalidInput(problem="wrong_type")
    return _unpacked(data) if kind == MSGPACK else _parsed(data)


def _unpacked(data: bytes) -> Any:
    try:
        return msgspec.msgpack.decode(data)
    except RecursionError:
        raise InvalidInput(problem="too_deep") from None
    except (ValueError, OverflowError, MemoryError):  # also of msgspec, and of text that is no UTF-8
        raise InvalidInput(problem="not_msgpack") from None


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except RecursionError:
        raise InvalidInput(problem="too_deep") from None
    except ValueError:
        raise InvalidInput(problem="not_json") from None


def entries_of(value: Any) -> list[Any]:
    """Return the entries of a value of a channel: those of a list, also of one that is to replace it, or itself."""
    if isinstance(value, Ext) and value.code == SNAPSHOT:
        value = _unpacked(bytes(value.data))
    elif isinstance(value, Ext) and value.code == NAMED:
        made = _made_of(value)
        replacing = made.get(REPLACING) if isinstance(made, dict) else None
        value = replacing if isinstance(replacing, list) else value
    return value if isinstance(value, list) else [value]


def is_object(value: Any) -> bool:
    """Tell whether a value may be a message."""
    return (isinstance(value, Ext) and value.code in {NAMED, PYDANTIC_1, PYDANTIC_2}) or (
        isinstance(value, dict) and "lc" in value
    )


def message_of(value: Any) -> dict[str, Any] | None:
    """Return the members of a message of LangChain; None for any other object. Raises `InvalidInput`."""
    if isinstance(value, Ext):
        made = _made_of(value)
        kind = made.get("type") if isinstance(made, dict) else None
    else:
        made, names = value.get("kwargs"), value.get("id")
        kind = names[-1] if isinstance(names, list) and names else None
    if not isinstance(made, dict) or "content" not in made or not isinstance(kind, str):
        return None
    if role_of(kind, made.get("role")) is None:
        return None
    return {**made, "type": kind}


def identity_of(message: Mapping[str, Any]) -> bytes:
    """Return a digest of what tells a message apart from others: its id and what it says. Raises `InvalidInput`."""
    return sha256(encoded([plain(message.get(member)) for member in TOLD_APART]))


def digest_of(value: Any) -> bytes:
    """Return a digest of an object as it was written. Raises `InvalidInput`."""
    return sha256(bytes(value.data) if isinstance(value, Ext) else encoded(value))


def form_of(value: Any) -> bytes:
    """Return an object that is a message as the reader of LangChain messages takes it. Raises `InvalidInput`."""
    message = message_of(value) or {}
    return encoded({member: plain(message[member]) for member in MEMBERS if member in message})


def encoded(value: Any) -> bytes:
    """Return plain data as JSON. Raises `InvalidInput` for what JSON of ours cannot have."""
    try:
        return msgspec.json.encode(value)
    except RecursionError:
        raise InvalidInput(problem="too_deep") from None
    except (OverflowError, UnicodeError):
        raise InvalidInput(problem="not_json") from None


def _made_of(extension: Ext) -> Any:
    """Return what an object was made of."""
    parts = _unpacked(bytes(extension.data))
    if not isinstance(parts, list) or len(parts) <= MADE_OF:
        raise InvalidInput(problem="malformed")
    return parts[MADE_OF]


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON has it: an object is what it was made of, bytes are base64. Raises `InvalidInput`."""
    if depth > DEPTH_MAX:
        raise InvalidInput(problem="too_deep")
    if isinstance(value, Ext):
        return plain(_of_extension(value), depth + 1)
    if isinstance(value, list | tuple):
        return [plain(each, depth + 1) for each in value]
    if isinstance(value, dict):
        return {_name(key): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value.isoformat() if isinstance(value, datetime) else value


def _of_extension(value: Ext) -> Any:
    if value.code in OBJECTS:
        return _made_of(value)
    if value.code in {ARRAY, SNAPSHOT}:
        return _unpacked(bytes(value.data))
    raise InvalidInput(problem="unknown_extension")


def _name(key: Any) -> str:
    return key if isinstance(key, str) else str(plain(key))
